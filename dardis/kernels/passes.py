"""Queue pass over waiting jobs (thesis algorithms 1 to 4).

A job is a table row, named by its slot.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.common_starts import NONE
from dardis.kernels.jit import Fields, bare, folded, inlined
from dardis.kernels.job_queue import (
    ARRIVED,
    BACK,
    BLOCKED,
    BOUND_AT_START,
    BOUND_THROUGHOUT,
    ENDED,
    FOLLOWING,
    FREED,
    FRESH,
    GONE,
    GROUPS,
    HELD,
    HOLD,
    IGNORES,
    LAPSES,
    LAST,
    LATEST,
    LOOKED_AT,
    OTHER,
    OUTRUN,
    PHASE,
    PLACE,
    REMEMBERED,
    REQUEST,
    RESERVED,
    RULE,
    SPAN,
    START,
    STARTED,
    UNBOUND,
    UNITS,
    WHOLE,
    PassBuffers,
    QueueArrays,
    Rules,
)
from dardis.kernels.node_search import (
    AT_ONCE,
    FOUND,
    NOTHING,
    SPACE_SHORT,
    best_fit_now,
    binding_of,
    find,
    find_in_hours,
    first_nodes,
    fits_now,
    opens,
    release_job,
    take,
)
from dardis.kernels.offers import Scratch
from dardis.kernels.profile import DONE, FULL, REFUSED, reserve
from dardis.kernels.rows import Rows, forget_before
from dardis.kernels.shape_kernels import take_earliest, take_now
from dardis.kernels.sorted_lists import beyond, enqueue
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, NO_TIME
from dardis.model.offer_rows import BEST_FIT, FIRST_FIT

CLEAR, IN_ORDER, BEHIND, CLOSE = range(4)
BEGUN, STAYS = 10, 11
"""Result: the job started, or still waits."""


@bare
def withdraw(rows: Rows, queue: QueueArrays, slot: int, now: int) -> int:
    """Remove a waiting job and its reservation."""
    if queue.table[slot, START] != NO_TIME and release_job(rows, queue, slot, now) == FULL:
        return FULL
    for which in (RULE, BACK):
        kept = 0
        for place in range(queue.size[which]):
            if queue.lists[which, place] != slot:
                queue.lists[which, kept] = queue.lists[which, place]
                kept += 1
        queue.size[which] = kept
    return DONE


@inlined
def record_start(table: Ints, slot: int, room: PassBuffers) -> int:
    """Record a start now; return BEGUN."""
    table[slot, GONE] = 1
    room.started[room.state[STARTED]] = slot
    room.state[STARTED] += 1
    return BEGUN


@folded
def begin(rows: Rows, member: Ints, queue: QueueArrays, slot: int, rules: Rules, room: PassBuffers, now: int) -> int:
    """Start a job that fits now."""
    table = queue.table
    if rules.choice == FIRST_FIT or len(member) == 1:  # one node leaves no choice
        nodes, units = queue.hold_node[table[slot, HOLD] :], queue.hold_units[table[slot, HOLD] :]
        table[slot, HELD] = first_nodes(rows, member, table, slot, rules, now, AT_ONCE, nodes, units)
    elif rules.choice == BEST_FIT and rules.binding == UNBOUND:
        if room.work.shape[1] < len(member):
            return SPACE_SHORT
        nodes, units = queue.hold_node[table[slot, HOLD] :], queue.hold_units[table[slot, HOLD] :]
        table[slot, HELD] = best_fit_now(rows, member, table, slot, rules, now, nodes, units, room.work)
    else:
        found = find(rows, member, queue, rules, room, slot, binding_of(rules, table, slot, now), now, now, now)
        if found != FOUND:
            return found
    taken = take(rows, queue, slot, now, now)
    if taken != DONE:
        return taken
    for k in range(len(room.free)):
        room.free[k] -= table[slot, REQUEST + k] * table[slot, UNITS]
    return record_start(table, slot, room)


@folded
def reserve_earliest(
    rows: Rows, member: Ints, queue: QueueArrays, slot: int, rules: Rules, room: PassBuffers, now: int
) -> int:
    """Reserve a job's earliest start.

    If only the profile forbids a start now, capacity is reserved from now on.
    """
    table = queue.table
    spans = binding_of(rules, table, slot, now) == BOUND_THROUGHOUT
    last = table[slot, LATEST] if rules.soft and spans else FOREVER
    found = find_in_hours(rows, member, queue, rules, room, slot, BOUND_THROUGHOUT if spans else UNBOUND, last, now)
    if found == NOTHING and last != FOREVER:
        found = find_in_hours(rows, member, queue, rules, room, slot, UNBOUND, FOREVER, now)
    if found == SPACE_SHORT:
        return SPACE_SHORT
    if found == FOUND:
        taken = take(rows, queue, slot, room.result[1], now)
        if taken != DONE:
            return taken
        room.state[RESERVED] += 1
    return STAYS


@inlined
def cannot_start(table: Ints, slot: int, room: PassBuffers) -> bool:
    """Whether free capacity is too small, or a job with no larger request failed in this pass."""
    for k in range(len(room.free)):
        if table[slot, REQUEST + k] * table[slot, UNITS] > room.free[k]:
            return True
    for f in range(min(room.state[LOOKED_AT], REMEMBERED)):
        other = room.failed[f]
        no_less = (
            table[slot, GROUPS] == table[other, GROUPS]
            and table[slot, UNITS] >= table[other, UNITS]
            and table[slot, SPAN] >= table[other, SPAN]
            and table[slot, IGNORES] == table[other, IGNORES]
            and table[slot, LATEST] >= table[other, LATEST]
        )
        for k in range(len(room.free)):
            no_less = no_less and table[slot, REQUEST + k] >= table[other, REQUEST + k]
        if no_less:
            return True
    return False


@bare
def begin_shape(
    rows: Rows, member: Ints, queue: QueueArrays, slot: int, rules: Rules, room: PassBuffers, now: int
) -> int:
    """Start a job with a shape now; return BEGUN, STAYS, FULL or SPACE_SHORT."""
    table = queue.table
    if opens(queue, slot, now) > now:
        return STAYS
    taken = take_now(rows, member, queue, slot, rules, room, now)
    if taken != DONE:
        return STAYS if taken == REFUSED else taken
    for k in range(len(room.free)):
        room.free[k] -= table[slot, REQUEST + k] * table[slot, UNITS]
    return record_start(table, slot, room)


@folded
def try_shape(
    rows: Rows, member: Ints, queue: QueueArrays, slot: int, rules: Rules, room: PassBuffers, now: int
) -> int:
    """Start or reserve a job with a shape."""
    state = room.state
    begun = begin_shape(rows, member, queue, slot, rules, room, now)
    if begun != STAYS:
        return begun
    if rules.backfill and (rules.depth == 0 or state[RESERVED] < rules.depth):
        taken = take_earliest(rows, member, queue, slot, rules, room, now)
        if taken == DONE:
            state[RESERVED] += 1
        elif taken != REFUSED:
            return taken
    return STAYS


@folded
def try_job(rows: Rows, member: Ints, queue: QueueArrays, slot: int, rules: Rules, room: PassBuffers, now: int) -> int:
    """Start a job, or keep, improve or make its reservation."""
    table, state = queue.table, room.state
    reserved = table[slot, START]
    if reserved != NO_TIME:
        if reserved > now and not state[FREED]:
            return STAYS
        if reserved == now and rules.binding != BOUND_AT_START:
            return record_start(table, slot, room)
        if release_job(rows, queue, slot, now) == FULL:
            return FULL
        state[RESERVED] -= 1
        state[LOOKED_AT] = 0
        for k in range(len(room.free) if reserved <= now else 0):
            room.free[k] += table[slot, REQUEST + k] * table[slot, UNITS]
    if table[slot, OTHER] != 0:
        return try_shape(rows, member, queue, slot, rules, room, now)
    if opens(queue, slot, now) == now and not cannot_start(table, slot, room):
        if fits_now(rows, member, table, slot, rules, now, AT_ONCE):
            return begin(rows, member, queue, slot, rules, room, now)
        room.failed[state[LOOKED_AT] % REMEMBERED] = slot
        state[LOOKED_AT] += 1
    if rules.backfill and (rules.depth == 0 or state[RESERVED] < rules.depth):
        return reserve_earliest(rows, member, queue, slot, rules, room, now)
    return STAYS


@bare
def count_free(rows: Rows, free: Ints, now: int) -> None:
    """Write the free capacity now, by kind."""
    count = len(rows.size)
    for node in range(count):
        forget_before(rows, node, now)
    for k in range(len(free)):
        total = 0  # a local, as the array might alias others: an eighth of a pass over 5,832 nodes
        for node in range(count):
            total += max(rows.value[rows.head[node], k], 0)
        free[k] = total


@bare
def prolong(rows: Rows, queue: QueueArrays, slot: int, now: int) -> int:
    """Extend a job's reservation to the new span."""
    table = queue.table
    low = table[slot, HOLD]
    high = low + table[slot, HELD]
    nodes, units = queue.hold_node[low:high], queue.hold_units[low:high]
    return reserve(rows, nodes, units, table[slot, REQUEST:], now, table[slot, START] + table[slot, SPAN], now)


