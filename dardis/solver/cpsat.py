"""Bounded CP-SAT runs; equal model, hints, deterministic budget and seed give equal answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dardis.model.arrays import Ints
from dardis.solver.result import Budget, EndReason, Result, SolverStatus, run_in_thread

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import (
        CpModel,
        CpSolver,
        CpSolverSolutionCallback,
        Domain,
        IntervalVar,
        IntVar,
        LinearExpr,
    )

__all__ = [
    "CpModel",
    "CpSolution",
    "Domain",
    "IntVar",
    "IntervalVar",
    "LinearExpr",
    "domain",
    "new_model",
    "set_hints",
    "solve",
    "weighted_sum",
]

_POLL_S = 0.05

_LARGEST_SEED = (1 << 31) - 1
"""Largest CP-SAT seed; ours may be larger."""

BoundProgress = Callable[[float, float], None]
"""Called with the objective of each solution, and the bound."""


@dataclass(frozen=True, slots=True)
class CpSolution:
    """Result and values of all variables by index; empty without a solution."""

    result: Result
    all_values: Ints

    def values(self, variables: Iterable[IntVar]) -> Ints:
        """Values in the solution."""
        return self.all_values[np.fromiter((variable.index for variable in variables), np.int64)]


def new_model() -> CpModel:
    """Empty model."""
    from ortools.sat.python import cp_model

    return cp_model.CpModel()


def domain(intervals: Iterable[Sequence[int]]) -> Domain:
    """Integers of closed intervals `[low, high]`, in any order."""
    from ortools.sat.python import cp_model

    return cp_model.Domain.from_intervals([list(interval) for interval in intervals])


def weighted_sum(parts: Iterable[LinearExpr | int], weights: Iterable[int]) -> LinearExpr:
    """Weighted sum of expressions."""
    from ortools.sat.python import cp_model

    return cp_model.LinearExpr.weighted_sum(list(parts), list(weights))


def set_hints(model: CpModel, answer: CpSolution) -> None:
    """Set hints from an answer."""
    model.clear_hints()  # type: ignore[no-untyped-call]
    for index, value in enumerate(answer.all_values.tolist()):
        model.add_hint(model.get_int_var_from_proto_index(index), value)


def solve(
    model: CpModel,
    budget: Budget,
    *,
    progress: BoundProgress | None = None,
    stop: Callable[[], bool] | None = None,
    notes_when: bool = False,
) -> CpSolution:
    """Run a model within a budget; `stop` is polled, Ctrl-C is raised.

    `notes_when`: record times of solutions.
    """
    solver = _solver(budget)
    stopped = False
    moments: list[float] = []
    told = _callback(progress, moments if notes_when else None)
    with run_in_thread(lambda: solver.solve(model, told).name) as run:
        try:
            while not wait([run], timeout=_POLL_S).done:
                if stop is not None and not stopped and stop():
                    stopped = True
                    solver.stop_search()
        except BaseException:
            solver.stop_search()
            raise
        name, cpu_s = run.result()
    answer = _answer(solver, _STATUS[name], budget, stopped, cpu_s)
    return replace(answer, result=replace(answer.result, found_at=tuple(moments))) if moments else answer


_STATUS = {
    "OPTIMAL": SolverStatus.OPTIMAL,
    "FEASIBLE": SolverStatus.FEASIBLE,
    "INFEASIBLE": SolverStatus.INFEASIBLE,
    "UNKNOWN": SolverStatus.UNKNOWN,
}
"""By OR-Tools' names; an invalid model is a defect."""


def _solver(budget: Budget) -> CpSolver:
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = budget.workers
    parameters.interleave_search = budget.workers > 1
    parameters.random_seed = budget.seed & _LARGEST_SEED
    parameters.max_deterministic_time = budget.deterministic_s
    if budget.conflicts is not None:
        parameters.max_number_of_conflicts = budget.conflicts
    parameters.cp_model_presolve = budget.presolve
    if budget.linear is not None:
        parameters.linearization_level = budget.linear
    if not budget.probing:
        parameters.cp_model_probing_level = 0
    parameters.stop_after_first_solution = budget.first_only
    if budget.guard_s < math.inf:
        parameters.max_time_in_seconds = budget.guard_s
    parameters.catch_sigint_signal = False
    return solver


def _callback(progress: BoundProgress | None, moments: list[float] | None) -> CpSolverSolutionCallback | None:
    from ortools.sat.python import cp_model

    if progress is None and moments is None:
        return None

    class Told(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            if progress is not None:
                progress(self.objective_value, self.best_objective_bound)
            if moments is not None:
                moments.append(self.deterministic_time)

    return Told()


def _answer(solver: CpSolver, status: SolverStatus, budget: Budget, stopped: bool, cpu_s: float) -> CpSolution:
    response = solver.response_proto
    found = status in {SolverStatus.OPTIMAL, SolverStatus.FEASIBLE}
    if status in {SolverStatus.OPTIMAL, SolverStatus.INFEASIBLE}:
        ended = EndReason.PROVEN
    elif stopped:
        ended = EndReason.STOPPED
    else:
        # The wall clock may stop a run slightly early: a run with unspent budget was stopped by the guard.
        spent = response.deterministic_time >= 0.99 * budget.deterministic_s
        spent = spent or (budget.conflicts is not None and response.num_conflicts >= budget.conflicts)
        spent = spent or (budget.first_only and found)
        ended = EndReason.BUDGET if spent or budget.guard_s == math.inf else EndReason.GUARD
    result = Result(
        status=status,
        ended=ended,
        objective=float(response.objective_value) if found else None,
        # Before a first solution, 0 may be no bound.
        bound=float(response.best_objective_bound) if found else None,
        deterministic_s=float(response.deterministic_time),
        cpu_s=cpu_s,
    )
    return CpSolution(result, np.array(response.solution if found else [], dtype=np.int64))
