"""HCP'19 (002): starts by sums over nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dardis.dispatch.cp import objectives, variables
from dardis.dispatch.cp import variables as constraints
from dardis.dispatch.cp.decision_problem import Decision, DecisionProblem, WaitingJob
from dardis.dispatch.cp.first_answer import JobWork, ProblemMachine
from dardis.dispatch.cp.objectives import Delay
from dardis.dispatch.cp.search_effort import Effort, search
from dardis.engine.clock import cpu_timed
from dardis.kernels.list_schedule import schedule_or_postpone
from dardis.model.arrays import Ints
from dardis.model.step_function import sum_of_columns
from dardis.solver.cpsat import new_model
from dardis.solver.result import EndReason, Result, SolverStatus

if TYPE_CHECKING:
    from dardis.dispatch.cp.objectives import Objective, PostedObjective
    from dardis.dispatch.cp.variables import RunVariables
    from dardis.solver.cpsat import CpModel

CONFLICTS = 1_000


@dataclass(frozen=True)
class Hcp19:
    """HCP'19 by version (002, table 1). Other jobs are postponed.

    0: the first m jobs, with the others fixed at the horizon's end, perhaps infeasibly. 1: of the first m, jobs that
    fit the sums that are really free; no unused kinds. 2 and 3: as `Pcp19`.
    """

    knows_shapes: ClassVar[bool] = True
    version: int = 3
    jobs: int = 100
    """m: number of jobs, by arrival."""
    effort: Effort = field(default_factory=lambda: Effort(conflicts=CONFLICTS))
    shortcuts: bool = True
    """Whether a heuristic answer hints the solver."""

    def decide(self, problem: DecisionProblem, seed: int) -> Decision:
        """Planned starts."""
        pool = _Pool.of_problem(problem, mended=self.version >= 2)
        by_arrival = sorted(range(len(problem.waiting)), key=lambda place: problem.waiting[place].arrival)
        places, late = by_arrival[: self.jobs], by_arrival[self.jobs :]
        if self.version >= 1:
            late = []
            here = pool if self.version >= 2 else _Pool.of_problem(problem, mended=True)
            places = [place for place in places if (here.needs[place] <= here.free[0]).all()]
        if self.version == 1:
            others = {*range(len(problem.waiting))}.difference(places)
            pool = replace(pool, latest=pool.latest - sum(problem.waiting[place].duration for place in others))
        places.sort(key=lambda place: self._priority(problem.waiting[place], problem.now))
        if not places:
            return Decision({}, 0.0, 0.0)
        return _PoolCase(self, problem, pool, places, late).decide(seed)

    def objective(self, jobs: Sequence[WaitingJob], now: int) -> Delay:
        """Objective."""
        return (objectives.slowdown if self.version >= 3 else objectives.weighted_waiting)(jobs, now)

    def _priority(self, waiting: WaitingJob, now: int) -> tuple[float, ...]:
        """Sort key, fixed for a decision.

        Before version 3 by `max(ewt) / ewt · (t − q)`, then by demand (002, section 2.2, allocation).
        """
        if self.version >= 3:
            return waiting.priority(now)
        demand = waiting.duration * sum(waiting.amounts)
        return (waiting.job.submit - now) / objectives.expected_wait(waiting.job), demand, *waiting.arrival


@dataclass(frozen=True)
class _Pool:
    time: Ints
    free: Ints
    """(steps, kinds)"""
    needs: Ints
    """(jobs, kinds)"""
    latest: int

    @classmethod
    def of_problem(cls, problem: DecisionProblem, *, mended: bool) -> _Pool:
        """`mended`: late jobs keep resources (002, section 4)."""
        kinds = len(problem.platform.kinds)
        ends = [job.end if mended else job.foreseen for job in problem.running]
        running = [replace(job, end=end) for job, end in zip(problem.running, ends, strict=True)]
        # Node by node: use of blocked resources takes nothing from other nodes.
        time, free = sum_of_columns(ProblemMachine(problem, (), running).free())
        needs = [_need(waiting, free[0]) for waiting in problem.waiting]
        latest = problem.horizon - problem.now
        if not mended:
            latest = max(problem.blocked_until - problem.now, 0) + sum(end - problem.now for end in ends)
            latest += sum(waiting.duration for waiting in problem.waiting)
        return cls(time, free, np.array(needs, dtype=np.int64).reshape(-1, kinds), latest)


def _need(waiting: WaitingJob, free: Ints) -> tuple[int, ...]:
    """Demand of the first request that fits, else of the first."""
    if len(waiting.orders) < 2:
        return waiting.amounts
    asked = [request.amounts for _, request in waiting.requests]
    return next((amounts for amounts in asked if (np.array(amounts) <= free).all()), asked[0])


class _PoolCase:
    def __init__(self, model: Hcp19, problem: DecisionProblem, pool: _Pool, places: list[int], late: list[int]) -> None:
        self._model, self._problem, self._pool = model, problem, pool
        self._places, self._late = places, late
        self._jobs = [problem.waiting[place] for place in places]
        self._duration = np.array([waiting.duration for waiting in self._jobs], dtype=np.int64)
        self._objective = model.objective(self._jobs, problem.now)

    def decide(self, seed: int) -> Decision:
        least = self._objective.value(np.zeros(len(self._jobs), dtype=np.int64))
        ours = self._heuristic_starts() if self._model.shortcuts else None
        if ours is not None and self._objective.value(ours) <= least:
            return self._decision(ours, least)
        if self._pool.latest < 0:
            infeasible = Result(SolverStatus.INFEASIBLE, EndReason.PROVEN, None, None, 0.0)
            return replace(self._decision(None, inf), result=infeasible)
        return self._solve(ours, seed)

    def _heuristic_starts(self) -> Ints | None:
        steps, kinds = self._pool.free.shape
        room = steps + len(self._jobs) + 1
        time, free = np.zeros(room, dtype=np.int64), np.zeros((room, kinds), dtype=np.int64)
        time[:steps], free[:steps] = self._pool.time, self._pool.free
        start = np.empty(len(self._jobs), dtype=np.int64)
        schedule_or_postpone(time, free, steps, self._pool.needs[self._places], self._duration, start)
        # Jobs fixed at the end of the horizon may collide.
        return start if start.max() <= self._pool.latest and not self._late else None

    def _solve(self, ours: Ints | None, seed: int) -> Decision:
        pool, waiting = self._pool, self._problem.waiting
        work = JobWork(self._duration, pool.needs[self._places], pool.time, pool.free)
        first = np.zeros(len(self._jobs), dtype=np.int64)
        late = [(waiting[place].duration, pool.needs[place].tolist()) for place in self._late]
        sums = CapacitySumModel(work, first, pool.latest, late, lean=self._model.version >= 1)
        bound = self._objective.least(first, work)
        found = sums.improve(self._objective, ours, bound, self._model.effort, seed)
        return replace(
            self._decision(found.starts, found.bound),
            result=found.result,
            deterministic_s=found.deterministic_s,
            solver_cpu_s=found.solver_cpu_s,
            build_cpu_s=found.build_cpu_s,
        )

    def _decision(self, starts: Ints | None, bound: float) -> Decision:
        count = len(self._jobs) + len(self._late)
        if starts is None:
            return Decision({}, inf, bound, variables=count)
        order = np.argsort(starts, kind="stable").tolist()
        begin = {self._places[job]: self._problem.now + int(starts[job]) for job in order}
        value = self._objective.value(starts)
        return Decision(begin, value, min(value, bound), variables=count)


@dataclass(frozen=True)
class ImprovedStarts:
    """Best answer, and the effort."""

    starts: Ints | None
    bound: float
    result: Result
    deterministic_s: float
    solver_cpu_s: float
    build_cpu_s: float


@dataclass(frozen=True)
class CapacitySumModel:
    """Jobs and total capacity."""

    work: JobWork
    first: Ints
    """Earliest starts, (jobs,)."""
    latest: int
    late: Sequence[tuple[int, list[int]]] = ()
    """Durations and demand of jobs fixed at the end."""
    lean: bool = True
    """Omit redundant constraints."""

    def improve(
        self, objective: Objective, ours: Ints | None, bound: float, effort: Effort, seed: int
    ) -> ImprovedStarts:
        """Ask the solver to improve on `ours`."""
        (model, runs, posted), build_s = cpu_timed(lambda: self._built(objective, ours))
        solved, spent = search(model, effort, seed)
        result = solved.result
        if result.bound is not None:
            bound = max(bound, result.bound / posted.scale)
        best = ours
        if result.found:
            starts = solved.values(runs.start)
            if best is None or objective.value(starts) < objective.value(best):
                best = starts
        return ImprovedStarts(best, bound, result, spent, result.cpu_s, build_s)

    def _built(self, objective: Objective, hint: Ints | None) -> tuple[CpModel, RunVariables, PostedObjective]:
        model = new_model()
        runs = variables.add_runs(model, self.work.duration, self.first, self.latest, hint)
        fixed = [model.new_fixed_size_interval_var(self.latest - length, length, "") for length, _ in self.late]
        for kind in range(self.work.need.shape[1]):
            needs = [*self.work.need[:, kind].tolist(), *(need[kind] for _, need in self.late)]
            if any(needs) or not self.lean:
                most = max(0, int(self.work.free[:, kind].max()))
                constraints.cumulative(model, [*runs.interval, *fixed], needs, self._taken(kind, most), most)
        posted = objective.post(model, runs.start, self.latest, hint)
        model.minimize(posted.expression)
        return model, runs, posted

    def _taken(self, kind: int, most: int) -> list[tuple[int, int, int]]:
        starts, free = self.work.time.tolist(), np.maximum(self.work.free[:, kind], 0).tolist()
        # The last free amount holds until all jobs have ended.
        end = max(self.latest, starts[-1]) + int(self.work.duration.max(initial=0)) + 1
        return [
            (a, b, most - has)
            for a, b, has in zip(starts, [*starts[1:], end], free, strict=True)
            if has < most and a < b
        ]
