"""Search for start and nodes of a waiting job."""

from __future__ import annotations

from typing import Final

import numpy as np

from dardis.kernels.common_starts import (
    NONE,
    OPEN_GAP,
    WHOLE_BITS,
    NodeSelection,
    best_fit_key,
    give_out_within,
    select_first,
)
from dardis.kernels.fitting import fits_at, index_at, may_use
from dardis.kernels.jit import bare, folded, inlined
from dardis.kernels.job_queue import (
    BOUND_AT_START,
    BOUND_THROUGHOUT,
    GROUPS,
    HELD,
    HOLD,
    HOURS,
    IGNORES,
    LATEST,
    NUMBER,
    PART,
    REQUEST,
    SPAN,
    START,
    UNBOUND,
    UNITS,
    PassBuffers,
    QueueArrays,
    Rules,
)
from dardis.kernels.offers import (
    OUT_OF_SPACE,
    HeldReservations,
    Nodes,
    OfferRules,
    OfferTask,
    QueriedNodes,
    QueryBatch,
    write_offers,
)
from dardis.kernels.profile import DONE, FULL, release, reserve
from dardis.kernels.rows import Rows, forget_before
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, NO_TIME, SHORTEST_WINDOW_S
from dardis.model.offer_rows import FIRST, INDEX, INDEX_BITS, NODE, QueryArrays

FIRST_START, LAST_START, ALL_RUNS, ZERO = range(4)
"""Entries of `PassBuffers.ask`: first and last start, quota for all runs, two zeros."""
SPACE_SHORT = 3
"""Result: scratch or offers are too small."""
FOUND, NOTHING = 20, 21


@inlined
def may_exceed(rules: Rules, table: Ints, slot: int, now: int) -> bool:
    """Whether a job may exceed the profile now (a soft one binds until a deadline)."""
    return rules.soft and (table[slot, IGNORES] != 0 or now >= table[slot, LATEST])


@bare
def binding_of(rules: Rules, table: Ints, slot: int, now: int) -> int:
    """How the profile binds a job now."""
    return UNBOUND if may_exceed(rules, table, slot, now) else rules.binding


@inlined
def units_now(rows: Rows, node: int, request: Ints, until: int, binding: int, units: int) -> int:
    """Units, up to `units`, that fit from now (first segment) to `until`."""
    most = units
    kinds = len(request)
    place = rows.head[node]
    stop = place + rows.size[node]
    binds = binding != UNBOUND
    while place < stop and most > 0 and (place == rows.head[node] or rows.time[place] < until):
        for k in range(kinds):
            need = request[k]
            if need > 0:
                free = rows.value[place, k]
                if binds:
                    free = min(free, rows.value[place, kinds + k])
                if free < need * most:
                    most = max(free, 0) // need
        binds = binding == BOUND_THROUGHOUT
        place += 1
    return most


AT_ONCE: Final = np.int64(0)


@bare
def first_nodes(
    rows: Rows, member: Ints, table: Ints, slot: int, rules: Rules, now: int, delay: int, nodes: Ints, units: Ints
) -> int:  # fmt: skip
    """Write the first nodes that hold the job now, and units; return how many.

    The job may start up to `delay` s later. Empty `nodes`: count only.
    """
    request = table[slot, REQUEST:]
    binding = binding_of(rules, table, slot, now)
    until = now + delay + table[slot, SPAN]
    left = table[slot, UNITS]
    groups = table[slot, GROUPS]
    count = 0
    for node in range(len(member)):
        if may_use(member, node, groups):
            forget_before(rows, node, now)
            most = units_now(rows, node, request, until, binding, 1 if rules.distinct else left)
            if most > 0:
                if len(nodes) > 0:
                    nodes[count] = node
                    units[count] = most
                count += 1
                left -= most
                if left <= 0:
                    return count
    return 0


@bare
def fits_now(rows: Rows, member: Ints, table: Ints, slot: int, rules: Rules, now: int, delay: int) -> bool:
    """Whether the job fits now, and up to `delay` s later."""
    return first_nodes(rows, member, table, slot, rules, now, delay, table[slot, :0], table[slot, :0]) > 0


