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
from dardis.model.profile import ZERO, Extremes, StepFunction, breakpoints, sum_of_columns
from dardis.model.pue_table import PueTable, Rows
from dardis.model.series import Series
from dardis.model.target import DesiredProfile, Split, most_that_opens

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


@given(st.lists(functions, max_size=4))
def test_a_sum_is_that_of_every_second(some):
    total = StepFunction.sum_of(some)
    seconds = np.arange(-1, UNTIL + 5)
    assert total.at(seconds).tolist() == sum((f.at(seconds) for f in some), ZERO.at(seconds)).tolist()
    assert total.times.tolist() == sorted({NO_TIME} | {time for f in some for time in f.times.tolist()})


@given(st.lists(st.tuples(functions, functions), min_size=1, max_size=4))
def test_a_sum_of_columns_is_that_of_each(some):
    parts = []
    for pair in some:
        shared = breakpoints(pair)
        parts.append((shared, np.stack([f.at(shared) for f in pair], axis=1)))
    found, values = sum_of_columns(parts)
    for column in range(2):
        total = StepFunction.sum_of([pair[column] for pair in some])
        assert values[:, column].tolist() == total.at(found).tolist()
        assert set(total.times.tolist()) <= set(found.tolist())


def test_a_sum_of_columns_begins_with_the_first_values():
    late = (np.array([5, 9]), np.array([[1], [2]]))
    early = (np.array([0]), np.array([[10]]))
    found, values = sum_of_columns([late, early])
    assert (found.tolist(), values.tolist()) == ([0, 5, 9], [[11], [11], [12]])


@given(functions, functions)
def test_functions_are_combined_in_every_second(f, g):
    seconds = np.arange(-1, UNTIL + 5)
    most = StepFunction.combined(np.maximum, f, g)
    assert most.at(seconds).tolist() == np.maximum(f.at(seconds), g.at(seconds)).tolist()
    assert most.times.tolist() == breakpoints([f, g]).tolist()


@given(functions, spans)
def test_extremes_over_spans_are_those_of_their_seconds(f, spans):
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    ends = starts + np.array([length for _, length in spans], dtype=np.int64)
    inside = [f.at(np.arange(start, end)) for start, end in zip(starts, ends, strict=True)]
    assert f.max_over(starts, ends).tolist() == [int(some.max()) for some in inside]
    assert Extremes(f, np.minimum).over(starts, ends).tolist() == [int(some.min()) for some in inside]


@given(functions, st.integers(0, UNTIL))
def test_the_largest_value_ahead_is_that_of_the_seconds_to_come(f, seconds):
    ahead = f.max_ahead(seconds)
    expected = [int(f.at(np.arange(now, now + seconds + 1)).max()) for now in range(-UNTIL - 2, UNTIL + 5)]
    assert ahead.at(np.arange(-UNTIL - 2, UNTIL + 5)).tolist() == expected


@given(functions, times, times)
def test_breaks_within_a_span(f, start, end):
    assert f.breaks_in(start, end).tolist() == [time for time in f.times.tolist() if start < time < end]


@given(st.lists(st.tuples(times, times, values), max_size=6))
def test_spans_add_up(spans):
    starts, lengths, amounts = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    seconds = np.arange(-1, 2 * UNTIL + 1)
    inside = (starts <= seconds[:, None]) & (seconds[:, None] < starts + lengths)
    assert (
        StepFunction.from_spans(starts, starts + lengths, amounts).at(seconds).tolist() == (inside @ amounts).tolist()
    )
    assert StepFunction.from_spans(starts, starts + lengths).at(seconds).tolist() == inside.sum(axis=1).tolist()


@given(values, steps, times, times)
def test_integrals_count_seconds(before, changes, start, end):
    function = StepFunction.from_steps(before, changes)
    assert function.integral(start, end) == sum(second_by_second(before, changes)[start:end])


def test_integrals_of_large_amounts_are_exact():
    memory = StepFunction.from_steps(2**40 + 1, [])
    assert memory.integral(0, 2**22 + 1) == (2**40 + 1) * (2**22 + 1)


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


def table(rows=Rows.NEAREST):
    return PueTable(
        np.array([0.0, 5.0, 15.0]), np.array([100.0, 300.0]), np.array([[1.1, 1.2], [1.3, 1.4], [1.5, 1.6]]), rows
    )


def test_the_nearest_row_answers_and_halfway_the_warmer_one_and_rows_mix_where_that_is_asked_for():
    temps = np.array([-2.5, 2.4, 2.5, 9.9, 10.0, 20.0])
    rows = np.array([1.1, 1.1, 1.3, 1.3, 1.5, 1.5])
    np.testing.assert_allclose(table().watts(temps, 100.0), (rows - 1) * 100)
    np.testing.assert_allclose(table(Rows.INTERPOLATE).watts(10.0, 100.0), 40)


@given(st.floats(0, 15), st.floats(0, 300))
def test_between_columns_the_cooling_power_is_linear_from_nothing_on(temp, load):
    for of in (table(), table(Rows.INTERPOLATE)):
        at = [float(of.watts(temp, column)) for column in (0.0, 100.0, 300.0)]
        assert at[0] == 0
        assert float(of.watts(temp, load)) == pytest.approx(np.interp(load, [0, 100, 300], at))


