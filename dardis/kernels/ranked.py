"""The best of many nodes for a start that has been selected: ranked by key and node, and cut where they hold the job.

A candidate is a row (key, node, units it takes, incarnation of its host). The best of several hosts' best are the best
of all their nodes, so a tree of hosts can pass them on, and nobody's list is longer than the job has units. For a
contiguous choice one must see who is beside whom: there all candidates are passed on, by node.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.jit import bare, inlined, kernel
from dardis.kernels.offers import OUT_OF_SPACE, Asked, Asks, Held, Scratch, answer_one
from dardis.kernels.rows import Rows
from dardis.kernels.selection import CONTIGUOUS, list_candidates, take_contiguous
from dardis.kernels.sums import SENT, take_children
from dardis.model.arrays import Ints

KEY, NODE, UNITS, INCARNATION = range(4)
"""Columns of candidates."""
FEW = 128
"""Candidates up to which they are put in order one by one."""


@inlined
def goes_before(rows: Ints, a: int, b: int) -> bool:
    """Whether row a ranks before row b."""
    return rows[a, KEY] < rows[b, KEY] or (rows[a, KEY] == rows[b, KEY] and rows[a, NODE] < rows[b, NODE])


@bare
def keep_best(rows: Ints, low: int, high: int, units: int) -> int:
    """Rank the rows `[low, high)`, which are few, in place, and cut them where they hold `units`; return their end."""
    end = low
    total = np.int64(0)
    for row in range(low, high):
        if end > low and total >= units and not goes_before(rows, row, end - 1):
            continue
        key, node, holds, incarnation = rows[row, KEY], rows[row, NODE], rows[row, UNITS], rows[row, INCARNATION]
        place = end
        while place > low and (
            rows[place - 1, KEY] > key or (rows[place - 1, KEY] == key and rows[place - 1, NODE] > node)
        ):
            for c in range(4):
                rows[place, c] = rows[place - 1, c]
            place -= 1
        rows[place, KEY] = key
        rows[place, NODE] = node
        rows[place, UNITS] = holds
        rows[place, INCARNATION] = incarnation
        end += 1
        total += holds
        while total - rows[end - 1, UNITS] >= units:
            end -= 1
            total -= rows[end, UNITS]
    return end


@kernel
def best_of(rows: Ints, low: int, high: int, units: int, choice: int) -> int:
    """Put the candidates `[low, high)` in order, in place, and leave out who is not needed; return where they end."""
    if choice == CONTIGUOUS:
        tail = rows[low:high].copy()
        order = np.argsort(tail[:, NODE])
        for place in range(len(order)):
            rows[low + place] = tail[order[place]]
        return high
    if high - low <= FEW:
        return keep_best(rows, low, high, units)
    tail = rows[low:high].copy()
    by_node = np.argsort(tail[:, NODE])
    by_key = np.argsort(tail[by_node, KEY], kind="mergesort")
    end = low
    total = np.int64(0)
    while end < high and total < units:
        rows[end] = tail[by_node[by_key[end - low]]]
        total += rows[end, UNITS]
        end += 1
    return end


@kernel
def rank_nodes(
    rows: Rows, group: Ints, first_node: int, ready: Ints, boot: Ints, asks: Asks, held: Held, asked: Asked,
    respect: bool, kind: int, grain: int, seed: int, now: int, scratch: Scratch, out: Ints, units: Ints, choice: int,
    distinct: bool, block: int, children: Ints, start: Ints, incarnation: int, best: Ints, offset: Ints, counted: Ints,
) -> int:  # fmt: skip
    """Write the best nodes for `start[i]` of ask i as `best[offset[i]:offset[i+1]]`; return how many, or OUT_OF_SPACE.

    Blocks, `children` and `counted` are as in `sum_offers`.
    """
    pending = np.empty(len(children) + 1, dtype=np.int64)
    node, whole, keys = np.empty(block, np.int64), np.empty(block, np.int64), np.empty(block, np.int64)
    end = np.int64(0)
    offset[0] = 0
    for i in range(len(asks.job)):
        instant = (start[i] - asks.first[i]) // grain
        depth = 0
        for host in range(len(children) - 1, -1, -1):
            low, high = host * block, min((host + 1) * block, len(group))
            count = answer_one(
                rows, group, first_node, ready, boot, asks, i, held, asked, low, high, respect, kind, grain, seed, now,
                scratch, out, 0,
            )  # fmt: skip
            if count == OUT_OF_SPACE or end + block > len(best):
                return OUT_OF_SPACE
            size = list_candidates(
                out[:count], instant, asks.first[i], grain, asks.walltime[i], distinct, choice, seed, asks.job[i],
                asks.draw_key[i], node, whole, keys,
            )  # fmt: skip
            depth, begin = take_children(pending, depth, host, children[host], end, counted)
            for c in range(size):
                best[end, KEY] = keys[c]
                best[end, NODE] = node[c]
                best[end, UNITS] = whole[c]
                best[end, INCARNATION] = incarnation
                end += 1
            end = best_of(best, begin, end, units[i], choice)
            pending[depth] = begin
            depth += 1
            if host > 0:
                counted[SENT] += end - begin
        offset[i + 1] = end
    return end


@kernel
def take_best(best: Ints, units: int, choice: int, nodes: Ints, node_units: Ints) -> int:
    """Give `units` to ranked candidates that hold them; write nodes, ascending, and units; return how many nodes."""
    if choice == CONTIGUOUS:
        taken = np.zeros(len(best), dtype=np.int64)
        take_contiguous(best[:, NODE], best[:, UNITS], units, taken)
        count = 0
        for row in range(len(best)):
            if taken[row] > 0:
                nodes[count] = best[row, NODE]
                node_units[count] = taken[row]
                count += 1
        return count
    count = 0
    left = units
    while left > 0:
        nodes[count] = best[count, NODE]
        node_units[count] = min(best[count, UNITS], left)
        left -= node_units[count]
        count += 1
    order = np.argsort(nodes[:count])
    nodes[:count] = nodes[:count][order]
    node_units[:count] = node_units[:count][order]
    return count
