"""Bounded runs of HiGHS and GLOP on linear programs, and maximum flow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dardis.model.arrays import Bools, Floats, Ints
from dardis.solver.result import Budget, EndReason, Result, SolverStatus, run_in_thread

if TYPE_CHECKING:
    from ortools.linear_solver.python.model_builder_helper import ModelBuilderHelper, ModelSolverHelper
    from ortools.math_opt import model_pb2
    from ortools.math_opt.python import mathopt

_LARGEST_SEED = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class MilpBudget:
    """Run's bounds."""

    nodes: int
    """Most branch-and-bound nodes; the first is always solved."""
    seed: int = 1


def maximise(
    program: LinearProgram, whole: Bools, search: MilpBudget, known: Floats | None = None
) -> tuple[Result, Floats | None]:
    """Result and best values, or None; variables in `whole` are integers.

    `known`: values to start from.
    """
    # HiGHS runs one thread by its own options, as MathOpt refuses its parameter.
    from ortools.math_opt.python import mathopt

    model = mathopt.Model.from_model_proto(_proto(program, whole))
    parameters = mathopt.SolveParameters(
        node_limit=search.nodes, random_seed=search.seed & _LARGEST_SEED, relative_gap_tolerance=0.0
    )
    parameters.highs.int_options["threads"] = 1
    parameters.highs.string_options["parallel"] = "off"
    # Restarts after the first node take two fifths of a search for winners, and hardly ever pay.
    parameters.highs.bool_options["mip_allow_restart"] = False
    variables = list(model.variables())
    beginning = None
    if known is not None:
        hint = mathopt.SolutionHint(variable_values=dict(zip(variables, known.tolist(), strict=True)))
        beginning = mathopt.ModelSolveParameters(solution_hints=[hint])
    highs = mathopt.SolverType.HIGHS
    with run_in_thread(lambda: mathopt.solve(model, highs, params=parameters, model_params=beginning)) as run:
        solved, cpu_s = run.result()
    values = None
    if solved.has_primal_feasible_solution():
        values = np.array(solved.variable_values(variables), dtype=np.float64)
        values[whole] = np.round(values[whole])
    return _result(solved, cpu_s), values


def _result(solved: mathopt.SolveResult, cpu_s: float) -> Result:
    from ortools.math_opt.python import mathopt

    reasons = mathopt.TerminationReason
    found = solved.has_primal_feasible_solution()
    reason = solved.termination.reason
    if reason is reasons.OPTIMAL:
        status = SolverStatus.OPTIMAL
    elif reason is reasons.INFEASIBLE:
        status = SolverStatus.INFEASIBLE
    else:
        status = SolverStatus.FEASIBLE if found else SolverStatus.UNKNOWN
    proven = status in {SolverStatus.OPTIMAL, SolverStatus.INFEASIBLE}
    bound = solved.termination.objective_bounds.dual_bound
    return Result(
        status=status,
        ended=EndReason.PROVEN if proven else EndReason.BUDGET,
        objective=solved.objective_value() if found else None,
        bound=bound if np.isfinite(bound) else None,
        cpu_s=cpu_s,
    )


def _proto(program: LinearProgram, whole: Bools) -> model_pb2.ModelProto:
    from ortools.math_opt import model_pb2

    proto = model_pb2.ModelProto()
    proto.variables.ids.extend(range(len(whole)))
    proto.variables.lower_bounds.extend(program.lower.tolist())
    proto.variables.upper_bounds.extend(program.upper.tolist())
    proto.variables.integers.extend(whole.tolist())
    proto.objective.maximize = True
    weighing = np.flatnonzero(program.objective)
    proto.objective.linear_coefficients.ids.extend(weighing.tolist())
    proto.objective.linear_coefficients.values.extend(program.objective[weighing].tolist())
    proto.linear_constraints.ids.extend(range(len(program.row_lower)))
    proto.linear_constraints.lower_bounds.extend(program.row_lower.tolist())
    proto.linear_constraints.upper_bounds.extend(program.row_upper.tolist())
    # By row, then column, without duplicates.
    places, entry = np.unique(program.row * len(whole) + program.column, return_inverse=True)
    proto.linear_constraint_matrix.row_ids.extend((places // len(whole)).tolist())
    proto.linear_constraint_matrix.column_ids.extend((places % len(whole)).tolist())
    values = np.bincount(entry, program.value, len(places))
    proto.linear_constraint_matrix.coefficients.extend(values.tolist())
    return proto


@dataclass(frozen=True, slots=True)
class LinearProgram:
    """Maximise `objective @ x` with `lower <= x <= upper` and `row_lower <= A @ x <= row_upper`.

    A has `value[i]` at (`row[i]`, `column[i]`); duplicates add up. Infinite bounds are no bounds.
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
class LpSolution:
    """Result, values, and duals by row; empty without a solution.

    Floats have solver tolerances.
    """

    result: Result
    values: Floats
    duals: Floats


def solve_lp(program: LinearProgram, budget: Budget) -> LpSolution:
    """Solve a linear program within a budget, without workers and seed.

    OPTIMAL or UNKNOWN: GLOP may confuse infeasible and unbounded.
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


def _answer(solver: ModelSolverHelper, budget: Budget) -> LpSolution:
    status = SolverStatus.OPTIMAL if solver.status().name == "OPTIMAL" else SolverStatus.UNKNOWN
    ended = EndReason.GUARD if solver.wall_time() >= budget.guard_s else EndReason.BUDGET
    if solver.status().name in {"OPTIMAL", "INFEASIBLE", "UNBOUNDED"}:
        ended = EndReason.PROVEN
    objective = float(solver.objective_value()) if status is SolverStatus.OPTIMAL else None
    result = Result(status, ended, objective, objective)
    if objective is None:
        return LpSolution(result, np.zeros(0), np.zeros(0))
    return LpSolution(result, np.array(solver.variable_values()), np.array(solver.dual_values()))


def largest_flow(tail: Ints, head: Ints, capacity: Ints, source: int, sink: int) -> tuple[Ints, Bools]:
    """Maximum flow per arc, from `tail[i]` to `head[i]`, and the source side of a least cut; ValueError on overflow."""
    from ortools.graph.python.max_flow import SimpleMaxFlow

    network = SimpleMaxFlow()
    arcs = network.add_arcs_with_capacity(tail, head, capacity)
    if network.solve(source, sink) != network.OPTIMAL:
        raise ValueError("a network whose flow overflows")
    cut = np.zeros(int(max(tail.max(), head.max())) + 1, dtype=bool)
    cut[network.get_source_side_min_cut()] = True
    return network.flows(arcs), cut