@pytest.mark.parametrize(
    ("rows", "temp", "load"),
    [
        (Rows.NEAREST, -2.6, 100), (Rows.NEAREST, 20.1, 100), (Rows.INTERPOLATE, -0.1, 100),
        (Rows.INTERPOLATE, 15.1, 100), (Rows.NEAREST, 5, 300.1), (Rows.NEAREST, 5, -1),
        (Rows.NEAREST, float("nan"), 100),
    ],
)  # fmt: skip
def test_what_was_not_measured_is_refused(rows, temp, load):
    with pytest.raises(InputError, match="within what it covers"):
        table(rows).watts(np.array([5.0, temp]), np.array([100.0, load]))


@pytest.mark.parametrize(
    ("temps", "watts", "pue"),
    [
        ([5.0, 0.0], [1.0], [[1.1], [1.1]]), ([0.0], [2.0, 1.0], [[1.1, 1.1]]), ([0.0], [0.0], [[1.1]]),
        ([0.0], [1.0], [[0.9]]), ([0.0], [1.0], [[1.1, 1.2]]), ([0.0], [1.0], [[float("nan")]]),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused(temps, watts, pue):
    with pytest.raises(ValueError, match="PUE"):
        PueTable(np.array(temps), np.array(watts), np.array(pue))


SECONDS = np.arange(-1, 75)


def wished(profile: DesiredProfile, kind: int) -> np.ndarray:
    """Shape (nodes, seconds)."""
    return np.stack([profile.of_node(node, kind).at(SECONDS) for node in range(profile.platform.node_count)])


@given(st.data(), platforms())
def test_nobody_is_wished_above_capacity_or_below_nothing(data, platform):
    profile = data.draw(desired_profiles(platform))
    for kind in range(len(platform.kinds)):
        values = wished(profile, kind)
        assert (values >= 0).all()
        assert (values <= platform.capacity[:, kind, None]).all()
        assert (profile.total(kind).at(SECONDS) == values.sum(axis=0)).all()


@given(st.data(), platforms())
def test_proportional_shares_sum_to_the_machines_value_at_every_instant(data, platform):
    profile = replace(data.draw(desired_profiles(platform)), nodes={}, split=Split.PROPORTIONAL)
    for kind, whole in profile.machine.items():
        total = platform.capacity[:, kind].sum()
        value = np.minimum(whole.at(SECONDS), total)
        shares = wished(profile, kind)
        assert (shares.sum(axis=0) == value).all()
        if total:
            exact = value[None, :] * platform.capacity[:, kind, None] / total
            assert (np.abs(shares - exact) < 1).all()


@given(st.data(), platforms())
def test_whole_nodes_are_the_first_that_the_value_fills(data, platform):
    profile = replace(data.draw(desired_profiles(platform)), nodes={}, split=Split.WHOLE_NODES)
    for kind, whole in profile.machine.items():
        shares, left = wished(profile, kind), whole.at(SECONDS).copy()
        for node, capacity in enumerate(platform.capacity[:, kind]):
            filled = left >= capacity
            assert (shares[node] == np.where(filled, capacity, 0)).all()
            left = np.where(filled, left - capacity, -1)


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


@given(st.data(), grouped())
def test_the_most_that_opens_no_more_than_is_allowed(data, platform):
    for kind in (0, 1):
        whole = int(platform.capacity[:, kind].sum())
        allowed = np.array(data.draw(st.lists(st.integers(0, whole + 3), min_size=1, max_size=6)))
        opened = DesiredProfile(platform, {kind: StepFunction.from_steps(0, enumerate(range(whole + 1)))},
                                split=Split.OPEN_NODES).total(kind).at(np.arange(whole + 1))  # fmt: skip
        for most, found in zip(allowed.tolist(), most_that_opens(platform, kind, allowed).tolist(), strict=True):
            assert found == max(value for value in range(whole + 1) if opened[value] <= most)


def test_a_nodes_own_profile_wins_and_is_capped():
    platform = Platform("p", (NodeGroup("n", 2, {"cores": 4}),))
    own = StepFunction.from_steps(9, [(10, 1)])
    profile = DesiredProfile(platform, {0: StepFunction.from_steps(2, [(20, 8)])}, {(1, 0): own})
    assert DesiredProfile(platform, {}).total(0).at(0) == 8, "nobody wishes for anything"
    assert profile.of_node(0, 0).at(np.array([0, 20])).tolist() == [1, 4]
    assert profile.of_node(1, 0).at(np.array([0, 10])).tolist() == [4, 1]
    assert profile.total(0).at(np.array([0, 10, 20])).tolist() == [5, 2, 5]


def test_the_last_breakpoint():
    platform = Platform("p", (NodeGroup("n", 1, {"cores": 4}),))
    for steps, last in (([], None), ([(5, 1)], 5), ([(5, 1), (3, 2)], 5)):
        assert DesiredProfile(platform, {0: StepFunction.from_steps(2, steps)}).last_breakpoint == last


def test_shares_of_much_memory_are_exact():
    platform = Platform("p", (NodeGroup("n", 3, {"cores": 1, "memory": 2**30}),))
    value = 2**31 + 12345
    profile = DesiredProfile(platform, {1: StepFunction.from_steps(value, [])})
    assert sum(int(profile.of_node(node, 1).at(0)) for node in range(3)) == value
