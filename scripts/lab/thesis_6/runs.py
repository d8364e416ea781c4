"""Does the runs: each trace under each search and scenario once, kept in files so that an interrupted whole goes on.

A trace is planned day by day: what a plan starts within its day stays, the rest is planned again the next day.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from dardis.metrics.audit import audit
from dardis.model.arrays import Integers, Ints
from dardis.model.job import NO_TIME
from dardis.model.placements import Placements, offsets_of
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.power.conditions import Tariff
from offline.planner.day_planner import schedule_of
from offline.planner.day_problem import DayProblem, Plan, PlanJobs, RunningJobs
from offline.planner.searches import rule_setups, schedule_by_rule
from offline.site.calendar import DAY_S
from scripts.lab.kit.cache import (
    Arrays,
    arrays_of,
    cached_arrays,
    code_version,
    fingerprint,
    placements_of,
    read_arrays,
)
from scripts.lab.thesis_6.cases import SCENARIOS, Case, Scenario, Workload, load
from scripts.lab.thesis_6.searches import BY_SOLVER, FULL, QUICK, SEARCHES, Bounds, Search, search_of


@dataclass(frozen=True)
class RolledPlan:
    """A trace that was planned whole. `start`, `placed` as in a plan, by job of the case."""

    start: Ints
    placed: Placements
    jobs_a_day: Ints
    """Jobs that were planned, on each day."""
    own: Ints
    """1 for each day on which the search found a plan of its own, else 0: what it fell back to was taken."""


class _PlannedStarts:
    """What is settled so far."""

    def __init__(self, case: Case) -> None:
        count = len(case.told.number)
        self._case = case
        self.start: Ints = np.full(count, NO_TIME, dtype=np.int64)
        self._nodes: list[Integers] = [np.zeros(0, dtype=np.int64)] * count
        self._units: list[Integers] = [np.zeros(0, dtype=np.int64)] * count

    def open(self, end: int) -> Ints:
        """Jobs that came before `end` and have not begun."""
        return np.flatnonzero((self.start == NO_TIME) & (self._case.told.submit < end))

    def settle(self, jobs: Ints, plan: Plan, end: int) -> None:
        """Keep what a plan of these jobs starts before `end`."""
        for place in np.flatnonzero(plan.start < end).tolist():
            job = int(jobs[place])
            self.start[job] = plan.start[place]
            self._nodes[job], self._units[job] = plan.placed.of(place)

    def running(self, now: int) -> RunningJobs:
        """What has begun and has not ended."""
        told = self._case.told
        on = np.flatnonzero((self.start != NO_TIME) & (self.start + told.duration > now))
        return RunningJobs(
            told.number[on], told.submit[on], self.start[on], self.start[on] + told.duration[on], told.request[on],
            told.core_w[on], told.income[on], self.held(on),
        )  # fmt: skip

    def held(self, jobs: Ints) -> Placements:
        """The nodes of jobs."""
        chosen = jobs.tolist()
        sizes = [len(self._nodes[job]) for job in chosen]
        empty = [np.zeros(0, dtype=np.int64)]
        return Placements(
            offsets_of(sizes),
            np.concatenate(empty + [self._nodes[job] for job in chosen]),
            np.concatenate(empty + [self._units[job] for job in chosen]),
        )


def roll(case: Case, scenario: Scenario, search: Search, progress: Callable[[int, int], None]) -> RolledPlan:
    """Plan every day until the last job has begun; `progress` is told each day and how many jobs are open.

    Raises ValueError for a plan that the audit refuses.
    """
    book, jobs_a_day, own = _PlannedStarts(case), [], []
    day = 0
    while (book.start == NO_TIME).any():
        begin, end = case.first + day * DAY_S, case.first + (day + 1) * DAY_S
        jobs = book.open(end)
        progress(day, len(jobs))
        found = True
        if len(jobs):
            problem = problem_of(case, scenario, jobs, book.running(begin), begin)
            plan, found = search(problem)
            judge(schedule_of(problem, plan), case, f"day {day}, {plan.search}")
            book.settle(jobs, plan, end)
        jobs_a_day.append(len(jobs))
        own.append(int(found))
        day += 1
    everything = np.arange(len(book.start))
    return RolledPlan(book.start, book.held(everything), np.array(jobs_a_day), np.array(own))


def problem_of(case: Case, scenario: Scenario, jobs: Ints, running: RunningJobs, begin: int) -> DayProblem:
    """A day's problem; jobs that don't find room on it may wait as long as their work takes, and a day."""
    told = PlanJobs(**{field.name: getattr(case.told, field.name)[jobs] for field in fields(PlanJobs)})
    told = replace(told, earliest=np.maximum(told.earliest, begin))
    cores = told.units * told.request[:, case.platform.kinds.index(CORES)]
    behind = int((cores * told.duration).sum()) // (case.platform.cores * DAY_S)
    return DayProblem(
        case.platform, case.conditions(scenario, begin, begin + DAY_S), scenario.cooling, Tariff(), told, running,
        horizon=begin + (2 + behind) * DAY_S,
    )  # fmt: skip


def whole_schedule(case: Case, scenario: Scenario, rolled: RolledPlan) -> Schedule:
    """All of a rolled plan as one schedule."""
    nobody = _PlannedStarts(case).running(case.first)
    problem = problem_of(case, scenario, np.arange(len(rolled.start)), nobody, case.first)
    plan = Plan(rolled.start, rolled.placed, 0.0, "")
    return schedule_of(problem, plan)


def judge(schedule: Schedule, case: Case, what: str, *, whole: bool = False) -> None:
    """Raise ValueError for a schedule that the audit refuses; a whole one must hold every job of the case."""
    expected = case.told.number.tolist() if whole else None
    for violation in audit(schedule, case.platform, expected=expected):
        raise ValueError(f"{case.workload.name} load, {what}: {violation}")


@dataclass(frozen=True)
class Part:
    """One trace under one search, planned in one scenario."""

    workload: Workload
    search: str
    scenario: Scenario
    bounds: Bounds

    def progress_text(self) -> str:
        """How progress calls it."""
        return f"{self.workload.name} load, {self.search}, {self.scenario.name}"


def parts(workloads: tuple[Workload, ...], *, full: bool) -> Iterator[Part]:
    """All that is to be planned, the slowest first: the solver's searches in one scenario, in all with `full`."""
    bounds = FULL if full else QUICK
    for search in sorted(SEARCHES, key=lambda name: name not in BY_SOLVER):
        for workload in workloads:
            for scenario in SCENARIOS if full or search not in BY_SOLVER else SCENARIOS[:1]:
                yield Part(workload, search, scenario, bounds)


