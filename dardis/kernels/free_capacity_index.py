"""Free-capacity index: until when a unit fits from now on, by node.

Entries change after reservations and on expiry. Best-fit order: fewest units, earliest end, node number.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dardis.kernels.fitting import fits_at, may_use
from dardis.kernels.jit import bare, folded, inlined
from dardis.kernels.rows import Rows, forget_before
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER

Small = NDArray[np.int32]
NODE_BITS, UNTIL_BITS, LEVEL_BITS = 24, 28, 11
"""Bits of a key, lowest first: node, end (s from the base), fewest units."""
LEVEL_SHIFT: Final = UNTIL_BITS + NODE_BITS
MOST_NODES: Final = 1 << NODE_BITS
OPEN_END: Final = (1 << UNTIL_BITS) - 1
"""No end; ends beyond eight years share the value below."""
MOST_LEVEL: Final = (1 << LEVEL_BITS) - 1
CHUNK: Final = 256
BLOCK: Final = 64
LATER: Final = np.int64(1) << 40
ANY_UNITS: Final = np.int64(1) << 40
HEAP: Final = 1024

CHUNKS, NODES, BASE, READ, EPOCH, WHOLE = range(6)
"""`FreeCapacityIndex.about`: chunks in use, startable nodes, base of times, changes read and their list, most units of
a node.
"""
SOONEST, LONGEST = range(2)
"""`refused`: earliest start (s from the base) of units held longer than the second field (s)."""
WRITTEN, ISSUE = range(2)
"""`Changes.about`: changes written, list number."""


class Changes(NamedTuple):
    """List of changed nodes; begins anew when full."""

    node: Small
    about: Ints


class FreeCapacityIndex(NamedTuple):
    """Index for one unit size; empty: unknown."""

    key: Ints
    """By node: key, or negative: a unit fits from `base - key - 1` on."""
    least: Ints
    """By block: first expiry, from the base."""
    least_of_blocks: Ints
    chunk: Ints
    """(chunks, CHUNK): keys from 0 on, ascending in each chunk."""
    size: Ints
    order: Ints
    refused: Small
    """(nodes, 2): last search for a later start; 0: the node changed since."""
    heap: Ints
    """(3, HEAP): keys, nodes, places in the heap."""
    about: Ints


def make_changes(nodes: int) -> Changes:
    """Empty list."""
    return Changes(np.zeros(nodes // 2 + 1024, dtype=np.int32), np.zeros(2, dtype=np.int64))


def make_index(nodes: int) -> FreeCapacityIndex:
    """Empty index, computed at first use."""
    blocks = -(-nodes // BLOCK)
    chunks = nodes // (CHUNK // 2) + 8
    about = np.zeros(6, dtype=np.int64)
    about[EPOCH] = -1
    heap = np.zeros((3, HEAP), dtype=np.int64)
    heap[2] = np.arange(HEAP)
    return FreeCapacityIndex(
        np.zeros(nodes, dtype=np.int64), np.zeros(blocks, dtype=np.int64),
        np.zeros(-(-blocks // BLOCK), dtype=np.int64), np.zeros((chunks, CHUNK), dtype=np.int64),
        np.zeros(chunks, dtype=np.int64), np.zeros(chunks, dtype=np.int64), np.zeros((nodes, 2), dtype=np.int32), heap,
        about,
    )  # fmt: skip


_NONE = np.zeros(0, dtype=np.int64)
NO_CHANGES: Final = Changes(np.zeros(0, np.int32), _NONE)
NO_INDEX: Final = FreeCapacityIndex(
    _NONE, _NONE, _NONE, np.zeros((0, CHUNK), dtype=np.int64), _NONE, _NONE, np.zeros((0, 2), dtype=np.int32),
    np.zeros((3, 0), dtype=np.int64), _NONE,
)  # fmt: skip


# ----------------------------------------------------------------------------------------------------------------------
# The entries of a size, in order.


@inlined
def least_of(values: Ints, block: int) -> int:
    """Minimum of a block."""
    least = FOREVER
    for place in range(block * BLOCK, min((block + 1) * BLOCK, len(values))):
        least = min(least, values[place])
    return least


@inlined
def pack_key(level: int, until: int, node: int) -> int:
    """Key of a node with `level` units first and one until `until`."""
    return (min(level, MOST_LEVEL) << LEVEL_SHIFT) | (until << NODE_BITS) | node


@inlined
def until_of(key: int) -> int:
    """Until when the node holds a unit."""
    return (key >> NODE_BITS) & OPEN_END


@inlined
def units_in_segment(rows: Rows, place: int, request: Ints) -> int:
    """Units that fit a segment."""
    whole = ANY_UNITS
    for k in range(len(request)):
        free, need = np.int64(rows.value[place, k]), request[k]
        if free < need:
            return np.int64(0)
        if need > 0:
            whole = min(whole, np.int64(1) if free < 2 * need else free // need)
    return whole


@inlined
def entry_of(rows: Rows, node: int, request: Ints, base: int, now: int) -> int:
    """Node's entry."""
    forget_before(rows, node, now)
    place, stop = rows.head[node], rows.head[node] + rows.size[node]
    level = units_in_segment(rows, place, request)
    place += 1
    if level == 0:
        while place < stop and not fits_at(rows.value, place, request, False):
            place += 1
        return -1 - (min(rows.time[place] - base, LATER) if place < stop else LATER)
    while place < stop:
        whole = units_in_segment(rows, place, request)
        if whole == 0:
            break
        level = min(level, whole)
        place += 1
    until = min(rows.time[place] - base, OPEN_END - 1) if place < stop else OPEN_END
    return pack_key(level, until, node)


