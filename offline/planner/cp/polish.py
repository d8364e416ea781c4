"""Polishing a plan: again and again some large jobs are moved at once by CP-SAT, what is better is kept.

Only large jobs are worth the solver's time (a fifth of the jobs hold nine tenths of the work). Each step is bounded by
deterministic time; chance comes from the seed: the same plan, budget and seed give the same answer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.randomness import stream
from dardis.solver import result
from dardis.solver.result import Ended
from offline.planner.budget import Effort, Watch
from offline.planner.cp.capacity import able_groups, rows
from offline.planner.cp.window import MarginalProfit, Window
from offline.planner.day_account import account_of, cores_of
from offline.planner.problem import Problem, StoppedBy

FREE_JOBS = 40
"""Jobs that move in one step: few enough that the solver gets to the end of most steps, which measured best."""
STEP_S = 0.3
"""Deterministic seconds of one step."""
OVER_LIMIT = 1e6
"""Money that a kWh above a limit which must be kept counts as: more than it could earn."""

Settle = Callable[[Ints], tuple[Ints, float]]
"""Starts that are wished to starts that real nodes allow, and what these are worth."""


def polish(problem: Problem, start: Ints, budget: Effort, watch: Watch, settle: Settle | None = None) -> Ints:
    """Better starts than `start`, or the same: `budget.iterations` steps.

    `settle` makes a plan on nodes of wished starts and judges it; without it capacity is kept in sums, and the judge is
    the exact account.
    """
    judge = settle if settle is not None else lambda wished: (wished, value(problem, wished))
    found = rows(problem)
    best, (_, most) = start, judge(start)
    for step in range(budget.iterations):
        if watch.over():
            break
        free = _free(problem, best, budget.seed, step)
        if not len(free):
            break
        bounds = result.Budget(STEP_S, max(watch.left_s, 1e-3), seed=budget.seed)
        wished, outcome = Window.of_plan(problem, best, free, found).improve(
            MarginalProfit.of_plan(problem, best), bounds
        )
        if outcome.ended is Ended.GUARD:
            watch.stopped_by = StoppedBy.TIME
        if (wished != best).any():
            placed, profit = judge(wished)
            if profit > most:
                best, most = placed, profit
        watch.progress(f"polish {step + 1}/{budget.iterations}", most, None)
    return best


def value(problem: Problem, start: Ints) -> float:
    """Profit, less a fortune for every kWh above a limit that must be kept."""
    account = account_of(problem, start)
    return account.profit - OVER_LIMIT * account.over_limit_kwh


def _free(problem: Problem, start: Ints, seed: int, step: int) -> Ints:
    """The jobs that move in a step: by chance, in proportion to the core-seconds that they have or could have today.

    Every other step takes only jobs that begin near one time.
    """
    day, jobs = problem.conditions, problem.jobs
    possible = np.flatnonzero(
        np.array(able_groups(problem), dtype=bool) & (np.maximum(jobs.earliest, day.start) < day.end)
    )
    size = (cores_of(problem) * np.minimum(jobs.duration, day.end - day.start))[possible].astype(np.float64)
    chance = stream(seed, "polish", step)
    if step % 2:
        middle = chance.integers(day.start, day.end)
        size *= np.exp(-np.abs(start[possible] - middle) / (0.1 * (day.end - day.start)))
    # The largest of size × a draw: a sample without replacement, in proportion to size.
    key = np.log(chance.random(len(size))) / np.maximum(size, 1e-12)
    return np.sort(possible[np.argsort(-key, kind="stable")[:FREE_JOBS]])
