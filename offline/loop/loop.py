"""The loop over both halves: each day is planned from what is known, switched so, and lived as it really was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from math import ceil
from typing import Final

import numpy as np

from dardis.config.settings import AnySetUp
from dardis.model.arrays import Ints
from dardis.model.choices import ProfileRule
from dardis.model.errors import InputError
from dardis.model.job import Actual
from dardis.model.platform import Platform
from dardis.model.schedule import Downtime, Schedule
from dardis.model.step_function import StepFunction
from dardis.model.target import Switching, Target
from dardis.power.account import Account, Gain, account, gain, work_of
from dardis.power.conditions import Conditions
from dardis.power.node_power import MachinePower
from dardis.registry import Dispatcher, dispatchers_that, find_dispatcher
from dardis.runs.error_source import blamed
from dardis.runs.inputs import STARTS_ONLY
from dardis.runs.kernel_warmup import warm
from dardis.runs.play import Played, play
from dardis.workload.deadlines import deadlines_asked
from offline.day.day import DayPlan, desired_of, plan_day, wished_of
from offline.day.hindsight import Hindsight
from offline.day.hours_before import LEARN_DAYS
from offline.day.idle_reserve import break_even_seconds, reactive_switching
from offline.day.plan_spec import DaySpec, Reactive, SwitchingRule
from offline.loop.shift import shifted
from offline.onoff.spans import clairvoyant, nodes_up
from offline.planner.budget import SearchProgress
from offline.site.calendar import DAY_S
from offline.site.site_inputs import Site

RIVAL_IDLE_S: Final = 900
"""How long nodes idle, beside the break-even time, under the rules that the days are set beside."""
RIVAL_SPARES: Final = (0.01, 0.03, 0.1)
"""How many idle nodes stay on, as a share of all."""


@dataclass(frozen=True)
class LoopOptions:
    """Which UTC days (both included), under which dispatcher, and how each is planned.

    With `shift_h` above 0 jobs may be held for so many hours until energy is cheap. `cap` is what the cores that each
    day aims at mean to the dispatcher, `deadlines` the rule of jobs' latest starts (None: what the trace states, else
    the dispatcher's own).
    """

    days: tuple[int, int]
    day: DaySpec
    dispatcher: str = "dardis-throughput"
    settings: tuple[str, ...] = ()
    shift_h: float = 0.0
    cap: ProfileRule = ProfileRule.OFF
    deadlines: str | None = None
    lead_s: int = 0
    """How long before it begins each day is planned, s."""
    reactive: Reactive | None = None
    """The rule that switches nodes in place of the plans, whose own switching is off then."""

    @property
    def switching(self) -> str:
        """Which rule switches nodes, in words."""
        return str(self.reactive or self.day.switching)


def lead_of(plan_at: str) -> int:
    """How long before midnight a time of day is, s; 0 at midnight itself. Raises InputError."""
    try:
        moment = datetime.strptime(plan_at, "%H:%M").replace(tzinfo=UTC)
    except ValueError:
        raise InputError("--plan-at", repr(plan_at), "a time of day as 15:00, UTC") from None
    return -(moment.hour * 3600 + moment.minute * 60) % DAY_S


@dataclass(frozen=True)
class Lived:
    """What really happened: the schedule, who was down, how long each job waited for boots, and what it brought."""

    schedule: Schedule
    downtime: Downtime
    boot_delay: Ints
    account: Account


@dataclass(frozen=True)
class Loop:
    """Some days under the loop, beside the same dispatcher with all nodes on, and with clairvoyant switching of that.

    Accounts are of the days alone: what runs before or after them counts nothing.
    """

    site: Site
    options: LoopOptions
    conditions: Conditions
    plans: tuple[DayPlan, ...]
    target: Target
    always_on: Lived
    clairvoyant: Lived
    """The schedule with all nodes on, with every idle gap over break-even off (`offline.onoff.spans`)."""
    switched: Lived
    rivals: Mapping[Reactive, Lived]
    """The same days under rules that look at nothing but idle nodes; empty where nothing is switched."""
    notes: tuple[str, ...] = ()
    """On what the cap means under this dispatcher, for people."""

    @property
    def share_of_bound(self) -> float | None:
        """The gain over the clairvoyant gain; None where that is not above 0, or no node was to be switched.

        It may exceed 1: clairvoyant switching keeps the schedule with all nodes on, and delayed jobs may run at better
        times than there.
        """
        profits = (lived.account.profit for lived in (self.switched, self.always_on, self.clairvoyant))
        return self.share(*profits)

    def share(self, switched: float, always_on: float, clairvoyant: float) -> float | None:
        """The same of the profits of some of the time."""
        if self.target.switching is None or clairvoyant <= always_on:
            return None
        return (switched - always_on) / (clairvoyant - always_on)

    @property
    def nodes_on(self) -> StepFunction:
        """Nodes that were not down, over time."""
        return nodes_up(self.switched.downtime, self.site.platform.node_count)

    @property
    def gain(self) -> Gain:
        """Where the difference to all nodes on comes from."""
        return gain(self.always_on.account, self.switched.account)

    @cached_property
    def left_on(self) -> Account:
        """Of `switched`, had all nodes been on all the same: what is more there is what switching itself brought."""
        return _lived(
            self.site, self.conditions, self.switched.schedule, Downtime.none(), self.switched.boot_delay
        ).account

    def counted(self, lived: Lived) -> np.ndarray:
        """Which jobs of a schedule were submitted in the days and ran, shape (jobs,)."""
        schedule = lived.schedule
        inside = (schedule.submit >= self.conditions.start) & (schedule.submit < self.conditions.end)
        return np.asarray(inside & schedule.ran)


def run_loop(site: Site, options: LoopOptions, progress: SearchProgress) -> Loop:
    """Live through the days. Raises InputError for days without history, jobs, weather or prices."""
    dispatcher = _dispatcher(options)
    switches = options.reactive is not None or options.day.switching is not SwitchingRule.OFF
    if switches and not dispatcher.setup.switches:
        expected = f"one of {dispatchers_that(lambda setup: setup.switches)}"
        raise InputError(f"--dispatcher {options.dispatcher}", "switches no nodes", expected)
    first, last = options.days
    start, end = site.calendar.day(first)[0], site.calendar.day(last)[1]
    conditions = site.conditions(first, last - first + 1)
    begin = start - LEARN_DAYS * DAY_S
    due = deadlines_asked(site.jobs, site.trace, options.deadlines, dispatcher.setup.deadlines)
    jobs = [job for job in due if begin <= job.submit < end]
    known = sum(job.submit < start for job in jobs)
    if not 0 < known < len(jobs):
        found = f"{known} jobs before and {len(jobs) - known} in them"
        raise InputError(f"--days {first}-{last}", found, "days with jobs, and some before them")
    with blamed(dispatcher):
        warm(dispatcher, wished=options.cap is not ProfileRule.OFF)
    progress("all nodes on", None, None)
    before = play(site.platform, jobs, dispatcher, Target(), options.day.seed)
    site = replace(site, jobs=jobs)
    hindsight = Hindsight(site, before.schedule, options.lead_s)
    plans = []
    for day in range(first, last + 1):
        progress(f"planning day {day} of {last}", None, None)
        plans.append(plan_day(hindsight, day, options.day))
    desired = None
    if options.cap is not ProfileRule.OFF:
        desired = desired_of(site.platform, [wished_of(plan) for plan in plans])
    switching = joined([plan.aims.switching for plan in plans])
    if options.reactive is not None:
        switching = reactive_switching(options.reactive, site.platform, start)
    target = Target(desired, switching, site.calendar.offset)
    held = _held(site, jobs, before.schedule, options)

    def lived_with(asked: Target) -> Lived:
        return _of_play(site, conditions, play(site.platform, held, dispatcher, asked, options.day.seed))

    progress("the days as they were", None, None)
    lived = lived_with(target)
    rivals = {}
    for rule in rivals_on(site.platform) if switching is not None else ():
        progress(f"the days under {rule}", None, None)
        other = replace(target, switching=reactive_switching(rule, site.platform, start))
        rivals[rule] = lived if rule == options.reactive else lived_with(other)
    base = before.schedule
    always_on = _lived(site, conditions, base, Downtime.none(), np.zeros(len(jobs), dtype=np.int64))
    bound = clairvoyant(base, site.platform, conditions.start, conditions.end)
    best = _lived(site, conditions, base, bound, always_on.boot_delay)
    notes = _of_cap(options.cap, dispatcher.setup, jobs)
    return Loop(site, options, conditions, tuple(plans), target, always_on, best, lived, rivals, notes)


def rivals_on(platform: Platform) -> tuple[Reactive, ...]:
    """What Slurm's own power saving might be told: idle for break-even or 900 s, and several numbers of spares."""
    even = break_even_seconds(platform)
    numbers = [ceil(share * platform.node_count) for share in RIVAL_SPARES]
    rules = (Reactive(even), Reactive(RIVAL_IDLE_S), *(Reactive(even, spares) for spares in numbers))
    return tuple(dict.fromkeys(rules))


