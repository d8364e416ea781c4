"""A pass over a queue whose jobs somebody else chooses: opened, started one by one, ended by `passes.close`."""

from __future__ import annotations

from dardis.kernels.jit import bare, inlined, kernel
from dardis.kernels.job_queue import GONE, LOOKED_AT, OTHER, REMEMBERED, RULE, WHOLE, Queue, Room, Rules
from dardis.kernels.node_search import AT_ONCE, FOUND, NOTHING, ROOM, fits_now, opens, take
from dardis.kernels.passes import BEGUN, STAYS, begin, begin_shape, clear, hopeless, mark_begun, take_in
from dardis.kernels.profile import DONE, FULL
from dardis.kernels.rows import Rows
from dardis.kernels.shape_kernels import could_begin, take_there
from dardis.model.arrays import Ints

__all__ = ["BEGUN", "anybody_could_start", "begin_if_it_fits", "begin_parts_there", "begin_there", "open_pass"]


@kernel
def open_pass(rows: Rows, member: Ints, queue: Queue, rules: Rules, room: Room, now: int) -> int:  # noqa: ARG001 (as others)
    """Take in what has happened, and begin a pass. Answers DONE or FULL."""
    taken = take_in(rows, queue, room, now)
    if taken != DONE:
        return taken
    room.state[WHOLE] = 1
    return clear(rows, queue, rules, room, now)


@kernel
def anybody_could_start(rows: Rows, member: Ints, queue: Queue, rules: Rules, room: Room, now: int) -> int:
    """Whether any job could start now, were it alone in waiting: FOUND or NOTHING, or ROOM."""
    state = room.state
    state[LOOKED_AT] = 0
    for place in range(queue.size[RULE]):
        slot = queue.lists[RULE, place]
        may = queue.table[slot, GONE] == 0 and opens(queue, slot, now) == now
        if may and queue.table[slot, OTHER] != 0:
            if len(room.out) < len(member):
                return ROOM
            if could_begin(rows, member, queue, slot, rules.distinct, room, now):
                return FOUND
        elif may and not hopeless(queue.table, slot, room):
            if fits_now(rows, member, queue.table, slot, rules, now, AT_ONCE):
                return FOUND
            room.failed[state[LOOKED_AT] % REMEMBERED] = slot
            state[LOOKED_AT] += 1
    return NOTHING


@kernel
def begin_if_it_fits(rows: Rows, member: Ints, queue: Queue, rules: Rules, room: Room, slot: int, now: int) -> int:
    """Start a job now on the nodes that suit it best. Answers BEGUN, FULL or ROOM.

    STAYS: none hold it, or its queue is closed.
    """
    if queue.table[slot, OTHER] != 0:
        return begin_shape(rows, member, queue, slot, rules, room, now)
    if opens(queue, slot, now) > now or not fits_now(rows, member, queue.table, slot, rules, now, AT_ONCE):
        return STAYS
    return begin(rows, member, queue, slot, rules, room, now)


@inlined
def _begun(queue: Queue, room: Room, slot: int, taken: int) -> int:
    if taken == FULL:
        return FULL
    return mark_begun(queue.table, slot, room) if taken == DONE else STAYS


@bare
def begin_there(rows: Rows, queue: Queue, room: Room, slot: int, now: int) -> int:
    """Start a job now on the nodes written for it already. Answers BEGUN, STAYS if they don't hold it, or FULL."""
    return _begun(queue, room, slot, take(rows, queue, slot, now, now))


@bare
def begin_parts_there(rows: Rows, queue: Queue, room: Room, slot: int, first: int, now: int) -> int:
    """The same of one of several parts, as the request that begins in the row `first`."""
    return _begun(queue, room, slot, take_there(rows, queue, slot, first, now))
