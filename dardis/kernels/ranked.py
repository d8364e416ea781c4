"""The best of many nodes for a start that has been selected: ranked by key and node, and cut where they hold the job.

A candidate is a row (key, node, units it takes, incarnation of its host). The best of several hosts' best are the best
of all their nodes, so a tree of hosts can pass them on, and nobody's list is longer than the job has units. For a
contiguous choice one must see who is beside whom: there all candidates are passed on, by node.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.jit import bare, inlined, kernel
from dardis.kernels.offers import OUT_OF_SPACE, Question, answer_one
from dardis.kernels.selection import Choice, Start, list_candidates, take_contiguous
from dardis.kernels.sums import SENT, Tree, take_children
from dardis.model.arrays import Ints
from dardis.model.offer_rows import BEST_INCARNATION, BEST_KEY, BEST_NODE, BEST_UNITS, CONTIGUOUS

FEW = 128
"""Candidates up to which they are put in order one by one."""


@inlined
def goes_before(rows: Ints, a: int, b: int) -> bool:
    """Whether row a ranks before row b."""
    return rows[a, BEST_KEY] < rows[b, BEST_KEY] or (
        rows[a, BEST_KEY] == rows[b, BEST_KEY] and rows[a, BEST_NODE] < rows[b, BEST_NODE]
    )


@bare
def keep_best(rows: Ints, low: int, high: int, units: int) -> int:
    """Rank the rows `[low, high)`, which are few, in place, and cut them where they hold `units`; return their end."""
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
    """Put the candidates `[low, high)` in order, in place, and leave out who is not needed; return where they end."""
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
def rank_nodes(question: Question, tree: Tree, choice: Choice, start: Ints, incarnation: int, best: Ints) -> int:
    """Write the best nodes for `start[i]` of ask i as `best[offset[i]:offset[i+1]]`.

    Returns how many rows that is, or OUT_OF_SPACE.
    """
    asks, out, offset = question.batch.asks, question.out, question.offset
    hosts, block, nodes = len(tree.children), tree.block, len(question.nodes.member)
    pending = np.empty(hosts + 1, dtype=np.int64)
    node, whole, keys = np.empty(block, np.int64), np.empty(block, np.int64), np.empty(block, np.int64)
    end = np.int64(0)
    offset[0] = 0
    for i in range(len(asks.job)):
        instant = (start[i] - asks.first[i]) // choice.grain
        chosen = Start(instant, asks.first[i], asks.walltime[i], asks.units[i], asks.job[i], asks.draw_key[i])
        depth = 0
        for host in range(hosts - 1, -1, -1):
            low, high = host * block, min((host + 1) * block, nodes)
            count = answer_one(question, i, low, high, np.int64(0))
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
    """Give `units` to ranked candidates that hold them; write nodes, ascending, and units; return how many nodes."""
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