@bare
def best_fit_now(
    rows: Rows, member: Ints, table: Ints, slot: int, rules: Rules, now: int, nodes: Ints, units: Ints, work: Ints
) -> int:
    """Write the nodes and units that `find` chooses by best fit for a start now without profile; return how many."""
    # A fifth of a run's time against all offers of the nodes.
    request, until = table[slot, REQUEST:], now + table[slot, SPAN]
    node, whole, keys = work[0], work[1], work[2]
    count = 0
    for n in range(len(member)):
        if not may_use(member, n, table[slot, GROUPS]):
            continue
        forget_before(rows, n, now)
        place, stop = rows.head[n], rows.head[n] + rows.size[n]
        fits = np.int64(1) << WHOLE_BITS
        while place < stop and fits > 0 and (place == rows.head[n] or rows.time[place] < until):
            fits = min(fits, index_at(rows.value, place, request, False) >> INDEX_BITS)
            place += 1
        if fits < 1:
            continue
        while place < stop and fits_at(rows.value, place, request, False):
            place += 1
        gap = rows.time[place] - until if place < stop else np.int64(OPEN_GAP)
        node[count] = n
        whole[count] = min(fits, 1) if rules.distinct else fits
        keys[count] = best_fit_key(fits, gap)
        count += 1
    choice = NodeSelection(rules.choice, rules.distinct, 1, rules.seed)
    return give_out_within(
        choice, node[:count], whole[:count], keys[:count], table[slot, UNITS], nodes, units, work[3, :count],
        work[4, :count],
    )  # fmt: skip


