"""Objectives: what starts make of them, exactly, and in the whole numbers of a solver."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dardis.dispatch.cp import objectives
from dardis.dispatch.cp.decision_problem import WaitingJob
from dardis.dispatch.cp.objectives import MOST, Delay
from dardis.model.errors import InputError
from dardis.model.job import Job
from dardis.solver.cpsat import new_model, solve
from dardis.solver.result import Budget

NOW = 100


def waiting(number: int, submit: int, window: int | None, duration: int) -> WaitingJob:
    latest = None if window is None else submit + window
    return WaitingJob(Job(number, submit, submit, latest, duration, 1, (1,), 1), duration)


JOBS = [waiting(0, 60, 20, 7), waiting(1, 90, 30, 3), waiting(2, 100, 0, 11)]
STARTS = np.array([4, 21, 0])
"""From now; so they have waited for 44, 31 and 0 s."""


@pytest.mark.parametrize(
    ("objective", "value"),
    [
        (objectives.makespan(JOBS, 5), 24),
        (objectives.makespan(JOBS, 50), 50),
        # 24 of 20 s beyond, 1 of 30, none.
        (objectives.weighted_tardiness(JOBS, NOW), 24 / 20 + 1 / 30),
        (objectives.late_jobs(JOBS, NOW), 2),
        (objectives.slowdown(JOBS, NOW), 51 / 7 + 34 / 3 + 1),
        # The longest expected wait is 30 s, and none counts as 1 s.
        (objectives.weighted_waiting(JOBS, NOW), 30 / 20 * 44 + 31 + 30 * 0),
    ],
)
def test_values_are_those_of_the_papers_and_of_the_solver(objective, value):
    assert objective.value(STARTS) == pytest.approx(value)
    model = new_model()
    starts = [model.new_int_var(start, start, "") for start in STARTS.tolist()]
    posted = objective.post(model, starts, 1000, STARTS)
    model.minimize(posted.expression)
    for variable, start in zip(starts, STARTS.tolist(), strict=True):
        model.add_hint(variable, start)
    assert sorted(model.proto.solution_hint.vars) == list(range(len(model.proto.variables)))
    found = solve(model, Budget(1.0)).result
    assert found.objective is not None
    assert found.objective / posted.scale == pytest.approx(value)
    assert posted.at_hint == found.objective


def test_large_sums_stay_within_what_a_float_holds_and_bounds_stay_bounds():
    denominators = np.array([86_399, 86_353, 43_201, 7_919, 3_571, 1_009, 997, 991, 983])
    objective = Delay(1, denominators, -denominators)
    latest = 10_000_000
    weights, scale = objective.weights(latest)
    most = sum(weight * (latest + d) for weight, d in zip(weights, denominators.tolist(), strict=True))
    assert MOST // 2 < most < MOST
    for weight, denominator in zip(weights, denominators.tolist(), strict=True):
        assert 0 <= Fraction(1, denominator) - Fraction(weight, scale) < Fraction(1, scale)


def test_no_deadline_is_a_mistake_of_the_user():
    with pytest.raises(InputError, match="job 3: has no deadline"):
        objectives.late_jobs([waiting(3, 0, None, 5)], NOW)
