"""Eurora scheduler (T chapter 4): a model of all waiting jobs, adapted to the last cycle (4.4).

A heuristic makes a list schedule from sums over nodes. The solver gets the earliest jobs, up to the size limit. The
cheaper answer wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dardis.dispatch.cp import objectives
from dardis.dispatch.cp.decision_problem import Decision
from dardis.dispatch.cp.node_model import Subproblem, build
from dardis.dispatch.cp.pcp_nodes import MOST_PLACES, feasible_places
from dardis.engine.clock import cpu_timed
from dardis.kernels.chance import PURPOSE_PLAN, draw_key
from dardis.kernels.list_schedule import cost_before, exchange, make_plan_buffers, put_all
from dardis.model.job import FOREVER
from dardis.model.numbers import LARGEST_INT64
from dardis.model.step_function import sum_of_columns
from dardis.solver.cpsat import CpSolution as SolverAnswer
from dardis.solver.cpsat import set_hints, solve
from dardis.solver.result import Budget, EndReason

if TYPE_CHECKING:
    from dardis.dispatch.cp.decision_problem import DecisionProblem
    from dardis.dispatch.cp.first_answer import NodePlan
    from dardis.dispatch.cp.node_model import BuiltModel, Subproblem
    from dardis.dispatch.cp.objectives import Delay, ReservationObjective
    from dardis.kernels.list_schedule import PlanBuffers
    from dardis.model.addresses import JobId
    from dardis.model.arrays import Floats, Ints
    from dardis.solver.cpsat import CpModel

LONGEST_S = 300.0
"""Maximum δ."""
LEAST_S = 1e-9
"""Minimum δ."""
FIRST_ONLY_S = 60.0
"""Above this δ, the first solution suffices."""
WITHOUT_GAIN_S = 10.0
"""Maximum search time without improvement."""


@dataclass(frozen=True, slots=True)
class SearchPace:
    """δ of the next cycle, and halvings of the queue."""

    delta: float
    halvings: int = 0

    def of_queue(self, waiting: int) -> int:
        """Jobs to consider, from the queue's head."""
        return max(min(waiting, 1), waiting >> self.halvings)


@dataclass(frozen=True, slots=True)
class Pacing:
    """K₁, K₂ and M, not printed in T (section 4.4)."""

    k1: float = 1.0
    """Time added to the first solution's, in s."""
    k2: float = 2.0
    """Factor on the limit without solution."""
    m: int = 3
    """Maximum number of runs."""

    def begin(self) -> SearchPace:
        """First pace, with δ = K₁."""
        return SearchPace(min(self.k1, LONGEST_S))

    def after(self, pace: SearchPace, first_s: float | None) -> SearchPace:
        """Pace after a cycle with the time to the first solution, if any.

        A failure halves the queue, a success restores it.
        """
        if first_s is None:
            return SearchPace(self.limits(pace)[-1], pace.halvings + 1)
        return SearchPace(min(first_s + self.k1, LONGEST_S))

    def limits(self, pace: SearchPace) -> list[float]:
        """Limits of runs without solution."""
        found = [pace.delta]
        while len(found) < self.m:
            found.append(max(LEAST_S, min(found[-1] * self.k2, LONGEST_S)))
        return found


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """Last answer and times."""

    answer: SolverAnswer
    spent_s: float
    first_s: float | None


def search(
    model: CpModel, pacing: Pacing, pace: SearchPace, seed: int, conflicts: int | None = None, guard_s: float = inf
) -> SearchOutcome:
    """Run the solver with each limit of `pacing` until a solution."""
    runs = _SolverRuns(model, seed, conflicts, guard_s)
    for limit in pacing.limits(pace):
        # A long first run stops at the first solution; later runs check progress.
        answer = runs.run(limit, first_only=limit > WITHOUT_GAIN_S)
        if answer.result.found or answer.result.ended is not EndReason.BUDGET:
            break
    if answer.result.found and WITHOUT_GAIN_S < limit <= FIRST_ONLY_S:
        answer = runs.improve(answer, limit - runs.last_s)
    return SearchOutcome(replace(answer, result=replace(answer.result, cpu_s=runs.cpu_s)), runs.spent_s, runs.first_s)


