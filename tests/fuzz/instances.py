"""Draws an instance from a seed: a small machine, jobs, a dispatcher with any settings, wishes; writes its files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from kit.actual import actual

from dardis.config.run_spec import RunSpec
from dardis.config.settings import AnySetUp, known_settings
from dardis.config.target_file import write_target
from dardis.model.errors import InputError
from dardis.model.job import ActualJob
from dardis.model.platform import Maintenance, NodeGroup, NodePower, Platform
from dardis.model.randomness import stream
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Split, Switching, Target
from dardis.registry import BUILT_IN_DISPATCHERS, Dispatcher, find_dispatcher
from dardis.task_manager import Reach
from dardis.workload.deadlines import with_deadlines

T = TypeVar("T")
AMOUNTS = {"cores": 5, "memory": 6, "gpu": 3, "power": 400}
"""Kinds, and the most that a node holds of each."""
NUMBERS = (1, 2, 3, 7, 60, 300, 86_400)
"""For settings that take a whole number."""

DECIMALS = (0.001, 0.01, 0.05)
"""For settings that take a number of any kind: what their values are called is said in words."""

MULTIPLES = (1.1, 1.5, 10)

LIKELY = {"profile": 0.9, "delta": 1.0, "delta_max": 1.0, "k1": 1.0}
"""How often a setting is drawn, where that is not as often as others: there is a wish in most instances, and searches
are short.
"""


class Dice:
    """Draws from the stream of one seed."""

    def __init__(self, seed: int, name: str) -> None:
        self._rng = stream(seed, name)

    def upto(self, most: int) -> int:
        """From 0 to `most`."""
        return int(self._rng.integers(0, most + 1))

    def chance(self, share: float) -> bool:
        return bool(self._rng.random() < share)

    def one_of(self, things: Sequence[T]) -> T:
        return things[self.upto(len(things) - 1)]

    def some_of(self, things: Sequence[T], share: float) -> list[T]:
        return [thing for thing in things if self.chance(share)]


@dataclass(frozen=True)
class Instance:
    """What a run is made of. `jobs` have the deadlines of the rule (None: the dispatcher's own)."""

    seed: int
    platform: Platform
    jobs: tuple[ActualJob, ...]
    partition: dict[int, str]
    """The partition that each job was submitted to, by its number."""
    dispatcher: str
    settings: tuple[str, ...]
    setup: AnySetUp
    deadlines: str | None
    target: Target
    sample: int
    task_managers: int

    @property
    def player(self) -> Dispatcher:
        """The dispatcher with its settings."""
        return BUILT_IN_DISPATCHERS[self.dispatcher].with_setup(self.setup)

    @property
    def central(self) -> bool:
        """Whether one dispatcher decides."""
        return not self.setup.asks_nodes

    @property
    def reach(self) -> Reach:
        """Flat."""
        return Reach(0, self.sample)

    def __str__(self) -> str:
        machine = "\n".join(f"  {group}" for group in self.platform.groups)
        closed = "".join(f"\n  {window}" for window in self.platform.maintenance)
        jobs = "\n".join(f"  {job}" for job in self.jobs)
        return (
            f"seed {self.seed}: {' '.join([self.dispatcher, *self.settings])}, deadlines {self.deadlines}, sample "
            f"{self.sample or 'all'}, task managers {self.task_managers}\n{machine}{closed}\n{jobs}\n  {self.target}"
        )


def draw_instance(seed: int) -> Instance:
    """Any instance that the command line and its files can say."""
    dice = Dice(seed, "instance")
    scale = dice.one_of((1, 1, 20, 120))
    sample = dice.one_of((1, 2, 3)) if dice.chance(0.25) else 0
    platform = _draw_platform(dice, 60 * scale, wide=bool(sample))
    central = not sample and dice.chance(0.35)
    names = [name for name, one in BUILT_IN_DISPATCHERS.items() if one.setup.asks_nodes is not central]
    dispatcher = dice.one_of([name for name in names if not sample or BUILT_IN_DISPATCHERS[name].setup.samples])
    settings = _draw_settings(dice, dispatcher, platform)
    setup = find_dispatcher(dispatcher, settings).setup
    jobs, partition = _draw_jobs(dice, platform, scale)
    target = _draw_target(dice, platform, setup, 60 * scale)
    rules = (None, None, "none", f"window:{dice.upto(40 * scale)}", f"factor:{dice.one_of((0, 0.5, 2))}")
    deadlines = dice.one_of(rules[3:] if setup.needs_deadlines else rules)
    managers = 1 + dice.upto(2)
    drawn = Instance(seed, platform, jobs, partition, dispatcher, settings, setup, deadlines, target, sample, managers)
    # No rule that is drawn looks at the trace.
    rule, stated = deadlines or setup.deadlines, deadlines is None
    return replace(drawn, jobs=tuple(with_deadlines(list(jobs), None, rule, keep_stated=stated)))


def _draw_platform(dice: Dice, until: int, *, wide: bool) -> Platform:
    """Groups that lack a kind now and then, some with power; nodes closed for a time; `wide`: of many nodes."""
    kinds = ["cores", *dice.some_of([kind for kind in AMOUNTS if kind != "cores"], 0.4)]
    groups = []
    for prefix in "abcd"[: 1 + dice.upto(3)]:
        resources = {"cores": 1 + dice.upto(AMOUNTS["cores"] - 1)}
        resources |= {kind: dice.upto(AMOUNTS[kind]) for kind in kinds[1:] if dice.chance(0.8)}
        power = None
        if dice.chance(0.7):
            seconds = (0, 1, 9, until // 60)
            power = NodePower(
                idle_w=100.0, core_w=6.5, off_w=10.0, boot_s=dice.one_of(seconds), boot_w=125.0,
                shutdown_s=dice.one_of(seconds), shutdown_w=90.0,
            )  # fmt: skip
        most = 12 if wide else 3
        groups.append(NodeGroup(prefix, 1 + dice.upto(most), resources, power, always_on=dice.chance(0.15)))
    nodes = sum(group.count for group in groups)
    windows = []
    for _ in range(dice.one_of((0, 0, 1, 2))):
        closed = dice.some_of(range(nodes), 0.5)
        start = dice.upto(until)
        if closed:
            windows.append(Maintenance(tuple(closed), start, start + 1 + dice.upto(until // 2)))
    every = tuple(range(len(groups)))
    partitions = {
        f"part{i}": tuple(sorted({dice.one_of(every), *dice.some_of(every, 0.5)})) for i in range(dice.upto(2))
    }
    return Platform("fuzzed", tuple(groups), partitions, tuple(windows))


def _draw_settings(dice: Dice, dispatcher: str, platform: Platform) -> tuple[str, ...]:
    """Any that the dispatcher knows, as far as they go together."""
    chosen = []
    for key, values in known_settings(type(BUILT_IN_DISPATCHERS[dispatcher].setup)).items():
        if dice.chance(LIKELY.get(key, 0.4)):
            value = dice.one_of(values.split("|"))
            kind = dice.one_of(platform.kinds)
            number = dice.one_of(NUMBERS)
            number = dice.one_of(MULTIPLES if key == "longest_wait" else DECIMALS) if " " in value else number
            chosen.append(f"{key}={number if value == 'N' or ' ' in value else value.replace('KIND', kind)}")
    while True:
        try:
            find_dispatcher(dispatcher, tuple(chosen))
        except InputError:
            chosen.pop()
        else:
            return tuple(chosen)


def _draw_jobs(dice: Dice, platform: Platform, scale: int) -> tuple[tuple[ActualJob, ...], dict[int, str]]:
    """Many at the same times, in every relation of runtime to walltime; a few that no such machine can hold."""
    made, partition = [], {}
    spread = dice.one_of((0, 10, 60, 60, 200)) * scale
    narrow = dice.chance(0.5)
    numbers = dice.one_of((list(range(1, 40)), list(range(900, 0, -17))))
    for number in numbers[: 1 + dice.upto(dice.one_of((8, 16, 32)))]:
        submit = dice.upto(spread)
        earliest = submit + (dice.upto(20 * scale) if dice.chance(0.2) else 0)
        latest = earliest + dice.upto(40 * scale) if dice.chance(0.4) else None
        walltime = 1 + dice.upto(30 * scale)
        runtime = dice.one_of((walltime, max(1, walltime - 1), 1 + dice.upto(walltime), 1, walltime + 1 + dice.upto(9)))
        groups = platform.all_groups
        if platform.partitions and dice.chance(0.6):
            partition[number] = dice.one_of(sorted(platform.partitions))
            groups = sum(1 << group for group in platform.partitions[partition[number]])
        held = dice.one_of([group for place, group in enumerate(platform.groups) if groups >> place & 1]).resources
        request = [dice.upto(held.get(kind, 0)) for kind in platform.kinds]
        if dice.chance(0.05):
            request[dice.upto(len(request) - 1)] += 1 + dice.upto(5)
        if not any(request):
            request[0] = 1
        units = 1 + dice.upto(1 if narrow else 4)
        made.append(
            actual(
                number, submit, earliest, latest, walltime, units, tuple(request), groups,
                dice.one_of(("", "short", "long")), dice.one_of(("", "ann", "bob")), runtime=runtime,
            )
        )  # fmt: skip
    made.sort(key=lambda job: (job.submit, job.number))
    for place, job in enumerate(made):
        if place and dice.chance(0.15):
            made[place] = replace(job, after=dice.one_of(made[:place]).number, think=dice.upto(9 * scale))
    return tuple(made), partition


def _draw_target(dice: Dice, platform: Platform, setup: AnySetUp, until: int) -> Target:
    """Nothing, a desired profile of some kinds of the machine and of nodes, or a plan's target that switches nodes."""
    splits = [split for split in Split if split is not Split.SHARED or setup.shares_profile]
    what = dice.one_of(("nothing", "profile", "profile", "target", "target", "target"))
    switchable = [index for index, group in enumerate(platform.groups) if group.power]
    if what == "target" and switchable and setup.switches:
        steps = {
            index: [
                _draw_steps(dice, group.count, group.count, until) if dice.chance(share) else None
                for share in (0.9, 0.3)
            ]
            for index, group in enumerate(platform.groups)
            if index in switchable and dice.chance(0.9)
        }
        desired = None
        if dice.chance(0.4):
            desired = DesiredProfile(
                platform, {0: _draw_steps(dice, platform.cores, platform.cores, until)}, split=dice.one_of(splits)
            )
        switching = Switching(
            {index: spares for index, (spares, _) in steps.items() if spares is not None},
            {index: floors for index, (_, floors) in steps.items() if floors is not None},
            dice.one_of((0, 1, 5, until // 20)), dice.one_of((1.0, 2.5, 24.0, 5000.0)),
        )  # fmt: skip
        return Target(desired, switching)
    if what == "nothing":
        return Target()
    machine, nodes = {}, {}
    for kind in range(len(platform.kinds)):
        total = int(platform.capacity[:, kind].sum())
        if dice.chance(0.6):
            machine[kind] = _draw_steps(dice, total, total, until)
        some = dice.some_of(range(platform.node_count), 0.1)
        for node in some if setup.profile_split is not Split.SHARED else ():
            capacity = int(platform.capacity[node, kind])
            nodes[node, kind] = _draw_steps(dice, capacity, total, until)
    return Target(DesiredProfile(platform, machine, nodes, setup.profile_split))


def _draw_steps(dice: Dice, before: int, most: int, until: int) -> StepFunction:
    """What a file can say: `before` its first step, then whatever it says; half of them begin early."""
    first = {-5: dice.upto(most)} if dice.chance(0.5) else {}
    steps = first | {dice.upto(until): dice.one_of((0, most, dice.upto(most))) for _ in range(1 + dice.upto(3))}
    return StepFunction.from_steps(before, steps.items())


def write_instance(instance: Instance, folder: Path) -> RunSpec:
    """Write trace, platform and wishes; return what a run of them is asked."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "platform.toml").write_text(_toml(instance.platform))
    _write_trace(instance, folder / "trace.csv")
    profile = None
    if instance.target.switching is not None:
        profile = folder / "target.json"
        write_target(profile, instance.target, instance.platform)
    elif instance.target.desired is not None:
        profile = folder / "profile.csv"
        _write_profile(instance.target.desired, profile)
    return RunSpec(
        trace=folder / "trace.csv", platform=folder / "platform.toml", dispatcher=instance.dispatcher,
        out=folder / "out", seed=instance.seed, profile=profile, deadlines=instance.deadlines,
        settings=instance.settings, think_times=True, strict=True, task_managers=instance.task_managers,
        sample=instance.sample,
    )  # fmt: skip


def command_of(request: RunSpec) -> list[str]:
    """The words of the `dardis simulate` that asks the same."""
    options = {
        "--platform": request.platform, "--dispatcher": request.dispatcher, "--out": request.out,
        "--seed": request.seed, "--profile": request.profile, "--deadlines": request.deadlines,
        "--task-managers": request.task_managers, "--arity": request.arity or None, "--sample": request.sample or None,
    }  # fmt: skip
    said = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    said += [word for setting in request.settings for word in ("--set", setting)]
    return ["simulate", str(request.trace), *said, "--think-times", "--strict", "--force", "--no-report"]


def _toml(platform: Platform) -> str:
    lines = [f'name = "{platform.name}"']
    for group in platform.groups:
        resources = ", ".join(f"{kind} = {amount}" for kind, amount in group.resources.items())
        lines += ["[[nodes]]", f"count = {group.count}", f'prefix = "{group.prefix}"', f"resources = {{ {resources} }}"]
        lines += [f"always_on = {str(group.always_on).lower()}"]
        if group.power:
            names = [name for name in NodePower.__dataclass_fields__ if name != "device_w"]
            lines.append("power = { " + ", ".join(f"{name} = {getattr(group.power, name)}" for name in names) + " }")
    if platform.partitions:
        lines.append("[partitions]")
        for name, groups in platform.partitions.items():
            lines.append(f"{name} = [" + ", ".join(f'"{platform.groups[group].prefix}"' for group in groups) + "]")
    for window in platform.maintenance:
        lines += [
            "[[maintenance]]",
            f"nodes = {list(window.nodes)}",
            f"start_s = {window.start}",
            f"end_s = {window.end}",
        ]
    return "\n".join(lines) + "\n"


def _write_trace(instance: Instance, path: Path) -> None:
    """Without the deadlines of a rule, which the command gives again; those that were stated before it stay."""
    header = ["job_id", "submit_s", "runtime_s", "walltime_s", "units", "est_s", "lst_s", "queue", "user", "partition"]
    header += ["after", "think_s", *(f"req_{kind}" for kind in instance.platform.kinds)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for job in reversed(instance.jobs):
            stated = "" if job.latest is None else job.latest
            after, think = ("", "") if job.after is None else (job.after, job.think)
            names = (job.queue, job.user, instance.partition.get(job.number, ""))
            row = [job.number, job.submit, job.runtime, job.walltime, job.units, job.earliest, stated, *names]
            writer.writerow([*row, after, think, *job.request])


def _write_profile(desired: DesiredProfile, path: Path) -> None:
    functions = [("*", kind, function) for kind, function in desired.machine.items()]
    functions += [(str(node), kind, function) for (node, kind), function in desired.nodes.items()]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["time_s", "node", "kind", "value"])
        for node, kind, function in functions:
            for time, value in zip(function.times[1:].tolist(), function.values[1:].tolist(), strict=True):
                writer.writerow([time, node, desired.platform.kinds[kind], value])
