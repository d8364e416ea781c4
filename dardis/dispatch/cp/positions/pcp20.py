"""PCP'20 (003): who starts when and where in one model, whose variables don't grow with the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import ClassVar

import numpy as np

from dardis.dispatch.cp.decision_problem import Answer, Problem
from dardis.dispatch.cp.first_answer import least_of_groups
from dardis.dispatch.cp.objectives import Delay, Posted, slowdown
from dardis.dispatch.cp.positions.boxes import Boxes
from dardis.dispatch.cp.positions.fixed_boxes import Taken
from dardis.dispatch.cp.positions.lines import Lines, Placed, first_plan, on_machine, on_nodes
from dardis.dispatch.cp.search_effort import Effort, search
from dardis.engine.clock import cpu_timed

MOST_BOXES = 600
"""Boxes of the largest model that is built unless more are allowed, of all kinds, those that stand included.

Decisions of Eurora-2014 have 542 at most. On 1,173 nodes 451 took 1.1 CPU seconds, 1,288 took 37, for 0.05
deterministic ones.
"""
MOST_AREA = 1 << 60
"""Positions times seconds of the largest model that is built: no sum of areas may be too large for 64 bits."""
EFFORT = Effort(first_s=0.05, longest_s=0.8, conflicts=200, linear=2, presolve=False)
"""A deterministic second takes 7 of a processor's on decisions of Eurora-2014, and up to 60 and more on 1,173 nodes.

With the whole relaxation bounds are half as high again there (0.55 against 0.37 of the kernel's objective). No time
bounds presolve: with it, a model of 451 boxes on 1,173 nodes took over 25 CPU seconds for 0.05 deterministic ones.
With 1,000 conflicts HPC2N's first 300 jobs took three times the time, and started when they start with 200.
"""


@dataclass(frozen=True)
class Pcp20:
    """PCP'20: jobs that fit now, each by itself, are in the model, as in PCP'19's version 3."""

    knows_shapes: ClassVar[bool] = False
    effort: Effort = field(default_factory=lambda: EFFORT)
    most_boxes: int = MOST_BOXES
    """A model of more boxes is not built."""
    shortcuts: bool = True
    """Whether an answer of ours comes first; else the solver is asked always, and is told of none."""

    def answer(self, problem: Problem, seed: int) -> Answer:
        """As `Model` has it."""
        taken = Taken.of_problem(problem)
        plan = first_plan(problem, taken)
        case = _Case.of_places(problem, list(plan))
        ours = case.answer(list(plan.values()))
        if not plan or (self.shortcuts and ours.objective <= case.least):
            return ours
        lines = Lines(problem, taken, [waiting.job for waiting in case.problem.waiting])
        bound = case.least_beside(taken)
        if lines.box_count > self.most_boxes or lines.positions * case.horizon > MOST_AREA:
            return replace(ours, bound=min(ours.objective, bound), too_large=True)
        return self._solved(case, lines, list(plan.values()), bound, seed)

    def _solved(self, case: _Case, lines: Lines, plan: list[Placed], bound: float, seed: int) -> Answer:
        """The better of our plan and what the solver finds; without shortcuts that alone."""
        (boxes, posted), build_s = cpu_timed(lambda: self._built(case, lines, plan))
        solved, spent = search(boxes.model, self.effort, seed)
        best = plan if self.shortcuts else None
        if solved.result.bound is not None:
            bound = max(bound, solved.result.bound / posted.scale)
        if solved.result.found:
            found = boxes.placed(solved)
            if best is None or case.value(found) < case.value(best):
                best = found
        return replace(
            case.answer(best, bound),
            result=solved.result,
            deterministic_s=spent,
            solver_cpu_s=solved.result.cpu_s,
            build_cpu_s=build_s,
        )

    def _built(self, case: _Case, lines: Lines, plan: list[Placed]) -> tuple[Boxes, Posted]:
        """The model, and its objective."""
        boxes = Boxes(case.problem, lines, plan if self.shortcuts else [])
        posted = case.objective.post(boxes.model, boxes.runs.start, case.horizon, None)
        boxes.model.minimize(posted.expression)
        return boxes, posted


@dataclass(frozen=True)
class _Case:
    """The jobs of a model, in the order of their priorities, and what their starts are worth."""

    problem: Problem
    """With nobody else waiting."""
    places: list[int]
    """Of whom in the whole problem's `waiting`."""
    objective: Delay

    @classmethod
    def of_places(cls, problem: Problem, places: list[int]) -> _Case:
        waiting = tuple(problem.waiting[place] for place in places)
        return cls(replace(problem, waiting=waiting), places, slowdown(waiting, problem.now))

    @property
    def horizon(self) -> int:
        """In s from now."""
        return self.problem.horizon - self.problem.now

    @property
    def least(self) -> float:
        """What the objective is when all start now."""
        return self.objective.value(np.zeros(len(self.places), dtype=np.int64))

    def least_beside(self, taken: Taken) -> float:
        """What no answer undercuts beside what is taken."""
        platform, jobs = self.problem.platform, self.problem.waiting
        return least_of_groups(
            self.objective.least,
            jobs,
            [self.problem.groups_of(waiting.job) for waiting in jobs],
            np.zeros(len(jobs), dtype=np.int64),
            lambda groups: taken.free_of(platform, groups),
        )

    def value(self, plan: Sequence[Placed]) -> float:
        """What a plan makes of the objective."""
        return self.objective.value(np.array([placed.start for placed in plan], dtype=np.int64))

    def answer(self, plan: Sequence[Placed] | None, bound: float | None = None) -> Answer:
        """What the dispatcher is told of a plan, if there is one; all starting now bounds it if nothing else does."""
        jobs = self.problem.waiting
        variables = len(jobs) + sum(waiting.job.units for waiting in jobs) * len(self.problem.platform.kinds)
        bound = self.least if bound is None else bound
        if plan is None:
            return Answer({}, inf, bound, {}, {}, variables=variables)
        value = self.value(plan)
        order = sorted(range(len(plan)), key=lambda job: plan[job].start)
        begin = [job for job in order if plan[job].start == 0]
        return Answer(
            {self.places[job]: self.problem.now + plan[job].start for job in order},
            value,
            min(value, bound),
            {self.places[job]: (0, (on_nodes(plan[job]),)) for job in begin},
            {self.places[job]: on_machine(self.problem, plan[job]) for job in begin},
            variables=variables,
        )
