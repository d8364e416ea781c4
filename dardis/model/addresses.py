"""Addresses of messages (jobs, hosts, task managers), and the tree of hosts by ranges.

They are numbers while the program runs; it is the type checker that tells them apart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NewType, TypeGuard, cast

import numpy as np

from dardis.model.arrays import Ints

JobId = NewType("JobId", int)
"""The number of a job, as its trace has it."""
HostId = NewType("HostId", int)
"""Counted from 0."""
ManagerAddress = NewType("ManagerAddress", int)
"""Less than 0, so that no host has it."""
Address = HostId | ManagerAddress
"""Of a machine that takes messages."""

FIRST_HOST: Final = HostId(0)
"""The first host, or the only one."""


def all_hosts(count: int) -> Sequence[HostId]:
    """So many hosts."""
    return cast("Sequence[HostId]", range(count))


def address_of(manager: int) -> ManagerAddress:
    """The address of a task manager, counted from 0."""
    return ManagerAddress(-1 - manager)


def manager_at(address: ManagerAddress) -> int:
    """The task manager at an address, counted from 0."""
    return -1 - address


def is_manager(address: Address) -> TypeGuard[ManagerAddress]:
    """Whether a task manager has this address; else a host has it."""
    return address < 0


ONLY_MANAGER: Final = address_of(0)
"""The address of the task manager where there is one."""


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