def _dispatcher(options: LoopOptions) -> Dispatcher:
    """The dispatcher, told what the cap means. Raises InputError where both `--cap` and `--set` say it."""
    if options.cap is ProfileRule.OFF:
        return find_dispatcher(options.dispatcher, options.settings)
    for said in options.settings:
        if said.partition("=")[0].strip() == "profile":
            raise InputError(f"--set {said}", f"--cap {options.cap} says what the profile means", "one of both")
    return find_dispatcher(options.dispatcher, (*options.settings, f"profile={options.cap}"))


def _of_cap(cap: ProfileRule, setup: AnySetUp, jobs: Sequence[Actual]) -> tuple[str, ...]:
    """A note where the cap is another one than its name says."""
    if cap is ProfileRule.HARD and setup.checks_starts_only:
        return (STARTS_ONLY,)
    if cap is ProfileRule.SOFT and all(job.latest is None for job in jobs):
        return ("no job has a deadline, so the soft cap is a hard one: --deadlines RULE gives them some",)
    return ()


def _held(site: Site, jobs: Sequence[Actual], past: Schedule, options: LoopOptions) -> list[Actual]:
    if options.shift_h <= 0:
        return list(jobs)
    return shifted(site, jobs, past, options.days, options.shift_h)


def _of_play(site: Site, conditions: Conditions, played: Played) -> Lived:
    recorder = played.recorder
    return _lived(site, conditions, played.schedule, recorder.downtime(), np.array(recorder.boot_delay, dtype=np.int64))


