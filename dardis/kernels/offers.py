"""Offers: what all nodes of a pool answer to a batch of asks, in one pass over their profiles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.fitting import (
    FROM,
    NODE,
    TO,
    Values,
    constant_piece,
    feasible_pieces,
    segment_of,
    slide,
)
from dardis.kernels.jit import bare, inlined
from dardis.kernels.profile import without
from dardis.kernels.rows import Rows, forget_before
from dardis.kernels.starts import FIRST, generate, to_grid
from dardis.model.arrays import Ints

OUT_OF_SPACE = -1
"""What `answer` says when it needs more rows for its offers; ask again then."""


class Asks(NamedTuple):
    """A batch of asks as arrays of shape (asks,), `request` (asks, kinds). A quota less than 0 asks for all runs."""

    job: Ints
    draw_key: Ints
    first: Ints
    last: Ints
    walltime: Ints
    quota: Ints
    groups: Ints
    request: Ints


class Held(NamedTuple):
    """What the asking jobs hold in this pool already and may use again: nodes `[offset[i], offset[i+1])`, ascending."""

    offset: Ints
    node: Ints
    units: Ints
    start: Ints
    end: Ints


class Asked(NamedTuple):
    """Which nodes of the pool ask i is for: `node[offset[i]:offset[i+1]]`, ascending; without offsets all of them.

    `needed[i]` says that the job can't do without any of these: they offer nothing around the starts that not all of
    them have.
    """

    offset: Ints
    node: Ints
    needed: Ints


class Scratch(NamedTuple):
    """Room that `answer` works in; what it holds between calls means nothing."""

    pieces: Ints
    weights: Ints
    queue: Ints
    chosen: Ints
    next_free: Ints
    time: Ints
    value: Values


def make_scratch(longest: int, rows: Rows, quota: int, instants: int) -> Scratch:
    """Return room for profiles of up to `longest` breakpoints, and for drawing `quota` of `instants` start times."""
    longest += 4
    return Scratch(
        np.empty((2 * longest, 6), dtype=np.int64),
        np.empty((2 * longest, 6), dtype=np.int64),
        np.empty((longest, 2), dtype=np.int64),
        np.empty((max(2 * longest, quota), 3), dtype=np.int64),
        np.empty(instants if quota > 1 else 1, dtype=np.int64),
        np.empty(longest, dtype=np.int64),
        np.empty((longest, rows.value.shape[1]), dtype=rows.value.dtype),
    )


@bare
def drawn_offers(
    time: Ints, value: Values, head: int, stop: int, asks: Asks, i: int, soonest: int, respect: bool, kind: int,
    grain: int, seed: int, global_node: int, out: Ints, before: int, count: int, scratch: Scratch,
) -> int:  # fmt: skip
    """Replace a node's feasible pieces `out[before:count]` by the runs that it offers of them; return the new count."""
    first, last = asks.first[i], asks.last[i]
    pieces, weights, queue, chosen, next_free = (
        scratch.pieces, scratch.weights, scratch.queue, scratch.chosen, scratch.next_free
    )  # fmt: skip
    found = count - before
    for p in range(found):
        for c in range(pieces.shape[1]):
            pieces[p, c] = out[before + p, c]
    weight_pieces = pieces
    weight_count = found
    if kind != FIRST and respect:
        segment = segment_of(time, head, stop, soonest)
        weight_count = slide(
            time, value, segment, stop, soonest, last, asks.walltime[i], asks.request[i], respect, weights, 0, queue
        )
        weight_count = to_grid(weights, 0, weight_count, first, grain)
        weight_pieces = weights
    decay = grain / (last - first + 1)
    runs = generate(
        pieces, found, weight_pieces, weight_count, kind, asks.quota[i], decay, seed, asks.job[i], asks.draw_key[i],
        global_node, chosen, next_free,
    )  # fmt: skip
    for r in range(runs):
        for c in range(pieces.shape[1]):
            out[before + r, c] = pieces[chosen[r, 2], c]
        out[before + r, FROM] = chosen[r, 0]
        out[before + r, TO] = chosen[r, 1]
    return before + runs


@inlined
def up_from(ready: Ints, boot: Ints, node: int, now: int) -> int:
    """When the node is up at the soonest: `now` if it is."""
    return max(now + boot[node], ready[node]) if len(ready) > 0 else now


@inlined
def offers_of_node(
    rows: Rows, node: int, first_node: int, up: int, mine: bool, own: int, asks: Asks, i: int, held: Held,
    respect: bool, kind: int, grain: int, seed: int, now: int, scratch: Scratch, out: Ints, before: int,
) -> int:  # fmt: skip
    """Append what a node offers to ask i, which holds entry `own` of `held` there if it is `mine`; the new count."""
    time, value, queue = rows.time, rows.value, scratch.queue
    free_time, free_value = scratch.time, scratch.value
    request = asks.request[i]
    first, last, walltime, quota = asks.first[i], asks.last[i], asks.walltime[i], asks.quota[i]
    soonest = max(first, up) if up > now else first
    forget_before(rows, node, now)
    head = rows.head[node]
    stop = head + rows.size[node]
    if before + max(2 * (stop - head) + 4, quota if kind != FIRST else 0) > len(out):
        return OUT_OF_SPACE
    if mine:
        stop = without(
            time, value, head, stop, held.start[i], held.end[i], request, held.units[own], free_time, free_value
        )
        count = feasible_pieces(
            free_time, free_value, 0, stop, soonest, last, walltime, request, respect, up, out, before, queue
        )
    elif stop - head > 1:
        count = feasible_pieces(
            time, value, head, stop, soonest, last, walltime, request, respect, up, out, before, queue
        )
    else:
        count = constant_piece(time, value, head, soonest, last, request, respect, up, out, before)
    if quota > 0 or grain > 1:
        count = to_grid(out, before, count, first, grain)
    if quota > 0 and count > before:
        count = drawn_offers(
            time, value, head, stop, asks, i, soonest, respect, kind, grain, seed, first_node + node, out, before,
            count, scratch,
        )  # fmt: skip
    # The usual case has no grid but seconds: instants are starts less the first.
    shift = first if quota < 0 and grain == 1 else 0
    for row in range(before, count):
        out[row, NODE] = first_node + node
        out[row, FROM] -= shift
        out[row, TO] -= shift
    return count