class _SolverRuns:
    def __init__(self, model: CpModel, seed: int, conflicts: int | None, guard_s: float) -> None:
        self._model, self._seed, self._conflicts, self._guard_s = model, seed, conflicts, guard_s
        self.spent_s = self.cpu_s = self.last_s = 0.0
        self.first_s: float | None = None

    def run(self, limit: float, *, first_only: bool = False) -> SolverAnswer:
        budget = Budget(
            limit, self._guard_s, seed=self._seed, conflicts=self._conflicts, probing=False, first_only=first_only
        )
        answer = solve(self._model, budget, notes_when=True)
        self.last_s = answer.result.deterministic_s or 0.0
        self.spent_s += self.last_s
        self.cpu_s += answer.result.cpu_s
        if self.first_s is None and answer.result.found:
            self.first_s = answer.result.found_at[0] if answer.result.found_at else self.last_s
        return answer

    def improve(self, answer: SolverAnswer, left: float) -> SolverAnswer:
        while left > 0 and not answer.result.proven:
            set_hints(self._model, answer)
            better = self.run(min(left, WITHOUT_GAIN_S))
            left -= self.last_s
            if not better.result.found:
                break
            gains, answer = better.result.objective != answer.result.objective, better
            if not gains or better.result.ended is not EndReason.BUDGET:
                break
        return answer


@dataclass(frozen=True, slots=True)
class EuroraLimits:
    """Search's limits."""

    pacing: Pacing = field(default_factory=Pacing)
    most_places: int = MOST_PLACES
    exchanges: int = 2000
    plan_jobs: int = 100
    conflicts: int | None = None
    guard_s: float = inf
    shortcuts: bool = True
    """Whether a heuristic answer hints the solver."""


class Eurora:
    """Decides by the model of T section 4.3, with the last cycle's state."""

    knows_shapes: ClassVar[bool] = True

    def __init__(self, means: EuroraLimits) -> None:
        self._means = means
        self._pace = means.pacing.begin()
        self._last: dict[JobId, int] = {}
        """Places in the last order."""
        self._cycles = 0

    def decide(self, problem: DecisionProblem, seed: int) -> Decision:
        """Planned starts."""
        self._cycles += 1
        case, check_s = cpu_timed(lambda: _EuroraCase.of_problem(problem))
        if self._means.shortcuts:
            found = self._improve(case, seed)
        else:
            head = case.only(range(self._pace.of_queue(len(case.task.jobs))))
            found, case = self._solve(head, None, seed), head
        return case.to_decision(found, check_s)

    def _improve(self, case: _EuroraCase, seed: int) -> _SearchResult:
        ours = self._heuristic_plan(case, seed)
        if ours is None:
            return self._solve(case, None, seed)
        self._last = {case.task.jobs[job].job.number: place for place, job in enumerate(ours.order)}
        found = _SearchResult(ours, case.bound)
        if not len(case.first) or (case.first > 0).all() or case.objective.value(ours.starts) <= found.bound:
            return found
        found = replace(found, bound=max(found.bound, case.task.least(case.objective, case.first)))
        head = self._head(case, ours)
        if not head:
            return replace(found, too_large=True)
        solved = self._solve(case.only(head), ours.only(head), seed)
        if len(head) == len(ours.order):
            solved = replace(solved, bound=max(found.bound, solved.bound))
        else:
            solved = replace(solved, bound=found.bound)
        return replace(solved, plan=_best_plan(case, ours, head, solved.plan))

    def _heuristic_plan(self, case: _EuroraCase, seed: int) -> NodePlan | None:
        task, weight = case.task, 1.0 / case.objective.denominators
        order = best_order(
            task,
            weight,
            case.first,
            self._means.exchanges,
            self._means.plan_jobs,
            seed,
            self._cycles,
            self._merged_order(case),
        )
        plans = [task.machine().start_in_turn(order), task.machine().start_or_postpone(order)]
        return min(
            (plan for plan in plans if plan is not None and (plan.starts <= task.latest).all()),
            key=lambda plan: case.objective.value(plan.starts),
            default=None,
        )

    def _merged_order(self, case: _EuroraCase) -> list[int]:
        numbers = [waiting.job.number for waiting in case.task.jobs]
        length = (case.task.durations * case.objective.denominators).tolist()
        old = sorted(
            (job for job, one in enumerate(numbers) if one in self._last), key=lambda job: self._last[numbers[job]]
        )
        new = sorted((job for job, one in enumerate(numbers) if one not in self._last), key=lambda job: length[job])
        merged = []
        for job in old:
            while new and length[new[0]] < length[job]:
                merged.append(new.pop(0))
            merged.append(job)
        return [*merged, *new] if old else []

    def _head(self, case: _EuroraCase, ours: NodePlan) -> list[int]:
        by_start: list[int] = np.argsort(ours.starts, kind="stable").tolist()
        sizes = case.task.sizes()
        nodes = [sizes[job] for job in by_start]
        fits = int(np.searchsorted(np.cumsum(nodes), self._means.most_places, side="right"))
        return by_start[: self._pace.of_queue(fits)]

    def _solve(self, case: _EuroraCase, hint: NodePlan | None, seed: int) -> _SearchResult:
        means, pace = self._means, self._pace
        shares = case.task.node_candidates(means.most_places) if case.task.jobs else []
        if not shares:
            too_large = shares is None
            if too_large:
                self._pace = means.pacing.after(pace, None)
            return _SearchResult(None, case.bound, too_large=too_large)
        built, build_s = cpu_timed(lambda: build(case.task, shares, case.objective, (), case.first, hint))
        searched = search(built.model, means.pacing, pace, seed, means.conflicts, means.guard_s)
        self._pace = means.pacing.after(pace, searched.first_s)
        return _SearchResult.of_search(case, built, searched, build_s)


