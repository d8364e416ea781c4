"""Common starts of a job's offers, and their nodes (thesis 5.3.3 to 5.3.5, 7.5).

At a common start the nodes' whole indices sum to the units (`pack`), or as many nodes as units offer it (`distinct`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.chance import PURPOSE_NODE, PURPOSE_PICK, draw_below, draw_key, mix
from dardis.kernels.heap import sift_down
from dardis.kernels.jit import Fields, bare, folded, inlined, kernel
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER
from dardis.model.offer_rows import (
    ANY_NODE,
    BEST_FIT,
    CONTIGUOUS,
    FREE_FROM,
    FREE_TO,
    FROM,
    INDEX,
    INDEX_BITS,
    NODE,
    TO,
    WORST_FIT,
    QueryArrays,
)

OPEN_GAP = 1 << 33
"""Gap after a run if nothing follows."""
GAP_BITS, WHOLE_BITS = 35, 27
"""Bits of a best-fit key: idle gap in s, above it the whole index."""
NONE = -1
WORK_ROWS, LEAST_WORK = 5, 3
"""Rows of the work space of `select_first`, and their least length; else that of the offers."""


class NodeSelection(NamedTuple):
    """Rule, distinct nodes, grid in s, seed."""

    nodes: int
    distinct: bool
    grain: int
    seed: int


class CandidateStart(NamedTuple):
    """Ask's start, on the grid from `first` s."""

    instant: int
    first: int
    walltime: int
    units: int
    job: int
    attempt: int


@inlined
def units_of(index: int, distinct: bool) -> int:
    """Units that a node takes."""
    return min(index >> INDEX_BITS, 1) if distinct else index >> INDEX_BITS


@bare
def earliest_quick(offers: Ints, units: int, distinct: bool) -> int:
    """Earliest offered instant if common, else NONE."""
    instant = FOREVER
    total = np.int64(0)
    for o in range(len(offers)):
        begin = offers[o, FROM]
        if begin < instant:
            instant = begin
            total = np.int64(0)
        if begin == instant:
            total += units_of(offers[o, INDEX], distinct)
    return instant if total >= units else NONE


@kernel
def in_order(values: Ints) -> Ints:
    """Places of the values in ascending order."""
    for place in range(1, len(values)):
        if values[place] < values[place - 1]:
            return np.argsort(values)
    return np.arange(len(values))


