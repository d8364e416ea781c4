"""PCP'20 (003): starts and positions, with variables independent of machine size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import ClassVar

import numpy as np

from dardis.dispatch.cp.decision_problem import Decision, DecisionProblem
from dardis.dispatch.cp.first_answer import least_of_groups
from dardis.dispatch.cp.objectives import Delay, PostedObjective, slowdown
from dardis.dispatch.cp.positions.boxes import Boxes
from dardis.dispatch.cp.positions.fixed_boxes import FixedBoxes
from dardis.dispatch.cp.positions.lines import Lines, PositionedJob, first_plan, machine_positions, units_on_nodes
from dardis.dispatch.cp.search_effort import Effort, search
from dardis.engine.clock import cpu_timed

MOST_BOXES = 600
"""Default maximum boxes in a model.

Eurora-2014 has at most 542. On 1,173 nodes, 1,288 took 37 CPU seconds.
"""
MOST_AREA = 1 << 60
"""Maximum positions times seconds: sums of areas must fit 64 bits."""
EFFORT = Effort(first_s=0.05, longest_s=0.8, conflicts=200, linear=2, presolve=False)
"""A deterministic second takes 7 CPU seconds on Eurora-2014, and 60 or more on 1,173 nodes.

Nothing bounds presolve: 451 boxes took over 25 CPU seconds.
"""


@dataclass(frozen=True)
class Pcp20:
    """PCP'20: a model of the jobs that each fit now."""

    knows_shapes: ClassVar[bool] = False
    effort: Effort = field(default_factory=lambda: EFFORT)
    most_boxes: int = MOST_BOXES
    shortcuts: bool = True
    """Whether a heuristic answer hints the solver."""

    def decide(self, problem: DecisionProblem, seed: int) -> Decision:
        """Planned starts."""
        problem = problem.cut(problem.horizon)
        taken = FixedBoxes.of_problem(problem)
        plan = first_plan(problem, taken)
        case = _PositionCase.of_places(problem, list(plan))
        ours = case.to_decision(list(plan.values()))
        if not plan or (self.shortcuts and ours.objective <= case.least):
            return ours
        lines = Lines(problem, taken, [waiting.job for waiting in case.problem.waiting])
        bound = case.least_beside(taken)
        if lines.box_count > self.most_boxes or lines.positions * case.horizon > MOST_AREA:
            return replace(ours, bound=min(ours.objective, bound), too_large=True)
        return self._solve(case, lines, list(plan.values()), bound, seed)

    def _solve(self, case: _PositionCase, lines: Lines, plan: list[PositionedJob], bound: float, seed: int) -> Decision:
        (boxes, posted), build_s = cpu_timed(lambda: self._build(case, lines, plan))
        solved, spent = search(boxes.model, self.effort, seed)
        best = plan if self.shortcuts else None
        if solved.result.bound is not None:
            bound = max(bound, solved.result.bound / posted.scale)
        if solved.result.found:
            found = boxes.read(solved)
            if best is None or case.value(found) < case.value(best):
                best = found
        return replace(
            case.to_decision(best, bound),
            result=solved.result,
            deterministic_s=spent,
            solver_cpu_s=solved.result.cpu_s,
            build_cpu_s=build_s,
        )

    def _build(self, case: _PositionCase, lines: Lines, plan: list[PositionedJob]) -> tuple[Boxes, PostedObjective]:
        boxes = Boxes(case.problem, lines, plan if self.shortcuts else [])
        posted = case.objective.post(boxes.model, boxes.runs.start, case.horizon, None)
        boxes.model.minimize(posted.expression)
        return boxes, posted


@dataclass(frozen=True)
class _PositionCase:
    problem: DecisionProblem
    """With the model's jobs only."""
    places: list[int]
    """Places in the full problem."""
    objective: Delay

    @classmethod
    def of_places(cls, problem: DecisionProblem, places: list[int]) -> _PositionCase:
        waiting = tuple(problem.waiting[place] for place in places)
        return cls(replace(problem, waiting=waiting), places, slowdown(waiting, problem.now))

    @property
    def horizon(self) -> int:
        return self.problem.horizon - self.problem.now

    @property
    def least(self) -> float:
        """Objective if all jobs start now."""
        return self.objective.value(np.zeros(len(self.places), dtype=np.int64))

    def least_beside(self, taken: FixedBoxes) -> float:
        platform, jobs = self.problem.platform, self.problem.waiting
        return least_of_groups(
            self.objective.least,
            jobs,
            [self.problem.groups_of(waiting.job) for waiting in jobs],
            np.zeros(len(jobs), dtype=np.int64),
            lambda groups: taken.free_of(platform, groups),
        )

    def value(self, plan: Sequence[PositionedJob]) -> float:
        return self.objective.value(np.array([placed.start for placed in plan], dtype=np.int64))

    def to_decision(self, plan: Sequence[PositionedJob] | None, bound: float | None = None) -> Decision:
        jobs = self.problem.waiting
        variables = len(jobs) + sum(waiting.job.units for waiting in jobs) * len(self.problem.platform.kinds)
        bound = self.least if bound is None else bound
        if plan is None:
            return Decision({}, inf, bound, {}, {}, variables=variables)
        value = self.value(plan)
        order = sorted(range(len(plan)), key=lambda job: plan[job].start)
        begin = [job for job in order if plan[job].start == 0]
        return Decision(
            {self.places[job]: self.problem.now + plan[job].start for job in order},
            value,
            min(value, bound),
            {self.places[job]: (0, (units_on_nodes(plan[job]),)) for job in begin},
            {self.places[job]: machine_positions(self.problem, plan[job]) for job in begin},
            variables=variables,
        )
