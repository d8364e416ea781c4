"""Trees of hosts by ranges, the addresses of hosts, and what rounds over them cost."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples

from dardis.model import loggp
from dardis.model.addresses import FIRST_HOST, ONLY_MANAGER, address_of, all_hosts, is_manager, manager_at
from dardis.model.host_tree import child_counts, levels_below, living, parts_of
from dardis.model.loggp import (
    EXCHANGES,
    JobCost,
    LogGP,
    flat_chain,
    flat_round_ns,
    sampled_round_ns,
    tree_chain,
    tree_round_ns,
    tree_round_trip,
    wave_job_ns,
)


def test_nobody_is_both_a_host_and_a_task_manager():
    hosts, managers = all_hosts(5), [address_of(manager) for manager in range(5)]
    assert [manager_at(address) for address in managers] == list(range(5))
    assert managers[0] == ONLY_MANAGER
    assert hosts[0] == FIRST_HOST
    assert len(set(hosts) | set(managers)) == 10
    assert [is_manager(address) for address in (*hosts, *managers)] == [False] * 5 + [True] * 5


hosts, arities = st.integers(1, 60), st.integers(1, 6)


def walk(first: int, last: int, arity: int, gone: list[int], level: int = 0) -> dict[int, tuple[int, int, int]]:
    """Each host of a range that is asked: when, as the root of how large a part, and how many it asks."""
    parts = parts_of(first + 1, last, arity, gone)
    found = {first: (level, last - first, len(parts))}
    for low, high in parts:
        below = walk(low, high, arity, gone, level + 1)
        assert not found.keys() & below.keys(), "asked twice"
        found |= below
    return found


def test_a_range_is_split_into_parts_of_nearly_equal_size():
    assert parts_of(1, 11, 3) == [(1, 4), (4, 7), (7, 11)]
    assert parts_of(1, 3, 4) == [(1, 2), (2, 3)]
    assert parts_of(5, 5, 2) == []
    assert parts_of(3, 9, 1) == [(3, 9)]
    assert parts_of(1, 11, 3, [1, 2, 5]) == [(3, 4), (4, 7), (7, 11)]
    assert parts_of(1, 11, 3, [4, 5, 6]) == [(1, 4), (7, 11)]
    assert child_counts(0, 3).tolist() == []


@given(hosts, arities)
@examples(2)
def test_everybody_is_asked_once_by_one_who_asks_no_more_than_the_arity(count, arity):
    found = walk(0, count, arity, [])
    assert sorted(found) == list(range(count))
    assert max(children for _, _, children in found.values()) <= arity
    assert child_counts(count, arity).tolist() == [found[host][2] for host in range(count)]
    assert levels_below(count, arity) == max(level for level, _, _ in found.values())
    assert [levels_below(hosts, 8) for hosts in (1, 2, 9, 10, 73, 74)] == [0, 1, 1, 2, 2, 3]


@given(hosts, arities, st.data())
@examples(2)
def test_the_living_are_all_asked_and_the_dead_are_not(count, arity, data):
    gone = sorted(data.draw(st.sets(st.integers(0, count - 1))))
    root = living(0, count, gone)
    found = walk(root, count, arity, gone) if root < count else {}
    assert sorted(found) == [host for host in range(count) if host not in gone]
    assert max((level for level, _, _ in found.values()), default=0) <= levels_below(count, arity)


NETWORK = LogGP(4, 1500.0, 400.0, 300.0, 600.0, 0.5)
COST = JobCost(50.0, 2000.0, 200.0, 1000.0)
ABOVE = -1


def children_of(first, last, arity, found):
    """The children of each host of a tree, by host."""
    parts = parts_of(first + 1, last, arity)
    found[first] = [low for low, _ in parts]
    for low, high in parts:
        children_of(low, high, arity, found)
    return found


def simulated_steps(children):
    """Steps until the host `ABOVE` has all answers; in a step a host sends one message or gets one, or neither."""
    unsent = {host: list(below) for host, below in children.items()}
    missing = {host: set(below) for host, below in children.items()}
    asked = {ABOVE}
    steps = 0
    while missing[ABOVE]:
        steps += 1
        ready = {host for host in asked if not missing[host]}  # as it is before the step
        for host in sorted(asked):
            if unsent[host]:
                asked.add(unsent[host].pop(0))
            elif missing[host] & ready:
                missing[host].remove(min(missing[host] & ready))
    return steps


@given(hosts=st.integers(1, 200), arity=st.integers(1, 20))
def test_chains_are_those_of_a_simulation(hosts, arity):
    tree = children_of(0, hosts, arity, {ABOVE: [0]})
    assert tree_round_trip(hosts, arity) == simulated_steps(tree)
    flat = {ABOVE: list(range(hosts))} | {host: [] for host in range(hosts)}
    assert flat_chain(hosts, 3) == simulated_steps(flat) + 3


@given(hosts=st.integers(1, 1_000_000), arity=st.integers(2, 64))
def test_a_tree_grows_with_the_logarithm(hosts, arity):
    levels = math.log(hosts, arity) + 1
    trip = tree_round_trip(hosts, arity)
    assert 2 * math.floor(math.log(hosts * (arity - 1) + 1, arity) - 1e-9) <= trip <= 2 + 2 * arity * levels
    assert trip <= flat_chain(hosts, 0)
    assert 2 * trip < tree_chain(hosts, arity, 1) <= tree_chain(hosts, arity, 8) <= 2 * trip + 1 + arity * levels
    assert tree_chain(hosts, arity, 0) == 2 * trip


def test_the_smallest_rounds_by_hand():
    ask = 400 + 2000 + 199 * 0.5 + 1500 + 2300
    answer = 400 + 2000 + 999 * 0.5 + 1500 + 2300
    assert flat_round_ns(NETWORK, COST, 1, 100) == 100 * 50
    assert flat_round_ns(NETWORK, COST, 2, 100) == ask + 50 * 50 + answer
    assert flat_round_ns(NETWORK, COST, 2, 100, 1) == 2 * ask + 50 * 50 + answer
    assert tree_round_ns(NETWORK, COST, 2, 8, 100) == 2 * (ask + answer) + 50 * 50
    # Three hosts: the second ask leaves 2400 later, and its answer is there 2400 after the first, which took 2300.
    assert flat_round_ns(NETWORK, COST, 3, 300) == 2400 + ask + 100 * 50 + answer
    # A gap that is longer than the overheads rules both: 2650 between asks, and 2999.5 between long answers.
    slow = replace(NETWORK, gap_ns=2500.0)
    sent, handled = 2400 + 199 * 0.5 + 1500 + (2500 + 199 * 0.5), 2400 + 999 * 0.5 + 1500 + (2500 + 999 * 0.5)
    assert flat_round_ns(slow, COST, 2, 0) == sent + handled
    assert flat_round_ns(slow, COST, 3, 0) == sent + handled + (2500 + 999 * 0.5)


ns = st.floats(0, 1e6)
hops = st.builds(loggp._Hop, ns, ns, ns)


@given(children=st.integers(0, 40), child=ns, down=hops, up=hops, work=ns)
def test_children_that_are_alike_are_gathered_as_any_are(children, child, down, up, work):
    at_once = loggp._gathered_alike(children, child, down, up, work)
    assert at_once == pytest.approx(loggp._gathered([child] * children, down, up, work))


@given(
    hosts=st.integers(2, 300), arity=st.integers(2, 16), chosen=st.integers(0, 8), name=st.sampled_from(
        ["latency_ns", "send_overhead_ns", "receive_overhead_ns", "gap_ns", "gap_per_byte_ns"]
    ),
)  # fmt: skip
def test_a_worse_network_takes_no_less_time(hosts, arity, chosen, name):
    worse = replace(NETWORK, **{name: getattr(NETWORK, name) * 3})
    assert flat_round_ns(worse, COST, hosts, 9, chosen) >= flat_round_ns(NETWORK, COST, hosts, 9, chosen)
    assert tree_round_ns(worse, COST, hosts, arity, 9, chosen) >= tree_round_ns(NETWORK, COST, hosts, arity, 9, chosen)


@given(hosts=st.integers(3, 64), arity=st.integers(2, 16))
def test_ranks_that_share_cores_share_their_time(hosts, arity):
    """The work over the cores at least, no more than that and the time with a core each; spare cores help nobody."""
    cost = replace(COST, host_ns=500.0, select_ns=70.0)
    work, handling = 64 * hosts * 50.0 + hosts * 500.0 + 70.0, 2 * 2000.0 + 400 + 300
    assert sampled_round_ns(NETWORK, cost, 1, 12, 2, 2) == sampled_round_ns(NETWORK, cost, 1, 12, 2)
    for messages, round_ns in (
        (2 * (hosts - 1) + 2, lambda cores: flat_round_ns(NETWORK, cost, hosts, 64 * hosts, 2, cores)),
        (4 * (hosts - 1) + 2, lambda cores: tree_round_ns(NETWORK, cost, hosts, arity, 64 * hosts, 2, cores)),
    ):
        alone = round_ns(None)
        assert round_ns(hosts) == round_ns(hosts + 5) == alone
        for cores in range(1, hosts):
            least = (work + messages * handling) / cores
            assert least <= round_ns(cores) * (1 + 1e-9)
            assert alone < round_ns(cores) <= least + alone
            assert round_ns(cores) > round_ns(cores + 1)


def test_a_sampled_round_costs_less_than_one_of_all():
    times = [sampled_round_ns(NETWORK, COST, asked, 32, 2) for asked in (0, 4, 99)]
    assert times[0] < times[1] < times[2] == flat_round_ns(NETWORK, COST, 100, 32, 2)


def test_jobs_in_flight_share_what_a_wave_exchanges():
    network = LogGP(4, 1000.0, 100.0, 100.0, 50.0, 0.0)
    exchange = 3 * 200.0 + 1000.0
    assert wave_job_ns(network, 8000.0, 1, 1, 64) == 8000.0
    assert wave_job_ns(network, 8000.0, 4, 2, 1) == 4000.0 + EXCHANGES * exchange
    assert wave_job_ns(network, 8000.0, 4, 2, 32) == 4000.0 + EXCHANGES * exchange / 32
    # A rank has one core at most; and where ranks share cores, all their messages take longer.
    assert wave_job_ns(network, 8000.0, 4, 9, 32) == 2000.0 + EXCHANGES * exchange / 32
    assert wave_job_ns(network, 8000.0, 4, 9, 32, cores=2) == 4000.0 + EXCHANGES * (3 * 400.0 + 1000.0) / 32