def _lived(site: Site, conditions: Conditions, schedule: Schedule, downtime: Downtime, delay: Ints) -> Lived:
    told = account(
        work_of(schedule, site.platform), downtime, MachinePower.of_platform(site.platform), conditions, site.cooling,
        site.tariff,
    )  # fmt: skip
    return Lived(schedule, downtime, delay, told)


def joined(days: Sequence[Switching | None]) -> Switching | None:
    """The switching of consecutive days as one, all nodes on before them; None when no day switches anything."""
    some = [day for day in days if day is not None]
    if not some:
        return None
    if len(some) < len(days):
        raise ValueError("days with and without switching")
    groups = {
        name: {
            group: _one([getattr(day, name)[group] for day in some])
            for group in sorted({group for day in some for group in getattr(day, name)})
        }
        for name in ("spares", "floors")
    }
    return replace(some[0], spares=groups["spares"], floors=groups["floors"])


def _one(functions: Sequence[StepFunction]) -> StepFunction:
    """Each function from its first step on, until the next one's."""
    steps = [
        step
        for function, following in zip(functions, [*functions[1:], None], strict=True)
        for step in zip(function.times[1:].tolist(), function.values[1:].tolist(), strict=True)
        if following is None or step[0] < following.times[1]
    ]
    kept = [step for step, last in zip(steps, [None, *steps], strict=False) if last is None or step[1] != last[1]]
    return StepFunction.from_steps(int(functions[0].values[0]), kept)
