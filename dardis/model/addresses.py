"""Addresses of messages, and the tree of hosts by ranges.

Only type checkers tell addresses apart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NewType, TypeGuard, cast

import numpy as np

from dardis.model.arrays import Ints

JobId = NewType("JobId", int)
HostId = NewType("HostId", int)
ManagerAddress = NewType("ManagerAddress", int)
"""Negative, unlike hosts."""
Address = HostId | ManagerAddress

FIRST_HOST: Final = HostId(0)


def all_hosts(count: int) -> Sequence[HostId]:
    """All `HostId`s below `count`."""
    return cast("Sequence[HostId]", range(count))


def address_of(manager: int) -> ManagerAddress:
    """Address of a task manager, numbered from 0."""
    return ManagerAddress(-1 - manager)


def manager_at(address: ManagerAddress) -> int:
    """Number of the task manager at an address."""
    return -1 - address


def is_manager(address: Address) -> TypeGuard[ManagerAddress]:
    """Whether the address belongs to a task manager."""
    return address < 0


ONLY_MANAGER: Final = address_of(0)


def split_hosts(first: int, last: int, arity: int, gone: Sequence[int] = ()) -> list[tuple[HostId, int]]:
    """Split the hosts `[first, last)` into at most `arity` similar parts.

    Each begins with a living host. `gone`: dead hosts, ascending. Dead parts are omitted.
    """
    count = last - first
    parts = min(arity, count)
    found = []
    for part in range(parts):
        low, high = first + count * part // parts, first + count * (part + 1) // parts
        low = first_living_host(low, high, gone)
        if low < high:
            found.append((low, high))
    return found


def first_living_host(first: int, last: int, gone: Sequence[int]) -> HostId:
    """First living host from `first` on, else `last`."""
    place = bisect_left(gone, first)
    while first < last and place < len(gone) and gone[place] == first:
        first += 1
        place += 1
    return HostId(first)


def child_counts(hosts: int, arity: int) -> Ints:
    """Number of children per host in a tree, (hosts,)."""
    counts = np.zeros(hosts, dtype=np.int64)
    ranges = [(0, hosts)] if hosts else []
    while ranges:
        first, last = ranges.pop()
        parts = split_hosts(first + 1, last, arity)
        counts[first] = len(parts)
        ranges += parts
    return counts


def levels_below(hosts: int, arity: int) -> int:
    """Number of levels below a tree's root."""
    levels = 0
    while hosts > 1:
        hosts = -(-(hosts - 1) // arity)  # the largest part
        levels += 1
    return levels
