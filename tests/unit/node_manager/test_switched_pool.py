"""Nodes of a pool that are down: they offer what nodes would that are taken until they can be up, and hold no more."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.asks import ask_for
from kit.effort import examples
from kit.machine import desired_profiles, platforms

from dardis.model import codes
from dardis.model.job import NO_TIME
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.node_manager import NodePool
from dardis.wire import messages as say
from dardis.wire.effects import Tell, TellAll
from dardis.wire.messages import Ask, Confirm, Look, Switch

FAR = 1 << 40


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def answer(pool: NodePool, message: say.Message, now: int):
    """The only thing that the pool says to it."""
    (effect,) = pool.handle(message, now)
    assert isinstance(effect, Tell | TellAll)
    return effect.message


@st.composite
def states(draw) -> tuple[NodePool, NodePool, Ask, int]:
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
    generator = draw(st.sampled_from((codes.FIRST, codes.UNIFORM, codes.EXPONENTIAL)))
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
def test_a_node_that_is_down_offers_as_one_that_is_taken(state):
    down, taken, ask, now = state
    offers, expected = answer(down, ask, now), answer(taken, ask, now)
    assert offers.offset.tolist() == expected.offset.tolist()
    assert offers.rows.tolist() == expected.rows.tolist()


@given(states())
@examples(1)
def test_as_if_all_were_up_it_offers_what_it_would_have(state):
    down, _, ask, now = state
    before = answer(down, replace(ask, as_if_up=True), now)
    down.handle(Switch(True, np.arange(len(down.state.member)), np.full(len(down.state.member), NO_TIME)), now)
    assert before.rows.tolist() == answer(down, ask, now).rows.tolist()


def small() -> NodePool:
    platform = Platform("three", (NodeGroup("n", 3, {"cores": 2}, NodePower(boot_s=10, shutdown_s=5)),))
    return NodePool(platform, 0, 3)


def claim(start: int, *nodes: int) -> Confirm:
    return Confirm(7, 1, 0, start, 5, ints(1), ints(*nodes), np.ones(len(nodes), dtype=np.int64), False)


def test_what_begins_before_the_node_can_be_up_is_refused():
    pool = small()
    pool.handle(Switch(up=False, node=ints(1), ready=ints(115)), 100)
    assert isinstance(answer(pool, claim(114, 0, 1), 101), say.Refused)
    assert isinstance(answer(pool, claim(129, 1), 120), say.Refused)  # off: a boot from now
    (launch,) = pool.handle(claim(130, 0, 1), 120)
    assert launch.at == 130
    assert isinstance(answer(small(), claim(-1, 1), 0), say.Refused)


def test_it_says_when_nodes_that_are_down_could_be_up():
    pool, ask = small(), ask_for(last=FAR)
    assert answer(pool, ask, 90).down_until == NO_TIME
    pool.handle(Switch(up=False, node=ints(0, 1), ready=ints(115, 115)), 100)
    assert answer(pool, ask, 100).down_until == 115
    assert answer(pool, ask, 120).down_until == 130
    pool.handle(Switch(up=True, node=ints(0, 1), ready=ints(131, 131)), 121)
    offers = answer(pool, ask, 122)
    assert (offers.down_until, offers.horizon, offers.last_end) == (131, 131, 131)
    assert answer(pool, ask, 131).down_until == NO_TIME


def test_what_is_published_of_nodes_that_are_down():
    pool = small()
    first = answer(pool, Look(), 0)
    assert (first.node.tolist(), len(first.ready), len(first.boot)) == ([0, 1, 2], 0, 0)
    pool.handle(Switch(up=False, node=ints(2), ready=ints(15)), 0)
    pool.handle(Switch(up=True, node=ints(0), ready=ints(12)), 0)
    changed = answer(pool, Look(), 0)
    assert (changed.node.tolist(), changed.ready.tolist(), changed.boot.tolist()) == ([0, 2], [12, 15], [0, 10])
    assert changed.value.tolist() == [[2], [2]]  # what they hold when they are up
