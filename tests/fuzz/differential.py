"""One seed is one instance: it is played in every arrangement that promises the same schedule, and that is judged."""

from __future__ import annotations

import gc
import json
import traceback
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields, replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz.instances import Dice, Instance, command_of, draw_instance, write_instance
from kit.actual import asking
from kit.plain_audit import Audit, Promises
from kit.plain_rows import Down, Finding, Row, digest_of, downs_of, downs_of_file, rows_of, rows_of_file

from dardis.cli.main import run as run_command
from dardis.dispatch import QueueSetUp
from dardis.dispatch.replan.setups import ReplanSetUp
from dardis.metrics.audit import audit
from dardis.model.choices import NodeChoice, OnOff, ProfileRule, UnitsPerNode
from dardis.model.platform import Maintenance
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Switching, Target
from dardis.runs.hosts import host_from_plan, host_plan
from dardis.runs.play import HostAssignment, SimulatedRun, followed_profile, play, play_over
from dardis.task_manager import Reach, SetUp
from dardis.task_manager.selection import Selection
from dardis.task_manager.setups import Generator
from dardis.transport.local_transport import LocalHosts

COMMAND_EVERY = 4
"""One seed in so many goes through files and the command as well."""


@dataclass(frozen=True)
class Result:
    """What came of an arrangement. `reasons`: why jobs were rejected, by number."""

    name: str
    rows: list[Row]
    downs: list[Down]
    reasons: dict[int, str]
    said: str
    """The digest that the run tells of itself."""
    later: int = 0
    """How much later than the instance's its times are."""
    illegal: tuple[str, ...] = ()
    """What `dardis.metrics.audit` finds."""

    @property
    def digest(self) -> str:
        """With the times of the instance."""
        return digest_of(self.rows, -self.later)

    def moved_rows(self) -> list[Row]:
        """With the times of the instance."""
        times = ("submit", "earliest", "latest", "start", "finish")
        return [
            replace(row, **{name: time - self.later for name in times if (time := getattr(row, name)) is not None})
            for row in self.rows
        ]


@dataclass(frozen=True)
class Outcome:
    """What came of a seed; `violations` is empty when all is well."""

    seed: int
    instance: Instance
    results: tuple[Result, ...]
    violations: tuple[str, ...]

    def __str__(self) -> str:
        runs = "".join(f"\n  {result.digest[:16]} {result.name}" for result in self.results)
        problems = "".join(f"\n  {violation}" for violation in self.violations)
        return f"{self.instance}{runs}{problems}"


def judge(seed: int) -> Outcome:
    """Draw, play and judge."""
    instance = draw_instance(seed)
    results: list[Result] = []
    violations = []
    try:
        for result in _arrangements(instance):
            results.append(result)
            violations += differences(results[0], result)
        # The others have the same rows, times down and reasons, or else say so: it is judged once.
        violations += [str(finding) for finding in audited(instance, results[0])]
    except Exception:  # noqa: BLE001 (whatever goes wrong, the seed is what has to be told)
        violations.append(traceback.format_exc(limit=-1))
    finally:
        gc.unfreeze()  # each run freezes what it finds
    return Outcome(seed, instance, tuple(results), tuple(violations))


def audited(instance: Instance, result: Result) -> list[Finding]:
    """What the plain audit finds."""
    target = instance.target
    found = Audit(
        instance.platform, instance.jobs, promises_of(instance), result.rows, target.desired, target.switching,
        result.downs,
    ).findings()  # fmt: skip
    refused = {row.number for row in result.rows if row.status == "rejected"}
    if {*result.reasons} != refused:
        found.append(Finding("reasons", f"for {sorted(result.reasons)}, and {sorted(refused)} are rejected"))
    return found


