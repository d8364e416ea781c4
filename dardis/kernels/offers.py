"""Offers of a pool's nodes to a batch of asks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.chance import PURPOSE_START, draw_key
from dardis.kernels.fitting import (
    Profile,
    StartWindow,
    Values,
    constant_piece,
    feasible_pieces,
    may_use,
    segment_of,
    slide,
)
from dardis.kernels.jit import Fields, bare, inlined
from dardis.kernels.profile import without
from dardis.kernels.rows import Rows, forget_before
from dardis.kernels.start_generators import Draw, generate, to_grid
from dardis.model.arrays import Ints
from dardis.model.offer_rows import FIRST, FROM, NODE, OFFER_COLUMNS, TO, QueryArrays

OUT_OF_SPACE = -1
"""Result: enlarge `out` and call again."""


class Nodes(NamedTuple):
    """Pool's nodes: profiles, node sets, first number.

    Offers begin after `ready[node]`, and a boot of `boot[node]` s from now; empty if all nodes are up.
    """

    rows: Rows
    member: Ints
    first: int
    ready: Ints
    boot: Ints


class HeldReservations(NamedTuple):
    """Reservations of the asking jobs, free for reuse: nodes `[offset[i], offset[i+1])`, ascending."""

    offset: Ints
    node: Ints
    units: Ints
    start: Ints
    end: Ints


class QueriedNodes(NamedTuple):
    """Asked nodes: `node[offset[i]:offset[i+1]]`, ascending; without offsets, all.

    `needed[i]`: offer only common starts.
    """

    offset: Ints
    node: Ints
    needed: Ints


class QueryBatch(NamedTuple):
    """Asks of one call."""

    asks: QueryArrays
    held: HeldReservations
    queried: QueriedNodes


class OfferRules(NamedTuple):
    """Desired profile binds, generator code, grid in s, seed."""

    binds: bool
    kind: int
    grain: int
    seed: int


class Scratch(NamedTuple):
    """Work space of `write_offers`."""

    pieces: Ints
    weights: Ints
    queue: Ints
    chosen: Ints
    next_free: Ints
    time: Ints
    value: Values


class OfferTask(NamedTuple):
    """Batch of asks at a time, work space, offers, ends of each ask's offers."""

    nodes: Nodes
    batch: QueryBatch
    rules: OfferRules
    now: int
    scratch: Scratch
    out: Ints
    offset: Ints


def make_scratch(longest: int, rows: Rows, quota: int, instants: int) -> Scratch:
    """Work space for profiles of `longest` breakpoints and `quota` draws of `instants` starts."""
    longest += 4
    return Scratch(
        np.empty((2 * longest, OFFER_COLUMNS), dtype=np.int64),
        np.empty((2 * longest, OFFER_COLUMNS), dtype=np.int64),
        np.empty((longest, 2), dtype=np.int64),
        np.empty((max(2 * longest, quota), 3), dtype=np.int64),
        np.empty(instants if quota > 1 else 1, dtype=np.int64),
        np.empty(longest, dtype=np.int64),
        np.empty((longest, rows.value.shape[1]), dtype=rows.value.dtype),
    )


@bare
def drawn_offers(
    profile: Profile, wanted: StartWindow, draw: Draw, first: int, grain: int, scratch: Scratch, out: Ints, before: int,
    count: int,
) -> int:  # fmt: skip
    """Replace the feasible pieces `out[before:count]` with the runs offered."""
    pieces, weights, chosen = scratch.pieces, scratch.weights, scratch.chosen
    found = count - before
    for p in range(found):
        for c in range(pieces.shape[1]):
            pieces[p, c] = out[before + p, c]
    weight_pieces = pieces
    weight_count = found
    if draw.kind != FIRST and wanted.binds:
        around = Profile(profile.time, profile.value, segment_of(profile, wanted.first), profile.stop)
        weight_count = slide(around, wanted, weights, np.int64(0), scratch.queue)
        weight_count = to_grid(weights, np.int64(0), weight_count, first, grain)
        weight_pieces = weights
    runs = generate(pieces, found, weight_pieces, weight_count, draw, chosen, scratch.next_free)
    for r in range(runs):
        for c in range(pieces.shape[1]):
            out[before + r, c] = pieces[chosen[r, 2], c]
        out[before + r, FROM] = chosen[r, 0]
        out[before + r, TO] = chosen[r, 1]
    return before + runs


@inlined
def up_from(nodes: Nodes, node: int, now: int) -> int:
    """When the node is up."""
    return max(now + nodes.boot[node], nodes.ready[node]) if len(nodes.ready) > 0 else now


@inlined
def may_run(question: OfferTask, i: int, node: int, up: int) -> bool:
    """Whether a node may run ask i's job, and is up in time."""
    asks = question.batch.asks
    return may_use(question.nodes.member, node, asks.groups[i]) and (up <= question.now or up <= asks.last[i])