def planned(out: Path, part: Part) -> RolledPlan:
    """The plan of a part: read, or made and kept."""
    case = load(out, part.workload)
    told = (case.told.submit, case.told.duration, case.told.core_w, case.cores)
    name = fingerprint(code_version(), (part.search, part.scenario, part.bounds.of(part.search)), *told)
    path = cached_arrays(out / "runs" / f"{name}.npz", lambda: _planned(case, part))
    arrays = read_arrays(path)
    return RolledPlan(arrays["start"], placements_of(arrays), arrays["jobs_a_day"], arrays["own"])


def _planned(case: Case, part: Part) -> Arrays:
    def tell(day: int, jobs: int) -> None:
        sys.stderr.write(f"{part.progress_text()}: day {day}, {jobs} jobs\n")

    rolled = roll(case, part.scenario, search_of(part.search, part.bounds), tell)
    judge(whole_schedule(case, part.scenario, rolled), case, part.search, whole=True)
    own = {"start": rolled.start, "jobs_a_day": rolled.jobs_a_day, "own": rolled.own}
    return own | arrays_of(rolled.placed)


def rules(case: Case) -> dict[str, Ints]:
    """The starts that each of the six rule-based set-ups gives the trace, told true durations."""
    platform, jobs = case.powered()
    nothing = np.zeros(0, dtype=np.int64)
    none = np.zeros(0)
    nobody = RunningJobs(
        nothing, nothing, nothing, nothing, np.zeros((0, len(platform.kinds)), dtype=np.int64), none, none,
        Placements.none(0),
    )  # fmt: skip
    found = {}
    for name, setup in rule_setups().items():
        schedule = schedule_by_rule(jobs, nobody, platform, setup, case.first)
        for violation in audit(schedule, platform, expected=case.told.number.tolist()):
            raise ValueError(f"{case.workload.name} load, {name}: {violation}")
        order = np.argsort(schedule.number)
        found[name] = schedule.start[order[np.searchsorted(schedule.number[order], case.told.number)]]
    return found
