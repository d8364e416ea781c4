"""The searches that are compared, each bounded so that a day costs seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from dardis.model.arrays import Ints
from offline.planner.budget import Effort, Watch
from offline.planner.day_problem import Plan, Problem
from offline.planner.improve import improve
from offline.planner.money import cores_of
from offline.planner.packing import Packing
from offline.planner.searches import heuristic, multi_search, plan_of
from scripts.lab.thesis_6.cases import SEED
from scripts.lab.thesis_6.delay_search import delay_search
from scripts.lab.thesis_6.roll import Search
from scripts.lab.thesis_6.solver_searches import Found, default_search, relaxation_search

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
        DELAY: lambda problem: (delay_search(problem, Effort(bounds.delays, SEED), Watch()), True),
        RELAXATION: lambda problem: _relaxation(problem, bounds),
        OURS: lambda problem: (
            improve(problem, multi_search(problem, Watch())[0], Effort(bounds.groups, SEED), Watch()), True
        ),
    }[name]  # fmt: skip


def _default(problem: Problem, bounds: Bounds) -> tuple[Plan, bool]:
    """What the solver finds by itself, however poor; the first solution of the heuristic where it finds nothing."""
    found = default_search(problem, Watch(bounds.guard_s), deterministic_s=bounds.solver_s, seed=SEED)
    plan = _placed(problem, found, DEFAULT)
    return (heuristic(problem), False) if plan is None else (plan, True)


def _relaxation(problem: Problem, bounds: Bounds) -> tuple[Plan, bool]:
    """What the solver makes better of multi-search's plan; that one where it makes nothing better."""
    before, _ = multi_search(problem, Watch())
    found = relaxation_search(problem, before, Watch(bounds.guard_s), deterministic_s=bounds.solver_s, seed=SEED)
    plan = _placed(problem, found, RELAXATION)
    return (before, False) if plan is None or plan.profit <= before.profit else (plan, True)


def _placed(problem: Problem, found: Found, name: str) -> Plan | None:
    """The wished starts on real nodes, each job as soon after its own as there is room."""
    return None if found.start is None else placed(problem, found.start, name)


def placed(problem: Problem, wished: Ints, name: str) -> Plan:
    """Every job as soon after its wished start as there is room, the earliest first, of equals the largest."""
    packing = Packing(problem)
    work = cores_of(problem) * problem.jobs.duration
    for job in np.lexsort((-work, wished)).tolist():
        packing.put(job, int(wished[job]))
    return plan_of(problem, packing, name)