@bare
def write_order(values: Ints, places: Ints) -> None:
    """Write places of the values in ascending order."""
    n = len(values)
    ordered = True
    for place in range(n):
        places[place] = place
        ordered = ordered and (place == 0 or values[place - 1] <= values[place])
    if ordered:
        return
    for place in range(n // 2 - 1, -1, -1):
        sift_down(places, n, values, values, place)
    for size in range(n - 1, 0, -1):  # the least goes behind the others
        places[0], places[size] = places[size], places[0]
        sift_down(places, size, values, values, np.int64(0))
    for place in range(n // 2):
        places[place], places[n - 1 - place] = places[n - 1 - place], places[place]


@kernel
def common_starts(offers: Ints, units: int, distinct: bool, spans: Ints) -> int:
    """Write spans (from, to, sum of indices) of common instants, ascending."""
    return write_common_starts(offers, units, distinct, in_order(offers[:, FROM]), in_order(offers[:, TO]), spans)


@bare
def write_common_starts(
    offers: Ints, units: int, distinct: bool, opening: Ints, closing: Ints, spans: Ints
) -> int:  # fmt: skip
    """`common_starts`, with the orders of begins and ends."""
    n = len(offers)
    total = index_sum = np.int64(0)
    o = c = count = 0
    while o < n:
        moment = offers[opening[o], FROM]
        if c < n:
            moment = min(moment, offers[closing[c], TO])
        while c < n and offers[closing[c], TO] == moment:
            total -= units_of(offers[closing[c], INDEX], distinct)
            index_sum -= offers[closing[c], INDEX]
            c += 1
        while o < n and offers[opening[o], FROM] == moment:
            total += units_of(offers[opening[o], INDEX], distinct)
            index_sum += offers[opening[o], INDEX]
            o += 1
        if total >= units:
            following = offers[closing[c], TO]
            if o < n:
                following = min(following, offers[opening[o], FROM])
            spans[count, 0] = moment
            spans[count, 1] = following
            spans[count, 2] = index_sum
            count += 1
            if count == len(spans):
                return count
    return extend_spans(offers, units, distinct, closing, c, total, index_sum, spans, count)


@bare
def extend_spans(
    offers: Ints, units: int, distinct: bool, closing: Ints, c: int, total: int, index_sum: int, spans: Ints, count: int
) -> int:
    """Continue over the last ends, where sums only fall."""
    n = len(offers)
    while c < n and total >= units and count < len(spans):
        moment = offers[closing[c], TO]
        while c < n and offers[closing[c], TO] == moment:
            total -= units_of(offers[closing[c], INDEX], distinct)
            index_sum -= offers[closing[c], INDEX]
            c += 1
        if total >= units and c < n:
            spans[count, 0] = moment
            spans[count, 1] = offers[closing[c], TO]
            spans[count, 2] = index_sum
            count += 1
    return count


@bare
def enough_at_best(offers: Ints, units: int, distinct: bool) -> bool:
    """Quick test: whether the nodes' best offers suffice."""
    left = units
    row = np.int64(0)
    while row < len(offers) and left > 0:
        node, most = offers[row, NODE], np.int64(0)
        while row < len(offers) and offers[row, NODE] == node:
            most = max(most, units_of(offers[row, INDEX], distinct))
            row += 1
        left -= most
    return left <= 0


@kernel
def earliest_start(offers: Ints, units: int, distinct: bool) -> int:
    """Earliest common instant, or NONE."""
    if not enough_at_best(offers, units, distinct):
        return NONE
    instant = earliest_quick(offers, units, distinct)
    if instant != NONE:
        return instant
    spans = np.empty((1, 3), dtype=np.int64)
    return spans[0, 0] if common_starts(offers, units, distinct, spans) else NONE


@bare
def earliest_start_within(offers: Ints, units: int, distinct: bool, work: Ints) -> int:
    """`earliest_start` without new arrays."""
    if not enough_at_best(offers, units, distinct):
        return NONE
    instant = earliest_quick(offers, units, distinct)
    if instant != NONE:
        return instant
    opening, closing, spans = work[0, : len(offers)], work[1, : len(offers)], work[2:3, :3]
    write_order(offers[:, FROM], opening)
    write_order(offers[:, TO], closing)
    return spans[0, 0] if write_common_starts(offers, units, distinct, opening, closing, spans) else NONE


@kernel
def all_starts(offers: Ints, units: int, distinct: bool) -> Ints:
    """All spans of `common_starts`."""
    spans = np.empty((2 * len(offers) + 1, 3), dtype=np.int64)
    count = common_starts(offers, units, distinct, spans) if enough_at_best(offers, units, distinct) else 0
    return spans[:count]


@kernel
def draw_start(seed: int, job: int, attempt: int, counter: int, bound: int) -> int:
    """Draw `counter` for a job's start, in [0, bound)."""
    return draw_below(draw_key(seed, job, attempt, np.int64(0), PURPOSE_PICK), counter, bound)


@bare
def take_in_order(keys: Ints, node: Ints, whole: Ints, heap: Ints, units: int, taken: Ints) -> None:
    """Give `units` to candidates by key.

    `heap`: their places; only needed ones are sorted.
    """
    size = len(whole)
    for place in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, keys, node, place)
    left = units
    while left > 0:
        best = heap[0]
        taken[best] = min(whole[best], left)
        left -= taken[best]
        size -= 1
        heap[0] = heap[size]
        sift_down(heap, size, keys, node, np.int64(0))


@bare
def take_contiguous(node: Ints, whole: Ints, units: int, taken: Ints) -> None:
    """Give `units` to runs of adjacent nodes: the shortest sufficient, else the largest; ties by node."""
    n = len(node)
    left = units
    while left > 0:
        best_low = best_high = 0
        best_sum = np.int64(-1)
        best_fits = False
        low = 0
        total = np.int64(0)
        for high in range(n):
            if high > low and (node[high] != node[high - 1] + 1 or taken[high - 1] > 0):
                low = high
                total = 0
            if taken[high] > 0:
                low = high + 1
                total = 0
                continue
            total += whole[high]
            while low < high and total - whole[low] >= left:
                total -= whole[low]
                low += 1
            fits = total >= left
            better = (
                (fits and not best_fits)
                or (fits and best_fits and high - low < best_high - best_low)
                or (not fits and not best_fits and total > best_sum)
            )
            if better:
                best_low, best_high, best_sum, best_fits = low, high, total, fits
        for i in range(best_low, best_high + 1):
            taken[i] = min(whole[i], left)
            left -= taken[i]


@inlined
def best_fit_key(whole: int, gap: int) -> int:
    """Fewest units first, then the least idle time, s."""
    return (min(whole, (1 << WHOLE_BITS) - 1) << GAP_BITS) | min(gap, (1 << GAP_BITS) - 1)


@inlined
def key_of(choice: NodeSelection, start: CandidateStart, node: int, index: int, free_from: int, free_to: int) -> int:
    """Node's key; the lowest goes first."""
    if choice.nodes == BEST_FIT:
        begin = start.first + start.instant * choice.grain
        after = OPEN_GAP if free_to == FOREVER else free_to - begin - start.walltime
        return best_fit_key(index >> INDEX_BITS, begin - free_from + after)
    if choice.nodes == WORST_FIT:
        return -index
    if choice.nodes == ANY_NODE:
        key = draw_key(choice.seed, start.job, start.attempt, node, PURPOSE_NODE)
        return np.int64(mix(key, np.uint64(0)) >> np.uint64(1))
    return np.int64(0)


@bare
def list_candidates(
    offers: Ints, start: CandidateStart, choice: NodeSelection, node: Ints, whole: Ints, keys: Ints
) -> int:
    """Write node, units and key of each offer of the start."""
    instant = start.instant
    size = 0
    for o in range(len(offers)):
        if offers[o, FROM] <= instant < offers[o, TO]:
            node[size] = offers[o, NODE]
            whole[size] = units_of(offers[o, INDEX], choice.distinct)
            keys[size] = key_of(choice, start, node[size], offers[o, INDEX], offers[o, FREE_FROM], offers[o, FREE_TO])
            size += 1
    return size


@bare
def give_out_within(
    choice: NodeSelection, node: Ints, whole: Ints, keys: Ints, units: int, nodes: Ints, node_units: Ints, taken: Ints,
    heap: Ints,
) -> int:  # fmt: skip
    """`give_out` without new arrays."""
    for place in range(len(node)):
        taken[place] = 0
        heap[place] = place
    if choice.nodes == CONTIGUOUS:
        take_contiguous(node, whole, units, taken)
    else:
        take_in_order(keys, node, whole, heap, units, taken)
    count = 0
    for i in range(len(node)):
        if taken[i] > 0:
            nodes[count] = node[i]
            node_units[count] = taken[i]
            count += 1
    return count


@folded
def give_out(
    choice: NodeSelection, node: Ints, whole: Ints, keys: Ints, units: int, nodes: Ints, node_units: Ints
) -> int:  # fmt: skip
    """Write the nodes taken, and units."""
    work = np.empty((2, len(node)), dtype=np.int64)
    return give_out_within(choice, node, whole, keys, units, nodes, node_units, work[0], work[1])


@bare
def choose_nodes_within(
    offers: Ints, start: CandidateStart, choice: NodeSelection, nodes: Ints, node_units: Ints, work: Ints
) -> int:  # fmt: skip
    """`choose_nodes` without new arrays."""
    size = list_candidates(offers, start, choice, work[0], work[1], work[2])
    node, whole, keys = work[0, :size], work[1, :size], work[2, :size]
    return give_out_within(
        choice, node, whole, keys, start.units, nodes, node_units, work[3, :size], work[4, :size]
    )  # fmt: skip


@kernel
def choose_nodes(offers: Ints, start: CandidateStart, choice: NodeSelection, nodes: Ints, node_units: Ints) -> int:
    """Write nodes and units of a start, ascending."""
    work = np.empty((WORK_ROWS, len(offers)), dtype=np.int64)
    return choose_nodes_within(offers, start, choice, nodes, node_units, work)


@bare
def select_first(
    offers: Ints,
    offset: Ints,
    asks: QueryArrays,
    begin: int,
    choice: NodeSelection,
    nodes: Ints,
    node_units: Ints,
    result: Ints,
    work: Ints,
) -> None:
    """Find the first ask from `begin` on with a common start.

    Writes `result` = (ask or NONE, start in s, nodes).
    """
    result[0] = NONE
    for i in range(begin, len(asks.job)):
        mine = offers[offset[i] : offset[i + 1]]
        instant = earliest_start_within(mine, asks.units[i], choice.distinct, work)
        if instant != NONE:
            result[0] = i
            result[1] = asks.first[i] + instant * choice.grain
            start = CandidateStart(
                instant, asks.first[i], asks.walltime[i], asks.units[i], asks.job[i], asks.draw_key[i]
            )
            result[2] = choose_nodes_within(mine, start, choice, nodes, node_units, work)
            return


@kernel
def _select_first(
    offers: Ints, offset: Ints, asks: Fields, begin: int, choice: Fields, nodes: Ints, node_units: Ints, result: Ints
) -> None:
    work = np.empty((WORK_ROWS, max(len(offers), LEAST_WORK)), dtype=np.int64)
    select_first(offers, offset, QueryArrays(*asks), begin, NodeSelection(*choice), nodes, node_units, result, work)


def first_start(
    offers: Ints,
    offset: Ints,
    asks: QueryArrays,
    begin: int,
    choice: NodeSelection,
    nodes: Ints,
    node_units: Ints,
    result: Ints,
) -> None:
    """Run `select_first` from Python."""
    _select_first(offers, offset, tuple(asks), begin, tuple(choice), nodes, node_units, result)


@kernel
def _choose_nodes(offers: Ints, start: Fields, choice: Fields, nodes: Ints, node_units: Ints) -> int:
    return choose_nodes(offers, CandidateStart(*start), NodeSelection(*choice), nodes, node_units)


def nodes_of_start(offers: Ints, start: CandidateStart, choice: NodeSelection, nodes: Ints, node_units: Ints) -> int:
    """Run `choose_nodes` from Python."""
    return int(_choose_nodes(offers, tuple(start), tuple(choice), nodes, node_units))