@inlined
def offers_of_node(question: OfferTask, i: int, node: int, up: int, mine: int, before: int) -> int:
    """Append a node's offers to ask i.

    `mine`: the job's entry in `held` (negative: none).
    """
    nodes, rules, now, scratch, out = question.nodes, question.rules, question.now, question.scratch, question.out
    rows, asks, held = nodes.rows, question.batch.asks, question.batch.held
    first, last, walltime, quota = asks.first[i], asks.last[i], asks.walltime[i], asks.quota[i]
    wanted = StartWindow(max(first, up) if up > now else first, last, walltime, asks.request[i], rules.binds)
    forget_before(rows, node, now)
    head = rows.head[node]
    profile = Profile(rows.time, rows.value, head, head + rows.size[node])
    if before + max(2 * rows.size[node] + 4, quota if rules.kind != FIRST else 0) > len(out):
        return OUT_OF_SPACE
    if mine >= 0:
        stop = without(
            profile, held.start[i], held.end[i], wanted.request, held.units[mine], scratch.time, scratch.value
        )
        count = feasible_pieces(
            Profile(scratch.time, scratch.value, 0, stop), wanted, up, out, before, scratch.queue
        )  # fmt: skip
    elif rows.size[node] > 1:
        count = feasible_pieces(profile, wanted, up, out, before, scratch.queue)
    else:
        count = constant_piece(profile, wanted, up, out, before)
    if quota > 0 or rules.grain > 1:
        count = to_grid(out, before, count, first, rules.grain)
    if quota > 0 and count > before:
        key = draw_key(rules.seed, asks.job[i], asks.draw_key[i], nodes.first + node, PURPOSE_START)
        draw = Draw(rules.kind, quota, rules.grain / (last - first + 1), key)
        count = drawn_offers(profile, wanted, draw, first, rules.grain, scratch, out, before, count)
    # Usually the grid is 1 s: instants are starts minus the first.
    shift = first if quota < 0 and rules.grain == 1 else 0
    for row in range(before, count):
        out[row, NODE] = nodes.first + node
        out[row, FROM] -= shift
        out[row, TO] -= shift
    return count


@bare
def append_offers(question: OfferTask, i: int, low: int, high: int, before: int) -> int:
    """Append offers of the nodes `[low, high)` to ask i; return the new count or OUT_OF_SPACE."""
    nodes, now, scratch, out = question.nodes, question.now, question.scratch, question.out
    asks, held, asked = question.batch
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
        up = up_from(nodes, node, now)
        if may_run(question, i, node, up):
            mine = own if own < own_end and held.node[own] == node else np.int64(-1)
            count = offers_of_node(question, i, node, up, mine, begun)
            if count == OUT_OF_SPACE:
                return OUT_OF_SPACE
        if needs_all:
            common = intersect_spans(scratch.weights, common, out, begun, count)
            if common == 0:
                return before
            needs_all = common > 0
    return keep_common(scratch.weights, common, out, before, count) if needs_all else count


@bare
def keep_common(spans: Ints, common: int, offers: Ints, low: int, high: int) -> int:
    """Keep offers in `[low, high)` that meet one of `common` spans."""
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
def intersect_spans(spans: Ints, common: int, offers: Ints, low: int, high: int) -> int:
    """Intersect `common` with the offers `[low, high)`; return the number of spans, or -1 if space is short.

    -1 spans: copy the offers.
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
def write_offers(question: OfferTask) -> int:
    """Write the offers to ask i as `out[offset[i]:offset[i+1]]`; return their count or OUT_OF_SPACE.

    An ask's reservation counts as free, and excludes a quota.
    """
    count = np.int64(0)
    question.offset[0] = 0
    for i in range(len(question.batch.asks.job)):
        count = append_offers(question, i, np.int64(0), len(question.nodes.member), count)
        if count == OUT_OF_SPACE:
            return OUT_OF_SPACE
        question.offset[i + 1] = count
    return count


@bare
def _write_offers(
    nodes: Fields, batch: Fields, rules: Fields, now: int, scratch: Fields, out: Ints, offset: Ints
) -> int:
    (rows, member, first, ready, boot), (asks, held, asked) = nodes, batch
    return write_offers(
        OfferTask(
            Nodes(Rows(*rows), member, first, ready, boot),
            QueryBatch(QueryArrays(*asks), HeldReservations(*held), QueriedNodes(*asked)),
            OfferRules(*rules), now, Scratch(*scratch), out, offset,
        )
    )  # fmt: skip


def run_write_offers(question: OfferTask) -> int:
    """Run `write_offers` from Python."""
    # Plain tuples enter Numba in 2 µs, named tuples in 6: half of an ask to one node.
    nodes, (asks, held, asked), rules, now, scratch, out, offset = question
    plain = tuple(asks), tuple(held), tuple(asked)
    return _write_offers((tuple(nodes.rows), *nodes[1:]), plain, tuple(rules), now, tuple(scratch), out, offset)