def _best_plan(case: _EuroraCase, ours: NodePlan, head: Sequence[int], of_head: NodePlan | None) -> NodePlan:
    plans = [ours]
    if of_head is not None:
        first = [head[job] for job in of_head.order]
        behind = {*range(len(ours.order))}.difference(first)
        again = case.task.machine().start_in_turn([*first, *(job for job in ours.order if job in behind)])
        plans += [plan for plan in (again,) if plan is not None and (plan.starts <= case.task.latest).all()]
        if not behind:
            plans.append(of_head.only(np.argsort(head).tolist()))
    return min(plans, key=lambda plan: case.objective.value(plan.starts))


@dataclass(frozen=True)
class _SearchResult:
    plan: NodePlan | None
    bound: float
    searched: SearchOutcome | None = None
    build_s: float = 0.0
    too_large: bool = False

    @classmethod
    def of_search(cls, case: _EuroraCase, built: BuiltModel, searched: SearchOutcome, build_s: float) -> _SearchResult:
        result = searched.answer.result
        plan = built.read(searched.answer) if result.found else None
        bound = case.bound if result.bound is None else max(case.bound, result.bound / built.posted.scale)
        return cls(plan, bound, searched, build_s)


@dataclass(frozen=True)
class _EuroraCase:
    """Jobs that can run on the present machine (T eq. 4.6)."""

    task: Subproblem
    first: Ints
    """Earliest starts."""
    objective: ReservationObjective | Delay

    @classmethod
    def of_problem(cls, problem: DecisionProblem) -> _EuroraCase:
        """Leave out jobs without feasible start: such jobs make the model infeasible."""
        order = sorted(feasible_places(problem), key=lambda place: problem.waiting[place].arrival)
        task = Subproblem(problem, tuple(order), problem.running, problem.horizon - problem.now)
        first = task.machine().earliest(problem.horizon)
        return cls(task, first, objectives.eurora_objective(task.jobs, problem.platform, problem.now, task.latest))

    def only(self, jobs: Sequence[int]) -> _EuroraCase:
        if len(jobs) == len(self.first) and [*jobs] == [*range(len(jobs))]:
            return self
        some = np.array(jobs, dtype=np.int64)
        task = replace(self.task, places=tuple(self.task.places[job] for job in jobs))
        return _EuroraCase(task, self.first[some], self.objective.only(some))

    @property
    def bound(self) -> float:
        return self.objective.value(self.first)

    def to_decision(self, found: _SearchResult, check_s: float) -> Decision:
        task, plan = self.task, found.plan
        value = inf if plan is None else self.objective.value(plan.starts)
        order = () if plan is None else plan.order
        starts = {task.places[job]: task.problem.now + int(plan.starts[job]) for job in order} if plan else {}
        where = {task.places[job]: plan.where[job] for job in order if plan.starts[job] == 0} if plan else {}
        answer = Decision(
            starts, value, min(value, found.bound), where, check_cpu_s=check_s, build_cpu_s=found.build_s,
            variables=task.variables, too_large=found.too_large,
        )  # fmt: skip
        if found.searched is None:
            return answer
        result = found.searched.answer.result
        return replace(answer, result=result, deterministic_s=found.searched.spent_s, solver_cpu_s=result.cpu_s)


