"""Models with nodes for each unit: PCP'14 (T chapter 3) and PCP'19 (002)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import ClassVar

import numpy as np

from dardis.dispatch.cp import objectives, pool_relaxation
from dardis.dispatch.cp.decision_problem import Decision, DecisionProblem, Placement, WaitingJob
from dardis.dispatch.cp.first_answer import NodePlan, ProblemMachine
from dardis.dispatch.cp.node_model import ROUNDING, Limits, NodeCandidates, Subproblem, build
from dardis.dispatch.cp.objectives import Objective
from dardis.dispatch.cp.pool_relaxation import RaisedPool, raised_pools
from dardis.dispatch.cp.search_effort import Effort, search
from dardis.engine.clock import cpu_timed
from dardis.model.arrays import Ints
from dardis.model.choices import Choice
from dardis.model.job import FOREVER
from dardis.solver.result import EndReason, Result, SolverStatus

MOST_PLACES = 1_500
"""Default maximum pairs of job and node in a model.

Up to 1,300 took at most 0.5 CPU seconds on Eurora-2014; 2,100 to 3,000 took 1 to 6.
"""
CONFLICTS = 200
"""Per run; fifty times as many improved nothing."""


@dataclass(frozen=True, slots=True)
class NodeModelLimits:
    """Solver's limits."""

    effort: Effort = field(default_factory=lambda: Effort(conflicts=CONFLICTS))
    most_places: int = MOST_PLACES
    shortcuts: bool = True
    """Whether a heuristic answer hints the solver."""
    pools: bool = False
    """Whether a relaxation with pools replaces larger models."""


class Aim(Choice):
    """What PCP'14 minimises."""

    MAKESPAN = "makespan", "The end of the last job."
    TARDINESS = "tardiness", "The weighted tardiness."
    LATE = "late", "The number of late jobs."


@dataclass(frozen=True)
class Pcp14:
    """PCP'14: a model of all waiting jobs, by arrival.

    A composite bounds the other objectives by a factor of the best value of each (T 3.12 to 3.14). Bounds widen to the
    nearest known answer if none is valid.
    """

    knows_shapes: ClassVar[bool] = True
    aim: Aim = Aim.MAKESPAN
    composite: bool = True
    deltas: tuple[float, float] = (1.0, 1.0)
    """δ₀ and δ₁ for the other objectives in order of `Aim`; the thesis prints none."""
    search_limits: NodeModelLimits = field(default_factory=NodeModelLimits)

    def decide(self, problem: DecisionProblem, seed: int) -> Decision:
        """Planned starts."""
        order = sorted(feasible_places(problem), key=lambda place: problem.waiting[place].arrival)
        case = _NodeModelCase(
            Subproblem(problem, tuple(order), problem.running, problem.horizon - problem.now), self.search_limits, seed
        )
        main = self._objective(self.aim, case.task)
        if not self.composite or case.is_decided:
            return case.to_decision(main, case.solve(main))
        others = [self._objective(aim, case.task) for aim in Aim if aim is not self.aim]
        alone = [case.solve(other) for other in others]
        limits = [
            (other, delta * other.value(one.plan.starts))
            for other, delta, one in zip(others, self.deltas, alone, strict=True)
            if one.plan is not None
        ]
        found = case.solve(main, limits, [one.plan for one in alone if one.plan is not None])
        return case.to_decision(main, found.with_effort_of(alone))

    @staticmethod
    def _objective(aim: Aim, task: Subproblem) -> Objective:
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
    search_limits: NodeModelLimits = field(default_factory=NodeModelLimits)

    def decide(self, problem: DecisionProblem, seed: int) -> Decision:
        """Planned starts."""
        places = feasible_places(problem)
        if self.version >= 1:
            could = ProblemMachine(problem, problem.waiting).earliest(problem.now) == 0
            places = [place for place in places if could[place]]
        waiting, now = problem.waiting, problem.now
        if self.version >= 3:
            places.sort(key=lambda place: waiting[place].priority(now))
        else:
            places.sort(key=lambda place: waiting[place].arrival)
        case = _NodeModelCase(self._task(problem, tuple(places)), self.search_limits, seed)
        jobs = case.task.jobs
        objective = (objectives.slowdown if self.version >= 3 else objectives.weighted_tardiness)(jobs, now)
        return case.to_decision(objective, case.solve(objective))

    def _task(self, problem: DecisionProblem, places: tuple[int, ...]) -> Subproblem:
        now, running = problem.now, problem.running
        if self.version >= 2:
            here = replace(problem, waiting=tuple(problem.waiting[place] for place in places))
            latest = here.horizon - now
        else:
            # The sum of durations, even if negative; 002 has no blocks.
            left = sum(job.foreseen - now for job in running)
            latest = (
                max(0, problem.blocked_until - now) + left + sum(problem.waiting[place].duration for place in places)
            )
            running = tuple(replace(job, end=job.foreseen) for job in running if job.foreseen > now)
        return Subproblem(problem, places, running, latest, lean=self.version >= 1)


