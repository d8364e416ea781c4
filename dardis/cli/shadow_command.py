"""The `dardis shadow` command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dardis.cli.derived_options import NodeNames
from dardis.config.option_texts import decimal_parser

if TYPE_CHECKING:
    from dardis.slurm.shadow import ShadowRound
    from dardis.slurm.shadow_folder import ShadowFolder
    from offline.shadow.shadow_pages import PageInputs

EVERY_S: Final = 30.0
_OLD_S: Final = 900
"""Expected starts are this old only if the shadow does not work."""
_DAY_S: Final = 86_400
_THURSDAY: Final = 3
"""Day of the week, from Monday, of 1 January 1970."""
_PAGE_AGAIN_S: Final = 3600
"""Time after which a page that failed is tried again."""
_PAGE_AFTER_S: Final = 900
"""Time after midnight when the page of the day before is written."""


def shadow(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the shadow.")],
    start: Annotated[
        str | None, typer.Option("--start", metavar="JOB", help="Print when a waiting job is expected to start.")
    ] = None,
    every: Annotated[
        float, typer.Option(parser=decimal_parser("--every", 1, 3600), metavar="S", help="Seconds between rounds.")
    ] = EVERY_S,
    once: Annotated[bool, typer.Option("--once", help="End after one round.")] = False,
    history: Annotated[
        Path | None, typer.Option(metavar="JOBS", help="Slurm's accounting (sacct) to learn from first.")
    ] = None,
    day: Annotated[
        str | None, typer.Option("--day", metavar="DATE", help="Write the page of a UTC day, and end.")
    ] = None,
    week: Annotated[
        str | None, typer.Option("--week", metavar="DATE", help="Write the page of the 7 days until DATE, and end.")
    ] = None,
    platform: Annotated[
        Path | None,
        typer.Option(metavar="P.toml", help="Platform for pages (default: made from Slurm's nodes, in DIR)."),
    ] = None,
    names: NodeNames = None,
    dispatchers: Annotated[
        str, typer.Option(metavar="A,B:KEY=VALUE", help="Dispatchers beside the real day.")
    ] = "easy,dardis-late",
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="DIR", help="With --day: the folder of the day's plan.")
    ] = None,
) -> None:
    """Watch a live Slurm without changing it: record its jobs, state expected starts, and compare its days."""
    from dardis.model.errors import InputError
    from dardis.slurm.shadow_folder import ShadowFolder

    kept = ShadowFolder(folder)
    if plan is not None and day is None:
        raise InputError("--plan", "given without --day", "--day DATE as well")
    if start is not None:
        _print_start(kept, start)
        return
    inputs = _page_inputs(platform, names, dispatchers, plan)
    if day is not None or week is not None:
        _write_pages(kept, day, week, inputs)
        return
    _watch(kept, every, history, inputs, once=once)


def _page_inputs(platform: Path | None, names: Path | None, dispatchers: str, plan: Path | None) -> PageInputs:
    from dardis.config.comparison_spec import contender_of
    from dardis.registry import find_dispatcher
    from offline.shadow.shadow_pages import PageInputs

    chosen = [text for text in map(str.strip, dispatchers.split(",")) if text]
    for one in map(contender_of, chosen):
        find_dispatcher(one.dispatcher, one.settings)
    return PageInputs(platform, names, tuple(chosen), plan)


def _print_start(folder: ShadowFolder, job: str) -> None:
    from dardis.engine.clock import unix_now

    row = folder.expected_row(job)
    if (age := folder.expected_age(unix_now())) > _OLD_S:
        typer.echo(f"dardis: warning: this is {age / 60:.0f} minutes old: no shadow works on {folder.path}", err=True)
    if not row["expected_utc"]:
        typer.echo(f"job {row['job']}: no expected start, since it is held ({row['reason']})")
        return
    slurm = f"; Slurm expects {row['slurm_utc']}" if row["slurm_utc"] else ""
    within = f"80 %: {row['from_utc']} to {row['to_utc']}"
    typer.echo(f"job {row['job']}: expected start {row['expected_utc']} ({within}){slurm}")


def _write_pages(folder: ShadowFolder, day: str | None, week: str | None, inputs: PageInputs) -> None:
    from dardis.engine.clock import unix_now
    from offline.shadow.shadow_pages import day_of, write_day, write_week

    if day is not None:
        typer.echo(f"page: {write_day(folder, day_of(day, '--day'), inputs, int(unix_now()))}")
    if week is not None:
        typer.echo(f"page: {write_week(folder, day_of(week, '--week'), inputs)}")


def _watch(folder: ShadowFolder, every: float, history: Path | None, inputs: PageInputs, *, once: bool) -> None:
    from threading import Event

    from dardis.engine.clock import unix_now
    from dardis.model.errors import failure_line
    from dardis.model.files import read_text
    from dardis.model.out_folder import lock_folder
    from dardis.slurm.shadow import LEARNED_S, Shadow
    from dardis.slurm.slurm_client import PROGRAMS, InstalledPrograms, PollPace, SlurmError
    from dardis.slurm.slurm_job import merged_records, recorded_jobs

    programs = InstalledPrograms(PROGRAMS)
    texts = [] if history is None else [(history, read_text(history))]
    folder.prepare()
    with lock_folder(folder.path, folder.path):
        texts.append((folder.path, folder.record_text(int(unix_now()) - LEARNED_S)))
        past = merged_records(recorded_jobs(path, text) for path, text in texts)
        if past.jobs or past.ignored:
            ignored = f", {past.ignored:,} lines ignored" if past.ignored else ""
            typer.echo(f"dardis: note: learning from {len(past.jobs):,} recorded jobs{ignored}", err=True)
        watched, pace, pause = Shadow(folder, programs, past), PollPace(every), Event()
        is_first = True
        while True:
            now = int(unix_now())
            try:
                found = watched.round(now)
            except (SlurmError, OSError) as error:
                if once:
                    raise
                pace.on_round(None)
                typer.echo(f"dardis: warning: {failure_line(error)}; next round in {pace.wait_s:.0f} s", err=True)
            else:
                if is_first:
                    text = f"watching {len(found.site.nodes):,} nodes every {every:g} s; files are in {folder.path}"
                    typer.echo(f"dardis: note: {text}", err=True)
                is_first = False
                _print_round(found)
                pace.on_round(found.seconds)
            if once:
                return
            _write_due_pages(folder, inputs, now)
            pause.wait(pace.wait_s)


def _print_round(found: ShadowRound) -> None:
    import sys

    for reason in found.malformed[:1]:
        typer.echo(f"dardis: warning: {len(found.malformed)} malformed jobs, {reason}", err=True)
    if sys.stdout.isatty():
        typer.echo(f"{found.running:,} running, {found.waiting:,} waiting\r", nl=False)


def _write_due_pages(folder: ShadowFolder, inputs: PageInputs, now: int) -> None:
    """Write the page of yesterday, and on Mondays of the week, in a process of low priority; again if it failed."""
    import subprocess
    import sys
    from shutil import which

    from dardis.model.moments import utc_text

    today = now - now % _DAY_S
    date = utc_text(today - _DAY_S)[:10]
    page, log = folder.path / f"day-{date}.html", folder.path / f"day-{date}.log"
    if now < today + _PAGE_AFTER_S or page.exists() or not folder.log_of(today - _DAY_S).exists():
        return
    if log.exists() and now - log.stat().st_mtime < _PAGE_AGAIN_S:
        return
    words = [which("nice") or "nice", sys.executable, "-m", "dardis", "shadow", str(folder.path), "--day", date]
    if (today // _DAY_S + _THURSDAY) % 7 == 0:
        words += ["--week", date]
    words += ["--dispatchers", ",".join(inputs.dispatchers)]
    words += [] if inputs.platform is None else ["--platform", str(inputs.platform)]
    words += [] if inputs.names is None else ["--names", str(inputs.names)]
    with log.open("wb") as file:
        subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
