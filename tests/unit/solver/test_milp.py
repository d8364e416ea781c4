"""Programmes, linear and mixed integer: against trying everything, bounded, in one thread, the same again."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.solver.milp import LinearProgram, MilpBudget, maximise
from dardis.solver.result import EndReason, SolverStatus

TASKS = Path("/proc/self/task")


def dense(objective, upper, matrix, low, high):
    """A programme over 0 ≤ x ≤ upper."""
    matrix = np.array(matrix, dtype=float).reshape(len(low), len(upper))
    row, column = np.nonzero(matrix)
    return LinearProgram(
        np.array(objective, dtype=float), np.zeros(len(upper)), np.array(upper, dtype=float), row, column,
        matrix[row, column], np.array(low, dtype=float), np.array(high, dtype=float),
    )  # fmt: skip


def market_split(equations=3, seed=1):
    """Sums of subsets that are to be halves: relaxations say nothing, so that a tree grows large."""
    rng = np.random.default_rng(seed)
    many = 10 * (equations - 1)
    matrix = rng.integers(0, 100, (equations, many)).astype(float)
    slack = np.concatenate([matrix, np.eye(equations), -np.eye(equations)], axis=1)
    half = np.floor(matrix.sum(axis=1) / 2)
    objective = [*[0.0] * many, *[-1.0] * (2 * equations)]
    program = dense(objective, [*[1.0] * many, *[1e4] * (2 * equations)], slack, half, half)
    return program, np.arange(many + 2 * equations) < many


@st.composite
def programmes(draw):
    count, rows = draw(st.integers(1, 4)), draw(st.integers(0, 3))
    small = st.integers(-3, 3)
    low = [draw(st.sampled_from((-np.inf, -2, 0, 1))) for _ in range(rows)]
    high = [draw(st.sampled_from((np.inf, 5))) if value == 1 else draw(st.integers(1, 6)) for value in low]
    return dense(
        draw(st.lists(small, min_size=count, max_size=count)),
        draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)),
        [draw(st.lists(small, min_size=count, max_size=count)) for _ in range(rows)], low, high,
    )  # fmt: skip


@given(programmes())
def test_optimum_equals_exhaustive_search(program):
    count = len(program.upper)
    matrix = np.zeros((len(program.row_lower), count))
    matrix[program.row, program.column] = program.value
    points = [np.array(x) for x in product(*(range(int(most) + 1) for most in program.upper))]
    fitting = [x for x in points if (matrix @ x >= program.row_lower).all() and (matrix @ x <= program.row_upper).all()]
    result, values = maximise(program, np.ones(count, dtype=bool), MilpBudget(1000))
    assert result.proven == bool(fitting)
    if not fitting:
        assert (result.status, result.objective, values) == (SolverStatus.INFEASIBLE, None, None)
        return
    assert result.objective == pytest.approx(max(float(program.objective @ x) for x in fitting))
    assert result.bound == pytest.approx(result.objective)
    assert any((values == x).all() for x in fitting)
    again = maximise(program, np.ones(count, dtype=bool), MilpBudget(1000), known=values)
    assert again[0].objective == pytest.approx(result.objective)


@pytest.mark.parametrize("nodes", [1, 20, 300])
def test_the_tree_has_no_more_nodes_than_are_allowed(nodes, monkeypatch):
    from ortools.math_opt.python import mathopt

    solve, counts = mathopt.solve, []

    def counted(*args, **more):
        solved = solve(*args, **more)
        counts.append(solved.solve_stats.node_count)
        return solved

    monkeypatch.setattr(mathopt, "solve", counted)
    result, _ = maximise(*market_split(), MilpBudget(nodes))
    assert counts[0] <= nodes
    assert (result.proven, result.ended) == (False, EndReason.BUDGET)
    assert result.bound is None or result.objective is None or result.bound >= result.objective


def test_result_is_independent_of_earlier_solves():
    one = maximise(*market_split(), MilpBudget(100, seed=3))
    maximise(*market_split(seed=2), MilpBudget(50))
    two = maximise(*market_split(), MilpBudget(100, seed=3))
    assert (one[0].objective, one[0].bound, one[0].status) == (two[0].objective, two[0].bound, two[0].status)
    assert one[1].tolist() == two[1].tolist()


def watched_solve() -> None:
    """Print how many threads there are before a run, at most, and when it is over, and its share of the CPU time."""
    over, seen = Event(), []

    def threads() -> int:
        return sum(1 for _ in TASKS.iterdir())

    def look() -> None:
        while not over.wait(0.002):
            seen.append(threads())

    maximise(*market_split(), MilpBudget(1))
    looking = Thread(target=look)
    looking.start()
    time.sleep(0.3)  # one that is over may be listed for a moment
    before, begun = threads(), time.process_time()
    result, _ = maximise(*market_split(), MilpBudget(300))
    spent = time.process_time() - begun
    time.sleep(0.3)
    after = threads()
    over.set()
    looking.join()
    print(before, max(seen), after, result.cpu_s / spent)


@pytest.mark.skipif(not TASKS.is_dir(), reason="needs /proc")
def test_the_solver_has_one_thread():
    code = "from unit.solver.test_milp import watched_solve; watched_solve()"
    tests = Path(__file__).resolve().parents[2]
    told = subprocess.run([sys.executable, "-c", code], cwd=tests, capture_output=True, text=True, check=True).stdout
    before, most, after, share = map(float, told.split())
    assert most <= before + 1
    assert after == before
    assert share > 0.5
