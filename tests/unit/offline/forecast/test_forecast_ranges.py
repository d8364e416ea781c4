"""Ranges over past days: around their mean, within what was seen, and wide enough for days that come alike."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from offline.forecast.ranges import range_of

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
