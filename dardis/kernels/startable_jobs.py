"""Nodes for a start now or later, from the free-capacity index."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dardis.kernels.common_starts import GAP_BITS, OPEN_GAP, CandidateStart, NodeSelection, give_out, key_of, units_of
from dardis.kernels.fitting import fits_at
from dardis.kernels.free_capacity_index import (
    BASE,
    CHUNKS,
    LEVEL_SHIFT,
    LONGEST,
    MOST_NODES,
    NODES,
    OPEN_END,
    SOONEST,
    WRITTEN,
    Changes,
    FreeCapacityIndex,
    pack_key,
    seek_key,
    until_of,
)
from dardis.kernels.heap import sift_down, sift_up
from dardis.kernels.jit import bare, folded, inlined
from dardis.kernels.job_queue import UNBOUND
from dardis.kernels.node_search import units_now
from dardis.kernels.offers import Nodes
from dardis.kernels.rows import Rows, forget_before
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER
from dardis.model.offer_rows import BEST_FIT, FIRST_FIT, INDEX_BITS

MOST_AMOUNT: Final = (1 << 31) - 1
"""Largest 32-bit amount and time."""
UNKNOWN: Final = -1
"""Result of `nodes_now` if space is short."""


class SelectedNodes(NamedTuple):
    """Machine node numbers, and units."""

    nodes: Ints
    units: Ints


# ----------------------------------------------------------------------------------------------------------------------
# Starts now.


@inlined
def free_until(rows: Rows, changes: Changes, openings: FreeCapacityIndex, request: Ints, node: int, now: int) -> int:
    """Until when a node holds a unit (FOREVER: no end); forget the past."""
    # After a passed segment the node counts as changed, as its fewest units may have risen.
    if rows.size[node] > 1 and rows.time[rows.head[node] + 1] <= now:
        forget_before(rows, node, now)
        if changes.about[WRITTEN] < len(changes.node):
            changes.node[changes.about[WRITTEN]] = node
            changes.about[WRITTEN] += 1
    until = until_of(openings.key[node])
    if until == OPEN_END:
        return FOREVER
    if until < OPEN_END - 1:
        return openings.about[BASE] + until
    place = rows.head[node]
    while fits_at(rows.value, place, request, False):
        place += 1
    return rows.time[place]


@inlined
def units_until(rows: Rows, node: int, request: Ints, end: int) -> int:
    """Units that fit from now to `end`."""
    return units_now(rows, node, request, end, UNBOUND, MOST_AMOUNT)


@bare
def take_best(
    nodes: Nodes, changes: Changes, openings: FreeCapacityIndex, start: CandidateStart, request: Ints,
    choice: NodeSelection, found: SelectedNodes
) -> int:  # fmt: skip
    """Write nodes and units in best-fit order; return as `nodes_now`."""
    # Keys give the fewest units of the entry, not of this run. A node waits in a heap until no later node can precede
    # it.
    rows, about, order = nodes.rows, openings.about, openings.order
    keys, waiting, heap = openings.heap
    end = start.first + start.walltime
    least = min(end - about[BASE], OPEN_END - 1)
    left, count, size = np.int64(start.units), np.int64(0), np.int64(0)
    at, place = seek_key(openings, pack_key(np.int64(1), least, np.int64(0)))
    while True:
        node, bound, key = np.int64(MOST_NODES), np.int64(FOREVER), np.int64(0)
        more = at < about[CHUNKS]
        if more:
            key = openings.chunk[order[at], place]
            if until_of(key) < least:
                # The level begins with nodes that end too early.
                level = key >> LEVEL_SHIFT
                at, place = seek_key(openings, pack_key(level, least, np.int64(0)))
                continue
            node = key & (MOST_NODES - 1)
            gap = OPEN_GAP if until_of(key) == OPEN_END else max(about[BASE] + until_of(key) - end, 0)
            bound = ((key >> LEVEL_SHIFT) << GAP_BITS) | gap
        while size > 0 and (keys[heap[0]] < bound or (keys[heap[0]] == bound and waiting[heap[0]] < node)):
            size -= 1
            heap[0], heap[size] = heap[size], heap[0]
            sift_down(heap, size, keys, waiting, np.int64(0))
            best = waiting[heap[size]]
            found.nodes[count] = nodes.first + best
            found.units[count] = min(units_until(rows, best, request, end), np.int64(1) if choice.distinct else left)
            left -= found.units[count]
            count += 1
            if left == 0:
                return count
        if not more:
            return np.int64(0)
        free_to = free_until(rows, changes, openings, request, node, start.first)
        if free_to >= end:
            if size == len(keys):
                return UNKNOWN
            index = units_until(rows, node, request, end) << INDEX_BITS
            keys[heap[size]] = key_of(choice, start, nodes.first + node, index, start.first, free_to)
            waiting[heap[size]] = node
            sift_up(heap, size, keys, waiting)
            size += 1
        place += 1
        if place == openings.size[order[at]]:
            at, place = at + 1, np.int64(0)


@folded
def take_any(
    nodes: Nodes, changes: Changes, openings: FreeCapacityIndex, start: CandidateStart, request: Ints,
    choice: NodeSelection, found: SelectedNodes
) -> int:  # fmt: skip
    """Write nodes of another selection rule, and units; return as `nodes_now`."""
    key, about = openings.key, openings.about
    end = start.first + start.walltime
    least = min(end - about[BASE], OPEN_END - 1)
    node = np.empty(about[NODES], dtype=np.int64)
    whole = np.empty(about[NODES], dtype=np.int64)
    keys = np.empty(about[NODES], dtype=np.int64)
    left, size = np.int64(start.units), 0
    for mine in range(len(key)):
        if key[mine] < 0 or until_of(key[mine]) < least:
            continue
        free_to = free_until(nodes.rows, changes, openings, request, mine, start.first)
        if free_to < end:
            continue
        index = units_until(nodes.rows, mine, request, end) << INDEX_BITS
        node[size], whole[size] = nodes.first + mine, units_of(index, choice.distinct)
        keys[size] = key_of(choice, start, nodes.first + mine, index, start.first, free_to)
        left -= whole[size]
        size += 1
        if left <= 0 and choice.nodes == FIRST_FIT:
            break
    if left > 0:
        return np.int64(0)
    return give_out(choice, node[:size], whole[:size], keys[:size], start.units, found.nodes, found.units)


@folded
def nodes_now(
    nodes: Nodes, changes: Changes, openings: FreeCapacityIndex, start: CandidateStart, request: Ints,
    choice: NodeSelection, found: SelectedNodes
) -> int:  # fmt: skip
    """Write nodes, ascending, and units of a start now; 0: none, UNKNOWN: space is short."""
    if choice.distinct and openings.about[NODES] < start.units:
        return np.int64(0)
    if choice.nodes != BEST_FIT:
        return take_any(nodes, changes, openings, start, request, choice, found)
    count = take_best(nodes, changes, openings, start, request, choice, found)
    if count > 1:
        ascending = np.argsort(found.nodes[:count])
        found.nodes[:count] = found.nodes[:count][ascending]
        found.units[:count] = found.units[:count][ascending]
    return count


# ----------------------------------------------------------------------------------------------------------------------
# Starts later.


@inlined
def first_fit(rows: Rows, node: int, request: Ints, first: int, walltime: int, bound: int) -> tuple[int, int]:
    """First fit from `first` on (FOREVER: none), and longest fit before.

    After `bound`: lower limit.
    """
    place, stop = rows.head[node], rows.head[node] + rows.size[node]
    longest = np.int64(0)
    while place < stop:
        if not fits_at(rows.value, place, request, False):
            place += 1
            continue
        begin = max(rows.time[place], first)
        if begin > bound:
            return begin, longest
        place += 1
        while place < stop and rows.time[place] < begin + walltime and fits_at(rows.value, place, request, False):
            place += 1
        if place == stop or rows.time[place] >= begin + walltime:
            return begin, longest
        longest = max(longest, rows.time[place] - begin)
    return FOREVER, longest


@inlined
def latest_of(when: Ints, count: int) -> int:
    """Latest of the times."""
    # The array's own method would load much else.
    latest = when[0]
    for place in range(count):
        latest = max(latest, when[place])
    return latest


@bare
def find_later_nodes(
    rows: Rows, openings: FreeCapacityIndex, request: Ints, walltime: int, first: int, last: int, now: int, needed: int,
    could: Ints, when: Ints,
) -> int:  # fmt: skip
    """Write nodes that can hold a unit from a time in `[first, last]`, and times.

    `needed` > 0: stop at so many.
    """
    key, refused = openings.key, openings.refused
    soonest, ties, heap = openings.heap
    base, count, size, bound = openings.about[BASE], 0, 0, last
    for node in range(len(key)):
        if key[node] < 0 and base - key[node] - 1 > bound:
            continue
        # The last result also holds for longer runs and at later times: most nodes cost a look at 16 bytes.
        if base + refused[node, SOONEST] > bound and walltime > refused[node, LONGEST]:
            continue
        forget_before(rows, node, now)
        begin, longest = first_fit(rows, node, request, first, walltime, bound)
        if first == now and 0 < longest <= MOST_AMOUNT:  # no gain if the first free time is the result
            refused[node, SOONEST], refused[node, LONGEST] = min(begin - base, MOST_AMOUNT), longest
        if begin > bound:
            continue
        could[count], when[count] = node, begin
        count += 1
        # The heap keeps the soonest times, the latest on top.
        if size < needed:
            soonest[heap[size]] = -begin
            sift_up(heap, size, soonest, ties)
            size += 1
        elif needed > 0 and -begin > soonest[heap[0]]:
            soonest[heap[0]] = -begin
            sift_down(heap, size, soonest, ties, np.int64(0))
        if size == needed and needed > 0:
            bound = min(bound, -soonest[heap[0]])
    kept = 0
    for place in range(count):
        if when[place] <= bound:
            could[kept], when[kept] = could[place], when[place]
            kept += 1
    return kept
