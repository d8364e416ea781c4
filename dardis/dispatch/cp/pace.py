"""How much work the Eurora scheduler puts into a model, by what the last one took (T section 4.4).

All times are deterministic seconds, so that the same run again puts in the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from dardis.solver.cpsat import Answer, begin_with, solve
from dardis.solver.result import Budget, Ended

if TYPE_CHECKING:
    from dardis.solver.cpsat import CpModel

LONGEST_S = 300.0
"""No δ is above this."""
LEAST_S = 1e-9
"""None is below this."""
FIRST_ONLY_S = 60.0
"""Where δ is above this, the first solution is taken."""
WITHOUT_GAIN_S = 10.0
"""A search that finds nothing better for so long is over."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What stands for the next cycle: δ, and how often the queue is halved that it looks at."""

    delta: float
    halvings: int = 0

    def of_queue(self, waiting: int) -> int:
        """How many of those who wait are looked at, the first in the queue; one at least."""
        return max(min(waiting, 1), waiting >> self.halvings)


@dataclass(frozen=True, slots=True)
class Pacing:
    """K₁, K₂ and M of T section 4.4, which doesn't print them."""

    k1: float = 1.0
    """What is given beside the time to the first solution, in s."""
    k2: float = 2.0
    """How much longer each further run is where one finds nothing."""
    m: int = 3
    """So many runs at most."""

    def begin(self) -> Pace:
        """At first δ is K₁."""
        return Pace(min(self.k1, LONGEST_S))

    def after(self, pace: Pace, first_s: float | None) -> Pace:
        """After a cycle whose first solution took so long; None: there was none.

        Then δ is what the last run had, and half of the queue is looked at; after a success all of it is again.
        """
        if first_s is None:
            return Pace(self.limits(pace)[-1], pace.halvings + 1)
        return Pace(min(first_s + self.k1, LONGEST_S))

    def limits(self, pace: Pace) -> list[float]:
        """What each run has, in turn, as long as nothing is found."""
        found = [pace.delta]
        while len(found) < self.m:
            found.append(max(LEAST_S, min(found[-1] * self.k2, LONGEST_S)))
        return found


@dataclass(frozen=True, slots=True)
class Searched:
    """The last answer, with the CPU time of all runs, what they took in all, and the time to the first solution."""

    answer: Answer
    spent_s: float
    first_s: float | None


def search(
    model: CpModel, pacing: Pacing, pace: Pace, seed: int, conflicts: int | None = None, guard_s: float = inf
) -> Searched:
    """Run the solver as long as it may; where nothing is found, again with K₂ · δ, M times in all."""
    runs = _Runs(model, seed, conflicts, guard_s)
    for limit in pacing.limits(pace):
        # Whoever may go on for longer than without gain is watched: his first run ends with the first solution.
        answer = runs.run(limit, first_only=limit > WITHOUT_GAIN_S)
        if answer.result.found or answer.result.ended is not Ended.BUDGET:
            break
    if answer.result.found and WITHOUT_GAIN_S < limit <= FIRST_ONLY_S:
        answer = runs.improve(answer, limit - runs.last_s)
    return Searched(replace(answer, result=replace(answer.result, cpu_s=runs.cpu_s)), runs.spent_s, runs.first_s)


class _Runs:
    """Runs of the solver on a model."""

    def __init__(self, model: CpModel, seed: int, conflicts: int | None, guard_s: float) -> None:
        self._model, self._seed, self._conflicts, self._guard_s = model, seed, conflicts, guard_s
        self.spent_s = self.cpu_s = self.last_s = 0.0
        self.first_s: float | None = None
        """How long the run that found something first took until then."""

    def run(self, limit: float, *, first_only: bool = False) -> Answer:
        """Run once."""
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

    def improve(self, answer: Answer, left: float) -> Answer:
        """Go on from an answer for so long, as long as there is a gain again and again."""
        while left > 0 and not answer.result.proven:
            begin_with(self._model, answer)
            better = self.run(min(left, WITHOUT_GAIN_S))
            left -= self.last_s
            if not better.result.found:
                break
            gains, answer = better.result.objective != answer.result.objective, better
            if not gains or better.result.ended is not Ended.BUDGET:
                break
        return answer
