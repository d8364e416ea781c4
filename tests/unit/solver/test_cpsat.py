"""Runs of CP-SAT are bounded, repeatable, and say how they ended."""

from __future__ import annotations

import numpy as np
import pytest

from dardis.solver.cpsat import new_model, solve, weighted_sum
from dardis.solver.result import Budget, EndReason, SolverStatus


def packing(count: int, capacity: int = 13):
    """Tasks to squeeze into time, hard to prove: returns the model and the starts."""
    rng = np.random.default_rng(1)
    model = new_model()
    starts, runs, demands = [], [], rng.integers(1, 11, count).tolist()
    for length in rng.integers(1, 51, count).tolist():
        starts.append(model.new_int_var(0, 3000, ""))
        runs.append(model.new_fixed_size_interval_var(starts[-1], length, ""))
    model.add_cumulative(runs, demands, capacity)
    model.maximize(weighted_sum(starts, [-demand for demand in demands]))
    return model, starts


def test_an_optimum_is_found_and_proven():
    # 3 and 4 fill the knapsack of 7: 4 + 5 = 9. Anything with the 5 has room for a 2 at most: 6 + 2 = 8.
    model = new_model()
    taken = [model.new_bool_var("") for _ in range(4)]
    model.add(weighted_sum(taken, [2, 3, 4, 5]) <= 7)
    model.maximize(weighted_sum(taken, [2, 4, 5, 6]))
    told = []
    answer = solve(model, Budget(1.0), progress=lambda best, bound: told.append((best, bound)))
    assert (answer.result.status, answer.result.ended) == (SolverStatus.OPTIMAL, EndReason.PROVEN)
    assert answer.result.objective == answer.result.bound == 9
    assert answer.result.gap == 0
    assert answer.values(taken).tolist() == [0, 1, 1, 0]
    assert told[-1][0] == 9
    assert all(bound >= 9 for _, bound in told)


@pytest.mark.parametrize("workers", [1, 4])
def test_the_same_inputs_give_the_same_answer(workers):
    answers = []
    for _ in range(2):
        model, starts = packing(40)
        answer = solve(model, Budget(0.05, workers=workers, seed=3))
        assert answer.result.ended is EndReason.BUDGET
        answers.append((answer.values(starts).tolist(), answer.result.bound))
    assert answers[0] == answers[1]


def test_time_guard_ends_a_solver_run():
    model, _ = packing(80)
    assert solve(model, Budget(1e4, guard_s=0.3)).result.ended is EndReason.GUARD


def test_caller_can_stop_a_run_and_gets_the_best_solution():
    model, _ = packing(80)
    found = []
    result = solve(model, Budget(1e4), progress=lambda best, _: found.append(best), stop=lambda: len(found) > 0).result
    assert (result.status, result.ended) == (SolverStatus.FEASIBLE, EndReason.STOPPED)


def test_exception_of_the_callback_is_raised():
    def fail(_best: float, _bound: float) -> None:
        raise LookupError

    model, _ = packing(20)
    with pytest.raises(LookupError):
        solve(model, Budget(0.5), progress=fail)