@bare
def answer_one(
    rows: Rows, group: Ints, first_node: int, ready: Ints, boot: Ints, asks: Asks, i: int, held: Held, asked: Asked,
    low: int, high: int, respect: bool, kind: int, grain: int, seed: int, now: int, scratch: Scratch, out: Ints,
    before: int,
) -> int:  # fmt: skip
    """Append the offers of the nodes `[low, high)` to ask i, nodes ascending, to the first `before` rows of `out`.

    Returns how many there are then, or OUT_OF_SPACE. The other arguments are those of `answer`.
    """
    own, own_end = held.offset[i], held.offset[i + 1]
    listed = len(asked.offset) > 0
    step = asked.offset[i] if listed else np.int64(low)
    stop = asked.offset[i + 1] if listed else np.int64(high)
    if asks.quota[i] == 0:
        stop = step
    needs_all = listed and len(asked.needed) > 0 and asked.needed[i] != 0 and asks.quota[i] < 0
    common = np.int64(-1)
    count = np.int64(before)
    while step < stop:
        node = asked.node[step] if listed else step
        step += 1
        while own < own_end and held.node[own] < node:
            own += 1
        begun = count
        up = up_from(ready, boot, node, now)
        if (asks.groups[i] >> group[node]) & 1 and (up <= now or up <= asks.last[i]):
            mine = own < own_end and held.node[own] == node
            count = offers_of_node(
                rows, node, first_node, up, mine, own, asks, i, held, respect, kind, grain, seed, now, scratch, out,
                begun,
            )  # fmt: skip
            if count == OUT_OF_SPACE:
                return OUT_OF_SPACE
        if needs_all:
            common = meet(scratch.weights, common, out, begun, count)
            if common == 0:
                return before
            needs_all = common > 0
    return keep_common(scratch.weights, common, out, before, count) if needs_all else count


@bare
def keep_common(spans: Ints, common: int, offers: Ints, low: int, high: int) -> int:
    """Keep of the offers `[low, high)` those that have an instant in one of `common` ascending spans; the new end."""
    kept = np.int64(low)
    for row in range(low, high):
        span = np.int64(0)
        while span < common and spans[span, 1] <= offers[row, FROM]:
            span += 1
        if span < common and spans[span, 0] < offers[row, TO]:
            for column in range(offers.shape[1]):
                offers[kept, column] = offers[row, column]
            kept += 1
    return kept


@bare
def meet(spans: Ints, common: int, offers: Ints, low: int, high: int) -> int:
    """Keep of `common` spans (columns 0 and 1) what the offers `[low, high)` of a node have, too; return how many.

    With -1 spans it is all that the node offers. Answers -1 where there is not enough room.
    """
    if common + high - low + 1 > len(spans):
        return -1
    found = np.int64(0)
    if common < 0:
        for row in range(low, high):
            spans[found, 0] = offers[row, FROM]
            spans[found, 1] = offers[row, TO]
            found += 1
        return found
    span, row = np.int64(0), np.int64(low)
    while span < common and row < high:
        begin = max(spans[span, 0], offers[row, FROM])
        end = min(spans[span, 1], offers[row, TO])
        if begin < end:
            spans[found, 2] = begin
            spans[found, 3] = end
            found += 1
        if spans[span, 1] < offers[row, TO]:
            span += 1
        else:
            row += 1
    for span in range(found):
        spans[span, 0] = spans[span, 2]
        spans[span, 1] = spans[span, 3]
    return found


@bare
def answer(
    rows: Rows,
    group: Ints,
    first_node: int,
    ready: Ints,
    boot: Ints,
    asks: Asks,
    held: Held,
    asked: Asked,
    respect: bool,
    kind: int,
    grain: int,
    seed: int,
    now: int,
    scratch: Scratch,
    out: Ints,
    offset: Ints,
) -> int:
    """Write the offers to ask i as `out[offset[i]:offset[i+1]]`, nodes ascending; return their count or OUT_OF_SPACE.

    An ask's own reservation counts as free (such an ask must have no quota). Nothing is changed but that
    the past is forgotten.

    A node offers nothing before `ready[node]`, nor before it has been booted from now on, which takes `boot[node]` s
    (0 where it is not off). Both are empty where all nodes are up.
    """
    count = np.int64(0)
    offset[0] = 0
    for i in range(len(asks.job)):
        count = answer_one(
            rows, group, first_node, ready, boot, asks, i, held, asked, 0, len(group), respect, kind, grain, seed, now,
            scratch, out, count,
        )  # fmt: skip
        if count == OUT_OF_SPACE:
            return OUT_OF_SPACE
        offset[i + 1] = count
    return count
