"""HCP'19 (002): starts are decided on what all nodes together have; who is to start now then looks for nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import ClassVar

import numpy as np

from dardis.dispatch.cp import objectives
from dardis.dispatch.cp.bound import Work
from dardis.dispatch.cp.first import Machine
from dardis.dispatch.cp.objectives import Delay
from dardis.dispatch.cp.problem import Answer, Problem, Waiting
from dardis.dispatch.cp.search import Effort
from dardis.dispatch.cp.sums import Sums
from dardis.kernels.ahead import schedule_or_postpone
from dardis.model.arrays import Ints
from dardis.model.profile import sum_of_columns
from dardis.solver.result import Ended, Result, SolverStatus

CONFLICTS = 1_000
"""Of a run, unless more are allowed."""


@dataclass(frozen=True)
class Hcp19:
    """HCP'19 in its versions (002, table 1); those who are not in the model are postponed.

    0: the first m are in the model, and behind them the others, fixed to the end of the horizon, where they may be too
    many for any answer. 1: the first m, of these whom what is free now holds, and no kind that nobody asks for. 2: jobs
    that outrun what was foreseen run one second more at least; before, they hold nothing in the model and shorten its
    horizon (002, section 4). 3: durations in objective and priority.
    """

    knows_shapes: ClassVar[bool] = True
    version: int = 3
    jobs: int = 100
    """m: of those who wait, the first to have arrived."""
    effort: Effort = field(default_factory=lambda: Effort(conflicts=CONFLICTS))
    shortcuts: bool = True
    """Whether an answer of ours comes first; else the solver is asked always, and is told of none."""

    def answer(self, problem: Problem, seed: int) -> Answer:
        """As `Model` has it."""
        pool = _Pool.of_problem(problem, mended=self.version >= 2)
        by_arrival = sorted(range(len(problem.waiting)), key=lambda place: problem.waiting[place].arrival)
        places, late = by_arrival[: self.jobs], by_arrival[self.jobs :]
        if self.version >= 1:
            late = []
            places = [place for place in places if (pool.needs[place] <= pool.free[0]).all()]
        places.sort(key=lambda place: self._priority(problem.waiting[place], problem.now))
        if not places:
            return Answer({}, 0.0, 0.0)
        return _Case(self, problem, pool, places, late).answer(seed)

    def objective(self, jobs: Sequence[Waiting], now: int) -> Delay:
        """What is minimised."""
        return (objectives.slowdown if self.version >= 3 else objectives.weighted_waiting)(jobs, now)

    def _priority(self, waiting: Waiting, now: int) -> tuple[float, ...]:
        """The least goes first; fixed when the decision begins.

        Before version 3 by `max(ewt) / ewt · (t − q)`, whose first factor changes no order; of equals whoever asks for
        less, for less time (002, section 2.2, allocation).
        """
        if self.version >= 3:
            return waiting.priority(now)
        demand = waiting.duration * sum(waiting.amounts)
        return (waiting.job.submit - now) / objectives.expected_wait(waiting.job), demand, *waiting.arrival


@dataclass(frozen=True)
class _Pool:
    """What all nodes together have free, in s from now, and what each job that waits needs of it."""

    time: Ints
    free: Ints
    """Shape (steps, kinds)."""
    needs: Ints
    """Shape (jobs, kinds)."""
    latest: int
    """No job starts later."""

    @classmethod
    def of_problem(cls, problem: Problem, *, mended: bool) -> _Pool:
        """`mended`: who has outrun what was foreseen holds what he has (002, section 4)."""
        kinds = len(problem.platform.kinds)
        ends = [job.end if mended else job.foreseen for job in problem.running]
        running = [replace(job, end=end) for job, end in zip(problem.running, ends, strict=True)]
        # Node by node: where somebody uses what is blocked, others have no less.
        time, free = sum_of_columns(Machine(problem, (), running).free())
        needs = [_need(waiting, free[0]) for waiting in problem.waiting]
        latest = problem.horizon - problem.now
        if not mended:
            blocked = max((block.end - problem.now for block in problem.blocked), default=0)
            latest = max(blocked, 0) + sum(end - problem.now for end in ends)
            latest += sum(waiting.duration for waiting in problem.waiting)
        return cls(time, free, np.array(needs, dtype=np.int64).reshape(-1, kinds), latest)


def _need(waiting: Waiting, free: Ints) -> tuple[int, ...]:
    """What a job asks for as the first of its requests that asks for no more than is free now, else as the first."""
    if len(waiting.orders) < 2:
        return waiting.amounts
    asked = [request.amounts for _, request in waiting.requests]
    return next((amounts for amounts in asked if (np.array(amounts) <= free).all()), asked[0])


class _Case:
    """A decision: the jobs of the model in the order of their priorities."""

    def __init__(self, model: Hcp19, problem: Problem, pool: _Pool, places: list[int], late: list[int]) -> None:
        self._model, self._problem, self._pool = model, problem, pool
        self._places, self._late = places, late
        self._jobs = [problem.waiting[place] for place in places]
        self._duration = np.array([waiting.duration for waiting in self._jobs], dtype=np.int64)
        self._objective = model.objective(self._jobs, problem.now)

    def answer(self, seed: int) -> Answer:
        """Say who starts when."""
        least = self._objective.value(np.zeros(len(self._jobs), dtype=np.int64))
        ours = self._ours() if self._model.shortcuts else None
        if ours is not None and self._objective.value(ours) <= least:
            return self._told(ours, least)
        if self._pool.latest < 0:
            infeasible = Result(SolverStatus.INFEASIBLE, Ended.PROVEN, None, None, 0.0)
            return replace(self._told(None, inf), result=infeasible)
        return self._solved(ours, seed)

    def _ours(self) -> Ints | None:
        """Schedule-or-postpone, if it is an answer of the model."""
        steps, kinds = self._pool.free.shape
        room = steps + len(self._jobs) + 1
        time, free = np.zeros(room, dtype=np.int64), np.zeros((room, kinds), dtype=np.int64)
        time[:steps], free[:steps] = self._pool.time, self._pool.free
        start = np.empty(len(self._jobs), dtype=np.int64)
        schedule_or_postpone(time, free, steps, self._pool.needs[self._places], self._duration, start)
        # Those who are fixed to the end of the horizon may be in the way of anybody.
        return start if start.max() <= self._pool.latest and not self._late else None

    def _solved(self, ours: Ints | None, seed: int) -> Answer:
        """The better of our answer and what the solver finds."""
        pool, waiting = self._pool, self._problem.waiting
        work = Work(self._duration, pool.needs[self._places], pool.time, pool.free)
        first = np.zeros(len(self._jobs), dtype=np.int64)
        late = [(waiting[place].duration, pool.needs[place].tolist()) for place in self._late]
        sums = Sums(work, first, pool.latest, late, lean=self._model.version >= 1)
        bound = self._objective.least(first, work)
        found = sums.improve(self._objective, ours, bound, self._model.effort, seed)
        return replace(
            self._told(found.starts, found.bound),
            result=found.result,
            deterministic_s=found.deterministic_s,
            solver_cpu_s=found.solver_cpu_s,
            build_cpu_s=found.build_cpu_s,
        )

    def _told(self, starts: Ints | None, bound: float) -> Answer:
        """What the dispatcher is told."""
        count = len(self._jobs) + len(self._late)
        if starts is None:
            return Answer({}, inf, bound, variables=count)
        order = np.argsort(starts, kind="stable").tolist()
        begin = {self._places[job]: self._problem.now + int(starts[job]) for job in order}
        value = self._objective.value(starts)
        return Answer(begin, value, min(value, bound), variables=count)
