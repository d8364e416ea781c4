"""Slurm's main loop, which runs beside every scheduling plug-in, and the first reservation of its backfilling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dardis.dispatch.cp.decision_problem import BlockedCapacity, DecisionProblem, Placement
from dardis.dispatch.cp.first_answer import ProblemMachine


@dataclass(frozen=True)
class MainLoop:
    """What is left for an auction after the main loop."""

    problem: DecisionProblem
    """Nodes of started jobs and of the reservation are blocked."""
    bidding: list[int]
    """Jobs by place, most important first: neither started nor reserved."""
    started: dict[int, Placement]

    @classmethod
    def of(cls, problem: DecisionProblem, window: Sequence[int]) -> MainLoop:
        """Start jobs of the window in order, on nodes by best fit, until one must wait; reserve its earliest start."""
        started: dict[int, Placement] = {}
        held: set[int] = set()
        # Later starts are those of jobs that closed nodes prevent.
        last = replace(problem, blocked=()).horizon
        for place in window:
            plan = ProblemMachine(problem, (problem.waiting[place],)).start_in_turn([0])
            start = last if plan is None else problem.now + int(plan.starts[0])
            if plan is None or start >= last:
                continue
            held.add(place)
            blocked = _blocked(problem, place, start, plan.where[0])
            problem = replace(problem, blocked=(*problem.blocked, *blocked))
            if start > problem.now:
                break
            started[place] = plan.where[0]
        return cls(problem, [place for place in window if place not in held], started)


def _blocked(problem: DecisionProblem, place: int, start: int, where: Placement) -> Iterator[BlockedCapacity]:
    at, parts = where
    request = dict(problem.waiting[place].requests)[at]
    for part, (nodes, units) in zip(request.parts, parts, strict=True):
        for node, count in zip(nodes.tolist(), units.tolist(), strict=True):
            amounts = tuple(count * need for need in part.request)
            yield BlockedCapacity(node, start, start + request.walltime, amounts)
