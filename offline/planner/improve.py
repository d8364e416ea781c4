"""Our search: coordinate descent, rebuilding of parts, and solver polish.

All moves are on real nodes. `dardis.kernels.day_profit` values moves; the exact account decides.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dardis.kernels.day_profit import DayProfit
from dardis.model.arrays import Floats, Ints
from dardis.model.randomness import stream
from offline.planner.budget import SearchBudget, Watch
from offline.planner.day_problem import DayProblem, Plan
from offline.planner.money import cores_of, profit_of, rank_of
from offline.planner.packing import Packing
from offline.planner.searches import plan_of

PASSES = 4
"""The first has all jobs, others large jobs only."""
LARGE = 0.25
"""The largest quarter has nearly all core-seconds."""
MOST_LARGE = 600
"""Most large jobs that move. The busiest days have 2,500."""
BATCH = 50
"""Jobs or groups between clock checks."""
MOST_TOGETHER = 24
"""Most jobs of a rebuilt group."""
NEAR_S = 86_400.0
"""Approximate time span of such a group."""


def improve(
    problem: DayProblem, best: Plan, budget: SearchBudget, watch: Watch, *, polishes: int = 0, large_only: bool = False
) -> Plan:
    """Improve a plan.

    `budget`: groups to rebuild, half of them after `polishes` solver steps. `large_only`: small jobs stay.
    """
    search = _Search(problem, best, budget.seed, watch)
    with watch.interruptible():
        search.descend(large_only=large_only)
        search.rebuild(budget.iterations - budget.iterations // 2)
        search.polish(polishes)
        search.rebuild(budget.iterations // 2)
    return replace(search.best, stopped_by=watch.stopped_by)


class _Search:
    def __init__(self, problem: DayProblem, best: Plan, seed: int, watch: Watch) -> None:
        self.best = best
        self._rank = rank_of(problem, best.start)[0]
        self._problem, self._watch, self._seed = problem, watch, seed
        self._rng = stream(seed, "plan", "rebuild")
        self._work = cores_of(problem) * problem.jobs.duration
        by_size = np.argsort(-self._work, kind="stable").astype(np.int64)
        self._by_size = by_size
        self._large = by_size[: max(int(len(by_size) * LARGE), min(len(by_size), MOST_TOGETHER))]
        self._packing = self._packing_of_best()

    def _profit(self) -> DayProfit:
        return profit_of(self._problem, self._packing.start)

    def _keep_if_better(self) -> None:
        found = rank_of(self._problem, self._packing.start)[0]
        if found > self._rank:
            self._rank, self.best = found, plan_of(self._problem, self._packing, "ours")

    def descend(self, *, large_only: bool) -> None:
        profit, large = self._profit(), self._large[:MOST_LARGE] if large_only else self._large
        jobs = large if large_only else self._by_size
        for turn in range(PASSES):
            gained = 0.0
            for low in range(0, len(jobs), BATCH):
                if self._watch.over():
                    break
                batch = jobs[low : low + BATCH]
                gained += self._packing.rebuild(profit, np.split(batch, len(batch)))
            self._keep_if_better()
            self._watch.progress(f"descent, pass {turn + 1}", self.best.profit, None)
            jobs = large
            if gained < 1e-6 or self._watch.over():
                break

    def rebuild(self, groups: int) -> None:
        profit = self._profit()
        for done in range(0, groups, BATCH):
            if self._watch.over() or len(self._large) < 2:
                break
            middle = self._packing.start + self._problem.jobs.duration / 2
            self._packing.rebuild(profit, [self._group(middle) for _ in range(min(BATCH, groups - done))])
            self._keep_if_better()
            self._watch.progress(f"rebuilding, {groups - done} groups left", self.best.profit, None)

    def polish(self, steps: int) -> None:
        from offline.planner.cp.polish import polish

        if steps and not self._watch.over():
            polish(self._problem, self.best.start, SearchBudget(steps, self._seed), self._watch, self._place_starts)
            self._packing = self._packing_of_best()

    def _place_starts(self, wished: Ints) -> tuple[Ints, float]:
        moved = np.flatnonzero(wished != self.best.start)
        self._packing = self._packing_of_best(without=moved)
        for job in moved[np.lexsort((-self._work[moved], wished[moved]))].tolist():
            self._packing.put(job, int(wished[job]))
        again = self._by_size[np.isin(self._by_size, moved)]
        self._packing.rebuild(self._profit(), np.split(again, len(again)) if len(again) else [])
        self._keep_if_better()
        return self._packing.start, rank_of(self._problem, self._packing.start)[0]

    def _packing_of_best(self, without: Ints | None = None) -> Packing:
        packing = Packing(self._problem)
        jobs = np.arange(len(self._work))
        packing.place_as_planned(self.best, (jobs if without is None else np.setdiff1d(jobs, without)).tolist())
        return packing

    def _group(self, middle: Floats) -> Ints:
        rng, conditions, large = self._rng, self._problem.conditions, self._large
        least = min(4 * MOST_TOGETHER, len(large))
        large = large[: round(np.exp(rng.uniform(np.log(least), np.log(len(large)))))]
        moment = rng.uniform(conditions.start, conditions.end)
        far = np.abs(middle[large] - moment) + rng.uniform(0, NEAR_S, len(large))
        count = min(int(rng.integers(2, MOST_TOGETHER + 1)), len(large))
        near = large[np.argpartition(far, count - 1)[:count]]
        return near[np.argsort(-self._work[near] * np.exp(rng.normal(0.0, 1.0, count)), kind="stable")]