@bare
def process_events(rows: Rows, queue: QueueArrays, room: PassBuffers, now: int) -> int:
    """Release ended jobs and insert arrived jobs.

    A job that outruns its span cancels all reservations.
    """
    size = queue.size
    while size[ENDED] > 0:
        room.state[WHOLE] = room.state[FREED] = 1
        if release_job(rows, queue, queue.lists[ENDED, size[ENDED] - 1], now) == FULL:
            return FULL
        size[ENDED] -= 1
    if size[OUTRUN] > 0:
        room.state[WHOLE] = room.state[FREED] = 1
        for place in range(size[RULE]):
            slot = queue.lists[RULE, place]
            if queue.table[slot, START] != NO_TIME and release_job(rows, queue, slot, now) == FULL:
                return FULL
    while size[OUTRUN] > 0:
        done = prolong(rows, queue, queue.lists[OUTRUN, size[OUTRUN] - 1], now)
        if done != DONE:
            return done
        size[OUTRUN] -= 1
    for place in range(size[ARRIVED]):
        enqueue(queue, queue.lists[ARRIVED, place])
    size[ARRIVED] = 0
    return DONE


@folded
def begin_pass(rows: Rows, queue: QueueArrays, rules: Rules, room: PassBuffers, now: int) -> int:
    """Begin a pass; cancel reservations to recompute."""
    table, state = queue.table, room.state
    count = queue.size[RULE]
    if rules.backfill and (rules.depth > 1 or (rules.depth == 1 and table[queue.lists[RULE, 0], FRESH])):
        # A new first job takes the reservation of the old one; with several reservations, any new job may.
        state[WHOLE] = 1
    if rules.backfill and rules.window > 0:  # a start may bring an untried job into the window
        state[WHOLE] = 1
    for place in range(count if state[WHOLE] else 0):
        slot = queue.lists[RULE, place]
        # Capacity held for a job that only the profile delays must not block jobs before it.
        anew = rules.depth > 0 or (rules.binding == BOUND_AT_START and table[slot, START] <= now)
        if anew and table[slot, START] != NO_TIME and release_job(rows, queue, slot, now) == FULL:
            return FULL
    if state[WHOLE]:
        state[RESERVED] = 0  # only their number is limited, and then all are recomputed
    count_free(rows, room.free, now)
    state[STARTED] = 0
    state[LOOKED_AT] = 0
    state[BLOCKED] = state[LAST] = NONE
    return DONE


