"""Improves a plan: CP-SAT moves large jobs at marginal prices.

Answers are reproducible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.job import NO_TIME
from dardis.model.placements import offsets_of
from dardis.model.randomness import stream
from dardis.model.step_function import Extremes, StepFunction
from dardis.solver import result
from dardis.solver.cpsat import new_model, solve, weighted_sum
from dardis.solver.milp import LinearProgram, solve_lp
from dardis.solver.result import Budget, EndReason, Result
from offline.planner.budget import SearchBudget, Watch
from offline.planner.cp.capacity_model import CapacityRow, able_groups, rows
from offline.planner.day_problem import DayProblem, StoppedBy
from offline.planner.money import account_of, added_w, cores_of, most_added_w, price_per_j

if TYPE_CHECKING:
    from dardis.solver.cpsat import CpModel, IntVar, LinearExpr

FREE_JOBS = 40
"""Jobs of a step; the solver finishes most steps."""
STEP_S = 0.3
"""Deterministic seconds of a step."""
OVER_LIMIT = 1e6
"""Penalty for a kWh above a strict limit."""

Settle = Callable[[Ints], tuple[Ints, float]]
"""Maps wished starts to feasible starts with values."""


def polish(problem: DayProblem, start: Ints, budget: SearchBudget, watch: Watch, settle: Settle | None = None) -> Ints:
    """Starts at least as good as `start`, after `budget.iterations` steps.

    `settle` places and judges wished starts; else sums keep capacity and the exact account judges.
    """
    judge = settle if settle is not None else lambda wished: (wished, penalised_profit(problem, wished))
    found = rows(problem)
    best, (_, most) = start, judge(start)
    for step in range(budget.iterations):
        if watch.over():
            break
        free = _choose_movable(problem, best, budget.seed, step)
        if not len(free):
            break
        bounds = result.Budget(STEP_S, max(watch.left_s, 1e-3), seed=budget.seed)
        wished, outcome = Window.of_plan(problem, best, free, found).improve(
            MarginalProfit.of_plan(problem, best), bounds
        )
        if outcome.ended is EndReason.GUARD:
            watch.stopped_by = StoppedBy.TIME
        if (wished != best).any():
            placed, profit = judge(wished)
            if profit > most:
                best, most = placed, profit
        watch.progress(f"polish {step + 1}/{budget.iterations}", most, None)
    return best


def penalised_profit(problem: DayProblem, start: Ints) -> float:
    """Profit minus a large penalty for strict limits."""
    account = account_of(problem, start)
    return account.profit - OVER_LIMIT * account.over_limit_kwh


def _choose_movable(problem: DayProblem, start: Ints, seed: int, step: int) -> Ints:
    day, jobs = problem.conditions, problem.jobs
    possible = np.flatnonzero(
        np.array(able_groups(problem), dtype=bool) & (np.maximum(jobs.earliest, day.start) < day.end)
    )
    size = (cores_of(problem) * np.minimum(jobs.duration, day.end - day.start))[possible].astype(np.float64)
    chance = stream(seed, "polish", step)
    if step % 2:
        middle = chance.integers(day.start, day.end)
        size *= np.exp(-np.abs(start[possible] - middle) / (0.1 * (day.end - day.start)))
    # The largest of size × a draw: a sample without replacement, proportional to size.
    key = np.log(chance.random(len(size))) / np.maximum(size, 1e-12)
    return np.sort(possible[np.argsort(-key, kind="stable")[:FREE_JOBS]])


STARTS = 24
GRID_S = 900
"""Grid of starts and capacity."""
ATTEMPTS = 20
MONEY = 10**7


@dataclass(frozen=True)
class MarginalProfit:
    """Marginal profit of jobs by segment."""

    edges: Ints
    income_rate: Floats
    """(jobs,), money a second."""
    watts: Floats
    """(jobs,)."""
    power: Floats
    """(segments,), money a joule."""

    @classmethod
    def of_plan(cls, problem: DayProblem, start: Ints) -> MarginalProfit:
        """Derive marginal prices from a plan."""
        conditions, it_w = problem.conditions, account_of(problem, start).it_w
        known = getattr(problem.cooling, "most_it_w", np.inf)
        high = np.minimum(it_w + most_added_w(problem) / 100 + 1.0, known)
        low = np.minimum(it_w, high - 1.0)
        cooled = problem.cooling.watts(conditions.temp_c, high) - problem.cooling.watts(conditions.temp_c, low)
        power = price_per_j(problem) * (1 + cooled / (high - low))
        earned = cores_of(problem) * problem.jobs.income / 3600
        return cls(conditions.edges, earned, added_w(problem), power)

    def of(self, job: Ints, start: Ints, duration: Ints) -> Floats:
        """Profit of jobs with the given starts."""
        return np.asarray(
            self.income_rate[job] * self._between(start, duration, np.ones_like(self.power))
            - self.watts[job] * self._between(start, duration, self.power)
        )

    def _between(self, start: Ints, duration: Ints, rate: Floats) -> Floats:
        whole = np.concatenate([[0.0], np.cumsum(rate * np.diff(self.edges))])
        return np.asarray(np.interp(start + duration, self.edges, whole) - np.interp(start, self.edges, whole))


@dataclass(frozen=True)
class Window:
    """Plan with movable jobs, and the capacity left by others."""

    problem: DayProblem
    start: Ints
    """Plan, (jobs,)."""
    movable: Ints
    rows: list[tuple[Ints, Extremes]]
    """Demand of movable jobs, and capacity left."""

    @classmethod
    def of_plan(cls, problem: DayProblem, start: Ints, free: Ints, rows: list[CapacityRow]) -> Window:
        """Make some jobs movable."""
        stays = np.ones(len(start), dtype=bool)
        stays[free] = False
        finish = start + problem.jobs.duration
        left = []
        for row in rows:
            there = stays & (row.demand > 0)
            if row.demand[free].any():
                used = StepFunction.from_spans(start[there], finish[there], row.demand[there])
                least = StepFunction.combined(lambda free, held: np.maximum(free - held, 0), row.free, used)
                left.append((row.demand[free], Extremes(least, np.minimum)))
        return cls(problem, start, free, left)

    def improve(self, profit: MarginalProfit, budget: Budget) -> tuple[Ints, Result]:
        """All jobs' starts after the best moves, and the solver's result."""
        choices = self._all_choices(profit)
        starts = self._round_shares(choices, self._solve_relaxation(choices, budget))
        model = new_model()
        literals = [model.new_bool_var("") for _ in choices.start]
        for literal, hint in zip(literals, starts.tolist(), strict=True):
            model.add_hint(literal, hint)
        for low, high in pairwise(choices.offsets.tolist()):
            model.add_exactly_one(literals[low:high])
        for demand, left in self.rows:
            self._capacity(model, choices, literals, starts, demand, left)
        weights = np.round(MONEY * choices.value).astype(np.int64).tolist()
        model.maximize(weighted_sum(literals, weights))
        answer = solve(model, budget)
        moved = self.start.copy()
        if answer.result.found:
            taken = answer.values(literals).astype(bool)
            moved[self.movable] = choices.start[taken]
        return moved, answer.result

    def _all_choices(self, profit: MarginalProfit) -> Choices:
        starts = [self._choices(place, profit) for place in range(len(self.movable))]
        counts = np.array([len(each) for each in starts])
        place = np.repeat(np.arange(len(starts)), counts)
        start, job = np.concatenate(starts), self.movable[place]
        finish = start + self.problem.jobs.duration[job]
        now = self.start[self.movable]
        ends = now + self.problem.jobs.duration[self.movable]
        grid = np.arange(min(int(now.min()), int(start.min())), int(max(finish.max(), ends.max())) + GRID_S, GRID_S)
        cuts = np.unique(np.concatenate([grid, now, ends]))
        begin = np.searchsorted(cuts, start, side="right") - 1
        end = np.searchsorted(cuts, finish, side="left")
        value = profit.of(job, start, self.problem.jobs.duration[job])
        return Choices(place, offsets_of(counts), start, value, cuts, begin, end)

    def _solve_relaxation(self, choices: Choices, budget: Budget) -> Floats:
        count, jobs = len(choices.start), len(self.movable)
        row, column, value = [choices.place], [np.arange(count)], [np.ones(count)]
        lower, upper = [np.ones(jobs)], [np.ones(jobs)]
        rows_, columns = jobs, count
        spare = [left.over(choices.cuts[:-1], choices.cuts[1:]) for _, left in self.rows]
        for (demand, _), most in zip(self.rows, spare, strict=True):
            takes = demand[choices.place].astype(np.float64)
            used, cells = columns + np.arange(len(most)), np.arange(len(most))
            last = choices.end < len(most)
            row += [rows_ + choices.begin, rows_ + choices.end[last], rows_ + cells, rows_ + cells[1:]]
            column += [np.arange(count), np.flatnonzero(last), used, used[:-1]]
            value += [takes, -takes[last], -np.ones(len(most)), np.ones(len(most) - 1)]
            lower.append(np.zeros(len(most)))
            upper.append(np.zeros(len(most)))
            rows_, columns = rows_ + len(most), columns + len(most)
        program = LinearProgram(
            np.concatenate([choices.value, np.zeros(columns - count)]),
            np.zeros(columns),
            np.concatenate([np.ones(count), *spare]).astype(np.float64),
            np.concatenate(row),
            np.concatenate(column),
            np.concatenate(value),
            np.concatenate(lower),
            np.concatenate(upper),
        )
        answer = solve_lp(program, budget)
        return answer.values[:count] if answer.result.found else np.zeros(count)

    def _round_shares(self, choices: Choices, share: Floats) -> Ints:
        """Select a choice for each job: the largest share that fits, largest jobs first.

        A stuck job comes first in the next attempt.
        """
        stay: Ints = (choices.start == self.start[self.movable][choices.place]).astype(np.int64)
        size = self.problem.jobs.duration[self.movable] * cores_of(self.problem)[self.movable]
        order = np.argsort(-size, kind="stable").tolist()
        for _ in range(ATTEMPTS):
            taken, stuck = self._pack_choices(choices, share, order)
            if stuck is None:
                return taken if float(taken @ choices.value) > float(stay @ choices.value) else stay
            order.remove(stuck)
            order.insert(0, stuck)
        return stay

    def _pack_choices(self, choices: Choices, share: Floats, order: list[int]) -> tuple[Ints, int | None]:
        left = [(demand, row.over(choices.cuts[:-1], choices.cuts[1:])) for demand, row in self.rows]
        taken = np.zeros(len(share), dtype=np.int64)
        for place in order:
            low, high = choices.offsets[place], choices.offsets[place + 1]
            wishes = low + np.lexsort((-choices.value[low:high], -np.round(share[low:high], 3)))
            spans = ((which, slice(choices.begin[which], choices.end[which])) for which in wishes.tolist())
            fits = (
                (which, span) for which, span in spans if all((f[span] >= demand[place]).all() for demand, f in left)
            )
            which, span = next(fits, (-1, slice(0)))
            if which < 0:
                return taken, place
            taken[which] = 1
            for demand, free in left:
                free[span] -= demand[place]
        return taken, None

    def _profit(self, job: int, starts: Ints, profit: MarginalProfit) -> Floats:
        return profit.of(np.full(len(starts), job), starts, self.problem.jobs.duration[job])

    def _choices(self, place: int, profit: MarginalProfit) -> Ints:
        """Candidate starts of a job: the current, the best, and an even spread.

        On a grid, at the earliest start, or aligned with a segment.
        """
        jobs, conditions = self.problem.jobs, self.problem.conditions
        job = int(self.movable[place])
        now, length = int(self.start[job]), int(jobs.duration[job])
        soonest = max(int(jobs.earliest[job]), conditions.start)
        last = conditions.end if jobs.latest[job] == NO_TIME else min(conditions.end, int(jobs.latest[job]))
        grid = np.arange(conditions.start, conditions.end, GRID_S)
        starts = np.concatenate([[soonest], grid, conditions.edges, conditions.edges - length])
        starts = np.unique(starts[(starts >= soonest) & (starts <= last) & (starts != now)])
        for demand, left in self.rows:
            starts = starts[left.over(starts, starts + length) >= demand[place]]
        best = np.argsort(-self._profit(job, starts, profit), kind="stable")[: STARTS // 2]
        spread = np.linspace(0, len(starts) - 1, STARTS // 2).astype(np.int64) if len(starts) else best
        return np.unique(np.append(starts[np.union1d(best, spread)], now)).astype(np.int64)

    def _capacity(
        self, model: CpModel, choices: Choices, literals: list[IntVar], hints: Ints, demand: Ints, left: Extremes
    ) -> None:
        """Limit the use in each span to its least free capacity, as a chain.

        Spans are also cut at current starts and ends of movable jobs, so the current plan fits.
        """
        least = left.over(choices.cuts[:-1], choices.cuts[1:])
        takes = demand[choices.place]
        which = np.flatnonzero(takes)
        where = np.concatenate([choices.begin[which], choices.end[which]])
        amount = np.concatenate([takes[which], -takes[which]])
        order = np.argsort(where, kind="stable")
        where, amount, which = where[order], amount[order], np.concatenate([which, which])[order]
        some = np.unique(where[where < len(least)])
        bounds = np.searchsorted(where, np.append(some, len(least)))
        used: LinearExpr | int = 0
        hint = 0
        for (low, high), most in zip(pairwise(bounds.tolist()), np.minimum.reduceat(least, some).tolist(), strict=True):
            after = model.new_int_var(0, min(most, int(demand.sum())), "")
            hint += int(amount[low:high] @ hints[which[low:high]])
            model.add_hint(after, hint)
            model.add(after == used + weighted_sum([literals[i] for i in which[low:high]], amount[low:high].tolist()))
            used = after


@dataclass(frozen=True)
class Choices:
    """Candidate starts of movable jobs; arrays (choices,) unless stated."""

    place: Ints
    """Index among the movable jobs."""
    offsets: Ints
    """(movable jobs + 1,): choices are `offsets[i]` to `offsets[i + 1]`."""
    start: Ints
    value: Floats
    cuts: Ints
    """(spans + 1,): edges of capacity spans."""
    begin: Ints
    """Span of the job's start."""
    end: Ints
    """First span after the job."""
