"""Queue pass with jobs selected by the caller; ended by `passes.close`."""

from __future__ import annotations

from dardis.kernels.jit import bare, inlined, kernel
from dardis.kernels.job_queue import GONE, LOOKED_AT, OTHER, REMEMBERED, RULE, WHOLE, PassBuffers, QueueArrays, Rules
from dardis.kernels.node_search import AT_ONCE, FOUND, NOTHING, SPACE_SHORT, fits_now, opens, take
from dardis.kernels.passes import (
    BEGUN,
    STAYS,
    begin,
    begin_pass,
    begin_shape,
    cannot_start,
    process_events,
    record_start,
)
from dardis.kernels.profile import DONE, FULL
from dardis.kernels.rows import Rows
from dardis.kernels.shape_kernels import could_begin, take_written_nodes
from dardis.model.arrays import Ints

__all__ = [
    "BEGUN",
    "find_startable_job",
    "open_pass",
    "start_if_fits",
    "start_on_written_nodes",
    "start_parts_on_written_nodes",
]


@kernel
def open_pass(rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, room: PassBuffers, now: int) -> int:  # noqa: ARG001 (as others)
    """Process events and begin a pass."""
    taken = process_events(rows, queue, room, now)
    if taken != DONE:
        return taken
    room.state[WHOLE] = 1
    return begin_pass(rows, queue, rules, room, now)


@kernel
def find_startable_job(rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, room: PassBuffers, now: int) -> int:
    """FOUND if any job alone could start now; else NOTHING or SPACE_SHORT."""
    state = room.state
    state[LOOKED_AT] = 0
    for place in range(queue.size[RULE]):
        slot = queue.lists[RULE, place]
        may = queue.table[slot, GONE] == 0 and opens(queue, slot, now) == now
        if may and queue.table[slot, OTHER] != 0:
            if len(room.out) < len(member):
                return SPACE_SHORT
            if could_begin(rows, member, queue, slot, rules, room, now):
                return FOUND
        elif may and not cannot_start(queue.table, slot, room):
            if fits_now(rows, member, queue.table, slot, rules, now, AT_ONCE):
                return FOUND
            room.failed[state[LOOKED_AT] % REMEMBERED] = slot
            state[LOOKED_AT] += 1
    return NOTHING


@kernel
def start_if_fits(
    rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, room: PassBuffers, slot: int, now: int
) -> int:
    """Start a job now on the best nodes; return BEGUN, STAYS, FULL or SPACE_SHORT."""
    if queue.table[slot, OTHER] != 0:
        return begin_shape(rows, member, queue, slot, rules, room, now)
    if opens(queue, slot, now) > now or not fits_now(rows, member, queue.table, slot, rules, now, AT_ONCE):
        return STAYS
    return begin(rows, member, queue, slot, rules, room, now)


@inlined
def _begun(queue: QueueArrays, room: PassBuffers, slot: int, taken: int) -> int:
    if taken == FULL:
        return FULL
    return record_start(queue.table, slot, room) if taken == DONE else STAYS


@bare
def start_on_written_nodes(rows: Rows, queue: QueueArrays, room: PassBuffers, slot: int, now: int) -> int:
    """Start a job on the written nodes; return BEGUN, STAYS or FULL."""
    return _begun(queue, room, slot, take(rows, queue, slot, now, now))


@bare
def start_parts_on_written_nodes(
    rows: Rows, queue: QueueArrays, room: PassBuffers, slot: int, first: int, now: int
) -> int:
    """Start the request in row `first`, as `start_on_written_nodes`."""
    return _begun(queue, room, slot, take_written_nodes(rows, queue, slot, first, now))
