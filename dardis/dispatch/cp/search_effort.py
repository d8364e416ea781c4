"""How long a model is searched (PCP'19, sections 2.2 and 3): with twice the time while nothing is found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from dardis.solver.cpsat import Answer, solve
from dardis.solver.result import Budget, Ended

if TYPE_CHECKING:
    from dardis.solver.cpsat import CpModel


@dataclass(frozen=True, slots=True)
class Effort:
    """Bounds of a search. Times are deterministic seconds: about what the work takes, and the same on any machine."""

    first_s: float = 1.0
    """δ: the bound of the first run."""
    longest_s: float = 16.0
    """δ_max: no run has more."""
    restarts: int = 2
    """k: so many further runs at most that find no more than the one before."""
    conflicts: int = 1_000_000
    """Of a run: deterministic time alone is no bound of the time that a large model takes."""
    guard_s: float = inf
    """Of a run, on the wall clock."""
    linear: int | None = None
    """How much of a model is also relaxed to a linear one, 0 to 2 (None: as the solver likes)."""
    presolve: bool = True
    """Whether the solver first looks for a simpler model, which no bound here holds for."""


def search(model: CpModel, effort: Effort, seed: int) -> tuple[Answer, float]:
    """Run the solver until something is found or nothing can be; return the last answer and the time of all runs.

    Who has hinted at a whole solution has one after the first run. Times are deterministic seconds; the answer has the
    CPU time of all runs.
    """
    spent, cpu_s, limit, runs = 0.0, 0.0, effort.first_s, 0
    while True:
        # Probing took 7 of the 8.7 s of a model of 4,403 optional intervals, and 0.2 of its deterministic ones.
        budget = Budget(
            limit,
            effort.guard_s,
            conflicts=effort.conflicts,
            seed=seed,
            probing=False,
            linear=effort.linear,
            presolve=effort.presolve,
        )
        answer = solve(model, budget)
        spent += answer.result.deterministic_s or 0.0
        cpu_s += answer.result.cpu_s
        runs += 1
        # Where it is proven that none exists, no longer run would find one.
        nothing_yet = not answer.result.found and answer.result.ended is Ended.BUDGET
        if not nothing_yet or 2 * limit > effort.longest_s or runs > effort.restarts:
            return replace(answer, result=replace(answer.result, cpu_s=cpu_s)), spent
        limit *= 2
