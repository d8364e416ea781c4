"""Search effort (PCP'19, sections 2.2 and 3): double the time while nothing is found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from dardis.solver.cpsat import CpSolution, solve
from dardis.solver.result import Budget, EndReason

if TYPE_CHECKING:
    from dardis.solver.cpsat import CpModel


@dataclass(frozen=True, slots=True)
class Effort:
    """Search's bounds, in machine-independent deterministic seconds."""

    first_s: float = 1.0
    """δ: limit of the first run."""
    longest_s: float = 16.0
    """δ_max: limit of each run."""
    restarts: int = 2
    """k: maximum further runs without progress."""
    conflicts: int = 1_000_000
    """Per run, since time alone does not bound large models."""
    guard_s: float = inf
    """Wall-clock limit per run."""
    linear: int | None = None
    """Linear relaxation, 0 to 2 (None: default)."""
    presolve: bool = True
    """Presolve, without any limit."""


def search(model: CpModel, effort: Effort, seed: int) -> tuple[CpSolution, float]:
    """Run the solver until a solution or a limit.

    Returns the last answer with CPU time and deterministic time of all runs.
    """
    spent, cpu_s, limit, runs = 0.0, 0.0, effort.first_s, 0
    while True:
        # Probing took 7 of 8.7 s for a model of 4,403 optional intervals, but 0.2 deterministic seconds.
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
        # A proof of infeasibility needs no longer run.
        nothing_yet = not answer.result.found and answer.result.ended is EndReason.BUDGET
        if not nothing_yet or 2 * limit > effort.longest_s or runs > effort.restarts:
            return replace(answer, result=replace(answer.result, cpu_s=cpu_s)), spent
        limit *= 2
