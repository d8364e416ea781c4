"""Figures are found again in what they made, with noise and nonsense in it; what the data can't tell stays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples

from dardis.power.fit import Samples, fit_figures

NAMES = ("core_w", "gpu", "idle_w")
NONE = np.zeros(3)


def samples(seed, truth, count=3000, days=6, noise=3.0, wrong=0.0, gpus=4):
    draw = np.random.default_rng(seed)
    busy = np.column_stack([draw.integers(0, 33, count), draw.integers(0, gpus + 1, count), np.ones(count)]).astype(
        np.float64
    )
    watts = np.maximum(busy @ np.array(truth) + draw.normal(0, noise, count), 0)
    watts[draw.random(count) < wrong] *= draw.choice([0.3, 5.0, 100.0])
    return Samples(NAMES, busy, watts, draw.uniform(0.5, 2, count), draw.integers(0, days, count))


@given(
    seed=st.integers(0, 10**6),
    truth=st.tuples(st.floats(1, 20), st.floats(20, 500), st.floats(30, 500)),
    wrong=st.floats(0, 0.08),
)
@examples(0.3)
def test_true_figures_are_fitted(seed, truth, wrong):
    fit = fit_figures(samples(seed, truth, wrong=wrong), NONE, NONE)
    assert fit.unfitted == {}
    assert fit.figures == pytest.approx(truth, rel=0.03, abs=1.5)
    assert (fit.spread < 2).all()
    assert fit.held_out_errors.median_w < 4 < fit.original_errors.median_w


def test_whole_nodes_leave_idle_as_it_was_and_cores_have_the_rest():
    made = samples(1, (5.0, 0.0, 100.0), gpus=0)
    made.busy[:, 0] = 32
    made.watts[:] = 260 + np.tile([-3.0, 3.0], 1500)
    fit = fit_figures(made, np.array([1.0, 7.0, 90.0]), NONE)
    assert fit.unfitted == {1: "no device was ever busy", 2: "it cannot be separated from core_w, which gets the rest"}
    assert fit.figures == pytest.approx([(260 - 90) / 32, 7.0, 90.0], rel=0.01)


def test_devices_correlated_with_cores_are_unchanged():
    made = samples(2, (5.0, 0.0, 100.0))
    made.busy[:, 1] = made.busy[:, 0] / 8
    fit = fit_figures(made, np.array([1.0, 16.0, 90.0]), NONE)
    assert list(fit.unfitted) == [1]
    assert fit.figures == pytest.approx([3.0, 16.0, 100.0], rel=0.01)


def test_a_figure_below_its_least_stays_as_it_was():
    fit = fit_figures(samples(3, (8.0, 100.0, 20.0)), np.array([1.0, 1.0, 70.0]), np.array([0.0, 0.0, 60.0]))
    assert list(fit.unfitted) == [2]
    assert "below the least value, 60 W" in fit.unfitted[2]
    assert fit.figures[2] == 70.0


def test_figures_that_vary_between_days_are_unchanged():
    made = samples(4, (5.0, 0.0, 100.0), noise=0.5)
    made.busy[:, 1] = 0
    made.busy[:3, 1] = 1
    made.watts[0] += 300
    made.watts[1] -= 150
    made.watts[2] += 20
    made.day[:3] = [0, 2, 4]
    fit = fit_figures(made, np.array([1.0, 33.0, 90.0]), NONE)
    assert fit.figures[1] == 33.0
    assert "its values differ between days" in fit.unfitted[1]


def test_figure_near_zero_is_reported_when_days_agree():
    fit = fit_figures(samples(8, (0.01, 50.0, 100.0), days=10), np.array([9.455, 0.0, 0.0]), NONE)
    assert fit.unfitted == {}
    assert fit.figures[0] == pytest.approx(0, abs=0.05)


def test_single_day_has_no_validation():
    fit = fit_figures(samples(5, (5.0, 50.0, 100.0), days=1), NONE, NONE)
    assert fit.held_out_errors is None
    assert np.isnan(fit.spread).all()
    assert fit.figures == pytest.approx([5, 50, 100], rel=0.02)


def test_figures_below_all_bounds_are_omitted():
    made = samples(7, (5.0, 0.0, 10.0))
    fit = fit_figures(made, np.array([1.0, 2.0, 3.0]), np.full(3, 1e6))
    assert sorted(fit.unfitted) == [0, 1, 2]
    assert fit.figures.tolist() == [1.0, 2.0, 3.0]
    assert fit.held_out_errors is None
