"""The fitting index over a node's profile, as pieces of start times on which it is constant (thesis eq. 5.2 and 5.3).

The cost grows with the breakpoints between the first start and the last end, not with seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dardis.kernels.jit import bare, inlined
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER

Values = NDArray[Any]
INDEX_BITS = 20
"""A fitting index of 1 (one unit fits exactly) is 1 << INDEX_BITS: indices are kept in fixed point."""
NODE, FROM, TO, INDEX, FREE_FROM, FREE_TO = range(6)
"""Columns of pieces and of offers: node, first start, after the last start (both in s, or in instants of a grid),
fitting index (fixed point), and the bounds of the time around in which a unit fits without a break."""


@inlined
def segment_of(time: Ints, head: int, stop: int, moment: int) -> int:
    """The segment of a profile `time[head:stop]` that holds `moment`, or its first."""
    place = head
    if stop - head > 16:
        low, high = head, stop
        while high - low > 1:
            middle = (low + high) >> 1
            if time[middle] <= moment:
                low = middle
            else:
                high = middle
        return low
    while place + 1 < stop and time[place + 1] <= moment:
        place += 1
    return place


@inlined
def index_at(value: Values, place: int, request: Ints, respect: bool) -> int:
    """The fitting index over one segment: the least, over kinds, of wished / request, capped by free div request."""
    kinds = len(request)
    whole = np.int64(1) << 40
    for k in range(kinds):
        need = request[k]
        if need > 0:
            free = np.int64(value[place, k])
            if free < need:
                return np.int64(0)
            whole = min(whole, np.int64(1) if free < 2 * need else free // need)
    index = whole << INDEX_BITS
    if respect:
        for k in range(kinds):
            need = request[k]
            if need > 0:
                wished = np.int64(value[place, kinds + k])
                if wished <= 0:
                    return np.int64(0)
                if (wished << INDEX_BITS) < index * need:
                    index = (wished << INDEX_BITS) // need
    return index


@inlined
def fits_at(value: Values, place: int, request: Ints, respect: bool) -> bool:
    """Whether the fitting index over one segment is at least 1."""
    kinds = len(request)
    for k in range(kinds):
        if value[place, k] < request[k]:
            return False
        if respect and value[place, kinds + k] < request[k] and request[k] > 0:
            return False
    return True


@bare
def slide(
    time: Ints,
    value: Values,
    from_segment: int,
    stop: int,
    first: int,
    last: int,
    walltime: int,
    request: Ints,
    respect: bool,
    pieces: Ints,
    count: int,
    queue: Ints,
) -> int:
    """Append the pieces (FROM, TO, INDEX) of starts in [first, last] to the first `count`; return the new count.

    A start's index is the least over the segments that its run touches (a monotonic queue of candidates). Pieces of
    index 0 are left out. `from_segment` holds `first`; `queue` has 2 columns and room for all segments, from 0.
    """
    before = count
    a = from_segment
    j = a - 1
    front = back = 0
    start = first
    while start <= last:
        while j + 1 < stop and (j < a or time[j + 1] < start + walltime):
            j += 1
            index = index_at(value, j, request, respect)
            while back > front and queue[back - 1, 1] >= index:
                back -= 1
            queue[back, 0] = j
            queue[back, 1] = index
            back += 1
        least = queue[front, 1]
        change = last + 1
        if a + 1 < stop:
            change = min(change, time[a + 1])
        if j + 1 < stop:
            change = min(change, time[j + 1] - walltime + 1)
        if least > 0:
            if count > before and pieces[count - 1, TO] == start and pieces[count - 1, INDEX] == least:
                pieces[count - 1, TO] = change
            else:
                pieces[count, FROM] = start
                pieces[count, TO] = change
                pieces[count, INDEX] = least
                count += 1
        start = change
        while a + 1 < stop and time[a + 1] <= start:
            if queue[front, 0] == a:
                front += 1
            a += 1
    return count


@inlined
def feasible_pieces(
    time: Ints,
    value: Values,
    head: int,
    stop: int,
    first: int,
    last: int,
    walltime: int,
    request: Ints,
    respect: bool,
    now: int,
    pieces: Ints,
    before: int,
    queue: Ints,
) -> int:
    """Append to the first `before` pieces those of a node's starts with index >= 1; return how many there are then.

    A piece has the columns below, but for the node; the node's profile is `time[head:stop]`, `value[head:stop]`.

    `free from` (at least `now`) and `free to` (FOREVER when open) bound the time over which one unit fits without a
    break around the piece's runs.
    """
    place = segment_of(time, head, stop, first)
    while place > head and time[place] > now and fits_at(value, place, request, respect):
        place -= 1
    count = before
    while place < stop:
        if not fits_at(value, place, request, respect):
            place += 1
            continue
        begin = place
        place += 1
        while place < stop and fits_at(value, place, request, respect):
            place += 1
        free_from = max(time[begin], now)
        free_to = time[place] if place < stop else FOREVER
        if free_from > last:
            break
        low = max(free_from, first)
        high = min(last, free_to - walltime)
        if low <= high:
            while begin + 1 < place and time[begin + 1] <= low:
                begin += 1
            mine = count
            if place - begin == 1:
                pieces[count, FROM] = low
                pieces[count, TO] = high + 1
                pieces[count, INDEX] = index_at(value, begin, request, respect)
                count += 1
            else:
                count = slide(time, value, begin, place, low, high, walltime, request, respect, pieces, count, queue)
            for p in range(mine, count):
                pieces[p, FREE_FROM] = free_from
                pieces[p, FREE_TO] = free_to
    return count


@inlined
def constant_piece(
    time: Ints, value: Values, head: int, first: int, last: int, request: Ints, respect: bool, now: int,
    pieces: Ints, before: int,
) -> int:  # fmt: skip
    """The same for a profile of one segment, the usual case on a large machine: every start, or none."""
    if not fits_at(value, head, request, respect):
        return before
    pieces[before, FROM] = first
    pieces[before, TO] = last + 1
    pieces[before, INDEX] = index_at(value, head, request, respect)
    pieces[before, FREE_FROM] = max(time[head], now)
    pieces[before, FREE_TO] = FOREVER
    return before + 1
