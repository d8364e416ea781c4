"""Bounded runs of linear programmes by GLOP (a simplex method): values, and what each row's bound is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.solver.result import Budget, Ended, Result, SolverStatus

if TYPE_CHECKING:
    from ortools.linear_solver.python.model_builder_helper import ModelBuilderHelper, ModelSolverHelper


@dataclass(frozen=True, slots=True)
class LinearProgram:
    """Maximise `objective @ x` with `lower <= x <= upper` and `row_lower <= A @ x <= row_upper`.

    A has `value[i]` at (`row[i]`, `column[i]`), entries of one place add up; infinite bounds are no bounds.
    """

    objective: Floats
    lower: Floats
    upper: Floats
    row: Ints
    column: Ints
    value: Floats
    row_lower: Floats
    row_upper: Floats


@dataclass(frozen=True, slots=True)
class LpAnswer:
    """A run's result with the values of the variables, and what one more of each row's bound would bring.

    Both are empty where nothing was found. They are floats with a solver's tolerances: who needs a proof makes it of
    the duals.
    """

    result: Result
    values: Floats
    duals: Floats


def solve_lp(program: LinearProgram, budget: Budget) -> LpAnswer:
    """Run a linear programme within a budget, whose workers and seed mean nothing here.

    The status is OPTIMAL or UNKNOWN: GLOP does not reliably tell an infeasible programme from an unbounded one.
    """
    from ortools.linear_solver.python import model_builder_helper as helper

    solver = helper.ModelSolverHelper("GLOP")
    solver.set_solver_specific_parameters(f"max_deterministic_time: {budget.deterministic_s!r}")
    if budget.guard_s < math.inf:
        solver.set_time_limit_in_seconds(budget.guard_s)
    solver.solve(_model(program))
    return _answer(solver, budget)


def _model(program: LinearProgram) -> ModelBuilderHelper:
    from ortools.linear_solver.python import model_builder_helper as helper

    model = helper.ModelBuilderHelper()
    bounds = zip(program.lower.tolist(), program.upper.tolist(), program.objective.tolist(), strict=True)
    for variable, (lower, upper, worth) in enumerate(bounds):
        model.add_var()
        model.set_var_lower_bound(variable, lower)
        model.set_var_upper_bound(variable, upper)
        model.set_var_objective_coefficient(variable, worth)
    for row, (lower, upper) in enumerate(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)):
        model.add_linear_constraint()
        model.set_constraint_lower_bound(row, lower)
        model.set_constraint_upper_bound(row, upper)
    entries = zip(program.row.tolist(), program.column.tolist(), program.value.tolist(), strict=True)
    for row, column, value in entries:
        model.safe_add_term_to_constraint(row, column, value)
    model.set_maximize(True)
    return model


def _answer(solver: ModelSolverHelper, budget: Budget) -> LpAnswer:
    status = SolverStatus.OPTIMAL if solver.status().name == "OPTIMAL" else SolverStatus.UNKNOWN
    ended = Ended.GUARD if solver.wall_time() >= budget.guard_s else Ended.BUDGET
    if solver.status().name in {"OPTIMAL", "INFEASIBLE", "UNBOUNDED"}:
        ended = Ended.PROVEN
    objective = float(solver.objective_value()) if status is SolverStatus.OPTIMAL else None
    result = Result(status, ended, objective, objective)
    if objective is None:
        return LpAnswer(result, np.zeros(0), np.zeros(0))
    return LpAnswer(result, np.array(solver.variable_values()), np.array(solver.dual_values()))