def feasible_places(problem: DecisionProblem) -> list[int]:
    """Places of jobs that could ever start, each alone."""
    held = Subproblem(problem, tuple(range(len(problem.waiting))), (), 0).fits_empty_machine()
    if any(block.end == FOREVER for block in problem.blocked):
        first = ProblemMachine(problem, problem.waiting).earliest(problem.horizon)
        held = [
            holds and start < FOREVER and _parts_fit_together(problem, waiting)
            for holds, start, waiting in zip(held, first.tolist(), problem.waiting, strict=True)
        ]
    return [place for place, holds in enumerate(held) if holds]


def _parts_fit_together(problem: DecisionProblem, waiting: WaitingJob) -> bool:
    if all(len(request.parts) == 1 for _, request in waiting.requests):
        return True
    alone = ProblemMachine(problem, (waiting,)).start_in_turn([0])
    return alone is not None and int(alone.starts[0]) <= problem.horizon - problem.now


@dataclass(frozen=True, slots=True)
class _ModelResult:
    plan: NodePlan | None
    bound: float
    result: Result | None = None
    spent: float = 0.0
    solver_cpu_s: float = 0.0
    build_cpu_s: float = 0.0
    too_large: bool = False

    def with_effort_of(self, others: Sequence[_ModelResult]) -> _ModelResult:
        results = [one.result for one in (self, *others) if one.result is not None]
        guarded = [result for result in results if result.ended is EndReason.GUARD]
        return replace(
            self,
            result=guarded[0] if guarded else results[0] if results else None,
            spent=self.spent + sum(one.spent for one in others),
            solver_cpu_s=self.solver_cpu_s + sum(one.solver_cpu_s for one in others),
            build_cpu_s=self.build_cpu_s + sum(one.build_cpu_s for one in others),
        )


