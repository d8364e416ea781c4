"""Models with nodes for each unit: PCP'14 (T chapter 3) and PCP'19 (002)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import ClassVar

import numpy as np

from dardis.dispatch.cp import objectives
from dardis.dispatch.cp.decision_problem import Answer, Held, Problem, Waiting
from dardis.dispatch.cp.first_answer import Machine, Plan
from dardis.dispatch.cp.node_model import Limits, Share, Task, build
from dardis.dispatch.cp.objectives import Objective
from dardis.dispatch.cp.search_effort import Effort, search
from dardis.engine.clock import cpu_timed
from dardis.model.arrays import Ints
from dardis.model.choices import Choice
from dardis.model.job import FOREVER
from dardis.solver.result import Ended, Result, SolverStatus

MOST_PLACES = 1_500
"""Default maximum pairs of job and node in a model.

Models of Eurora-2014 up to 1,300 took at most 0.5 CPU seconds; 2,100 to 3,000 took 1 to 6.
"""
CONFLICTS = 200
"""Default per run: fifty times as many improved nothing for 40 jobs on 64 nodes."""


@dataclass(frozen=True, slots=True)
class Means:
    """Limits of the solver."""

    effort: Effort = field(default_factory=lambda: Effort(conflicts=CONFLICTS))
    most_places: int = MOST_PLACES
    shortcuts: bool = True
    """Whether a heuristic answer hints the solver."""


class Aim(Choice):
    """What PCP'14 minimises."""

    MAKESPAN = "makespan", "The end of the last job."
    TARDINESS = "tardiness", "The weighted tardiness."
    LATE = "late", "The number of late jobs."


@dataclass(frozen=True)
class Pcp14:
    """PCP'14: a model of all waiting jobs, by arrival.

    A composite bounds the other objectives by a factor of the best value found for each alone (T 3.12 to 3.14). If no
    known answer is valid, bounds widen to the nearest.
    """

    knows_shapes: ClassVar[bool] = True
    aim: Aim = Aim.MAKESPAN
    composite: bool = True
    deltas: tuple[float, float] = (1.0, 1.0)
    """δ₀ and δ₁ for the other objectives in order of `Aim`; the thesis prints none.

    With 1, 1.5 and 4 the first 2,600 jobs of Eurora-2014 waited 972, 983 and 995 s; with the makespan alone 985 s.
    """
    means: Means = field(default_factory=Means)

    def answer(self, problem: Problem, seed: int) -> Answer:
        """Return planned starts."""
        order = sorted(possible(problem), key=lambda place: problem.waiting[place].arrival)
        case = _Case(Task(problem, tuple(order), problem.running, problem.horizon - problem.now), self.means, seed)
        main = self._objective(self.aim, case.task)
        if not self.composite or case.is_decided:
            return case.answer(main, case.solve(main))
        others = [self._objective(aim, case.task) for aim in Aim if aim is not self.aim]
        alone = [case.solve(other) for other in others]
        limits = [
            (other, delta * other.value(one.plan.starts))
            for other, delta, one in zip(others, self.deltas, alone, strict=True)
            if one.plan is not None
        ]
        found = case.solve(main, limits, [one.plan for one in alone if one.plan is not None])
        return case.answer(main, found.after(alone))

    @staticmethod
    def _objective(aim: Aim, task: Task) -> Objective:
        now = task.problem.now
        if aim is Aim.TARDINESS:
            return objectives.weighted_tardiness(task.jobs, now)
        if aim is Aim.LATE:
            return objectives.late_jobs(task.jobs, now)
        return objectives.makespan(task.jobs, max((job.end - now for job in task.running), default=0))


