"""Sorted rows of (time, values), one per node, in a shared arena."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dardis.kernels.jit import inlined
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER

SLACK = 6
"""Free slots per row after `grown`: enough for a kernel call."""


class Rows(NamedTuple):
    """Entries of node n: `time[head[n] : head[n] + size[n]]`, in slots `[base[n], base[n] + slots[n])`."""

    base: Ints
    slots: Ints
    head: Ints
    size: Ints
    tail: Ints
    """(1,): begin of the unused arena."""
    time: Ints
    value: NDArray[Any]
    """(arena, columns); 32-bit for profiles, 64-bit for job numbers."""


def make_rows(count: int, columns: int, slots: int, dtype: type[np.integer[Any]]) -> Rows:
    """Empty rows of `slots` entries, with as much spare arena."""
    base = np.arange(count, dtype=np.int64) * slots
    arena = 2 * count * slots + 64
    return Rows(
        base,
        np.full(count, slots, dtype=np.int64),
        base.copy(),
        np.zeros(count, dtype=np.int64),
        np.array([count * slots], dtype=np.int64),
        np.zeros(arena, dtype=np.int64),
        np.zeros((arena, columns), dtype=dtype),
    )


def grown(rows: Rows, extra: int = 0) -> Rows:
    """Packed rows with `SLACK` spare slots each and `extra` behind."""
    slots = rows.size + rows.size // 2 + SLACK
    ends = np.cumsum(slots)
    base = ends - slots
    total = int(ends[-1])
    arena = total + max(extra, total // 2) + 64
    time = np.zeros(arena, dtype=np.int64)
    value = np.zeros((arena, rows.value.shape[1]), dtype=rows.value.dtype)
    # One gather for entry j of all rows: source head[n] + j, target base[n] + j.
    owner = np.repeat(np.arange(len(slots)), rows.size)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(rows.size) - rows.size, rows.size)
    time[base[owner] + place] = rows.time[rows.head[owner] + place]
    value[base[owner] + place] = rows.value[rows.head[owner] + place]
    return Rows(base, slots, base.copy(), rows.size.copy(), np.array([total], dtype=np.int64), time, value)


@inlined
def forget_before(rows: Rows, node: int, now: int) -> None:
    """Drop entries that ended by `now`."""
    while rows.size[node] > 1 and rows.time[rows.head[node] + 1] <= now:
        rows.head[node] += 1
        rows.size[node] -= 1


@inlined
def find(rows: Rows, node: int, moment: int) -> int:
    """Arena index of the last entry at or before `moment`, or before the row."""
    low = rows.head[node] - 1
    high = rows.head[node] + rows.size[node]
    while high - low > 1:
        middle = (low + high) >> 1
        if rows.time[middle] <= moment:
            low = middle
        else:
            high = middle
    return low


@inlined
def shift_up(rows: Rows, low: int, high: int) -> None:
    """Move the entries `[low, high)` right by one."""
    # Unsigned indices: signed ones are tested for counting from the end, and take ten times as long.
    count, end, one = np.uint64(high - low), np.uint64(high), np.uint64(1)
    for i in range(count):
        rows.time[end - i] = rows.time[end - i - one]
    for c in range(rows.value.shape[1]):
        for i in range(count):
            rows.value[end - i, c] = rows.value[end - i - one, c]


@inlined
def shift_down(rows: Rows, low: int, high: int, target: int) -> None:
    """Copy the entries `[low, high)` to `target`; no overlap behind `low`."""
    count, source, to = np.uint64(high - low), np.uint64(low), np.uint64(target)
    for i in range(count):
        rows.time[to + i] = rows.time[source + i]
    for c in range(rows.value.shape[1]):
        for i in range(count):
            rows.value[to + i, c] = rows.value[source + i, c]


@inlined
def ensure_space(rows: Rows, node: int, entries: int) -> bool:
    """Ensure space for `entries`; False: call `grown`."""
    head = rows.head[node]
    size = rows.size[node]
    base = rows.base[node]
    if head + size + entries <= base + rows.slots[node]:
        return True
    target = base
    if size + entries > rows.slots[node] - (rows.slots[node] >> 2):
        # Less than a quarter would stay free: move to the arena's end with twice the slots.
        slots = 2 * (size + entries)
        target = rows.tail[0]
        if target + slots > len(rows.time):
            return False
        rows.tail[0] = target + slots
        rows.base[node] = target
        rows.slots[node] = slots
    shift_down(rows, head, head + size, target)
    rows.head[node] = target
    return True


@inlined
def open_slot(rows: Rows, node: int, place: int) -> None:
    """Shift entries from `place` on; space must exist."""
    end = rows.head[node] + rows.size[node]
    shift_up(rows, place, end)
    rows.size[node] += 1


@inlined
def close_slot(rows: Rows, node: int, place: int) -> None:
    """Remove the entry at `place`."""
    end = rows.head[node] + rows.size[node]
    shift_down(rows, place + 1, end, place)
    rows.size[node] -= 1


@inlined
def next_rise(rows: Rows, node: int, now: int) -> int:
    """When the node next gains capacity after `now`, or FOREVER."""
    head = rows.head[node]
    for place in range(head + 1, head + rows.size[node]):
        if rows.time[place] > now:
            for k in range(rows.value.shape[1]):
                if rows.value[place, k] > rows.value[place - 1, k]:
                    return rows.time[place]
    return FOREVER
