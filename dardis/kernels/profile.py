"""Reserving on node profiles: what is free (capacity less reserved) and what is wished (desired less reserved).

Columns of a profile row: `kinds` times free, then, where a desired profile was given, `kinds` times wished.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.fitting import Profile, Values
from dardis.kernels.jit import bare, inlined
from dardis.kernels.rows import Rows, close_slot, find, forget_before, make_room, open_slot, shift_up
from dardis.model.arrays import Ints

DONE, FULL, REFUSED = 0, 1, 2
"""What `reserve` answers: reserved, arena full (grow it and ask again), does not fit."""


@inlined
def split_at(rows: Rows, node: int, moment: int) -> int:
    """See that the profile has a breakpoint at `moment`; return its arena index."""
    place = find(rows, node, moment)
    if place >= rows.head[node] and rows.time[place] == moment:
        return place
    place += 1
    open_slot(rows, node, place)
    rows.time[place] = moment
    for c in range(rows.value.shape[1]):
        rows.value[place, c] = rows.value[place - 1, c]
    return place


@inlined
def same_values(rows: Rows, a: int, b: int) -> bool:
    """Whether two entries hold the same values."""
    for c in range(rows.value.shape[1]):
        if rows.value[a, c] != rows.value[b, c]:
            return False
    return True


@inlined
def apply(rows: Rows, node: int, start: int, end: int, request: Ints, units: int) -> None:
    """Take `units` times `request` from all columns over `[start, end)`; negative units give back. Needs two slots."""
    first = split_at(rows, node, start)
    last = split_at(rows, node, end)
    kinds = len(request)
    for c in range(rows.value.shape[1]):
        amount = request[c % kinds] * units
        if amount != 0:
            for place in range(np.uint64(first), np.uint64(last)):  # as entries are shifted
                rows.value[place, c] -= amount
    if same_values(rows, last, last - 1):
        close_slot(rows, node, last)
    if first > rows.head[node] and same_values(rows, first, first - 1):
        close_slot(rows, node, first)


@inlined
def holds(rows: Rows, node: int, start: int, end: int, request: Ints, units: int) -> bool:
    """Whether the node has the capacity for `units` units over all of `[start, end)`."""
    place = np.uint64(max(find(rows, node, start), rows.head[node]))
    stop = np.uint64(rows.head[node] + rows.size[node])
    while place < stop and rows.time[place] < end:
        for k in range(len(request)):
            if rows.value[place, k] < request[k] * units:
                return False
        place += np.uint64(1)
    return True


@bare
def reserve(rows: Rows, nodes: Ints, units: Ints, request: Ints, start: int, end: int, now: int) -> int:
    """Reserve `units[i]` units on `nodes[i]` over `[start, end)`, all or nothing. Answers DONE, FULL or REFUSED."""
    for i in range(len(nodes)):
        forget_before(rows, nodes[i], now)
        if not holds(rows, nodes[i], start, end, request, units[i]):
            return REFUSED
    for i in range(len(nodes)):
        if not make_room(rows, nodes[i], np.int64(2)):
            return FULL
    for i in range(len(nodes)):
        apply(rows, nodes[i], start, end, request, units[i])
    return DONE


@bare
def release(rows: Rows, nodes: Ints, units: Ints, request: Ints, start: int, end: int, now: int) -> int:
    """Give back what `reserve` took, over `[start, end)` (which may be its later part). Answers DONE or FULL."""
    for i in range(len(nodes)):
        forget_before(rows, nodes[i], now)
        if not make_room(rows, nodes[i], np.int64(2)):
            return FULL
    for i in range(len(nodes)):
        apply(rows, nodes[i], start, end, request, -units[i])
    return DONE


@bare
def bring_forward(rows: Rows, nodes: Ints, units: Ints, request: Ints, start: int, end: int, new: int) -> None:
    """Reserve from `new` on what is reserved over `[start, end)`, for as long; it fits there. Needs four slots each.

    What both times have in common stays as it is.
    """
    until = new + end - start
    for i in range(len(nodes)):
        apply(rows, nodes[i], max(until, start), end, request, -units[i])
        apply(rows, nodes[i], new, min(until, start), request, units[i])


@bare
def without(
    profile: Profile, start: int, end: int, request: Ints, units: int, out_time: Ints, out_value: Values
) -> int:
    """Copy a profile as it would be without `units` times `request` over `[start, end)`; return its length.

    The copy needs room for two more entries than the profile has.
    """
    time, value, stop = profile.time, profile.value, profile.stop
    kinds = len(request)
    count = 0
    place = profile.head
    passed = 0  # how many of the reservation's two ends lie behind
    while place < stop or passed < 2:
        edge = start if passed == 0 else end
        if place < stop and (passed == 2 or time[place] <= edge):
            out_time[count] = time[place]
            passed += passed < 2 and time[place] == edge
            place += 1
        else:
            out_time[count] = edge
            passed += 1
        back = units if passed == 1 else 0
        for c in range(value.shape[1]):
            out_value[count, c] = value[place - 1, c] + request[c % kinds] * back
        count += 1
    return count


@bare
def ends(rows: Rows, capacity: Ints, nodes: Ints) -> tuple[int, int]:
    """The last breakpoint of any of the nodes, and the last instant at which any has less than its capacity free.

    Of all nodes, if none is named.
    """
    horizon = last_end = -(np.int64(1) << 62)
    for place in range(len(nodes) or len(rows.size)):
        node = nodes[place] if len(nodes) else place
        head = rows.head[node]
        entry = head + rows.size[node] - 1
        horizon = max(horizon, rows.time[entry])
        while entry > head and rows.time[entry] > last_end:
            full = True
            for k in range(capacity.shape[1]):
                if rows.value[entry - 1, k] != capacity[node, k]:
                    full = False
            if not full:
                last_end = rows.time[entry]
            entry -= 1
    return horizon, last_end


@bare
def book(rows: Rows, nodes: Ints, job: int, start: int, now: int) -> int:
    """Note on each node that `job` will start at `start` (rows of starts, value = job). Answers DONE or FULL."""
    for i in range(len(nodes)):
        if not make_room(rows, nodes[i], np.int64(1)):
            return FULL
    for i in range(len(nodes)):
        node = nodes[i]
        while rows.size[node] > 0 and rows.time[rows.head[node]] <= now:
            rows.head[node] += 1
            rows.size[node] -= 1
        place = find(rows, node, start) + 1
        open_slot(rows, node, place)
        rows.time[place] = start
        rows.value[place, 0] = job
    return DONE


@bare
def unbook(rows: Rows, nodes: Ints, job: int, start: int) -> None:
    """Strike `job` from the nodes' lists; where it has begun it may be gone already."""
    for i in range(len(nodes)):
        place = find(rows, nodes[i], start)
        while place >= rows.head[nodes[i]] and rows.time[place] == start:
            if rows.value[place, 0] == job:
                close_slot(rows, nodes[i], place)
                break
            place -= 1


@bare
def rebook(rows: Rows, nodes: Ints, job: int, start: int, new: int) -> int:
    """Note that `job` will start at `new` already, and not at `start`. Answers DONE, or REFUSED if it isn't there."""
    for i in range(len(nodes)):
        node = nodes[i]
        place = find(rows, node, start)
        while place >= rows.head[node] and rows.time[place] == start and rows.value[place, 0] != job:
            place -= 1
        if place < rows.head[node] or rows.time[place] != start:
            return REFUSED
        to = find(rows, node, new) + 1
        shift_up(rows, to, place)
        rows.time[to] = new
        rows.value[to, 0] = job
    return DONE


@bare
def later_jobs(rows: Rows, nodes: Ints, now: int, depth: Ints, out: Ints) -> int:
    """Write the first `depth[i]` jobs that start after `now` on `nodes[i]`; return their count, or minus the need."""
    count = 0
    for i in range(len(nodes)):
        place = find(rows, nodes[i], now) + 1
        stop = min(rows.head[nodes[i]] + rows.size[nodes[i]], place + depth[i])
        while place < stop:
            if count < len(out):
                out[count] = rows.value[place, 0]
            count += 1
            place += 1
    return count if count <= len(out) else -count