@dataclass(frozen=True)
class Pcp19:
    """PCP'19 by version (002, table 1).

    0: all waiting jobs. 1: jobs that could start now, without redundant constraints. 2: jobs past the expected end run
    at least one more second; before, such jobs use nothing and shorten the horizon (002, section 4). 3: durations as
    weights.
    """

    knows_shapes: ClassVar[bool] = True
    version: int = 3
    means: Means = field(default_factory=Means)

    def answer(self, problem: Problem, seed: int) -> Answer:
        """Return planned starts."""
        places = possible(problem)
        if self.version >= 1:
            could = Machine(problem, problem.waiting).earliest(problem.now) == 0
            places = [place for place in places if could[place]]
        waiting, now = problem.waiting, problem.now
        if self.version >= 3:
            places.sort(key=lambda place: waiting[place].priority(now))
        else:
            places.sort(key=lambda place: waiting[place].arrival)
        case = _Case(self._task(problem, tuple(places)), self.means, seed)
        jobs = case.task.jobs
        objective = (objectives.slowdown if self.version >= 3 else objectives.weighted_tardiness)(jobs, now)
        return case.answer(objective, case.solve(objective))

    def _task(self, problem: Problem, places: tuple[int, ...]) -> Task:
        now, running = problem.now, problem.running
        if self.version >= 2:
            here = replace(problem, waiting=tuple(problem.waiting[place] for place in places))
            latest = here.horizon - now
        else:
            # The sum of durations, even if negative; 002 has no blocks.
            blocked = max((block.end - now for block in problem.blocked), default=0)
            left = sum(job.foreseen - now for job in running)
            latest = max(0, blocked) + left + sum(problem.waiting[place].duration for place in places)
            running = tuple(replace(job, end=job.foreseen) for job in running if job.foreseen > now)
        return Task(problem, places, running, latest, lean=self.version >= 1)


def possible(problem: Problem) -> list[int]:
    """Places of jobs that could ever start, each alone."""
    held = Task(problem, tuple(range(len(problem.waiting))), (), 0).possible()
    if any(block.end == FOREVER for block in problem.blocked):
        first = Machine(problem, problem.waiting).earliest(problem.horizon)
        held = [
            holds and start < FOREVER and _holds_together(problem, waiting)
            for holds, start, waiting in zip(held, first.tolist(), problem.waiting, strict=True)
        ]
    return [place for place, holds in enumerate(held) if holds]


def _holds_together(problem: Problem, waiting: Waiting) -> bool:
    """Whether all parts of a request fit together by the horizon."""
    if all(len(request.parts) == 1 for _, request in waiting.requests):
        return True
    alone = Machine(problem, (waiting,)).put([0])
    return alone is not None and int(alone.starts[0]) <= problem.horizon - problem.now


@dataclass(frozen=True, slots=True)
class _Found:
    plan: Plan | None
    bound: float
    result: Result | None = None
    spent: float = 0.0
    solver_cpu_s: float = 0.0
    build_cpu_s: float = 0.0
    too_large: bool = False

    def after(self, others: Sequence[_Found]) -> _Found:
        """Add the effort of earlier models."""
        results = [one.result for one in (self, *others) if one.result is not None]
        guarded = [result for result in results if result.ended is Ended.GUARD]
        return replace(
            self,
            result=guarded[0] if guarded else results[0] if results else None,
            spent=self.spent + sum(one.spent for one in others),
            solver_cpu_s=self.solver_cpu_s + sum(one.solver_cpu_s for one in others),
            build_cpu_s=self.build_cpu_s + sum(one.build_cpu_s for one in others),
        )


