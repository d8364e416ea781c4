from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.series import Series


@st.composite
def series(draw):
    edges = sorted(draw(st.sets(st.integers(-50, 50), min_size=2, max_size=9)))
    values = draw(st.lists(st.floats(-9, 9), min_size=len(edges) - 1, max_size=len(edges) - 1))
    return Series(np.array(edges, dtype=np.int64), np.array(values))


def by_second(one):
    return np.repeat(one.values, np.diff(one.edges))


@given(series(), st.data())
def test_values_and_means_are_those_of_every_second(one, data):
    dense = by_second(one)
    moment = data.draw(st.integers(one.start, one.end - 1))
    assert one.at(moment) == dense[moment - one.start]
    assert (one.at(np.arange(one.start, one.end)) == dense).all()
    edges = np.array(sorted(data.draw(st.sets(st.integers(one.start, one.end), min_size=2))), dtype=np.int64)
    means = [dense[a - one.start : b - one.start].mean() for a, b in pairwise(edges)]
    assert one.means(edges) == pytest.approx(means, abs=1e-9)


@given(series(), st.integers(-99, 99))
def test_shifted_it_says_the_same_later(one, by):
    moved = one.shifted(by)
    assert (moved.start, moved.end) == (one.start + by, one.end + by)
    assert (moved.at(moved.edges[:-1]) == one.values).all()


@given(series())
def test_there_is_nothing_outside(one):
    for moment in (one.start - 1, one.end):
        with pytest.raises(ValueError, match="outside"):
            one.at(moment)
    for span in ((one.start - 1, one.end), (one.start, one.end + 1)):
        with pytest.raises(ValueError, match="outside"):
            one.means(np.array(span))


def test_its_last_value_may_hold_on():
    one = Series(np.array([0, 10, 20]), np.array([1.0, 2.0]))
    longer = one.held(25, 5)
    assert (longer.edges.tolist(), longer.values.tolist()) == ([0, 10, 20, 25], [1.0, 2.0, 2.0])
    assert one.held(26, 5) is one
    assert one.held(20, 5) is one


@pytest.mark.parametrize(("edges", "values"), [([0, 1], [1.0, 2.0]), ([0, 0], [1.0]), ([5, 3], [1.0])])
def test_what_is_no_series_is_refused(edges, values):
    with pytest.raises(ValueError, match="ascending"):
        Series(np.array(edges), np.array(values))
