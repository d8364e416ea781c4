"""Offers: what all nodes of a pool answer to a batch of asks, in one pass over their profiles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.fitting import ONE, Values, feasible_pieces, segment_of, slide
from dardis.kernels.jit import kernel
from dardis.kernels.profile import without
from dardis.kernels.rows import Ints, Rows
from dardis.kernels.starts import FIRST, generate, to_grid

NODE, FROM, TO, INDEX, FREE_FROM, FREE_TO = range(6)
"""Columns of an offer: node, first instant, instant after the last, fitting index (fixed point), and the bounds of
the time around it in which a unit fits without a break."""
OUT_OF_SPACE = -1
"""What `answer` says when it needs more rows for its offers; ask again then."""


class Asks(NamedTuple):
    """A batch of asks as arrays of shape (asks,), `request` (asks, kinds). A quota less than 0 asks for all runs."""

    job: Ints
    attempt: Ints
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


@kernel
def drawn_offers(
    time: Ints, value: Values, head: int, stop: int, asks: Asks, i: int, respect: bool, kind: int, grain: int, seed: int, global_node: int,
    pieces: Ints, found: int, queue: Ints, weights: Ints, chosen: Ints,
) -> int:  # fmt: skip
    """Choose what a node offers of its feasible pieces when it has a quota; return how many runs (see `starts`)."""
    first, last = asks.first[i], asks.last[i]
    quota = asks.quota[i]
    weight_pieces = pieces
    weight_count = found
    if kind != FIRST and respect:
        segment = segment_of(time, head, stop, first)
        weight_count = slide(
            time, value, segment, stop, first, last, asks.walltime[i], asks.request[i], respect, weights, 0,
            queue,
        )  # fmt: skip
        weight_count = to_grid(weights, weight_count, first, grain)
        weight_pieces = weights
    decay = grain / (last - first + 1)
    return generate(
        pieces, found, weight_pieces, weight_count, kind, quota, decay, seed, asks.job[i], asks.attempt[i], global_node,
        chosen,
    )  # fmt: skip


@kernel
def longest_row(rows: Rows) -> int:
    """The most breakpoints that any node has."""
    longest = np.int64(0)
    for node in range(len(rows.size)):
        longest = max(longest, rows.size[node])
    return longest


@kernel
def answer(
    rows: Rows,
    group: Ints,
    first_node: int,
    asks: Asks,
    held: Held,
    held_only: bool,
    respect: bool,
    kind: int,
    grain: int,
    seed: int,
    now: int,
    out: Ints,
    offset: Ints,
) -> int:
    """Write the offers to ask i as `out[offset[i]:offset[i+1]]`, nodes ascending; return their count or OUT_OF_…

    An ask's own reservation counts as free (such an ask must have no quota). Nothing is changed. With `held_only` only the nodes that hold it are asked.
    """
    space = longest_row(rows) + 4
    largest = np.int64(0)
    for i in range(len(asks.job)):
        largest = max(largest, asks.quota[i])
    pieces = np.empty((2 * space, 5), dtype=np.int64)
    weights = np.empty((2 * space, 5), dtype=np.int64)
    queue = np.empty((space, 2), dtype=np.int64)
    chosen = np.empty((max(2 * space, largest), 3), dtype=np.int64)
    heads, sizes, time, value = rows.head, rows.size, rows.time, rows.value
    free_time = np.empty(space, dtype=np.int64)
    free_value = np.empty((space, rows.value.shape[1]), dtype=rows.value.dtype)
    count = np.int64(0)
    offset[0] = 0
    for i in range(len(asks.job)):
        own = held.offset[i]
        own_end = held.offset[i + 1]
        request = asks.request[i]
        first, last, walltime = asks.first[i], asks.last[i], asks.walltime[i]
        quota, groups = asks.quota[i], asks.groups[i]
        total = own_end - own if held_only else np.int64(len(group))
        for step in range(total):
            node = held.node[own] if held_only else np.int64(step)
            mine = own < own_end and held.node[own] == node
            if (groups >> group[node]) & 1 == 0 or quota == 0:
                continue
            head = heads[node]
            stop = head + sizes[node]
            if mine:
                stop = without(
                    time, value, head, stop, held.start[i], held.end[i], request, held.units[own], free_time, free_value
                )
                found = feasible_pieces(
                    free_time, free_value, 0, stop, first, last, walltime, request, respect, now, pieces, queue
                )
                own += 1
            else:
                found = feasible_pieces(
                    time, value, head, stop, first, last, walltime, request, respect, now, pieces, queue
                )
            if grain > 1:
                found = to_grid(pieces, found, first, grain)
            else:
                for p in range(found):
                    pieces[p, 0] -= first
                    pieces[p, 1] -= first
            runs = found
            if quota > 0 and found > 0:
                runs = drawn_offers(
                    time, value, head, stop, asks, i, respect, kind, grain, seed, first_node + node, pieces, found,
                    queue, weights, chosen,
                )  # fmt: skip
            if count + runs > len(out):
                return OUT_OF_SPACE
            for r in range(runs):
                p = chosen[r, 2] if quota > 0 else np.int64(r)
                out[count, NODE] = first_node + node
                out[count, FROM] = chosen[r, 0] if quota > 0 else pieces[p, 0]
                out[count, TO] = chosen[r, 1] if quota > 0 else pieces[p, 1]
                out[count, INDEX] = pieces[p, 2]
                out[count, FREE_FROM] = pieces[p, 3]
                out[count, FREE_TO] = pieces[p, 4]
                count += 1
        offset[i + 1] = count
    return count