WIDTH_POWERS = (0.0, 0.5, 1.0)
"""Initial orders: duration times a power of the machine share, over weight.

For 266 jobs on 65 nodes these cost 998, 979 and 1,020 (arrival order: 1,717; lower bound: 819).
"""


def best_order(
    task: Subproblem,
    weight: Floats,
    first: Ints,
    tries: int,
    most: int,
    seed: int,
    cycle: int,
    known: Sequence[int] = (),
) -> tuple[int, ...]:
    """Jobs by start in the best plan found, starting also from `known`.

    `tries` exchanges are drawn by seed and cycle among the first `most` jobs. `weight`: cost of a second; `first`:
    earliest starts, s from now.
    """
    count = len(task.jobs)
    ahead = _list_schedule(task, weight, first)
    orders = [*_by_width(task, weight), *([np.array(known, dtype=np.int64)] if len(known) else [])]
    costs = []
    for order in orders:
        ahead.order[:] = order
        costs.append(put_all(ahead, 0, count, 0))
    best = int(np.argmin(costs))
    ahead.order[:] = orders[best]
    put_all(ahead, 0, count, 0)
    front = min(count, most)
    if front > 1:
        exchange(ahead, front, tries, _key(seed, cycle), cost_before(ahead, front, 0), 0)
        put_all(ahead, front, count, 0)
    starts = ahead.start[ahead.order]
    return tuple(ahead.order[np.argsort(starts, kind="stable")].tolist())


def _key(seed: int, cycle: int) -> int:
    return int(draw_key(seed, cycle, 0, 0, int(PURPOSE_PLAN))) & LARGEST_INT64


def _list_schedule(task: Subproblem, weight: Floats, first: Ints) -> PlanBuffers:
    count = len(task.jobs)
    time, free = sum_of_columns(task.free)
    ahead = make_plan_buffers(time, np.maximum(free, 0), count, 0)
    ahead.need[:] = _needs(task)
    ahead.span[:] = task.durations
    ahead.weight[:] = weight
    # A job that can ever start alone may fit the sums from then on.
    ahead.soonest[:] = np.minimum(first, FOREVER)
    ahead.least[:] = weight * first
    steps = len(time)
    ahead.steps[0] = steps
    ahead.time[0, :steps], ahead.value[0, :steps] = time, np.maximum(free, 0)
    return ahead


def _needs(task: Subproblem) -> Ints:
    kinds = len(task.problem.platform.kinds)
    needs = [waiting.amounts for waiting in task.jobs]
    return np.array(needs, dtype=np.int64).reshape(-1, kinds)


def _by_width(task: Subproblem, weight: Floats) -> list[Ints]:
    capacity = np.maximum(task.problem.platform.capacity.sum(axis=0), 1)
    share = (_needs(task) / capacity).max(axis=1, initial=0.0)
    return [np.argsort(task.durations * share**power / weight, kind="stable") for power in WIDTH_POWERS]
