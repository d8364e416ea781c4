"""Schedule-or-postpone on node profiles (PCP'19, section 2.2), without backtracking, and a list schedule.

At each instant (capacity freed, or a queue opens) all jobs that fit start, in order.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.fitting import may_use
from dardis.kernels.jit import bare, inlined, kernel
from dardis.kernels.job_queue import (
    GONE,
    GROUPS,
    HOURS,
    LOOKED_AT,
    OTHER,
    REMEMBERED,
    REQUEST,
    SPAN,
    UNBOUND,
    PassBuffers,
    QueueArrays,
    Rules,
)
from dardis.kernels.node_search import (
    AT_ONCE,
    FOUND,
    SPACE_SHORT,
    find_in_hours,
    fits_now,
    next_edge,
    opens,
    take,
    units_now,
)
from dardis.kernels.passes import BEGUN, STAYS, begin, begin_shape, cannot_start, count_free, record_start
from dardis.kernels.profile import DONE, REFUSED, apply
from dardis.kernels.rows import Rows, ensure_space, next_rise
from dardis.kernels.shape_kernels import earliest_possible_start, take_earliest
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER

INSTANT, PLACE, FREER = range(3)
"""State: instant, place in the order, number of freed nodes."""


@bare
def take_all(rows: Rows, node: Ints, start: Ints, end: Ints, amounts: Ints, place: int) -> int:
    """Take `amounts[i]` of `node[i]` over `[start[i], end[i])` from i = `place` on, or all free capacity.

    Returns the place reached; below the end: enlarge the rows.
    """
    while place < len(node):
        if not ensure_space(rows, node[place], np.int64(2)):
            return place
        apply(rows, node[place], start[place], end[place], amounts[place], 1)
        place += 1
    for other in range(len(rows.size)):
        for entry in range(rows.head[other], rows.head[other] + rows.size[other]):
            for k in range(rows.value.shape[1]):
                # A job without a request for a kind must not be blocked.
                rows.value[entry, k] = max(rows.value[entry, k], 0)
    return place


@kernel
def earliest_starts(
    rows: Rows,
    member: Ints,
    queue: QueueArrays,
    rules: Rules,
    room: PassBuffers,
    now: int,
    slots: Ints,
    out: Ints,
    last: int,
) -> int:
    """Write each job's earliest start from `now` to `last`, alone (FOREVER: none)."""
    for place in range(len(slots)):
        slot = slots[place]
        out[place] = FOREVER
        if queue.table[slot, OTHER] != 0:
            if len(room.out) < len(member):
                return SPACE_SHORT
            start = earliest_possible_start(rows, member, queue, slot, rules, room, now)
            out[place] = start if start <= last else FOREVER
        elif opens(queue, slot, now) == now and fits_now(rows, member, queue.table, slot, rules, now, AT_ONCE):
            out[place] = now
        elif last > now:
            found = find_in_hours(rows, member, queue, rules, room, slot, UNBOUND, last, now)
            if found == SPACE_SHORT:
                return SPACE_SHORT
            if found == FOUND:
                out[place] = room.result[1]
    return DONE


@inlined
def opens_next(queue: QueueArrays, slot: int, now: int) -> int:
    """When the job's queue next opens after `now` (FOREVER: never)."""
    if queue.table[slot, HOURS] == 0:
        return FOREVER
    place = next_edge(queue, slot, now)
    opening = place + (place - queue.edges_at[queue.table[slot, HOURS]] + 1) % 2
    return queue.edges[opening] if opening < queue.edges_at[queue.table[slot, HOURS] + 1] else FOREVER


@bare
def advance(rows: Rows, queue: QueueArrays, order: Ints, freer: Ints, walk: Ints) -> bool:
    """Go to the next instant when nodes are freed or a queue opens; False at the end."""
    now = walk[INSTANT]
    following = FOREVER
    for node in range(len(rows.size)):
        rise = next_rise(rows, node, now)
        if rise < following:
            following = rise
            walk[FREER] = 0
        if rise == following and rise != FOREVER:
            freer[walk[FREER]] = node
            walk[FREER] += 1
    for place in range(len(order)):
        if queue.table[order[place], HOURS] > 0 and queue.table[order[place], GONE] == 0:
            opening = opens_next(queue, order[place], now)
            if opening < following:
                following = opening
                walk[FREER] = 0
    walk[INSTANT] = following
    walk[PLACE] = 0
    return following != FOREVER


@bare
def gains(rows: Rows, member: Ints, queue: QueueArrays, slot: int, freer: Ints, walk: Ints) -> bool:
    """Whether a freed node holds a unit of the job, or its queue just opened."""
    if queue.table[slot, HOURS] > 0 and opens_next(queue, slot, walk[INSTANT] - 1) == walk[INSTANT]:
        return True
    request = queue.table[slot, REQUEST:]
    until = walk[INSTANT] + queue.table[slot, SPAN]
    for place in range(walk[FREER]):
        node = freer[place]
        eligible = may_use(member, node, queue.table[slot, GROUPS])
        if eligible and units_now(rows, node, request, until, UNBOUND, 1) > 0:
            return True
    return False


@kernel
def start_or_postpone(
    rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, room: PassBuffers, order: Ints, freer: Ints, walk: Ints
) -> int:
    """Place jobs in `order` at each instant; write `room.started`.

    `walk`: state; `freer` has space for all nodes.
    """
    left = 0
    for place in range(len(order)):
        left += queue.table[order[place], GONE] == 0
    while left > 0:
        now = walk[INSTANT]
        if walk[PLACE] == 0:
            count_free(rows, room.free, now)
            room.state[LOOKED_AT] = 0
        while walk[PLACE] < len(order):
            slot = order[walk[PLACE]]
            waits = queue.table[slot, GONE] == 0 and opens(queue, slot, now) == now
            if waits and queue.table[slot, OTHER] != 0:
                begun = begin_shape(rows, member, queue, slot, rules, room, now)
                if begun == BEGUN:
                    left -= 1
                elif begun != STAYS:
                    return begun
            elif waits and gains(rows, member, queue, slot, freer, walk) and not cannot_start(queue.table, slot, room):
                if fits_now(rows, member, queue.table, slot, rules, now, AT_ONCE):
                    begun = begin(rows, member, queue, slot, rules, room, now)
                    if begun != BEGUN:
                        return begun
                    left -= 1
                else:
                    room.failed[room.state[LOOKED_AT] % REMEMBERED] = slot
                    room.state[LOOKED_AT] += 1
            walk[PLACE] += 1
        if left > 0 and not advance(rows, queue, order, freer, walk):
            return DONE
    return DONE


@kernel
def place_in_order(
    rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, room: PassBuffers, order: Ints, now: int
) -> int:  # fmt: skip
    """Place each job as early as possible; write `room.started`."""
    for slot in order:
        if queue.table[slot, GONE] == 0 and queue.table[slot, OTHER] != 0:
            taken = take_earliest(rows, member, queue, slot, rules, room, now)
            if taken == DONE:
                record_start(queue.table, slot, room)
            elif taken != REFUSED:
                return taken
        elif queue.table[slot, GONE] == 0:
            found = find_in_hours(rows, member, queue, rules, room, slot, UNBOUND, FOREVER, now)
            if found == SPACE_SHORT:
                return SPACE_SHORT
            if found == FOUND:
                taken = take(rows, queue, slot, room.result[1], now)
                if taken != DONE:
                    return taken
                record_start(queue.table, slot, room)
    return DONE
