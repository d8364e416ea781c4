"""Hybrid loop: plans each day, then simulates the real jobs."""

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
from dardis.model.job import ActualJob
from dardis.model.platform import Platform
from dardis.model.schedule import Downtime, Schedule
from dardis.model.step_function import StepFunction
from dardis.model.target import Switching, Target
from dardis.power.account import Account, Gain, account, accounted_jobs, gain
from dardis.power.conditions import Conditions
from dardis.power.node_power import MachinePower
from dardis.registry import Dispatcher, find_dispatcher, names_of_capable
from dardis.runs.error_source import attribute_errors
from dardis.runs.inputs import STARTS_ONLY
from dardis.runs.kernel_warmup import warm_kernels
from dardis.runs.play import SimulatedRun, play
from dardis.workload.deadlines import with_requested_deadlines
from offline.day.day import DayPlan, desired_profile_of, plan_day, usable_cores
from offline.day.hindsight import Hindsight
from offline.day.hours_before import LEARN_DAYS
from offline.day.idle_reserve import break_even_seconds, reactive_switching
from offline.day.plan_spec import DaySpec, Reactive, SwitchingRule
from offline.loop.shift import shift_jobs
from offline.onoff.spans import clairvoyant_downtime, nodes_up
from offline.planner.budget import SearchProgress
from offline.site.calendar import DAY_S
from offline.site.site_inputs import SiteInputs

REACTIVE_IDLE_S: Final = 900
REACTIVE_SPARES: Final = (0.01, 0.03, 0.1)
"""Of rival rules, share of all nodes."""


@dataclass(frozen=True)
class LoopOptions:
    """UTC days (both included), dispatcher, and planning options.

    `shift_h`: most hours to hold jobs for cheap energy. `cap`: effect of target cores. `deadlines`: rule for latest
    starts (None: the trace's, otherwise the dispatcher's).
    """

    days: tuple[int, int]
    day: DaySpec
    dispatcher: str = "dardis-throughput"
    settings: tuple[str, ...] = ()
    shift_h: float = 0.0
    cap: ProfileRule = ProfileRule.OFF
    deadlines: str | None = None
    lead_s: int = 0
    """Seconds from planning to a day's beginning."""
    reactive: Reactive | None = None
    """Replaces the plans' switching."""

    @property
    def switching(self) -> str:
        """Text of the switching rule."""
        return str(self.reactive or self.day.switching)


def lead_of(plan_at: str) -> int:
    """Seconds from a time of day to midnight. Raises InputError."""
    try:
        moment = datetime.strptime(plan_at, "%H:%M").replace(tzinfo=UTC)
    except ValueError:
        raise InputError("--plan-at", repr(plan_at), "a UTC time of day such as 15:00") from None
    return -(moment.hour * 3600 + moment.minute * 60) % DAY_S


@dataclass(frozen=True)
class SimulatedDays:
    """Simulation result: schedule, downtime, boot delays and account."""

    schedule: Schedule
    downtime: Downtime
    boot_delay: Ints
    account: Account


@dataclass(frozen=True)
class Loop:
    """Loop's result, beside all nodes on and clairvoyant switching.

    Accounts cover the days only.
    """

    site: SiteInputs
    options: LoopOptions
    conditions: Conditions
    plans: tuple[DayPlan, ...]
    target: Target
    always_on: SimulatedDays
    clairvoyant: SimulatedDays
    """All nodes on, except in idle gaps beyond break-even (`offline.onoff.spans`)."""
    switched: SimulatedDays
    reactive_runs: Mapping[Reactive, SimulatedDays]
    """Reactive rules; empty without switching."""
    notes: tuple[str, ...] = ()

    @property
    def share_of_bound(self) -> float | None:
        """Gain over the clairvoyant gain; None without switching or positive clairvoyant gain.

        May exceed 1: delayed jobs may run at better times.
        """
        profits = (lived.account.profit for lived in (self.switched, self.always_on, self.clairvoyant))
        return self.share(*profits)

    def share(self, switched: float, always_on: float, clairvoyant: float) -> float | None:
        """Share of the bound for a part of the days."""
        if self.target.switching is None or clairvoyant <= always_on:
            return None
        return (switched - always_on) / (clairvoyant - always_on)

    @property
    def nodes_on(self) -> StepFunction:
        """Nodes up over time."""
        return nodes_up(self.switched.downtime, self.site.platform.node_count)

    @property
    def gain(self) -> Gain:
        """Sources of the gain over all nodes on."""
        return gain(self.always_on.account, self.switched.account)

    @cached_property
    def all_on_account(self) -> Account:
        """Account of the `switched` schedule with all nodes on."""
        return _simulated_days(
            self.site, self.conditions, self.switched.schedule, Downtime.none(), self.switched.boot_delay
        ).account

    def counted(self, lived: SimulatedDays) -> np.ndarray:
        """Whether jobs were submitted in the days and ran, (jobs,)."""
        schedule = lived.schedule
        inside = (schedule.submit >= self.conditions.start) & (schedule.submit < self.conditions.end)
        return np.asarray(inside & schedule.ran)