@bare
def end_pass(queue: QueueArrays, rules: Rules, room: PassBuffers, now: int) -> None:
    """End a pass: remove started jobs, and find the next reserved start and deadline."""
    table, state = queue.table, room.state
    for which in range(2 if state[STARTED] > 0 else 0):
        kept = 0
        for place in range(queue.size[which]):
            slot = queue.lists[which, place]
            if table[slot, GONE] == 0:
                queue.lists[which, kept] = slot
                kept += 1
        queue.size[which] = kept
    state[WHOLE] = state[FREED] = 0
    state[FOLLOWING] = state[LAPSES] = FOREVER
    for place in range(queue.size[RULE]):
        slot = queue.lists[RULE, place]
        table[slot, FRESH] = 0
        if table[slot, START] != NO_TIME:
            # Capacity held past its time is reserved anew.
            over = table[slot, START] + table[slot, SPAN]
            state[FOLLOWING] = min(state[FOLLOWING], table[slot, START] if table[slot, START] > now else over)
        if rules.soft and rules.binding != UNBOUND and table[slot, LATEST] > now:
            state[LAPSES] = min(state[LAPSES], table[slot, LATEST])


@bare
def skip_too_large(queue: QueueArrays, place: int, free: Ints) -> int:
    """Place of the next job in backfilling that may start, else of the last one: the others need too much."""
    # In a long queue most jobs are too large now: half of a run's time, and unsigned indices a third of that.
    table, at, kinds = queue.table, np.uint64(place), np.uint64(len(free))
    last = np.uint64(queue.size[BACK] - 1)
    while at < last:
        slot = np.uint64(queue.lists[BACK, at])
        fits = True
        for k in range(kinds):
            fits = fits and table[slot, np.uint64(REQUEST) + k] * table[slot, UNITS] <= free[k]
        if fits or table[slot, START] != NO_TIME or table[slot, OTHER] != 0:
            break
        at += np.uint64(1)
    return np.int64(at)


