from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.machine import desired_profiles, platforms

from dardis.model.platform import NodeGroup, Platform
from dardis.model.profile import StepFunction
from dardis.model.target import DesiredProfile, Split

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
