"""Bounded runs of HiGHS on mixed integer programmes: in branch-and-bound nodes, so that a run ends as the last did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dardis.model.arrays import Bools, Floats
from dardis.solver.lp import LinearProgram
from dardis.solver.result import Ended, Result, SolverStatus, apart

if TYPE_CHECKING:
    from ortools.math_opt import model_pb2
    from ortools.math_opt.python import mathopt

_LARGEST_SEED = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Search:
    """Bounds of a run."""

    nodes: int
    """Of its branch-and-bound tree, at most; the first one is solved in any case."""
    seed: int = 1


def maximise(
    program: LinearProgram, whole: Bools, search: Search, known: Floats | None = None
) -> tuple[Result, Floats | None]:
    """The best values that are found, None if there are none; those that `whole` names are whole numbers.

    `known` are values that a run may begin with.

    HiGHS has one thread: its options say so (MathOpt's own parameter for threads it refuses).
    """
    from ortools.math_opt.python import mathopt

    model = mathopt.Model.from_model_proto(_proto(program, whole))
    parameters = mathopt.SolveParameters(
        node_limit=search.nodes, random_seed=search.seed & _LARGEST_SEED, relative_gap_tolerance=0.0
    )
    parameters.highs.int_options["threads"] = 1
    parameters.highs.string_options["parallel"] = "off"
    # To begin anew when the first node has fixed some takes two fifths of a search for winners, and hardly ever pays.
    parameters.highs.bool_options["mip_allow_restart"] = False
    variables = list(model.variables())
    beginning = None
    if known is not None:
        hint = mathopt.SolutionHint(variable_values=dict(zip(variables, known.tolist(), strict=True)))
        beginning = mathopt.ModelSolveParameters(solution_hints=[hint])
    highs = mathopt.SolverType.HIGHS
    with apart(lambda: mathopt.solve(model, highs, params=parameters, model_params=beginning)) as run:
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
        ended=Ended.PROVEN if proven else Ended.BUDGET,
        objective=solved.objective_value() if found else None,
        bound=bound if np.isfinite(bound) else None,
        cpu_s=cpu_s,
    )


def _proto(program: LinearProgram, whole: Bools) -> model_pb2.ModelProto:
    """The programme as MathOpt keeps it: made from arrays, which is a tenth of the work of adding terms one by one."""
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
    # By row and then by column, and no place twice.
    places, entry = np.unique(program.row * len(whole) + program.column, return_inverse=True)
    proto.linear_constraint_matrix.row_ids.extend((places // len(whole)).tolist())
    proto.linear_constraint_matrix.column_ids.extend((places % len(whole)).tolist())
    values = np.bincount(entry, program.value, len(places))
    proto.linear_constraint_matrix.coefficients.extend(values.tolist())
    return proto
