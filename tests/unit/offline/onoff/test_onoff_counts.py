from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kit.node_schedules import DEFAULTS

from dardis.model.errors import InputError
from offline.onoff.counts import Limits, nodes_on

STEP = 900
BOOT_J, STOP_J = (125 - 10) * 240, (100 - 10) * 30


def cost_of(on: tuple[int, ...], before: int, joule_cost: np.ndarray) -> float:
    """What keeping these nodes on costs more than all off, told step by step."""
    total, last = 0.0, before
    for step, now in enumerate(on):
        total += now * 90 * STEP * joule_cost[step]
        total += max(now - last, 0) * BOOT_J * max(joule_cost[max(step - 1, 0)], 0)
        total += max(last - now, 0) * STOP_J * max(joule_cost[step], 0)
        last = now
    return total


@example(1, [(1, 1.0), (0, 1.0), (1, 5.0)], 1, 4, 4)  # a boot is over when energy becomes dear
@example(2, [(0, -2.0), (0, 0.1)], 0, 1, 4)  # a second boot, paid before 0.1, is no gain
@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from([-2.0, 0.0, 0.1, 1.0, 5.0])), min_size=1, max_size=5),
    st.integers(0, 4),
    st.integers(0, 4),
    st.integers(0, 4),
)
def test_no_other_numbers_within_the_limits_cost_less(count, steps, before, most_on, most_off) -> None:
    need = np.array([min(n, count) for n, _ in steps])
    joule_cost = np.array([w for _, w in steps])
    before = min(before, count)
    limits = Limits(off_per_min=most_off / 15, on_per_min=most_on / 15)
    edges = STEP * np.arange(len(steps) + 1)

    def legal(on: tuple[int, ...]) -> bool:
        moves = np.diff([before, *on])
        return bool((np.array(on) >= need).all() and moves.max() <= most_on and -moves.min() <= most_off)

    options = [on for on in product(range(count + 1), repeat=len(steps)) if legal(on)]
    if not options:
        with pytest.raises(InputError, match="rises faster"):
            nodes_on(need, edges, joule_cost, count, DEFAULTS, limits, before)
        return
    found = tuple(nodes_on(need, edges, joule_cost, count, DEFAULTS, limits, before).tolist())
    assert legal(found)
    assert cost_of(found, before, joule_cost) == pytest.approx(min(cost_of(on, before, joule_cost) for on in options))


def test_a_short_valley_is_bridged_and_a_long_one_is_not() -> None:
    # A node off for one step of 900 s saves 81,000 J less 27,600 and 2,700: it pays; with an idle power of 40 W not.
    thrifty = type(DEFAULTS)(idle_w=40, off_w=10, boot_s=240, boot_w=125, shutdown_s=30, shutdown_w=100)
    edges, joule_cost = STEP * np.arange(5), np.ones(4)
    for power, valley in ((DEFAULTS, 2), (thrifty, 5)):
        assert nodes_on(np.array([5, 2, 5, 5]), edges, joule_cost, 8, power, Limits()).tolist() == [5, valley, 5, 5]
    assert nodes_on(np.array([5, 2, 2, 5]), edges, joule_cost, 8, thrifty, Limits()).tolist() == [5, 2, 2, 5]


def test_nodes_wait_for_the_ramp() -> None:
    limits = Limits(off_per_min=2 / 15, on_per_min=1 / 15)
    found = nodes_on(np.array([0, 0, 0, 3]), STEP * np.arange(5), np.ones(4), 6, DEFAULTS, limits)
    assert found.tolist() == [4, 2, 2, 3]


def test_more_than_there_is_is_refused() -> None:
    with pytest.raises(InputError, match="9 nodes needed of 8"):
        nodes_on(np.array([9]), np.array([0, STEP]), np.ones(1), 8, DEFAULTS, Limits())


@pytest.mark.parametrize("limits", [Limits(min_on_s=1000), Limits(min_off_s=1000)])
def test_steps_that_would_cut_a_stay_short_are_refused(limits: Limits) -> None:
    with pytest.raises(ValueError, match="1000 s"):
        nodes_on(np.array([1]), np.array([0, STEP]), np.ones(1), 8, DEFAULTS, limits)
