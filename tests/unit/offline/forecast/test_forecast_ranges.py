"""Ranges over past days: around their mean, within what was seen, and wide enough for days that come alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offline.forecast.donors import WEEK
from offline.forecast.ranges import on_its_weekday, range_of

# In hundredths: values that differ by less would be equal once they are moved, and then stand in another order.
values_seen = st.integers(-(10**8), 10**8).map(lambda hundredths: hundredths / 100)
days = st.lists(st.tuples(values_seen, st.floats(0.01, 1.0)), min_size=1, max_size=40)


@given(days, st.floats(0.1, 10), st.floats(-100, 100))
def test_a_range_holds_its_mean_and_no_more_than_was_seen(told, scale, shift):
    values, weights = np.array(told).T
    found = range_of(values, weights)
    assert found.low <= found.mean <= found.high
    least, most = values.min(), values.max()
    assert least - 1e-6 <= found.low <= found.high <= most + 1e-6
    moved = range_of(scale * values + shift, 7 * weights)
    np.testing.assert_allclose(moved, [scale * end + shift for end in found], rtol=1e-6, atol=1e-2)


@given(st.floats(-1e6, 1e6), st.integers(1, 20))
def test_days_that_are_all_alike_leave_no_doubt(value, count):
    np.testing.assert_allclose(range_of(np.full(count, value), np.ones(count)), [value] * 3)


def test_eight_of_ten_days_of_one_kind_are_within():
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(400):
        past = rng.lognormal(3, 1, 21)
        found = range_of(past[:-1], np.ones(20))
        inside.append(found.low <= past[-1] <= found.high)
    assert 0.76 < np.mean(inside) < 0.9


def test_days_that_say_more_weigh_more():
    values = np.array([1.0, 1.0, 1.0, 9.0, 9.0, 9.0])
    assert range_of(values, np.array([1.0, 1, 1, 9, 9, 9])).mean > range_of(values, np.ones(6)).mean


@pytest.mark.parametrize(("weeks", "ahead"), [(3, 0), (3, 1), (4, 2), (8, 6)])
@pytest.mark.parametrize("seed", range(10))
def test_three_weeks_tell_weekdays_apart(weeks: int, ahead: int, seed: int) -> None:
    """A quiet Saturday after busy weekdays is quiet, and a working day after a weekend busy."""
    rng = np.random.default_rng(seed)
    mean = np.array([200.0, 200, 200, 200, 200, 70, 70])
    weekday = np.arange(WEEK * weeks) % WEEK
    for first in range(WEEK):
        came = rng.poisson(mean[(first + weekday) % WEEK]).astype(float)
        coming = mean[(first + ahead) % WEEK]
        found = range_of(on_its_weekday(came, ahead), np.ones(len(came)))
        assert 0.7 * coming < found.low < 1.1 * coming
        assert 0.9 * coming < found.high < 1.4 * coming


@given(days)
def test_less_than_three_weeks_move_nothing(told):
    values = np.abs(np.array(told).T[0][: 3 * WEEK - 1])
    assert on_its_weekday(values) is values


@given(st.integers(0, 1000), st.integers(21, 56))
def test_days_without_a_weekly_rhythm_hardly_move(seed, count):
    """What chance makes of weekdays is trusted little: the whole range stays where it is, within a third."""
    values = np.random.default_rng(seed).poisson(100.0, count).astype(float)
    moved = on_its_weekday(values)
    np.testing.assert_allclose(moved, values, atol=35)
    assert (moved >= 0).all()
