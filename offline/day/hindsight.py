"""Hindsight plans of past days, and replays under a rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, takewhile

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.errors import InputError
from dardis.model.job import FOREVER
from dardis.model.platform import NodePower, Platform
from dardis.model.schedule import Downtime, Schedule
from dardis.model.series import Series
from dardis.model.step_function import ZERO, StepFunction
from dardis.model.target import Switching
from dardis.power.account import AccountedJobs, accounted_jobs
from dardis.power.conditions import Conditions
from offline.day.hours_before import MachineHistory, history_at
from offline.extract.target_tree import TargetTree, learn_target
from offline.forecast.forecast import forecast
from offline.forecast.submission_history import ShortHistoryError
from offline.onoff.reserve_replay import NodeDemand, PastDemand, demands_of
from offline.planner.budget import SearchBudget, Watch
from offline.planner.day_problem import DayProblem, ExpectedJob
from offline.planner.improve import improve
from offline.planner.machine_use import cores_used
from offline.planner.packing import plan_jobs, state_at
from offline.planner.searches import heuristic
from offline.site.calendar import DAY_S, HOUR_S
from offline.site.history import jobs_that_fit, predictor_of
from offline.site.site_inputs import SiteInputs

LEAST_DAYS = 5
"""Fewest past days for learning."""
MOST_DAYS = 14
MOST_JOBS = 40_000
"""Of all past days used, but at least `LEAST_DAYS` days."""
GROUPS = 200


@dataclass
class Hindsight:
    """Cached plans and forecasts of past days, each planned `lead_s` before its beginning."""

    site: SiteInputs
    past: Schedule
    lead_s: int = 0
    switched_days: dict[tuple[int, str, int, float], tuple[SwitchedDay, SwitchedDay]] = field(default_factory=dict)
    """Past days under the learned rule and Slurm's."""
    _use: dict[int, Floats] = field(default_factory=dict)
    _demand: dict[int, Floats] = field(default_factory=dict)
    _conditions: dict[int, Conditions] = field(default_factory=dict)

    @cached_property
    def demands(self) -> dict[int, NodeDemand]:
        """Nodes in use in each group."""
        return demands_of(self.past, self.site.platform)

    @cached_property
    def work(self) -> AccountedJobs:
        """All jobs that ran."""
        return accounted_jobs(self.past, self.site.platform)

    def history_on(self, day: int) -> MachineHistory:
        """Knowledge at a day's midnight."""
        return history_at(self.site, self.past, day, self.site.calendar.day(day)[0])[0]

    def target(self, known: MachineHistory, day: int, seed: int) -> tuple[TargetTree | None, StepFunction]:
        """Learn from earlier days. Return the tree, if any, and target cores."""
        platform = self.site.platform
        days = self._covered_days(known.first_day, known.next_day, seed)
        if len(days) < LEAST_DAYS:
            return None, ZERO
        use = np.concatenate([self._use_of(d) for d in days])
        forecast_days = range(days[0], day + 1)
        edges = self.site.calendar.day(days[0])[0] + 3600 * np.arange(24 * len(forecast_days) + 1)
        demand = np.concatenate([self._demand_of(d, seed) for d in forecast_days])
        told = replace(known, more=known.more | {"forecast use": Series(edges, demand / platform.cores)})
        tree = learn_target(told.table(days[0], len(days)), use)
        return tree, tree.cores(told.table(day, 1), platform.cores)

    def _covered_days(self, first: int, day: int, seed: int) -> list[int]:
        recent = reversed(self.recent_days(first, day))
        return [*takewhile(lambda one: self._has_conditions(one, day) and self._can_forecast(one, seed), recent)][::-1]

    def _can_forecast(self, day: int, seed: int) -> bool:
        try:
            self._demand_of(day, seed)
        except ShortHistoryError:
            return False
        return True

    def recent_days(self, first: int, day: int) -> list[int]:
        """Recent complete days to learn from, limited by jobs."""
        days: list[int] = []
        jobs = 0
        for before in range(day - 1, max(first, day - MOST_DAYS) - 1, -1):
            start, end = self.site.calendar.day(before)
            jobs += int(np.count_nonzero((self.past.submit >= start) & (self.past.submit < end)))
            too_early = start - self.lead_s < int(self.past.submit.min()) + DAY_S
            if too_early or (jobs > MOST_JOBS and len(days) >= LEAST_DAYS):
                break
            days.append(before)
        return days[::-1]

    def _has_conditions(self, day: int, until: int) -> bool:
        if day not in self._conditions:
            try:
                several = self.site.conditions(day - MOST_DAYS, until - day + MOST_DAYS)
                days = range(day - MOST_DAYS, until)
            except InputError:
                try:
                    several, days = self.site.conditions(day), range(day, day + 1)
                except InputError:
                    return False
            for one in days:
                self._conditions[one] = several.between(*self.site.calendar.day(one))
        return True

    def _demand_of(self, day: int, seed: int) -> Floats:
        if day not in self._demand:
            made = forecast(self.site.with_waits(self.past), self.site.calendar, day, seed=seed, lead_s=self.lead_s)
            self._demand[day] = made.demand.in_use.mean
        return self._demand[day]

    def _expected_jobs(self, now: int) -> list[ExpectedJob]:
        site, past = self.site, self.past
        state = state_at(past, [job.job for job in site.jobs], site.platform, now, predictor_of(past))
        expected = dict(
            zip(state.running.number.tolist(), (state.running.finish - state.running.start).tolist(), strict=True)
        )
        expected |= {job.job.number: job.runtime for job in state.waiting}
        known = [job for job in jobs_that_fit(site.jobs, site.platform) if job.submit < now]
        # Traces without walltimes state runtimes instead.
        return [
            ExpectedJob(replace(job.job, walltime=max(job.walltime, runtime)), runtime)
            for job, runtime in ((job, expected.get(job.number, job.runtime)) for job in known)
        ]

    def _use_of(self, day: int) -> Floats:
        if day not in self._use:
            site, (start, end) = self.site, self.site.calendar.day(day)
            asked = [job.job for job in site.jobs]
            state = state_at(self.past, asked, site.platform, start, predictor_of(self.past))
            came = [job for job in self._expected_jobs(end) if start <= job.job.submit < end]
            problem = DayProblem(
                site.platform, self._conditions[day], site.cooling, site.tariff,
                plan_jobs([*state.waiting, *came], site.platform, start), state.running, horizon=end + DAY_S,
            )  # fmt: skip
            best = improve(problem, heuristic(problem), SearchBudget(GROUPS), Watch(), large_only=True)
            hours = start + 3600 * np.arange(25, dtype=np.int64)
            used = cores_used(problem, best.start)
            areas = [used.integral(a, b) for a, b in zip(hours[:-1].tolist(), hours[1:].tolist(), strict=True)]
            self._use[day] = np.array(areas) / (3600 * site.platform.cores)
        return self._use[day]


