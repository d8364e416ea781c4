"""Switching: which nodes, when, and what a pool offers meanwhile."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.machine import desired_profiles, platforms
from kit.offer_requests import ask_for

from dardis.model import offer_rows
from dardis.model.job import FOREVER, NO_TIME
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import Switching
from dardis.node_manager import NodePool
from dardis.node_manager.switching import Switcher
from dardis.wire import messages as say
from dardis.wire.effects import SendToManager, SendToManagers
from dardis.wire.messages import Confirm, OfferQuery, Switch

NONE, ONE = ({0: StepFunction.from_steps(count, [])} for count in (0, 1))


def fresh(count: int = 4, boot_s: int = 5, shutdown_s: int = 2, **rule) -> Switcher:
    platform = Platform("few", (NodeGroup("n", count, {"cores": 1}, NodePower(boot_s=boot_s, shutdown_s=shutdown_s)),))
    return Switcher(platform, Switching(**rule), 0)


def switch_orders(switcher: Switcher, now: int) -> list[tuple[bool, list[int], list[int]]]:
    return [(order.up, order.node.tolist(), order.ready.tolist()) for order in switcher.decide(now)]


@pytest.mark.parametrize(("now", "ready"), [(10, 17), (11, 17), (12, 17), (13, 18)])
def test_the_highest_idle_nodes_are_shut_down_and_the_lowest_booted_when_it_is_off(now, ready):
    switcher = fresh(spares=ONE, idle_s=10)
    assert switch_orders(switcher, 0) == []
    assert switcher.wake() == 10
    assert switch_orders(switcher, 10) == [(False, [1, 2, 3], [17, 17, 17])]
    switcher.record_reservation(1, now, np.array([0]))
    assert switch_orders(switcher, now) == [(True, [1], [ready])]


def test_a_reservation_is_booted_for_one_boot_before():
    switcher = fresh(spares=NONE, idle_s=0)
    assert switch_orders(switcher, 0) == [(False, [0, 1, 2, 3], [7, 7, 7, 7])]
    switcher.record_reservation(1, 50, np.array([2, 3]))
    assert switch_orders(switcher, 8) == []
    assert switcher.wake() == 45
    assert switch_orders(switcher, 45) == [(True, [2, 3], [50, 50])]


@pytest.mark.parametrize(("left", "wakes"), [(1, 53), (2, 33)])
def test_a_node_that_a_job_leaves_still_holds_the_others(left, wakes):
    switcher = fresh(spares=NONE, idle_s=0)
    for job, start in ((1, 40), (2, 60)):
        switcher.record_reservation(job, start, np.array([0]))
    assert switcher.drop_job(left).tolist() == [0]
    assert switch_orders(switcher, 0) == [(False, [1, 2, 3], [7, 7, 7])]
    assert switcher.wake() == wakes


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_days_switches_count_from_the_first_of_them(most):
    switcher = fresh(count=1, spares=NONE, idle_s=0, most_cycles_per_day=float(most))
    for turn in range(most):
        assert switch_orders(switcher, 100 * turn) == [(False, [0], [100 * turn + 7])]
        switcher.record_reservation(turn, 100 * turn + 50, np.array([0]))
        assert switch_orders(switcher, 100 * turn + 45) == [(True, [0], [100 * turn + 50])]
        switcher.on_job_end(turn, 100 * turn + 60)
    assert switch_orders(switcher, 100 * most) == []
    assert switcher.wake() == 86_400
    assert switch_orders(switcher, 86_400) == [(False, [0], [86_407])]


def test_a_node_that_boots_for_a_reservation_is_on_for_a_floor():
    floors = StepFunction.from_steps(1, [(100, 3)])
    switcher = fresh(spares=NONE, floors={0: floors}, idle_s=0)
    assert switch_orders(switcher, 0) == [(False, [1, 2, 3], [7, 7, 7])]
    switcher.record_reservation(1, 100, np.array([3]))
    assert switch_orders(switcher, 95) == [(True, [1, 3], [100, 100])]


@pytest.mark.parametrize(("start", "shut"), [(70, [1, 2, 3]), (71, [0, 1, 2, 3])])
def test_a_node_stays_on_for_a_reservation_that_comes_soon(start, shut):
    switcher = fresh(spares=NONE, idle_s=0)
    switcher.record_reservation(1, start, np.array([0]))
    assert switch_orders(switcher, 0) == [(False, shut, [7] * len(shut))]


def test_always_on_nodes_and_groups_without_an_entry_stay_on():
    power = NodePower(boot_s=5, shutdown_s=2)
    groups = (NodeGroup("a", 2, {"cores": 1}, power, always_on=True), NodeGroup("b", 2, {"cores": 1}, power))
    switcher = Switcher(Platform("some", groups), Switching({0: StepFunction.from_steps(0, [])}, idle_s=0), 0)
    assert switch_orders(switcher, 1000) == []
    assert switcher.wake() == FOREVER


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def answer(pool: NodePool, message: say.Message, now: int):
    """The only thing that the pool says to it."""
    (effect,) = pool.handle(message, now)
    assert isinstance(effect, SendToManager | SendToManagers)
    return effect.message


@st.composite
def states(draw) -> tuple[NodePool, NodePool, OfferQuery, int]:
    """A pool with nodes down, the same with these nodes taken until they can be up, an ask, and now."""
    boot_s = draw(st.integers(0, 9))
    platform = draw(platforms())
    platform = replace(platform, groups=tuple(replace(g, power=NodePower(boot_s=boot_s)) for g in platform.groups))
    desired = draw(st.none() | desired_profiles(platform))
    pools = [NodePool(platform, 0, platform.node_count, desired=desired) for _ in range(2)]
    now = draw(st.integers(0, 30))
    for node in range(platform.node_count):
        if draw(st.booleans()):
            start = draw(st.integers(now + 25, now + 40))
            for pool in pools:
                pool.state.reserve(ints(node), ints(1), platform.capacity[node], start, start + 5, now)
        state, ready = draw(st.sampled_from(("up", "off", "boots"))), draw(st.integers(0, 40))
        if state == "up":
            continue
        pools[0].handle(Switch(state == "boots", ints(node), ints(ready)), now)
        until = max(ready, now + (boot_s if state == "off" else 0))
        if now < until:
            taken = platform.capacity[node]
            if not pools[1].state.reserve(ints(node), ints(1), taken, NO_TIME, until, NO_TIME):
                pools[1].handle(Switch(True, ints(node), ints(until)), now)  # what it holds lies before that
    first = draw(st.integers(now, now + 20))
    generator = draw(st.sampled_from((offer_rows.FIRST, offer_rows.UNIFORM, offer_rows.EXPONENTIAL)))
    ask = ask_for(
        first=first, last=first + draw(st.integers(0, 40)), walltime=draw(st.integers(1, 12)),
        quota=draw(st.sampled_from((-1, 1, 3))), groups=platform.all_groups,
        request=tuple(draw(st.integers(0 if kind else 1, 2)) for kind in range(len(platform.kinds))),
        generator=generator, grain=draw(st.sampled_from((1, 4))),
        desired_binds=desired is not None and draw(st.booleans()),
    )  # fmt: skip
    return *pools, ask, now


@given(states())
@examples(2)
def test_down_node_offers_like_a_reserved_node(state):
    down, taken, ask, now = state
    offers, expected = answer(down, ask, now), answer(taken, ask, now)
    assert offers.offset.tolist() == expected.offset.tolist()
    assert offers.rows.tolist() == expected.rows.tolist()


@given(states())
@examples(1)
def test_hypothetical_offers_ignore_downtime(state):
    down, _, ask, now = state
    before = answer(down, replace(ask, as_if_up=True), now)
    down.handle(Switch(True, np.arange(len(down.state.member)), np.full(len(down.state.member), NO_TIME)), now)
    assert before.rows.tolist() == answer(down, ask, now).rows.tolist()


def small() -> NodePool:
    platform = Platform("three", (NodeGroup("n", 3, {"cores": 2}, NodePower(boot_s=10, shutdown_s=5)),))
    return NodePool(platform, 0, 3)


def claim(start: int, *nodes: int) -> Confirm:
    return Confirm(7, 1, 0, start, 5, ints(1), ints(*nodes), np.ones(len(nodes), dtype=np.int64), False)


def test_start_before_the_end_of_the_boot_is_refused():
    pool = small()
    pool.handle(Switch(up=False, node=ints(1), ready=ints(115)), 100)
    assert isinstance(answer(pool, claim(114, 0, 1), 101), say.Refused)
    assert isinstance(answer(pool, claim(129, 1), 120), say.Refused)  # off: a boot from now
    (launch,) = pool.handle(claim(130, 0, 1), 120)
    assert launch.at == 130
    assert isinstance(answer(small(), claim(-1, 1), 0), say.Refused)