class _Case:
    def __init__(self, task: Task, means: Means, seed: int) -> None:
        self.task = task
        self._means = means
        self._seed = seed
        self._first: Ints = np.zeros(len(task.jobs), dtype=np.int64)
        if means.shortcuts:
            self._first = task.machine().earliest()

    @cached_property
    def _ours(self) -> Plan | None:
        plan = self.task.machine().place(range(len(self.task.jobs)))
        return plan if plan is not None and (plan.starts <= self.task.latest).all() else None

    @cached_property
    def _shares(self) -> list[Share] | None:
        return self.task.shares(self._means.most_places)

    @cached_property
    def is_decided(self) -> bool:
        if not self._means.shortcuts or self._ours is None:
            return False
        return bool((self._first > 0).all() or (self._ours.starts == 0).all())

    @property
    def _is_hopeless(self) -> bool:
        return int(self._first.max(initial=0)) > self.task.latest

    def solve(self, objective: Objective, limits: Limits = (), known: Sequence[Plan] = ()) -> _Found:
        """Minimise under limits; limits widen until a known answer is valid."""
        if self._is_hopeless:
            return _Found(None, inf, Result(SolverStatus.INFEASIBLE, Ended.PROVEN, None, None, 0.0))
        means, bound = self._means, objective.value(self._first)
        if means.shortcuts and self._ours is not None:
            known = [*known, self._ours]
        limits, best = _admitting(objective, limits, known)
        if self.is_decided or (means.shortcuts and best is not None and objective.value(best.starts) <= bound):
            return _Found(best, bound)
        bound = max(bound, self.task.least(objective, self._first))
        if self._shares is None:
            return _Found(best or self._ours, bound, too_large=True)
        shares, hint = self._shares, best if means.shortcuts else None
        built, build_s = cpu_timed(lambda: build(self.task, shares, objective, limits, self._first, hint))
        solved, spent = search(built.model, means.effort, self._seed)
        if solved.result.bound is not None:
            bound = max(bound, solved.result.bound / built.posted.scale)
        if solved.result.found:
            plan = built.read(solved)
            if best is None or objective.value(plan.starts) < objective.value(best.starts):
                best = plan
        elif not means.shortcuts:
            best = None
        return _Found(best, bound, solved.result, spent, solved.result.cpu_s, build_s)

    def answer(self, objective: Objective, found: _Found) -> Answer:
        task, plan = self.task, found.plan
        starts: dict[int, int] = {}
        where: dict[int, Held] = {}
        value = inf if plan is None else objective.value(plan.starts)
        if plan is not None:
            for job in self._that_fit(plan):
                starts[task.places[job]] = task.problem.now + int(plan.starts[job])
                if plan.starts[job] == 0:
                    where[task.places[job]] = plan.where[job]
        return Answer(
            starts,
            value,
            min(value, found.bound),
            where,
            result=found.result,
            deterministic_s=found.spent,
            solver_cpu_s=found.solver_cpu_s,
            build_cpu_s=found.build_cpu_s,
            variables=task.variables,
            too_large=found.too_large,
        )

    def _that_fit(self, plan: Plan) -> list[int]:
        """Jobs in order, without starts on nodes in use outside the model."""
        problem = self.task.problem
        if self.task.running is problem.running:
            return list(plan.order)
        free = [value[0].copy() for _, value in Machine(problem, ()).free()]
        fit = []
        for job in plan.order:
            if plan.starts[job] == 0:
                asked = self._asked(job, plan.where[job])
                if any((free[node] < amounts).any() for node, amounts in asked.items()):
                    continue
                for node, amounts in asked.items():
                    free[node] -= amounts
            fit.append(job)
        return fit

    def _asked(self, job: int, held: Held) -> dict[int, Ints]:
        taken, parts = held
        request = dict(self.task.jobs[job].requests)[taken]
        asked: dict[int, Ints] = defaultdict(lambda: np.zeros(len(request.amounts), dtype=np.int64))
        for part, (nodes, units) in zip(request.parts, parts, strict=True):
            for node, count in zip(nodes.tolist(), units.tolist(), strict=True):
                asked[node] += count * np.array(part.request)
        return asked


def _admitting(objective: Objective, limits: Limits, known: Sequence[Plan]) -> tuple[Limits, Plan | None]:
    """Widen the limits to the nearest known answer."""
    if not known:
        return limits, None

    def beyond(plan: Plan) -> float:
        return sum(max(0.0, other.value(plan.starts) - most) / max(1.0, most) for other, most in limits)

    best = min(known, key=lambda plan: (beyond(plan), objective.value(plan.starts)))
    return [(other, max(most, other.value(best.starts))) for other, most in limits], best
