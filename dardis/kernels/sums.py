"""Offers added over nodes and hosts: step functions of start times, and which start a policy takes of them.

A step is a row (instant, change of units, change of the sum of indices). Steps of different nodes add by being put
together and sorted; integers, so in any order. The nodes of a pool are taken in blocks, each a virtual host of the
tree that the process stands for (`dardis.model.host_tree`), so that no block's rows leave the cache.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.fitting import FROM, INDEX, TO
from dardis.kernels.jit import bare, inlined, kernel
from dardis.kernels.offers import OUT_OF_SPACE, Asked, Asks, Held, Scratch, answer_one
from dardis.kernels.rows import Rows
from dardis.kernels.selection import MIN_START, NONE, in_order, take_span, units_of
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER

INSTANT, UNITS, INDICES = range(3)
"""Columns of steps."""
SENT, LONGEST_TO_ROOT = range(2)
"""What is counted of the messages between virtual hosts: their rows in all, and most rows of one to the root."""


@inlined
def cut_at_once(steps: Ints, low: int, high: int, units: int) -> bool:
    """Whether the job is held at the first instant of all: then this instant is all that remains, as the first row."""
    first = FOREVER
    for row in range(low, high):
        first = min(first, steps[row, INSTANT])
    held = index_sum = np.int64(0)
    for row in range(low, high):
        if steps[row, INSTANT] == first:
            held += steps[row, UNITS]
            index_sum += steps[row, INDICES]
    if held < units:
        return False
    steps[low, INSTANT] = first
    steps[low, UNITS] = held
    steps[low, INDICES] = index_sum
    return True


@kernel
def add_up(steps: Ints, low: int, high: int, units: int, cut: bool) -> int:
    """Put the steps `[low, high)` in order and join those of an instant, in place; return where they end then.

    With `cut` nothing remains after the first instant at which they hold `units`.
    """
    if low == high:
        return low
    if cut and cut_at_once(steps, low, high, units):
        return low + 1
    tail = steps[low:high].copy()
    order = in_order(tail[:, INSTANT])
    end = low
    held = np.int64(0)
    place = 0
    while place < len(order):
        instant = tail[order[place], INSTANT]
        change = index_change = np.int64(0)
        while place < len(order) and tail[order[place], INSTANT] == instant:
            change += tail[order[place], UNITS]
            index_change += tail[order[place], INDICES]
            place += 1
        if change != 0 or index_change != 0:
            held += change
            steps[end, INSTANT] = instant
            steps[end, UNITS] = change
            steps[end, INDICES] = index_change
            end += 1
            if cut and held >= units:
                break
    return end


@inlined
def take_children(pending: Ints, depth: int, host: int, children: int, end: int, counted: Ints) -> tuple[int, int]:
    """Take a host's children, who came last, off the stack of what is pending: its new depth, and where theirs begins.

    `pending[:depth]` is where each host's rows begin, `end` where the last one's end.
    """
    top = depth
    depth -= children
    for place in range(depth, top if host == 0 else depth):
        following = pending[place + 1] if place + 1 < top else end
        counted[LONGEST_TO_ROOT] = max(counted[LONGEST_TO_ROOT], following - pending[place])
    return depth, pending[depth] if children > 0 else end


@bare
def steps_of(offers: Ints, count: int, distinct: bool, steps: Ints, end: int) -> int:
    """Append the steps of `count` offers; return where they end."""
    for o in range(count):
        for side in range(2):
            sign = np.int64(1 - 2 * side)
            steps[end, INSTANT] = offers[o, TO] if side else offers[o, FROM]
            steps[end, UNITS] = sign * units_of(offers[o, INDEX], distinct)
            steps[end, INDICES] = sign * offers[o, INDEX]
            end += 1
    return end


@kernel
def sum_offers(
    rows: Rows, group: Ints, first_node: int, ready: Ints, boot: Ints, asks: Asks, held: Held, asked: Asked,
    respect: bool, kind: int, grain: int, seed: int, now: int, scratch: Scratch, out: Ints, units: Ints, cut: bool,
    distinct: bool, block: int, children: Ints, steps: Ints, offset: Ints, counted: Ints,
) -> int:  # fmt: skip
    """Write the steps of all nodes to ask i as `steps[offset[i]:offset[i+1]]`; return how many, or OUT_OF_SPACE.

    Virtual host h has the nodes `[h * block, (h + 1) * block)` and `children[h]` children, which all come after it;
    what they send is `counted`. `out` has room for the offers of a block; OUT_OF_SPACE means either.
    """
    pending = np.empty(len(children) + 1, dtype=np.int64)  # where the steps of what is not added up yet begin
    end = np.int64(0)
    offset[0] = 0
    for i in range(len(asks.job)):
        depth = 0
        for host in range(len(children) - 1, -1, -1):
            low, high = host * block, min((host + 1) * block, len(group))
            count = answer_one(
                rows, group, first_node, ready, boot, asks, i, held, asked, low, high, respect, kind, grain, seed, now,
                scratch, out, 0,
            )  # fmt: skip
            if count == OUT_OF_SPACE or end + 2 * count > len(steps):
                return OUT_OF_SPACE
            depth, begin = take_children(pending, depth, host, children[host], end, counted)
            end = add_up(steps, begin, steps_of(out, count, distinct, steps, end), units[i], cut)
            pending[depth] = begin
            depth += 1
            if host > 0:
                counted[SENT] += end - begin
        offset[i + 1] = end
    return end


@kernel
def choose_of_sums(
    steps: Ints, offset: Ints, units: Ints, policy: int, seed: int, job: Ints, draw_key: Ints, instants: Ints
) -> None:
    """Write the instant that the policy takes for each ask, or NONE."""
    for i in range(len(units)):
        mine = steps[offset[i] : offset[i + 1]]
        spans = np.empty((len(mine) + 1, 3), dtype=np.int64)
        count = 0
        held = index_sum = np.int64(0)
        for row in range(len(mine)):
            held += mine[row, UNITS]
            index_sum += mine[row, INDICES]
            if held >= units[i]:
                spans[count, 0] = mine[row, INSTANT]
                spans[count, 1] = mine[row + 1, INSTANT] if row + 1 < len(mine) else FOREVER
                spans[count, 2] = index_sum
                count += 1
                if policy == MIN_START:
                    break
        instants[i] = take_span(spans, count, policy, seed, job[i], draw_key[i]) if count else NONE
