"""Trees of hosts by ranges, the addresses of hosts, and what rounds over them cost."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples

from dardis.model.addresses import child_counts, levels_below, split_hosts
from dardis.model.loggp import JobCost, LogGP, flat_round_ns, sampled_round_ns, tree_round_ns

hosts, arities = st.integers(1, 60), st.integers(1, 6)


def walk(first: int, last: int, arity: int, gone: list[int], level: int = 0) -> dict[int, tuple[int, int, int]]:
    """Each host of a range that is asked: when, as the root of how large a part, and how many it asks."""
    parts = split_hosts(first + 1, last, arity, gone)
    found = {first: (level, last - first, len(parts))}
    for low, high in parts:
        below = walk(low, high, arity, gone, level + 1)
        assert not found.keys() & below.keys(), "asked twice"
        found |= below
    return found


def test_a_range_is_split_into_parts_of_nearly_equal_size():
    assert split_hosts(1, 11, 3) == [(1, 4), (4, 7), (7, 11)]
    assert split_hosts(1, 3, 4) == [(1, 2), (2, 3)]
    assert split_hosts(5, 5, 2) == []
    assert split_hosts(3, 9, 1) == [(3, 9)]
    assert split_hosts(1, 11, 3, [1, 2, 5]) == [(3, 4), (4, 7), (7, 11)]
    assert split_hosts(1, 11, 3, [4, 5, 6]) == [(1, 4), (7, 11)]
    assert child_counts(0, 3).tolist() == []


@given(hosts, arities)
@examples(2)
def test_every_host_is_queried_once_by_a_parent_within_the_arity(count, arity):
    found = walk(0, count, arity, [])
    assert sorted(found) == list(range(count))
    assert max(children for _, _, children in found.values()) <= arity
    assert child_counts(count, arity).tolist() == [found[host][2] for host in range(count)]
    assert levels_below(count, arity) == max(level for level, _, _ in found.values())
    assert [levels_below(hosts, 8) for hosts in (1, 2, 9, 10, 73, 74)] == [0, 1, 1, 2, 2, 3]


NETWORK = LogGP(4, 1500.0, 400.0, 300.0, 600.0, 0.5)
COST = JobCost(50.0, 2000.0, 200.0, 1000.0)


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


@given(hosts=st.integers(3, 64), arity=st.integers(2, 16))
def test_ranks_that_share_cores_share_their_time(hosts, arity):
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