@inlined
def expiry_of(key: int) -> int:
    """When an entry expires, from the base."""
    if key < 0:
        return -1 - key
    return until_of(key) if until_of(key) < OPEN_END else LATER


@inlined
def update_first_expiry(openings: FreeCapacityIndex, block: int) -> None:
    """Update a block's first expiry."""
    least = LATER
    for node in range(block * BLOCK, min((block + 1) * BLOCK, len(openings.key))):
        least = min(least, expiry_of(openings.key[node]))
    openings.least[block] = least
    above = block // BLOCK
    openings.least_of_blocks[above] = least_of(openings.least, above)


@inlined
def chunk_of(openings: FreeCapacityIndex, key: int) -> int:
    """Last chunk that begins at or before a key, or the first."""
    order, chunk = openings.order, openings.chunk
    low, high = np.int64(0), openings.about[CHUNKS]
    while high - low > 1:
        middle = (low + high) >> 1
        if chunk[order[middle], 0] <= key:
            low = middle
        else:
            high = middle
    return low


@inlined
def place_in(openings: FreeCapacityIndex, chunk: int, key: int) -> int:
    """Count a chunk's keys less than `key`."""
    keys = openings.chunk
    low, high = np.int64(0), openings.size[chunk]
    while low < high:
        middle = (low + high) >> 1
        if keys[chunk, middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def seek_key(openings: FreeCapacityIndex, key: int) -> tuple[int, int]:
    """Chunk and place of the first key not less than `key`."""
    at = chunk_of(openings, key)
    chunk = openings.order[at]
    place = place_in(openings, chunk, key)
    return (at, place) if place < openings.size[chunk] else (at + 1, np.int64(0))


@bare
def strike(openings: FreeCapacityIndex, key: int) -> None:
    """Remove a key."""
    order, size, about = openings.order, openings.size, openings.about
    at = chunk_of(openings, key)
    chunk = order[at]
    keys = openings.chunk[chunk]
    for place in range(place_in(openings, chunk, key), size[chunk] - 1):
        keys[place] = keys[place + 1]
    size[chunk] -= 1
    if size[chunk] == 0 and about[CHUNKS] > 1:
        # The empty chunk moves behind the used ones.
        for place in range(at, about[CHUNKS] - 1):
            order[place] = order[place + 1]
        about[CHUNKS] -= 1
        order[about[CHUNKS]] = chunk


@bare
def insert(openings: FreeCapacityIndex, key: int) -> bool:
    """Insert a key; False: no chunk left."""
    order, size, about = openings.order, openings.size, openings.about
    at = chunk_of(openings, key)
    chunk = order[at]
    if size[chunk] == CHUNK:
        if about[CHUNKS] == len(order):
            return False
        fresh = order[about[CHUNKS]]
        for place in range(about[CHUNKS], at + 1, -1):
            order[place] = order[place - 1]
        order[at + 1] = fresh
        about[CHUNKS] += 1
        half = CHUNK // 2
        for place in range(half):
            openings.chunk[fresh, place] = openings.chunk[chunk, half + place]
        size[chunk] = size[fresh] = half
        if openings.chunk[fresh, 0] <= key:
            chunk = fresh
    keys = openings.chunk[chunk]
    at_key = place_in(openings, chunk, key)
    for place in range(size[chunk], at_key, -1):
        keys[place] = keys[place - 1]
    keys[at_key] = key
    size[chunk] += 1
    return True


@bare
def renew(
    rows: Rows, member: Ints, openings: FreeCapacityIndex, request: Ints, groups: int, node: int, now: int
) -> bool:
    """Update a node's entry; False: no chunk left."""
    about, key = openings.about, openings.key
    if not may_use(member, node, groups):
        return True
    old = key[node]
    key[node] = entry_of(rows, node, request, about[BASE], now)
    if key[node] == old:
        return True
    block = node // BLOCK
    over = expiry_of(key[node])
    if over < openings.least[block]:
        openings.least[block] = over
        openings.least_of_blocks[block // BLOCK] = min(openings.least_of_blocks[block // BLOCK], over)
    elif expiry_of(old) == openings.least[block]:
        update_first_expiry(openings, block)
    if old >= 0:
        strike(openings, old)
        about[NODES] -= 1
    if key[node] < 0:
        return True
    about[NODES] += 1
    return insert(openings, key[node])


@bare
def renew_expired(rows: Rows, member: Ints, openings: FreeCapacityIndex, request: Ints, groups: int, now: int) -> bool:
    """Update expired entries; False: no chunk left."""
    time = now - openings.about[BASE]
    for above in range(len(openings.least_of_blocks)):
        if openings.least_of_blocks[above] > time:
            continue
        for block in range(above * BLOCK, min((above + 1) * BLOCK, len(openings.least))):
            if openings.least[block] > time:
                continue
            for node in range(block * BLOCK, min((block + 1) * BLOCK, len(openings.key))):
                if expiry_of(openings.key[node]) <= time and not renew(
                    rows, member, openings, request, groups, np.int64(node), now
                ):
                    return False
    return True


@inlined
def units_of_empty(capacity: Ints, node: int, request: Ints) -> int:
    """Units of an empty node."""
    whole = FOREVER
    for k in range(len(request)):
        if request[k] > 0:
            whole = min(whole, capacity[node, k] // request[k])
    return whole


@folded
def compute_entries(
    rows: Rows, member: Ints, capacity: Ints, openings: FreeCapacityIndex, request: Ints, groups: int, now: int
) -> None:  # fmt: skip
    """Compute all entries."""
    key, about = openings.key, openings.about
    about[BASE] = now
    for node in range(len(key)):
        if openings.refused[node, SOONEST] != 0:  # unwritten otherwise: no memory for a size that starts at once
            openings.refused[node, SOONEST] = 0
        key[node] = -1 - LATER
        if may_use(member, node, groups):
            key[node] = entry_of(rows, np.int64(node), request, now, now)
    about[WHOLE] = 0
    for node in range(len(key)):
        about[WHOLE] = max(about[WHOLE], units_of_empty(capacity, np.int64(node), request))
    for block in range(len(openings.least)):
        update_first_expiry(openings, np.int64(block))
    keys = np.sort(key[key >= 0])
    about[NODES] = len(keys)
    laid = CHUNK - CHUNK // 4
    about[CHUNKS] = max(-(-len(keys) // laid), 1)
    for chunk in range(len(openings.order)):
        mine = keys[chunk * laid : (chunk + 1) * laid]
        openings.order[chunk] = chunk
        openings.size[chunk] = len(mine)
        openings.chunk[chunk, : len(mine)] = mine


@folded
def catch_up(
    rows: Rows,
    member: Ints,
    capacity: Ints,
    changes: Changes,
    openings: FreeCapacityIndex,
    request: Ints,
    groups: int,
    now: int,
) -> None:
    """Update changed and expired entries."""
    about = openings.about
    fresh = about[EPOCH] == changes.about[ISSUE] and now - about[BASE] < OPEN_END // 2
    place = about[READ]
    while fresh and place < changes.about[WRITTEN]:
        node = np.int64(changes.node[place])
        openings.refused[node, SOONEST] = 0
        fresh = renew(rows, member, openings, request, groups, node, now)
        place += 1
    if not (fresh and renew_expired(rows, member, openings, request, groups, now)):
        compute_entries(rows, member, capacity, openings, request, groups, now)
    about[EPOCH], about[READ] = changes.about[ISSUE], changes.about[WRITTEN]
