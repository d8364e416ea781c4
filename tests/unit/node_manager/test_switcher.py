"""The switcher, instant by instant: what it shuts down, what it boots, and when it looks again."""

import numpy as np
import pytest

from dardis.model.job import FOREVER
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.profile import StepFunction
from dardis.model.target import Switching
from dardis.node_manager.switching import Switcher

NONE, ONE = ({0: StepFunction.from_steps(count, [])} for count in (0, 1))


def fresh(count: int = 4, boot_s: int = 5, shutdown_s: int = 2, **rule) -> Switcher:
    platform = Platform("few", (NodeGroup("n", count, {"cores": 1}, NodePower(boot_s=boot_s, shutdown_s=shutdown_s)),))
    return Switcher(platform, Switching(**rule), 0)


def told(switcher: Switcher, now: int) -> list[tuple[bool, list[int], list[int]]]:
    return [(order.up, order.node.tolist(), order.ready.tolist()) for order in switcher.decide(now)]


@pytest.mark.parametrize(("now", "ready"), [(10, 17), (11, 17), (12, 17), (13, 18)])
def test_the_highest_idle_nodes_are_shut_down_and_the_lowest_booted_when_it_is_off(now, ready):
    switcher = fresh(spares=ONE, idle_s=10)
    assert told(switcher, 0) == []
    assert switcher.wake() == 10
    assert told(switcher, 10) == [(False, [1, 2, 3], [17, 17, 17])]
    switcher.reserved(1, now, np.array([0]))
    assert told(switcher, now) == [(True, [1], [ready])]


def test_a_reservation_is_booted_for_one_boot_before():
    switcher = fresh(spares=NONE, idle_s=0)
    assert told(switcher, 0) == [(False, [0, 1, 2, 3], [7, 7, 7, 7])]
    switcher.reserved(1, 50, np.array([2, 3]))
    assert told(switcher, 8) == []
    assert switcher.wake() == 45
    assert told(switcher, 45) == [(True, [2, 3], [50, 50])]


def test_a_wish_that_rises_is_met_in_time():
    spares, floors = StepFunction.from_steps(0, [(100, 3)]), StepFunction.from_steps(1, [])
    switcher = fresh(spares={0: spares}, floors={0: floors}, idle_s=0)
    assert told(switcher, 0) == [(False, [1, 2, 3], [7, 7, 7])]
    assert switcher.wake() == 95
    assert told(switcher, 95) == [(True, [1, 2], [100, 100])]


@pytest.mark.parametrize(("left", "wakes"), [(1, 53), (2, 33)])
def test_a_node_that_a_job_leaves_still_holds_the_others(left, wakes):
    switcher = fresh(spares=NONE, idle_s=0)
    for job, start in ((1, 40), (2, 60)):
        switcher.reserved(job, start, np.array([0]))
    assert switcher.dropped(left).tolist() == [0]
    assert told(switcher, 0) == [(False, [1, 2, 3], [7, 7, 7])]
    assert switcher.wake() == wakes


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_days_switches_count_from_the_first_of_them(most):
    switcher = fresh(count=1, spares=NONE, idle_s=0, most_cycles_per_day=float(most))
    for turn in range(most):
        assert told(switcher, 100 * turn) == [(False, [0], [100 * turn + 7])]
        switcher.reserved(turn, 100 * turn + 50, np.array([0]))
        assert told(switcher, 100 * turn + 45) == [(True, [0], [100 * turn + 50])]
        switcher.ended(turn, 100 * turn + 60)
    assert told(switcher, 100 * most) == []
    assert switcher.wake() == 86_400
    assert told(switcher, 86_400) == [(False, [0], [86_407])]


def test_a_node_that_boots_for_a_reservation_is_on_for_a_floor():
    floors = StepFunction.from_steps(1, [(100, 3)])
    switcher = fresh(spares=NONE, floors={0: floors}, idle_s=0)
    assert told(switcher, 0) == [(False, [1, 2, 3], [7, 7, 7])]
    switcher.reserved(1, 100, np.array([3]))
    assert told(switcher, 95) == [(True, [1, 3], [100, 100])]


def test_a_node_that_came_up_for_nothing_idles_as_long_as_any():
    spares = StepFunction.from_steps(0, [(100, 1), (103, 0)])
    switcher = fresh(count=1, spares={0: spares}, idle_s=10)
    assert told(switcher, 10) == [(False, [0], [17])]
    assert told(switcher, 95) == [(True, [0], [100])]
    assert told(switcher, 103) == []
    assert switcher.wake() == 110
    assert told(switcher, 110) == [(False, [0], [117])]


@pytest.mark.parametrize(("start", "shut"), [(70, [1, 2, 3]), (71, [0, 1, 2, 3])])
def test_a_node_stays_on_for_a_reservation_that_comes_soon(start, shut):
    """It is off for 7 s at least, and 70 s are not worth it: reservations come forward."""
    switcher = fresh(spares=NONE, idle_s=0)
    switcher.reserved(1, start, np.array([0]))
    assert told(switcher, 0) == [(False, shut, [7] * len(shut))]


def test_always_on_nodes_and_groups_without_an_entry_stay_on():
    power = NodePower(boot_s=5, shutdown_s=2)
    groups = (NodeGroup("a", 2, {"cores": 1}, power, always_on=True), NodeGroup("b", 2, {"cores": 1}, power))
    switcher = Switcher(Platform("some", groups), Switching({0: StepFunction.from_steps(0, [])}, idle_s=0), 0)
    assert told(switcher, 1000) == []
    assert switcher.wake() == FOREVER
