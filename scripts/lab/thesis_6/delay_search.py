"""The thesis's delay search (6.7.3): jobs of multi-search's plan, delayed one after another where that brings more."""

from __future__ import annotations

from dataclasses import replace

from dardis.model.arrays import Ints
from offline.planner.budget import Effort, Watch
from offline.planner.day_problem import Plan, Problem
from offline.planner.money import rank_of
from offline.planner.packing import Packing
from offline.planner.searches import multi_search, plan_of

DELAY_S = 3600
"""How much later delay search tries a job each time; the thesis does not say."""


def delay_search(problem: Problem, budget: Effort, watch: Watch) -> Plan:
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


def _delayed(problem: Problem, order: Ints, best: Plan, fixed: list[int], late: int, first: int) -> Packing:
    """The heuristic with some jobs fixed where they are in a plan, and one that does not start before `first`."""
    packing = Packing(problem)
    packing.keep_all(best, fixed)
    settled = set(fixed)
    for job in order.tolist():
        if job not in settled:
            packing.put(job, first if job == late else None)
    return packing
