"""The searches that are compared, each bounded so that a day costs seconds; the thesis's delay search is here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dardis.model.arrays import Ints
from offline.planner.budget import SearchBudget, Watch
from offline.planner.day_problem import DayProblem, Plan
from offline.planner.improve import improve
from offline.planner.money import cores_of, rank_of
from offline.planner.packing import Packing
from offline.planner.searches import heuristic, multi_search, plan_of
from scripts.lab.thesis_6.cases import SEED
from scripts.lab.thesis_6.solver_searches import default_search, relaxation_search

DELAY_S = 3600
"""How much later delay search tries a job each time; the thesis does not say."""


def delay_search(problem: DayProblem, budget: SearchBudget, watch: Watch) -> Plan:
    """Algorithm 7: delay the jobs of the best order, the last one first, each again and again up to the horizon.

    A job that has got there is fixed where the best plan has it. An iteration is one run of the heuristic.
    """
    best, order = multi_search(problem, watch)
    rank = rank_of(problem, best.start)[0]
    fixed: list[int] = []
    left = budget.iterations
    with watch.interruptible():
        for job in order[::-1].tolist():
            for first in range(int(best.start[job]) + DELAY_S, problem.horizon + 1, DELAY_S):
                if left == 0 or watch.over():
                    return replace(best, stopped_by=watch.stopped_by)
                packing = _delayed(problem, order, best, fixed, job, first)
                found = rank_of(problem, packing.start)[0]
                if found > rank:
                    rank, best = found, plan_of(problem, packing, "delay search")
                left -= 1
                watch.progress(f"delay search, {left} runs left", best.profit, None)
            fixed.append(job)
    return replace(best, stopped_by=watch.stopped_by)


def _delayed(problem: DayProblem, order: Ints, best: Plan, fixed: list[int], late: int, first: int) -> Packing:
    """The heuristic with some jobs fixed where they are in a plan, and one that does not start before `first`."""
    packing = Packing(problem)
    packing.place_as_planned(best, fixed)
    settled = set(fixed)
    for job in order.tolist():
        if job not in settled:
            packing.put(job, first if job == late else None)
    return packing


Search = Callable[[DayProblem], tuple[Plan, bool]]
"""Plans a day; also says whether it found a plan of its own."""
DEFAULT, MULTI, DELAY, RELAXATION, OURS = "solver's default", "multi-search", "delay search", "relaxation", "ours"
BY_SOLVER: Final = (DEFAULT, RELAXATION)
SEARCHES: Final = (DEFAULT, MULTI, RELAXATION, DELAY, OURS)


@dataclass(frozen=True)
class Bounds:
    """What a search may do for a day: runs of the heuristic, groups rebuilt, and the solver's seconds.

    `solver_s` is of the solver's deterministic time, `guard_s` of the clock: the first is what should end it.
    """

    delays: int = 60
    groups: int = 400
    solver_s: float = 1.0
    guard_s: float = 25.0

    def of(self, search: str) -> tuple[float, ...]:
        """Those that a search heeds."""
        if search in BY_SOLVER:
            return self.solver_s, self.guard_s
        return {MULTI: (), DELAY: (self.delays,), OURS: (self.groups,)}[search]


QUICK: Final = Bounds()
FULL: Final = Bounds(delays=300, groups=2000, solver_s=10.0, guard_s=60.0)


def search_of(name: str, bounds: Bounds) -> Search:
    """The search of a name."""
    return {
        DEFAULT: lambda problem: _default(problem, bounds),
        MULTI: lambda problem: (multi_search(problem, Watch())[0], True),
        DELAY: lambda problem: (delay_search(problem, SearchBudget(bounds.delays, SEED), Watch()), True),
        RELAXATION: lambda problem: _relaxation(problem, bounds),
        OURS: lambda problem: (
            improve(problem, multi_search(problem, Watch())[0], SearchBudget(bounds.groups, SEED), Watch()), True
        ),
    }[name]  # fmt: skip


def _default(problem: DayProblem, bounds: Bounds) -> tuple[Plan, bool]:
    """What the solver finds by itself, however poor; the first solution of the heuristic where it finds nothing."""
    found = default_search(problem, Watch(bounds.guard_s), deterministic_s=bounds.solver_s, seed=SEED)
    plan = _placed(problem, found.start, DEFAULT)
    return (heuristic(problem), False) if plan is None else (plan, True)


def _relaxation(problem: DayProblem, bounds: Bounds) -> tuple[Plan, bool]:
    """What the solver makes better of multi-search's plan; that one where it makes nothing better."""
    before, _ = multi_search(problem, Watch())
    found = relaxation_search(problem, before, Watch(bounds.guard_s), deterministic_s=bounds.solver_s, seed=SEED)
    plan = _placed(problem, found.start, RELAXATION)
    return (before, False) if plan is None or plan.profit <= before.profit else (plan, True)


def _placed(problem: DayProblem, wished: Ints | None, name: str) -> Plan | None:
    """Every job as soon after its wished start as there is room, the earliest first, of equals the largest."""
    if wished is None:
        return None
    packing = Packing(problem)
    work = cores_of(problem) * problem.jobs.duration
    for job in np.lexsort((-work, wished)).tolist():
        packing.put(job, int(wished[job]))
    return plan_of(problem, packing, name)
