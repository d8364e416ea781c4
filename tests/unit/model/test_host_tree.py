"""The tree of hosts by ranges, against a walk that lists every host's children."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples

from dardis.model.host_tree import child_counts, levels_below, living, parts_of

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


def test_the_next_living_host_takes_the_place_of_a_dead_one():
    assert parts_of(1, 11, 3, [1, 2, 5]) == [(3, 4), (4, 7), (7, 11)]
    assert parts_of(1, 11, 3, [4, 5, 6]) == [(1, 4), (7, 11)]
    assert parts_of(0, 2, 1, [0, 1]) == []


def test_living():
    assert living(2, 6, []) == 2
    assert living(2, 6, [1, 3]) == 2
    assert living(2, 6, [0, 2, 3, 5]) == 4
    assert living(2, 6, [2, 3, 4, 5, 6]) == 6


@given(hosts, arities)
@examples(2)
def test_everybody_is_asked_once_by_one_who_asks_no_more_than_the_arity(count, arity):
    found = walk(0, count, arity, [])
    assert sorted(found) == list(range(count))
    assert max(children for _, _, children in found.values()) <= arity
    assert child_counts(count, arity).tolist() == [found[host][2] for host in range(count)]
    assert levels_below(count, arity) == max(level for level, _, _ in found.values())


@given(hosts, arities, st.data())
@examples(2)
def test_the_living_are_all_asked_and_the_dead_are_not(count, arity, data):
    gone = sorted(data.draw(st.sets(st.integers(0, count - 1))))
    root = living(0, count, gone)
    found = walk(root, count, arity, gone) if root < count else {}
    assert sorted(found) == [host for host in range(count) if host not in gone]
    assert max((level for level, _, _ in found.values()), default=0) <= levels_below(count, arity)


def test_no_hosts_have_no_children():
    assert child_counts(0, 3).tolist() == []


def test_levels_grow_with_the_logarithm():
    assert [levels_below(count, 8) for count in (1, 2, 9, 10, 73, 74, 585, 586)] == [0, 1, 1, 2, 2, 3, 3, 4]
    assert levels_below(7, 1) == 6
