"""Functions of time: steps, series, PUE tables, and the desired profile of a machine."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.machine import desired_profiles, platforms

from dardis.model.errors import InputError
from dardis.model.job import NO_TIME
from dardis.model.platform import NodeGroup, Platform
from dardis.model.pue_table import PueTable, RowChoice
from dardis.model.series import Series
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Split

UNTIL = 30
times, values = st.integers(0, UNTIL), st.integers(-9, 9)
steps = st.lists(st.tuples(times, values), max_size=6)


def second_by_second(before: int, changes: list[tuple[int, int]]) -> list[int]:
    table = dict(changes)
    found = []
    for second in range(UNTIL + 5):
        before = table.get(second, before)
        found.append(before)
    return found


@given(values, steps)
def test_steps_hold_until_the_next(before, changes):
    function = StepFunction.from_steps(before, changes)
    assert function.at(np.arange(UNTIL + 5)).tolist() == second_by_second(before, changes)
    assert function.at(-1) == before
    assert function.at(10**9) == second_by_second(before, changes)[-1]
    assert function.times[0] == NO_TIME
    assert (np.diff(function.times) > 0).all()


functions = st.tuples(values, steps).map(lambda told: StepFunction.from_steps(*told))
spans = st.lists(st.tuples(st.integers(-5, UNTIL), st.integers(1, UNTIL)), max_size=9)


@given(functions, st.integers(0, UNTIL))
def test_the_largest_value_ahead_is_that_of_the_seconds_to_come(f, seconds):
    ahead = f.max_ahead(seconds)
    expected = [int(f.at(np.arange(now, now + seconds + 1)).max()) for now in range(-UNTIL - 2, UNTIL + 5)]
    assert ahead.at(np.arange(-UNTIL - 2, UNTIL + 5)).tolist() == expected


@given(st.lists(st.tuples(times, times, values), max_size=6))
def test_spans_add_up(spans):
    starts, lengths, amounts = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    seconds = np.arange(-1, 2 * UNTIL + 1)
    inside = (starts <= seconds[:, None]) & (seconds[:, None] < starts + lengths)
    assert (
        StepFunction.from_spans(starts, starts + lengths, amounts).at(seconds).tolist() == (inside @ amounts).tolist()
    )
    assert StepFunction.from_spans(starts, starts + lengths).at(seconds).tolist() == inside.sum(axis=1).tolist()


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


@given(series())
def test_series_has_no_values_outside_its_span(one):
    for moment in (one.start - 1, one.end):
        with pytest.raises(ValueError, match="outside"):
            one.at(moment)
    for span in ((one.start - 1, one.end), (one.start, one.end + 1)):
        with pytest.raises(ValueError, match="outside"):
            one.means(np.array(span))


@pytest.mark.parametrize(("edges", "values"), [([0, 1], [1.0, 2.0]), ([0, 0], [1.0]), ([5, 3], [1.0])])
def test_invalid_series_is_refused(edges, values):
    with pytest.raises(ValueError, match="ascending"):
        Series(np.array(edges), np.array(values))


def table(rows=RowChoice.NEAREST):
    return PueTable(
        np.array([0.0, 5.0, 15.0]), np.array([100.0, 300.0]), np.array([[1.1, 1.2], [1.3, 1.4], [1.5, 1.6]]), rows
    )


def test_the_nearest_row_answers_and_halfway_the_warmer_one_and_rows_mix_where_that_is_asked_for():
    temps = np.array([-2.5, 2.4, 2.5, 9.9, 10.0, 20.0])
    rows = np.array([1.1, 1.1, 1.3, 1.3, 1.5, 1.5])
    np.testing.assert_allclose(table().watts(temps, 100.0), (rows - 1) * 100)
    np.testing.assert_allclose(table(RowChoice.INTERPOLATE).watts(10.0, 100.0), 40)


@pytest.mark.parametrize(("rows", "temp", "load"), [
    (RowChoice.NEAREST, -2.6, 100), (RowChoice.NEAREST, 20.1, 100), (RowChoice.INTERPOLATE, -0.1, 100),
    (RowChoice.INTERPOLATE, 15.1, 100), (RowChoice.NEAREST, 5, 300.1), (RowChoice.NEAREST, 5, -1),
    (RowChoice.NEAREST, float("nan"), 100),
])  # fmt: skip
def test_pue_outside_the_table_is_refused(rows, temp, load):
    with pytest.raises(InputError, match="a point within"):
        table(rows).watts(np.array([5.0, temp]), np.array([100.0, load]))


@pytest.mark.parametrize(("temps", "watts", "pue"), [
    ([5.0, 0.0], [1.0], [[1.1], [1.1]]), ([0.0], [2.0, 1.0], [[1.1, 1.1]]), ([0.0], [0.0], [[1.1]]),
    ([0.0], [1.0], [[0.9]]), ([0.0], [1.0], [[1.1, 1.2]]), ([0.0], [1.0], [[float("nan")]]),
])  # fmt: skip
def test_invalid_pue_table_is_refused(temps, watts, pue):
    with pytest.raises(ValueError, match="PUE"):
        PueTable(np.array(temps), np.array(watts), np.array(pue))


SECONDS = np.arange(-1, 75)


def desired_amounts(profile: DesiredProfile, kind: int) -> np.ndarray:
    """Shape (nodes, seconds)."""
    return np.stack([profile.of_node(node, kind).at(SECONDS) for node in range(profile.platform.node_count)])


@given(st.data(), platforms())
def test_proportional_shares_sum_to_the_machines_value_at_every_instant(data, platform):
    profile = replace(data.draw(desired_profiles(platform)), nodes={}, split=Split.PROPORTIONAL)
    for kind, whole in profile.machine.items():
        total = platform.capacity[:, kind].sum()
        value = np.minimum(whole.at(SECONDS), total)
        shares = desired_amounts(profile, kind)
        assert (shares.sum(axis=0) == value).all()
        if total:
            exact = value[None, :] * platform.capacity[:, kind, None] / total
            assert (np.abs(shares - exact) < 1).all()


@st.composite
def grouped(draw):
    """One to four groups of unlike nodes; some have no GPU, and memory is large."""
    made = [
        NodeGroup(
            name, draw(st.integers(1, 6)),
            {"cores": draw(st.integers(1, 9)), "gpu": draw(st.integers(0, 3)), "memory": draw(st.integers(0, 2**58))},
        )
        for name in "abcd"[: draw(st.integers(1, 4))]
    ]  # fmt: skip
    return Platform("random", tuple(made))


@given(st.data(), grouped())
def test_open_nodes_are_as_many_of_each_group_as_its_share_fills_or_begins(data, platform):
    for kind in range(len(platform.kinds)):
        capacity = [int(node[kind]) for node in platform.capacity]
        whole = sum(capacity)
        aims = sorted({0, min(1, whole), whole, *data.draw(st.lists(st.integers(0, whole), max_size=8))})
        binding = StepFunction.from_steps(whole, enumerate(aims))
        profile = DesiredProfile(platform, {kind: binding}, split=Split.OPEN_NODES)
        given_out = [profile.of_node(node, kind).at(np.arange(len(aims))).tolist() for node in range(len(capacity))]
        sizes = [group.resources.get(platform.kinds[kind], 0) for group in platform.groups]
        for aim, of_nodes in zip(aims, zip(*given_out, strict=True), strict=True):
            assert aim <= sum(of_nodes)
            assert sum(of_nodes) < aim + sum(sizes) or sum(of_nodes) == aim == 0
            for index, (group, size) in enumerate(zip(platform.groups, sizes, strict=True)):
                mine = [of_nodes[node] for node in np.flatnonzero(platform.group_of_node == index)]
                opened = sum(value == size for value in mine) if size else 0
                assert mine == [size] * opened + [0] * (group.count - opened)
                share = Fraction(aim * size * group.count, max(whole, 1))
                assert share <= size * opened
                assert size * opened < share + size or size == 0
                assert opened or not (aim and size)