def promises_of(instance: Instance) -> Promises:
    """What docs/settings.md promises of these settings."""
    setup = instance.setup
    check = str(setup.profile_check) if isinstance(setup, QueueSetUp) else "span"
    drawn = isinstance(setup, SetUp) and setup.generator is not Generator.FIRST
    return Promises(
        distinct=setup.units_per_node is UnitsPerNode.DISTINCT,
        hard=check if setup.profile is ProfileRule.HARD else None,
        grain=setup.start_grain_s if drawn and not _asks_again(instance) else None,
        searches=isinstance(setup, SetUp),
        step=setup.step_s if isinstance(setup, QueueSetUp) else 1,
    )


def differences(first: Result, other: Result) -> Iterator[str]:
    """What the two should have in common, and have not."""
    yield from (f"{other.name}: {text}" for text in other.illegal)
    if digest_of(other.rows) != other.said:
        yield f"{other.name}: says another digest than its jobs make"
    rows, others = ({row.number: row for row in result.moved_rows()} for result in (first, other))
    if rows.keys() != others.keys() or len(first.rows) != len(other.rows):
        yield f"{other.name}: other jobs than {first.name}"
    for number in sorted(rows.keys() & others.keys()):
        for field in fields(Row):
            here, there = (getattr(row[number], field.name) for row in (rows, others))
            if here != there:
                yield f"{other.name}: job {number} has {field.name} {there}, and {here} by {first.name}"
    moved = [Down(node, since - other.later, up if up is None else up - other.later) for node, since, up in other.downs]
    if moved != first.downs:
        yield f"{other.name}: other nodes down than {first.name}"
    if other.reasons != first.reasons:
        yield f"{other.name}: rejects for other reasons than {first.name}"


def _arrangements(instance: Instance) -> Iterator[Result]:
    """The instance in each way that promises the same schedule; the first is what the others are held against."""
    dice = Dice(instance.seed, "arrangements")
    setup, target = instance.setup, instance.target
    yield played("one process", instance)
    yield played("again", instance)
    if not instance.central:
        nodes = instance.platform.node_count
        arity = 1 + dice.upto(4)
        managers = instance.task_managers
        yield _spread("hosts", instance, _cuts(dice, nodes), managers)
        # Each task manager has hints of its own, so with samples their number counts.
        others = managers if instance.sample else 1 + managers % 3
        yield _spread("hosts and task managers", instance, _cuts(dice, nodes), others)
        yield _spread(f"tree of arity {arity}", instance, _cuts(dice, nodes), managers, arity)
        yield _spread("all of it", instance, _cuts(dice, nodes), others, 1 + dice.upto(4), encoded=dice.chance(0.7))
    if target.desired is not None and setup.profile is ProfileRule.OFF:
        yield played("without the profile, which is off", replace(instance, target=replace(target, desired=None)))
    later = dice.one_of((1, 59, 3600, 86_401))
    if not _draws_by_the_time(instance):
        yield played(f"{later} s later", _moved(instance, later), later=later)
    if instance.seed % COMMAND_EVERY == 0:
        yield _commanded(instance, dice.one_of((0, 2, 5)))


def _asks_again(instance: Instance) -> bool:
    """Whether jobs ask again after an early end, or when they have waited for one under a hard profile."""
    setup, wishes = instance.setup, instance.target.desired is not None
    return isinstance(setup, SetUp) and (setup.backfill is OnOff.ON or (wishes and setup.profile is ProfileRule.HARD))


def _draws_by_the_time(instance: Instance) -> bool:
    """Whether chance is keyed by the time: it is for jobs that ask again, and in plans that are made anew."""
    setup = instance.setup
    if isinstance(setup, ReplanSetUp) and setup.exchanges:
        return True
    if not isinstance(setup, SetUp) or not _asks_again(instance):
        return False
    chosen = setup.selection is Selection.RANDOM or setup.node_choice is NodeChoice.RANDOM
    return setup.drawn or chosen or instance.sample > 0


def _cuts(dice: Dice, nodes: int) -> tuple[int, ...]:
    """Any bounds of hosts; some have no nodes, as where there are more ranks than nodes."""
    return (0, *sorted(dice.upto(nodes) for _ in range(1 + dice.upto(min(nodes, 8)))), nodes)