@folded
def _one_pass(rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, room: PassBuffers, now: int) -> int:
    table, state, lists = queue.table, room.state, queue.lists
    if state[PHASE] == CLEAR:
        taken = process_events(rows, queue, room, now)
        if taken != DONE:
            return taken
        if begin_pass(rows, queue, rules, room, now) == FULL:
            return FULL
        state[PHASE] = IN_ORDER
        state[PLACE] = 0
    while state[PHASE] != CLOSE:
        which = RULE if state[PHASE] == IN_ORDER else BACK
        while state[PLACE] < queue.size[which]:
            if state[PHASE] == BEHIND and rules.depth > 0 and state[RESERVED] >= rules.depth:
                state[PLACE] = skip_too_large(queue, state[PLACE], room.free)
            slot = lists[which, state[PLACE]]
            passes = table[slot, GONE] != 0 or slot == state[BLOCKED] or beyond(queue, state[LAST], slot)
            known = not state[WHOLE] and not table[slot, FRESH]
            outcome = STAYS
            if not passes and not known:
                outcome = try_job(rows, member, queue, slot, rules, room, now)
                if outcome not in (BEGUN, STAYS):
                    return outcome
            state[PLACE] += 1
            if state[PHASE] == IN_ORDER and rules.strict and not passes and outcome == STAYS:
                state[BLOCKED] = slot
                break
        if state[PHASE] == IN_ORDER and state[BLOCKED] != NONE and rules.backfill:
            state[PHASE] = BEHIND
            last = state[PLACE] + rules.window - 2  # the blocked job is the first in the window
            if rules.window > 0 and last < queue.size[RULE]:
                state[LAST] = lists[RULE, last]
            state[PLACE] = 0
        else:
            state[PHASE] = CLOSE
    end_pass(queue, rules, room, now)
    state[PHASE] = CLEAR
    return DONE


def run_pass(rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, room: PassBuffers, now: int) -> int:
    """Make a queue pass."""
    # Plain tuples: named tuples take Numba longer to unpack than most passes take (4.4 µs against 1.6 µs).
    return pass_kernel(tuple(rows), member, tuple(queue), tuple(rules), room[:-1], tuple(room.scratch), now)


@bare
def pass_kernel(
    rows: Fields, member: Ints, queue: Fields, rules: Fields, room: Fields, scratch: Fields, now: int
) -> int:
    """`run_pass` on plain tuples; the room is without its scratch."""
    fields = room + (Scratch(*scratch),)  # noqa: RUF005 (Numba adds tuples, but can't unpack two into one)
    return _one_pass(Rows(*rows), member, QueueArrays(*queue), Rules(*rules), PassBuffers(*fields), now)
