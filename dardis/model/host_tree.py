"""The tree of hosts, by ranges: the first host of a range is its root, the rest is split into parts of its children.

Nothing is stored: whoever is asked for a range works out its children, also when some hosts are dead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from dardis.model.addresses import HostId
from dardis.model.arrays import Ints


def parts_of(first: int, last: int, arity: int, gone: Sequence[int] = ()) -> list[tuple[HostId, int]]:
    """Split the hosts `[first, last)` into at most `arity` parts of nearly equal size, each with a living first host.

    `gone` are the dead hosts, ascending; a part whose first hosts are dead begins at the next that lives, and one
    without any is left out.
    """
    count = last - first
    parts = min(arity, count)
    found = []
    for part in range(parts):
        low, high = first + count * part // parts, first + count * (part + 1) // parts
        low = living(low, high, gone)
        if low < high:
            found.append((low, high))
    return found


def living(first: int, last: int, gone: Sequence[int]) -> HostId:
    """The first host from `first` on that is not gone; `last` where there is none before it."""
    place = bisect_left(gone, first)
    while first < last and place < len(gone) and gone[place] == first:
        first += 1
        place += 1
    return HostId(first)


def child_counts(hosts: int, arity: int) -> Ints:
    """How many children each host has in the tree over `[0, hosts)`; shape (hosts,)."""
    counts = np.zeros(hosts, dtype=np.int64)
    ranges = [(0, hosts)] if hosts else []
    while ranges:
        first, last = ranges.pop()
        parts = parts_of(first + 1, last, arity)
        counts[first] = len(parts)
        ranges += parts
    return counts


def levels_below(hosts: int, arity: int) -> int:
    """How many levels the tree over so many hosts has below its root."""
    levels = 0
    while hosts > 1:
        hosts = -(-(hosts - 1) // arity)  # the largest part
        levels += 1
    return levels