def _result(name: str, instance: Instance, run: SimulatedRun, later: int = 0) -> Result:
    """What is left of the run, which the product's own audit has passed as well."""
    schedule, recorder = run.schedule, run.recorder
    numbers = [job.number for job in instance.jobs]
    illegal = audit(schedule, instance.platform, expected=numbers, downtime=recorder.downtime())
    reasons = {run.jobs[place].number: reason for place, reason in recorder.reasons.items()}
    downs, said = downs_of(recorder.downtime()), schedule.digest()
    return Result(name, rows_of(schedule), downs, reasons, said, later, tuple(map(str, illegal)))


def played(name: str, instance: Instance, later: int = 0) -> Result:
    """In one process, as the command does it."""
    run = play(
        instance.platform, instance.jobs, instance.player, instance.target, instance.seed,
        task_managers=instance.task_managers, reach=instance.reach,
    )  # fmt: skip
    return _result(name, instance, run, later)


def _spread(
    name: str, instance: Instance, bounds: tuple[int, ...], managers: int, arity: int = 0, *, encoded: bool = True
) -> Result:
    """Hosting hosts, every message through the wire's encoding."""
    plan = host_plan(instance.platform, followed_profile(instance.player, instance.target), bounds, instance.seed)
    hosts = LocalHosts(
        [host_from_plan(plan, host, instance.player.pool) for host in range(len(bounds) - 1)], encoded=encoded
    )
    run = play_over(
        HostAssignment(hosts, bounds), instance.platform, instance.jobs, instance.player, instance.target,
        instance.seed,
        task_managers=managers, reach=Reach(arity, instance.sample), progress=None,
    )  # fmt: skip
    return _result(f"{name} {bounds}, {managers} task managers", instance, run)


def _commanded(instance: Instance, arity: int) -> Result:
    """Through its files and `dardis simulate`."""
    with TemporaryDirectory() as folder, redirect_stderr(StringIO()) as told, redirect_stdout(StringIO()):
        request = write_instance(instance, Path(folder)).model_copy(update={"arity": arity})
        status = run_command(command_of(request))
        if status and not (status == 1 and "no job ran" in told.getvalue()):
            raise AssertionError(f"the command ends with {status}: {told.getvalue()}")
        if run_command(["audit", str(request.out)]):
            raise AssertionError(f"dardis audit: {told.getvalue()}")
        return written("files and command", request.out)


def written(name: str, out: Path) -> Result:
    """What the folder of a run says."""
    record, metrics = (json.loads((out / file).read_text()) for file in ("run.json", "metrics.json"))
    reasons = {entry["job"]: entry["reason"] for entry in record["rejected"]}
    switched = out / "switching.csv"
    downs = downs_of_file(switched) if switched.exists() else []
    return Result(name, rows_of_file(out / "jobs.csv"), downs, reasons, metrics["schedule_digest"])


def _moved(instance: Instance, later: int) -> Instance:
    """The same with another zero of time."""
    platform = replace(
        instance.platform,
        maintenance=tuple(Maintenance(w.nodes, w.start + later, w.end + later) for w in instance.platform.maintenance),
    )
    jobs = tuple(
        asking(
            job, submit=job.submit + later, earliest=job.earliest + later,
            latest=None if job.latest is None else job.latest + later,
        )
        for job in instance.jobs
    )  # fmt: skip

    def moved(function: StepFunction) -> StepFunction:
        times = function.times.copy()
        times[1:] += later
        return StepFunction(times, function.values)

    desired, switching = instance.target.desired, instance.target.switching
    if desired is not None:
        machine = {kind: moved(function) for kind, function in desired.machine.items()}
        nodes = {place: moved(function) for place, function in desired.nodes.items()}
        desired = DesiredProfile(platform, machine, nodes, desired.split)
    if switching is not None:
        spares = {group: moved(function) for group, function in switching.spares.items()}
        floors = {group: moved(function) for group, function in switching.floors.items()}
        switching = Switching(spares, floors, switching.idle_s, switching.most_cycles_per_day)
    return replace(instance, platform=platform, jobs=jobs, target=Target(desired, switching))
