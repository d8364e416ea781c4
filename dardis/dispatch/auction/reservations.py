"""Reservations of jobs that cannot start now (not in 001)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dardis.dispatch.cp.decision_problem import BlockedCapacity, DecisionProblem
from dardis.dispatch.cp.first_answer import ProblemMachine


def with_reservations(problem: DecisionProblem, window: Sequence[int], most: int) -> tuple[DecisionProblem, list[int]]:
    """Block the nodes of up to `most` jobs at their earliest starts; also return the jobs that still bid.

    `window`: places of waiting jobs, most important first.
    """
    bidding = list(window)
    if not most:
        return problem, bidding
    first = ProblemMachine(problem, [problem.waiting[place] for place in window]).earliest(problem.now)
    for place in (place for place, start in zip(window, first.tolist(), strict=True) if start > 0):
        waiting = problem.waiting[place]
        plan = ProblemMachine(problem, (waiting,)).start_in_turn([0])
        if plan is None:
            continue
        at, parts = plan.where[0]
        request = dict(waiting.requests)[at]
        start = problem.now + int(plan.starts[0])
        reserved = tuple(
            BlockedCapacity(node, start, start + request.walltime, tuple(units * need for need in part.request))
            for part, held in zip(request.parts, parts, strict=True)
            for node, units in zip(*(found.tolist() for found in held), strict=True)
        )
        problem = replace(problem, blocked=problem.blocked + reserved)
        bidding.remove(place)
        most -= 1
        if not most:
            break
    return problem, bidding