@inlined
def cap_by_desired(rows: Rows, request: Ints, out: Ints, count: int) -> int:
    """Limit offers to the desired profile now."""
    kinds = len(request)
    kept = 0
    for o in range(count):
        head = rows.head[out[o, NODE]]
        index = out[o, INDEX]
        for k in range(kinds):
            if request[k] > 0:
                wished = np.int64(rows.value[head, kinds + k])
                index = min(index, (max(wished, np.int64(0)) << INDEX_BITS) // request[k])
        if index >> INDEX_BITS > 0:
            for c in range(out.shape[1]):
                out[kept, c] = out[o, c]
            out[kept, INDEX] = index
            kept += 1
    return kept


@folded
def batch_of_job(table: Ints, slot: int, room: PassBuffers) -> QueryBatch:
    """Job as a batch of one ask to all nodes."""
    zeros = room.ask[ZERO : ZERO + 2]
    none = zeros[:0]
    asks = QueryArrays(
        table[slot, NUMBER : NUMBER + 1],
        room.ask[ZERO : ZERO + 1],
        room.ask[FIRST_START : FIRST_START + 1],
        room.ask[LAST_START : LAST_START + 1],
        table[slot, SPAN : SPAN + 1],
        table[slot, UNITS : UNITS + 1],
        room.ask[ALL_RUNS : ALL_RUNS + 1],
        table[slot, GROUPS : GROUPS + 1],
        table[slot, REQUEST:].reshape(1, len(room.free)),  # contiguous, as in other batches
    )
    return QueryBatch(asks, HeldReservations(zeros, none, none, none, none), QueriedNodes(none, none, none))


@inlined
def next_edge(queue: QueueArrays, slot: int, time: int) -> int:
    """Place of the job's first hours edge after `time`."""
    hours = queue.table[slot, HOURS]
    low, high = queue.edges_at[hours], queue.edges_at[hours + 1]
    while low < high:
        middle = (low + high) >> 1
        if queue.edges[middle] > time:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def opens(queue: QueueArrays, slot: int, time: int) -> int:
    """When the job's queue is next open."""
    if queue.table[slot, HOURS] == 0:
        return time
    place = next_edge(queue, slot, time)
    closed = (place - queue.edges_at[queue.table[slot, HOURS]]) % 2 == 1
    return queue.edges[place] if closed else time


@inlined
def closes(queue: QueueArrays, slot: int, time: int) -> int:
    """When the job's queue next closes (FOREVER: never)."""
    if queue.table[slot, HOURS] == 0:
        return FOREVER
    place = next_edge(queue, slot, time)
    return queue.edges[place] if place < queue.edges_at[queue.table[slot, HOURS] + 1] else FOREVER


@inlined
def rounds_until(start: int, first: int, span: int) -> int:
    """Count windows to a start; the first has `span` starts, each next twice as many."""
    rounds, end = 1, first + span
    while start >= end:
        span *= 2
        end += span
        rounds += 1
    return rounds


@inlined
def last_change(rows: Rows) -> int:
    """Last change on any node."""
    last = np.int64(NO_TIME)
    for node in range(len(rows.size)):
        last = max(last, rows.time[rows.head[node] + rows.size[node] - 1])
    return last


@bare
def find(
    rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, room: PassBuffers, slot: int, binding: int,
    first: int, last: int,
    now: int,
) -> int:  # fmt: skip
    """Find the earliest start in `[first, last]`; write `room.result` and nodes. Return FOUND, NOTHING or SPACE_SHORT.

    BOUND_AT_START needs `first` equal to `last`.
    """
    table = queue.table
    longest = np.int64(0)
    horizon = np.int64(NO_TIME)
    for node in range(len(member)):
        longest = max(longest, rows.size[node])
        horizon = max(horizon, rows.time[rows.head[node] + rows.size[node] - 1])
    if longest + 4 > len(room.scratch.time):
        return SPACE_SHORT
    batch = batch_of_job(table, slot, room)
    none = room.ask[:0]
    nodes = Nodes(rows, member, 0, none, none)
    how = OfferRules(binding == BOUND_THROUGHOUT, FIRST, 1, rules.seed)
    question = OfferTask(nodes, batch, how, now, room.scratch, room.out, room.offset)
    choice = NodeSelection(rules.choice, rules.distinct, 1, rules.seed)
    hold = table[slot, HOLD]
    window = max(table[slot, SPAN], SHORTEST_WINDOW_S)
    while first <= last:
        room.ask[FIRST_START] = first
        room.ask[LAST_START] = min(first + window - 1, last)
        count = write_offers(question)
        if count == OUT_OF_SPACE:
            return SPACE_SHORT
        if binding == BOUND_AT_START and first == last:
            room.offset[1] = cap_by_desired(rows, table[slot, REQUEST:], room.out, count)
        if room.offset[1] > 0:
            held_node, held_units = queue.hold_node[hold:], queue.hold_units[hold:]
            select_first(
                room.out, room.offset, batch.asks, np.int64(0), choice, held_node, held_units, room.result, room.work
            )  # fmt: skip
            if room.result[0] != NONE:
                table[slot, HELD] = room.result[2]
                return FOUND
        if room.ask[LAST_START] > horizon:
            return NOTHING
        first = room.ask[LAST_START] + 1
        window *= 2
    return NOTHING


@folded
def find_in_hours(
    rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, room: PassBuffers, slot: int, binding: int,
    last: int, now: int
) -> int:  # fmt: skip
    """Find the earliest start in the queue's hours, as `find`."""
    first = opens(queue, slot, now)
    while first <= last:
        until = closes(queue, slot, first)
        found = find(rows, member, queue, rules, room, slot, binding, first, min(last, until - 1), now)
        # After the last change, all open times are equal.
        if found != NOTHING or until > last or until > last_change(rows):
            return found
        first = opens(queue, slot, until)
    return NOTHING


@bare
def take(rows: Rows, queue: QueueArrays, slot: int, start: int, now: int) -> int:
    """Reserve the nodes from `find`."""
    table = queue.table
    low = table[slot, HOLD]
    high = low + table[slot, HELD]
    end = start + table[slot, SPAN]
    nodes, units = queue.hold_node[low:high], queue.hold_units[low:high]
    done = reserve(rows, nodes, units, table[slot, REQUEST:], start, end, now)
    if done == DONE:
        table[slot, START] = start
    return done


@inlined
def release_row(rows: Rows, queue: QueueArrays, slot: int, now: int) -> int:
    """Release a row's reservation."""
    table = queue.table
    low = table[slot, HOLD]
    high = low + table[slot, HELD]
    start = max(table[slot, START], now)
    end = table[slot, START] + table[slot, SPAN]
    done = DONE
    if start < end:
        nodes, units = queue.hold_node[low:high], queue.hold_units[low:high]
        done = release(rows, nodes, units, table[slot, REQUEST:], start, end, now)
    if done == DONE:
        table[slot, START] = NO_TIME
    return done


@bare
def release_job(rows: Rows, queue: QueueArrays, slot: int, now: int) -> int:
    """Release a job's reservation with all parts."""
    table = queue.table
    part = table[slot, PART]
    while part != 0:
        if table[part - 1, START] != NO_TIME and release_row(rows, queue, part - 1, now) == FULL:
            return FULL
        part = table[part - 1, PART]
    return release_row(rows, queue, slot, now)