def run_loop(site: SiteInputs, options: LoopOptions, progress: SearchProgress) -> Loop:
    """Run the days. Raises InputError for days without history, jobs, weather or prices."""
    dispatcher = _dispatcher(options)
    switches = options.reactive is not None or options.day.switching is not SwitchingRule.OFF
    if switches and not dispatcher.setup.switches:
        expected = f"one of {names_of_capable(lambda setup: setup.switches)}"
        raise InputError(f"--dispatcher {options.dispatcher}", "switches no nodes", expected)
    first, last = options.days
    start, end = site.calendar.day(first)[0], site.calendar.day(last)[1]
    conditions = site.conditions(first, last - first + 1)
    begin = start - LEARN_DAYS * DAY_S
    due = with_requested_deadlines(site.jobs, site.trace, options.deadlines, dispatcher.setup.deadlines)
    jobs = [job for job in due if begin <= job.submit < end]
    known = sum(job.submit < start for job in jobs)
    if not 0 < known < len(jobs):
        found = f"{known} jobs before these days and {len(jobs) - known} in them"
        raise InputError(f"--days {first}-{last}", found, "days with jobs, and jobs before them")
    with attribute_errors(dispatcher):
        warm_kernels(dispatcher, wished=options.cap is not ProfileRule.OFF)
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
        desired = desired_profile_of(site.platform, [usable_cores(plan) for plan in plans])
    switching = join_switching([plan.targets.switching for plan in plans])
    if options.reactive is not None:
        switching = reactive_switching(options.reactive, site.platform, start)
    target = Target(desired, switching, site.calendar.offset)
    held = _shift_starts(site, jobs, before.schedule, options)

    def lived_with(asked: Target) -> SimulatedDays:
        return _of_play(site, conditions, play(site.platform, held, dispatcher, asked, options.day.seed))

    progress("the days", None, None)
    lived = lived_with(target)
    rivals = {}
    for rule in _reactive_rules(site.platform) if switching is not None else ():
        progress(f"the days under {rule}", None, None)
        other = replace(target, switching=reactive_switching(rule, site.platform, start))
        rivals[rule] = lived if rule == options.reactive else lived_with(other)
    base = before.schedule
    always_on = _simulated_days(site, conditions, base, Downtime.none(), np.zeros(len(jobs), dtype=np.int64))
    bound = clairvoyant_downtime(base, site.platform, conditions.start, conditions.end)
    best = _simulated_days(site, conditions, base, bound, always_on.boot_delay)
    notes = _of_cap(options.cap, dispatcher.setup, jobs)
    return Loop(site, options, conditions, tuple(plans), target, always_on, best, lived, rivals, notes)


def _reactive_rules(platform: Platform) -> tuple[Reactive, ...]:
    even = break_even_seconds(platform)
    numbers = [ceil(share * platform.node_count) for share in REACTIVE_SPARES]
    rules = (Reactive(even), Reactive(REACTIVE_IDLE_S), *(Reactive(even, spares) for spares in numbers))
    return tuple(dict.fromkeys(rules))


def _dispatcher(options: LoopOptions) -> Dispatcher:
    if options.cap is ProfileRule.OFF:
        return find_dispatcher(options.dispatcher, options.settings)
    for said in options.settings:
        if said.partition("=")[0].strip() == "profile":
            raise InputError(f"--set {said}", f"--cap {options.cap} sets the profile rule", "one of the two")
    return find_dispatcher(options.dispatcher, (*options.settings, f"profile={options.cap}"))


def _of_cap(cap: ProfileRule, setup: AnySetUp, jobs: Sequence[ActualJob]) -> tuple[str, ...]:
    if cap is ProfileRule.HARD and setup.checks_starts_only:
        return (STARTS_ONLY,)
    if cap is ProfileRule.SOFT and all(job.latest is None for job in jobs):
        return ("no job has a deadline, so the soft cap is a hard cap (see --deadlines RULE)",)
    return ()


def _shift_starts(site: SiteInputs, jobs: Sequence[ActualJob], past: Schedule, options: LoopOptions) -> list[ActualJob]:
    if options.shift_h <= 0:
        return list(jobs)
    return shift_jobs(site, jobs, past, options.days, options.shift_h)


def _of_play(site: SiteInputs, conditions: Conditions, played: SimulatedRun) -> SimulatedDays:
    recorder = played.recorder
    return _simulated_days(
        site, conditions, played.schedule, recorder.downtime(), np.array(recorder.boot_delay, dtype=np.int64)
    )


def _simulated_days(
    site: SiteInputs, conditions: Conditions, schedule: Schedule, downtime: Downtime, delay: Ints
) -> SimulatedDays:
    told = account(
        accounted_jobs(schedule, site.platform), downtime, MachinePower.of_platform(site.platform), conditions,
        site.cooling,
        site.tariff,
    )  # fmt: skip
    return SimulatedDays(schedule, downtime, delay, told)


def join_switching(days: Sequence[Switching | None]) -> Switching | None:
    """Join the switching of consecutive days, all nodes on before; None without any."""
    some = [day for day in days if day is not None]
    if not some:
        return None
    if len(some) < len(days):
        raise ValueError("days with and without switching")
    groups = {
        name: {
            group: _join_functions([getattr(day, name)[group] for day in some])
            for group in sorted({group for day in some for group in getattr(day, name)})
        }
        for name in ("spares", "floors")
    }
    return replace(some[0], spares=groups["spares"], floors=groups["floors"])


def _join_functions(functions: Sequence[StepFunction]) -> StepFunction:
    steps = [
        step
        for function, following in zip(functions, [*functions[1:], None], strict=True)
        for step in zip(function.times[1:].tolist(), function.values[1:].tolist(), strict=True)
        if following is None or step[0] < following.times[1]
    ]
    kept = [step for step, last in zip(steps, [None, *steps], strict=False) if last is None or step[1] != last[1]]
    return StepFunction.from_steps(int(functions[0].values[0]), kept)