class _NodeModelCase:
    def __init__(self, task: Subproblem, means: NodeModelLimits, seed: int) -> None:
        self.task = task
        self._means = means
        self._seed = seed
        self._first: Ints = np.zeros(len(task.jobs), dtype=np.int64)
        if means.shortcuts:
            self._first = task.machine().earliest()

    @cached_property
    def _heuristic_plan(self) -> NodePlan | None:
        plan = self.task.machine().start_or_postpone(range(len(self.task.jobs)))
        return plan if plan is not None and (plan.starts <= self.task.latest).all() else None

    @cached_property
    def _node_candidates(self) -> list[NodeCandidates] | None:
        return self.task.node_candidates(self._means.most_places)

    @cached_property
    def _raised_pools(self) -> list[RaisedPool]:
        return list(raised_pools(self.task))

    @cached_property
    def is_decided(self) -> bool:
        if not self._means.shortcuts or self._heuristic_plan is None:
            return False
        return bool((self._first > 0).all() or (self._heuristic_plan.starts == 0).all())

    @property
    def _is_infeasible(self) -> bool:
        return int(self._first.max(initial=0)) > self.task.latest

    def solve(self, objective: Objective, limits: Limits = (), known: Sequence[NodePlan] = ()) -> _ModelResult:
        """Minimise under limits; limits widen until a known answer is valid."""
        if self._is_infeasible:
            return _ModelResult(None, inf, Result(SolverStatus.INFEASIBLE, EndReason.PROVEN, None, None, 0.0))
        means, bound = self._means, objective.value(self._first)
        if means.shortcuts and self._heuristic_plan is not None:
            known = [*known, self._heuristic_plan]
        limits, best = _widen_limits(objective, limits, known)
        if self.is_decided or (means.shortcuts and best is not None and objective.value(best.starts) <= bound):
            return _ModelResult(best, bound)
        bound = max(bound, self.task.least(objective, self._first))
        if self._node_candidates is None:
            if means.pools:
                return self._solve_pools(objective, limits, best, bound)
            return _ModelResult(best or self._heuristic_plan, bound, too_large=True)
        shares, hint = self._node_candidates, best if means.shortcuts else None
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
        return _ModelResult(best, bound, solved.result, spent, solved.result.cpu_s, build_s)

    def _solve_pools(
        self, objective: Objective, limits: Limits, best: NodePlan | None, bound: float
    ) -> _ModelResult:  # fmt: skip
        """Starts of the relaxation give the order of a list schedule on the nodes."""
        task, pools, hint = self.task, self._raised_pools, best if self._means.shortcuts else None
        bound = max(bound, pool_relaxation.least(task, pools, objective, self._first))
        built, build_s = cpu_timed(lambda: pool_relaxation.build(task, pools, objective, limits, self._first, hint))
        solved, spent = search(built.model, self._means.effort, self._seed)
        result = solved.result
        if result.bound is not None:
            bound = max(bound, result.bound / built.posted.scale)
        if result.found:
            relaxed = solved.values(built.start)
            plan = task.machine().start_in_turn(np.argsort(relaxed, kind="stable").tolist())
            plans = [
                one for one in (plan, self._heuristic_plan) if one is not None and _keeps(one, limits, task.latest)
            ]
            plans += [] if best is None else [best]
            best = min(plans, key=lambda one: objective.value(one.starts), default=None)
            if result.proven and (best is None or objective.value(best.starts) > objective.value(relaxed)):
                result = replace(result, status=SolverStatus.FEASIBLE)  # the proof is of the relaxation only
        return _ModelResult(best or self._heuristic_plan, bound, result, spent, result.cpu_s, build_s)

    def to_decision(self, objective: Objective, found: _ModelResult) -> Decision:
        task, plan = self.task, found.plan
        starts: dict[int, int] = {}
        where: dict[int, Placement] = {}
        value = inf if plan is None else objective.value(plan.starts)
        if plan is not None:
            for job in self._fitting_jobs(plan):
                starts[task.places[job]] = task.problem.now + int(plan.starts[job])
                if plan.starts[job] == 0:
                    where[task.places[job]] = plan.where[job]
        return Decision(
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

    def _fitting_jobs(self, plan: NodePlan) -> list[int]:
        problem = self.task.problem
        if self.task.running is problem.running:
            return list(plan.order)
        free = [value[0].copy() for _, value in ProblemMachine(problem, ()).free()]
        fit = []
        for job in plan.order:
            if plan.starts[job] == 0:
                asked = self._demand_by_node(job, plan.where[job])
                if any((free[node] < amounts).any() for node, amounts in asked.items()):
                    continue
                for node, amounts in asked.items():
                    free[node] -= amounts
            fit.append(job)
        return fit

    def _demand_by_node(self, job: int, held: Placement) -> dict[int, Ints]:
        taken, parts = held
        request = dict(self.task.jobs[job].requests)[taken]
        asked: dict[int, Ints] = defaultdict(lambda: np.zeros(len(request.amounts), dtype=np.int64))
        for part, (nodes, units) in zip(request.parts, parts, strict=True):
            for node, count in zip(nodes.tolist(), units.tolist(), strict=True):
                asked[node] += count * np.array(part.request)
        return asked


def _keeps(plan: NodePlan, limits: Limits, latest: int) -> bool:
    kept = all(other.value(plan.starts) <= most * (1 + ROUNDING) for other, most in limits)
    return kept and bool((plan.starts <= latest).all())


def _widen_limits(objective: Objective, limits: Limits, known: Sequence[NodePlan]) -> tuple[Limits, NodePlan | None]:
    if not known:
        return limits, None

    def beyond(plan: NodePlan) -> float:
        return sum(max(0.0, other.value(plan.starts) - most) / max(1.0, most) for other, most in limits)

    best = min(known, key=lambda plan: (beyond(plan), objective.value(plan.starts)))
    return [(other, max(most, other.value(best.starts))) for other, most in limits], best
