from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.machine import desired_profiles, platforms

from dardis.model.platform import NodeGroup, Platform
from dardis.model.profile import StepFunction
from dardis.model.target import DesiredProfile, Split, most_that_opens

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


def test_two_cores_of_the_last_group_s_nodes_are_not_forgotten():
    platform = Platform("p", (NodeGroup("n", 8, {"cores": 8}), NodeGroup("g", 2, {"cores": 16})))
    binding = {0: StepFunction.from_steps(96, [(0, 2), (10, 49), (20, 0)])}
    profile = DesiredProfile(platform, binding, split=Split.OPEN_NODES)
    assert profile.total(0).at(np.array([-1, 0, 10, 20])).tolist() == [96, 8 + 16, 5 * 8 + 2 * 16, 0]


def test_a_nodes_own_profile_wins_and_is_capped():
    platform = Platform("p", (NodeGroup("n", 2, {"cores": 4}),))
    own = StepFunction.from_steps(9, [(10, 1)])
    profile = DesiredProfile(platform, {0: StepFunction.from_steps(2, [(20, 8)])}, {(1, 0): own})
    assert profile.of_node(0, 0).at(np.array([0, 20])).tolist() == [1, 4]
    assert profile.of_node(1, 0).at(np.array([0, 10])).tolist() == [4, 1]
    assert profile.total(0).at(np.array([0, 10, 20])).tolist() == [5, 2, 5]


def test_what_nobody_wishes_for_is_capacity():
    platform = Platform("p", (NodeGroup("n", 2, {"cores": 4, "gpu": 1}),))
    profile = DesiredProfile(platform, {0: StepFunction.from_steps(2, [])})
    assert profile.of_node(1, 1).at(0) == 1
    assert profile.total(1).at(0) == 2


@pytest.mark.parametrize(("steps", "last"), [([], None), ([(5, 1)], 5), ([(5, 1), (3, 2)], 5)])
def test_the_last_breakpoint(steps, last):
    platform = Platform("p", (NodeGroup("n", 1, {"cores": 4}),))
    assert DesiredProfile(platform, {0: StepFunction.from_steps(2, steps)}).last_breakpoint == last


def test_shares_of_much_memory_are_exact():
    platform = Platform("p", (NodeGroup("n", 3, {"cores": 1, "memory": 2**30}),))
    value = 2**31 + 12345
    profile = DesiredProfile(platform, {1: StepFunction.from_steps(value, [])})
    assert sum(int(profile.of_node(node, 1).at(0)) for node in range(3)) == value