@dataclass(frozen=True)
class SwitchedDay:
    """Downtimes (nodes used in index order) and boot delays of a past day."""

    downtime: Downtime
    delay: Ints


def switched_day(
    demands: Mapping[int, NodeDemand], switching: Switching, platform: Platform, start: int, end: int
) -> SwitchedDay:
    """Simulate the day `[start, end)` under a rule."""
    hours = np.arange(start, end + 1, HOUR_S, dtype=np.int64)
    rows: list[tuple[int, int, int]] = []
    delay = []
    first = 0
    for group, nodes in enumerate(platform.groups):
        if not nodes.stays_on and (group in switching.spares or group in switching.floors):
            power = nodes.power or NodePower()
            spares, floors = (wish.get(group, ZERO).at(hours[:-1]) for wish in (switching.spares, switching.floors))
            found = PastDemand(demands[group], power, switching.idle_s, hours).replay(spares, floors)
            rows += downtime_rows(found.nodes_on, nodes.count, first, power)
            delay.append(found.delay)
        first += nodes.count
    return SwitchedDay(Downtime.of(rows), np.concatenate([*delay, np.zeros(0, dtype=np.int64)]))


def downtime_rows(on: StepFunction, count: int, first: int, power: NodePower) -> list[tuple[int, int, int]]:
    """Return (node, down, up) of `count` nodes from `first` on, the first `on` nodes on.

    Nodes off at first have been off for a day.
    """
    values = on.values.tolist()
    begin = int(on.times[1]) if len(on.times) > 1 else 0
    since = dict.fromkeys(range(values[0], count), begin - DAY_S)
    rows = []
    for time, (before, now) in zip(on.times[1:].tolist(), pairwise(values), strict=True):
        since |= dict.fromkeys(range(now, before), time)
        rows += [(first + node, since.pop(node), time + power.boot_s) for node in range(before, now)]
    return rows + [(first + node, down, FOREVER) for node, down in since.items()]
