"""Linear programmes: values, duals, and the outcomes that are no solution."""

from __future__ import annotations

import numpy as np
import pytest

from dardis.solver.lp import LinearProgram, solve_lp
from dardis.solver.result import Budget, Ended, SolverStatus


def program(objective, rows, most, upper=np.inf):
    """Maximise over x >= 0 with `rows @ x <= most`."""
    matrix = np.array(rows, dtype=float)
    row, column = np.nonzero(matrix)
    count = matrix.shape[1]
    return LinearProgram(
        np.array(objective, dtype=float), np.zeros(count), np.full(count, float(upper)), row, column,
        matrix[row, column], np.full(len(matrix), -np.inf), np.array(most, dtype=float),
    )  # fmt: skip


def test_values_and_duals():
    # Both rows bind: x + y = 4 and x + 3y = 6, so (3, 1), worth 3·3 + 5 = 14; prices p + q = 3, p + 3q = 5: 2 and 1.
    answer = solve_lp(program([3, 5], [[1, 1], [1, 3]], [4, 6]), Budget(1.0))
    assert (answer.result.status, answer.result.ended) == (SolverStatus.OPTIMAL, Ended.PROVEN)
    assert answer.result.objective == pytest.approx(14)
    assert answer.result.bound == answer.result.objective
    assert answer.values == pytest.approx([3, 1])
    assert answer.duals == pytest.approx([2, 1])


def test_entries_of_one_place_add_up():
    twice = LinearProgram(
        np.ones(1), np.zeros(1), np.full(1, np.inf), np.array([0, 0]), np.array([0, 0]), np.array([1.0, 3.0]),
        np.array([-np.inf]), np.array([8.0]),
    )  # fmt: skip
    assert solve_lp(twice, Budget(1.0)).values == pytest.approx([2])


@pytest.mark.parametrize(("rows", "most"), [([[-1], [1]], [-3, 2]), ([[-1]], [0])], ids=["infeasible", "unbounded"])
def test_what_has_no_optimum_is_unknown(rows, most):
    answer = solve_lp(program([1], rows, most), Budget(1.0))
    assert (answer.result.status, answer.result.ended, answer.result.bound) == (
        SolverStatus.UNKNOWN,
        Ended.PROVEN,
        None,
    )
    assert len(answer.values) == len(answer.duals) == 0
