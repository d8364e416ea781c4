"""The `dardis steer` command."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dardis.cli.derived_options import NodeNames, complete_dispatcher
from dardis.config import option_texts
from dardis.config.option_texts import LARGEST_SEED, decimal_parser, whole_number_parser
from dardis.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from threading import Event as Signal

    from dardis.slurm.slurm_client import InstalledPrograms
    from dardis.slurm.steered_queue import RoundResult
    from dardis.slurm.steerer import Steerer
    from dardis.slurm.steering_log import Entry
    from dardis.slurm.steering_setup import ReadCap, SteeringOptions

EVERY_S: Final = 5.0
_LONGEST_PAUSE_S: Final = 15.0
"""Longest pause after failed rounds, so that the lease is soon renewed again."""
_CALL_S: Final = 20.0
"""Longest call of a program."""
_STOP: Final = "stop"
"""File that ends a running steerer."""
_STOPPED_S: Final = 60


def steer(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the steerer, with its log.")],
    partition: Annotated[str | None, typer.Option(metavar="NAME", help="The partition of Slurm.")] = None,
    dispatcher: Annotated[
        str, typer.Option(metavar="NAME", help="Who decides.", autocompletion=complete_dispatcher)
    ] = "easy",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=option_texts.SETTINGS)
    ] = None,
    profile: Annotated[
        Path | None, typer.Option(metavar="F", help="Cap: a CSV of UTC times, a plan's profile.csv or target.json.")
    ] = None,
    platform: Annotated[
        Path | None, typer.Option(metavar="P.toml", help="Platform of the nodes (default: made from Slurm's nodes).")
    ] = None,
    names: NodeNames = None,
    seed: Annotated[
        int, typer.Option(parser=whole_number_parser("--seed", 0, LARGEST_SEED), metavar="N", help=option_texts.SEED)
    ] = 1,
    every: Annotated[
        float, typer.Option(parser=decimal_parser("--every", 1, 5), metavar="S", help="Seconds between rounds.")
    ] = EVERY_S,
    install: Annotated[bool, typer.Option("--install", help="Steer until interrupted, then return the queue.")] = False,
    keep_running: Annotated[
        bool, typer.Option("--keep-running", help="With --install: jobs may run already; they count until they end.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Return the queue to Slurm, and end.")] = False,
) -> None:
    """Decide which jobs of a Slurm partition start, and where. Without --install: only show what would be done."""
    from dardis.slurm.slurm_client import PROGRAMS, InstalledPrograms
    from dardis.slurm.steering_setup import SteeringOptions

    if install and remove:
        raise InputError("--install, --remove", "both", "one of them")
    programs = InstalledPrograms(PROGRAMS, _CALL_S)
    if remove:
        _remove(folder, programs)
        return
    if keep_running and not install:
        raise InputError("--keep-running", "given without --install", "--install as well")
    if partition is None:
        raise InputError("--partition", "not given", "the name of a partition")
    if names is not None and platform is None:
        raise InputError("--names", "given without --platform", "--platform P.toml as well")
    options = SteeringOptions(partition, dispatcher, tuple(settings or ()), seed, platform, names, _cap(profile))
    if install:
        _install(folder, options, programs, every, keep_running=keep_running)
    else:
        _preview(folder, options, programs)


def _cap(profile: Path | None) -> ReadCap | None:
    from functools import partial

    from dardis.cli.cap_file import read_cap

    return None if profile is None else partial(read_cap, profile)


def _now() -> int:
    from dardis.engine.clock import unix_now

    return int(unix_now())


def _steady() -> float:
    from dardis.engine.clock import steady_s

    return steady_s()


@contextmanager
def _answers() -> Iterator[None]:
    """Make a failed call of Slurm a mistake of the user."""
    from dardis.slurm.slurm_client import SlurmError

    try:
        yield
    except SlurmError as error:
        raise InputError("Slurm", str(error), "a slurmctld that answers") from None


def _print_changes(steerer: Steerer) -> None:
    import shlex

    typer.echo("changes of Slurm:")
    typer.echo(f"  {shlex.join(steerer.lease.create_words)}")
    typer.echo("  every 10 s: the same EndTime again; without this, Slurm schedules alone after 60 s")
    typer.echo(f"  for each start: scontrol update JobId=… ReservationName={steerer.lease.name} NodeList=…")
    typer.echo(f"dardis steer --remove undoes them: {shlex.join(steerer.lease.end_words)}")


def _preview(folder: Path, options: SteeringOptions, programs: InstalledPrograms) -> None:
    from dardis.slurm.steering_setup import steering

    with _answers():
        steerer = steering(options, programs, folder, _now, _steady)
        found = steerer.preview()
    _print_changes(steerer)
    _print_result(found, "now")
    for order in found.orders:
        what = f"start on {order.nodes}" if order.nodes else f"leave to Slurm: {order.detail}"
        typer.echo(f"  job {order.job}: {what}")
    _print_notes(found.entries)
    if found.running:
        typer.echo(f"{found.running:,} jobs run: --install needs --keep-running")
    typer.echo("nothing was changed; --install steers")


def _print_result(found: RoundResult, when: str) -> None:
    typer.echo(f"{when}: {found.running:,} running, {found.waiting:,} waiting, {found.held:,} held")


def _install(
    folder: Path, options: SteeringOptions, programs: InstalledPrograms, every: float, *, keep_running: bool
) -> None:  # fmt: skip
    from dardis.model.errors import DardisError, failure_line
    from dardis.model.out_folder import lock_folder
    from dardis.slurm.slurm_client import SlurmError
    from dardis.slurm.steering_setup import steering

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(folder, error.strerror or "cannot be written", "a folder to write to") from None
    with lock_folder(folder, folder):
        (folder / _STOP).unlink(missing_ok=True)
        with _answers():
            steerer = steering(options, programs, folder, _now, _steady)
            if not keep_running:
                steerer.check_idle()
        _print_changes(steerer)
        stop = _stop_signal()
        try:
            steerer.begin()
        except SlurmError as error:
            typer.echo(f"dardis: warning: {failure_line(error)}", err=True)
        else:
            text = f"steering partition {options.partition}; decisions are in {steerer.log.path}"
            typer.echo(f"dardis: note: {text}", err=True)
        try:
            _loop(steerer, every, folder / _STOP, stop)
        except InputError:
            raise  # the lease is another's, or the partition is gone
        except DardisError:
            _give_back(steerer)
            raise
        _give_back(steerer)


def _give_back(steerer: Steerer) -> None:
    from dardis.model.errors import DardisError, failure_line

    try:
        steerer.give_back()
    except (DardisError, OSError) as error:
        typer.echo(f"dardis: warning: {failure_line(error)}; Slurm schedules alone in at most 60 s", err=True)
    else:
        typer.echo("dardis: note: the queue is returned to Slurm", err=True)


def _stop_signal() -> Signal:
    """Event of an interrupt or SIGTERM."""
    import signal
    from threading import Event

    stop = Event()
    for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(which, lambda *_: stop.set())
    return stop


def _loop(steerer: Steerer, every: float, stop_file: Path, stop: Signal) -> None:
    import sys

    from dardis.model.errors import failure_line
    from dardis.slurm.slurm_client import PollPace, SlurmError

    pace = PollPace(every)
    while not stop.is_set() and not stop_file.exists():
        try:
            found = steerer.round()
        except (SlurmError, OSError) as error:
            pace.on_round(None)
            pause = min(pace.wait_s, _LONGEST_PAUSE_S)
            typer.echo(f"dardis: warning: {failure_line(error)}; next round in {pause:.0f} s", err=True)
        else:
            pace.on_round(found.seconds)
            pause = min(pace.wait_s, _LONGEST_PAUSE_S)
            if found.is_taken_again:
                typer.echo("dardis: warning: the lease is taken again; until now Slurm scheduled alone", err=True)
            if found.changed_nodes:
                text = f"nodes {found.changed_nodes} came into the partition or left it; restart to steer all its nodes"
                typer.echo(f"dardis: warning: {text}", err=True)
            for reason in found.malformed[:1]:
                typer.echo(f"dardis: warning: {len(found.malformed)} malformed jobs, {reason}", err=True)
            _print_notes((*found.result.entries, *found.done))
            if sys.stdout.isatty():
                result = found.result
                typer.echo(f"{result.running:,} running, {result.waiting:,} waiting, {result.held:,} held\r", nl=False)
        stop.wait(pause)


def _print_notes(entries: Iterable[Entry]) -> None:
    from dardis.slurm.steering_log import Event

    told = {
        Event.PASSED: "is left to Slurm", Event.NEVER: "cannot start",
        Event.TAKEN_BACK: "did not start and waits again",
        Event.REFUSED: "was not changed",
    }  # fmt: skip
    for entry in entries:
        if entry.event in told:
            typer.echo(f"dardis: note: job {entry.job} {told[entry.event]}: {entry.detail}", err=True)


def _remove(folder: Path, programs: InstalledPrograms) -> None:
    from dardis.slurm.open_decisions import OpenDecisions
    from dardis.slurm.reservation_lease import Lease
    from dardis.slurm.steerer import return_queue
    from dardis.slurm.steering_log import SteeringLog, last_lease

    log = SteeringLog(folder)
    if last_lease(log.entries()) is None:
        raise InputError(folder, "nothing is steered from here", "the folder of a dardis steer")
    (folder / _STOP).touch()
    try:
        with _lock_of_stopped(folder), _answers():
            entries = log.entries()
            last = last_lease(entries)  # None: the steerer has returned the queue itself
            if last is not None:
                lease = Lease(last.detail, (), programs, last.start, last.at)
                return_queue(programs, lease, OpenDecisions(entries), log, _now)
    finally:
        (folder / _STOP).unlink(missing_ok=True)
    typer.echo("the queue is returned to Slurm")


@contextmanager
def _lock_of_stopped(folder: Path) -> Iterator[None]:
    """Lock the folder when its steerer has ended."""
    from time import sleep

    from dardis.engine.clock import monotonic_s
    from dardis.model.out_folder import lock_folder

    latest = monotonic_s() + _STOPPED_S
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(lock_folder(folder, folder))
                break
            except InputError:
                if monotonic_s() > latest:
                    raise
                sleep(0.2)
        yield
