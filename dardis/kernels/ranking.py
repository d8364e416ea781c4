"""Sums of offers and ranked candidates, combined in a tree of hosts.

A candidate: row (key, node, units, host incarnation). Lists stay short: the best of the hosts' best are the best.
Contiguous selection needs all, by node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.common_starts import (
    CandidateStart,
    NodeSelection,
    in_order,
    list_candidates,
    take_contiguous,
    units_of,
)
from dardis.kernels.jit import bare, inlined, kernel
from dardis.kernels.offers import OUT_OF_SPACE, OfferTask, append_offers
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER
from dardis.model.offer_rows import (
    BEST_INCARNATION,
    BEST_KEY,
    BEST_NODE,
    BEST_UNITS,
    CONTIGUOUS,
    FROM,
    INDEX,
    STEP_INDICES,
    STEP_INSTANT,
    STEP_UNITS,
    TO,
)

FEW = 128


@inlined
def goes_before(rows: Ints, a: int, b: int) -> bool:
    """Whether row a ranks before row b."""
    return rows[a, BEST_KEY] < rows[b, BEST_KEY] or (
        rows[a, BEST_KEY] == rows[b, BEST_KEY] and rows[a, BEST_NODE] < rows[b, BEST_NODE]
    )


@bare
def keep_best(rows: Ints, low: int, high: int, units: int) -> int:
    """Rank a few rows in place; drop surplus."""
    end = low
    total = np.int64(0)
    for row in range(low, high):
        if end > low and total >= units and not goes_before(rows, row, end - 1):
            continue
        key, node, holds, incarnation = (
            rows[row, BEST_KEY],
            rows[row, BEST_NODE],
            rows[row, BEST_UNITS],
            rows[row, BEST_INCARNATION],
        )
        place = end
        while place > low and (
            rows[place - 1, BEST_KEY] > key or (rows[place - 1, BEST_KEY] == key and rows[place - 1, BEST_NODE] > node)
        ):
            for c in range(4):
                rows[place, c] = rows[place - 1, c]
            place -= 1
        rows[place, BEST_KEY] = key
        rows[place, BEST_NODE] = node
        rows[place, BEST_UNITS] = holds
        rows[place, BEST_INCARNATION] = incarnation
        end += 1
        total += holds
        while total - rows[end - 1, BEST_UNITS] >= units:
            end -= 1
            total -= rows[end, BEST_UNITS]
    return end


@kernel
def best_of(rows: Ints, low: int, high: int, units: int, choice: int) -> int:
    """Rank the candidates `[low, high)` in place; drop surplus."""
    if choice == CONTIGUOUS:
        tail = rows[low:high].copy()
        order = np.argsort(tail[:, BEST_NODE])
        for place in range(len(order)):
            rows[low + place] = tail[order[place]]
        return high
    if high - low <= FEW:
        return keep_best(rows, low, high, units)
    tail = rows[low:high].copy()
    by_node = np.argsort(tail[:, BEST_NODE])
    by_key = np.argsort(tail[by_node, BEST_KEY], kind="mergesort")
    end = low
    total = np.int64(0)
    while end < high and total < units:
        rows[end] = tail[by_node[by_key[end - low]]]
        total += rows[end, BEST_UNITS]
        end += 1
    return end


@kernel
def rank_nodes(
    question: OfferTask, tree: Tree, choice: NodeSelection, start: Ints, incarnation: int, best: Ints
) -> int:
    """Write best nodes for `start[i]` of ask i to `best[offset[i]:offset[i+1]]`; return how many or OUT_OF_SPACE."""
    asks, out, offset = question.batch.asks, question.out, question.offset
    hosts, block, nodes = len(tree.children), tree.block, len(question.nodes.member)
    pending = np.empty(hosts + 1, dtype=np.int64)
    node, whole, keys = np.empty(block, np.int64), np.empty(block, np.int64), np.empty(block, np.int64)
    end = np.int64(0)
    offset[0] = 0
    for i in range(len(asks.job)):
        instant = (start[i] - asks.first[i]) // choice.grain
        chosen = CandidateStart(instant, asks.first[i], asks.walltime[i], asks.units[i], asks.job[i], asks.draw_key[i])
        depth = 0
        for host in range(hosts - 1, -1, -1):
            low, high = host * block, min((host + 1) * block, nodes)
            count = append_offers(question, i, low, high, np.int64(0))
            if count == OUT_OF_SPACE or end + block > len(best):
                return OUT_OF_SPACE
            size = list_candidates(out[:count], chosen, choice, node, whole, keys)
            depth, begin = take_children(tree, host, pending, depth, end)
            for c in range(size):
                best[end, BEST_KEY] = keys[c]
                best[end, BEST_NODE] = node[c]
                best[end, BEST_UNITS] = whole[c]
                best[end, BEST_INCARNATION] = incarnation
                end += 1
            end = best_of(best, begin, end, asks.units[i], choice.nodes)
            pending[depth] = begin
            depth += 1
            if host > 0:
                tree.counted[SENT] += end - begin
        offset[i + 1] = end
    return end


@kernel
def take_best(best: Ints, units: int, choice: int, nodes: Ints, node_units: Ints) -> int:
    """Give `units` to ranked candidates; write nodes, ascending, and units."""
    if choice == CONTIGUOUS:
        taken = np.zeros(len(best), dtype=np.int64)
        take_contiguous(best[:, BEST_NODE], best[:, BEST_UNITS], units, taken)
        count = 0
        for row in range(len(best)):
            if taken[row] > 0:
                nodes[count] = best[row, BEST_NODE]
                node_units[count] = taken[row]
                count += 1
        return count
    count = 0
    left = units
    while left > 0:
        nodes[count] = best[count, BEST_NODE]
        node_units[count] = min(best[count, BEST_UNITS], left)
        left -= node_units[count]
        count += 1
    order = np.argsort(nodes[:count])
    nodes[:count] = nodes[:count][order]
    node_units[:count] = node_units[:count][order]
    return count


SENT, LONGEST_TO_ROOT = range(2)
"""Message counters of virtual hosts: all rows, most rows to the root."""


class Tree(NamedTuple):
    """Virtual hosts: host h has the nodes `[h * block, (h + 1) * block)` and `children[h]` children, which follow."""

    block: int
    children: Ints
    counted: Ints


@inlined
def keep_first_sufficient(steps: Ints, low: int, high: int, units: int) -> bool:
    """Reduce the steps to the first instant if the job fits then."""
    first = FOREVER
    for row in range(low, high):
        first = min(first, steps[row, STEP_INSTANT])
    held = index_sum = np.int64(0)
    for row in range(low, high):
        if steps[row, STEP_INSTANT] == first:
            held += steps[row, STEP_UNITS]
            index_sum += steps[row, STEP_INDICES]
    if held < units:
        return False
    steps[low, STEP_INSTANT] = first
    steps[low, STEP_UNITS] = held
    steps[low, STEP_INDICES] = index_sum
    return True


@kernel
def add_up(steps: Ints, low: int, high: int, units: int, cut: bool) -> int:
    """Sort the steps `[low, high)` and merge equal instants, in place.

    `cut`: end after the first instant with `units`.
    """
    if low == high:
        return low
    if cut and keep_first_sufficient(steps, low, high, units):
        return low + 1
    tail = steps[low:high].copy()
    order = in_order(tail[:, STEP_INSTANT])
    end = low
    held = np.int64(0)
    place = 0
    while place < len(order):
        instant = tail[order[place], STEP_INSTANT]
        change = index_change = np.int64(0)
        while place < len(order) and tail[order[place], STEP_INSTANT] == instant:
            change += tail[order[place], STEP_UNITS]
            index_change += tail[order[place], STEP_INDICES]
            place += 1
        if change != 0 or index_change != 0:
            held += change
            steps[end, STEP_INSTANT] = instant
            steps[end, STEP_UNITS] = change
            steps[end, STEP_INDICES] = index_change
            end += 1
            if cut and held >= units:
                break
    return end


@inlined
def take_children(tree: Tree, host: int, pending: Ints, depth: int, end: int) -> tuple[int, int]:
    """Pop a host's children; return the new depth, and their rows' begin.

    `pending[:depth]`: begins of hosts' rows; `end`: last end.
    """
    counted, children = tree.counted, tree.children[host]
    top = depth
    depth -= children
    for place in range(depth, top if host == 0 else depth):
        following = pending[place + 1] if place + 1 < top else end
        counted[LONGEST_TO_ROOT] = max(counted[LONGEST_TO_ROOT], following - pending[place])
    return depth, pending[depth] if children > 0 else end


@bare
def steps_of(offers: Ints, count: int, distinct: bool, steps: Ints, end: int) -> int:
    """Append the steps of `count` offers."""
    for o in range(count):
        for side in range(2):
            sign = np.int64(1 - 2 * side)
            steps[end, STEP_INSTANT] = offers[o, TO] if side else offers[o, FROM]
            steps[end, STEP_UNITS] = sign * units_of(offers[o, INDEX], distinct)
            steps[end, STEP_INDICES] = sign * offers[o, INDEX]
            end += 1
    return end


@kernel
def sum_offers(question: OfferTask, tree: Tree, cut: bool, distinct: bool, steps: Ints) -> int:
    """Write the steps to ask i as `steps[offset[i]:offset[i+1]]`; return how many, or OUT_OF_SPACE."""
    asks, out, offset = question.batch.asks, question.out, question.offset
    hosts, nodes = len(tree.children), len(question.nodes.member)
    pending = np.empty(hosts + 1, dtype=np.int64)  # begins of steps not added up yet
    end = np.int64(0)
    offset[0] = 0
    for i in range(len(asks.job)):
        depth = 0
        for host in range(hosts - 1, -1, -1):
            low, high = host * tree.block, min((host + 1) * tree.block, nodes)
            count = append_offers(question, i, low, high, np.int64(0))
            if count == OUT_OF_SPACE or end + 2 * count > len(steps):
                return OUT_OF_SPACE
            depth, begin = take_children(tree, host, pending, depth, end)
            end = add_up(steps, begin, steps_of(out, count, distinct, steps, end), asks.units[i], cut)
            pending[depth] = begin
            depth += 1
            if host > 0:
                tree.counted[SENT] += end - begin
        offset[i + 1] = end
    return end


@kernel
def starts_of_sums(steps: Ints, units: int, spans: Ints) -> int:
    """Write the spans of common instants, as `common_starts`."""
    count = 0
    held = index_sum = np.int64(0)
    for row in range(len(steps)):
        held += steps[row, STEP_UNITS]
        index_sum += steps[row, STEP_INDICES]
        if held >= units:
            spans[count, 0] = steps[row, STEP_INSTANT]
            spans[count, 1] = steps[row + 1, STEP_INSTANT] if row + 1 < len(steps) else FOREVER
            spans[count, 2] = index_sum
            count += 1
            if count == len(spans):
                break
    return count
