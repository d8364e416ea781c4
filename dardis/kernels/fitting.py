"""Fitting indices of a unit on a node (thesis 5.3), and eligible nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dardis.kernels.jit import bare, inlined
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER
from dardis.model.node_sets import WORD_BITS
from dardis.model.offer_rows import FREE_FROM, FREE_TO, FROM, INDEX, INDEX_BITS, TO

Values = NDArray[Any]


class Profile(NamedTuple):
    """Free capacity of a node: `value[i]` from `time[i]` on, i in `[head, stop)`."""

    time: Ints
    value: Values
    head: int
    stop: int


class StartWindow(NamedTuple):
    """Starts in `[first, last]` of a run; `binds`: within the desired profile."""

    first: int
    last: int
    walltime: int
    request: Ints
    binds: bool


@inlined
def segment_of(profile: Profile, moment: int) -> int:
    """Segment at `moment`, or the first."""
    time, head, stop = profile.time, profile.head, profile.stop
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
def index_at(value: Values, place: int, request: Ints, binds: bool) -> int:
    """Fitting index of a segment: least desired / request over kinds, at most free div request."""
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
    if binds:
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
def fits_at(value: Values, place: int, request: Ints, binds: bool) -> bool:
    """Whether a segment's index is at least 1."""
    kinds = len(request)
    for k in range(kinds):
        if value[place, k] < request[k]:
            return False
        if binds and value[place, kinds + k] < request[k] and request[k] > 0:
            return False
    return True


@bare
def slide(profile: Profile, wanted: StartWindow, pieces: Ints, count: int, queue: Ints) -> int:
    """Append pieces (FROM, TO, INDEX) of the starts to the first `count`.

    An index is the minimum over a run's segments; index 0 is omitted. The first segment holds the first start. `queue`
    needs 2 columns and a row per segment.
    """
    time, value, stop = profile.time, profile.value, profile.stop
    first, last, walltime = wanted.first, wanted.last, wanted.walltime
    request, binds = wanted.request, wanted.binds
    before = count
    a = profile.head
    j = a - 1
    front = back = 0
    start = first
    while start <= last:
        while j + 1 < stop and (j < a or time[j + 1] < start + walltime):
            j += 1
            index = index_at(value, j, request, binds)
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
def feasible_pieces(profile: Profile, wanted: StartWindow, now: int, pieces: Ints, before: int, queue: Ints) -> int:
    """Append pieces with an index of at least 1 to the first `before`.

    FREE_FROM (at least `now`) and FREE_TO (FOREVER: open) bound the time in which a unit fits without a break.
    """
    time, value, head, stop = profile.time, profile.value, profile.head, profile.stop
    first, last, walltime = wanted.first, wanted.last, wanted.walltime
    request, binds = wanted.request, wanted.binds
    place = segment_of(profile, first)
    while place > head and time[place] > now and fits_at(value, place, request, binds):
        place -= 1
    count = before
    while place < stop:
        if not fits_at(value, place, request, binds):
            place += 1
            continue
        begin = place
        place += 1
        while place < stop and fits_at(value, place, request, binds):
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
                pieces[count, INDEX] = index_at(value, begin, request, binds)
                count += 1
            else:
                stretch = Profile(time, value, begin, place)
                count = slide(stretch, StartWindow(low, high, walltime, request, binds), pieces, count, queue)
            for p in range(mine, count):
                pieces[p, FREE_FROM] = free_from
                pieces[p, FREE_TO] = free_to
    return count


@inlined
def constant_piece(profile: Profile, wanted: StartWindow, now: int, pieces: Ints, before: int) -> int:
    """Append the piece of a one-segment profile, the usual case."""
    if not fits_at(profile.value, profile.head, wanted.request, wanted.binds):
        return before
    pieces[before, FROM] = wanted.first
    pieces[before, TO] = wanted.last + 1
    pieces[before, INDEX] = index_at(profile.value, profile.head, wanted.request, wanted.binds)
    pieces[before, FREE_FROM] = max(profile.time[profile.head], now)
    pieces[before, FREE_TO] = FOREVER
    return before + 1


@inlined
def may_use(member: Ints, node: int, code: int) -> bool:
    """Whether the node is in the set `code` of `dardis.model.node_sets`; False: unknown code."""
    if member.shape[1] == 1:
        return (member[node, 0] & code) != 0
    word = code >> WORD_BITS
    return 0 <= word < member.shape[1] and (member[node, word] & code) != 0
