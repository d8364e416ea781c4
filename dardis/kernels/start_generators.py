"""Start-time generators of a node (thesis 5.3.3 to 5.3.5 and 7.5).

Instant i is `first + i * grain`. An offer is a run of instants `[from, to)` with one fitting index. Generators write
rows (from, to, piece), ascending.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.chance import draw_below, draw_unit
from dardis.kernels.jit import bare, inlined
from dardis.model.arrays import Ints
from dardis.model.offer_rows import FIRST, FROM, INDEX, TO, UNIFORM


class Draw(NamedTuple):
    """Generator code, most starts, exponential decay by instant, key."""

    kind: int
    quota: int
    decay: float
    key: int


@inlined
def to_grid(pieces: Ints, before: int, count: int, first: int, grain: int) -> int:
    """Convert starts in pieces from `before` on to instants; drop empty pieces."""
    if grain == 1:
        for p in range(before, count):
            pieces[p, FROM] -= first
            pieces[p, TO] -= first
        return count
    kept = before
    for p in range(before, count):
        low = (pieces[p, FROM] - first + grain - 1) // grain
        high = (pieces[p, TO] - first + grain - 1) // grain
        if low < high:
            for c in range(pieces.shape[1]):
                pieces[kept, c] = pieces[p, c]
            pieces[kept, FROM] = low
            pieces[kept, TO] = high
            kept += 1
    return kept


@bare
def offer_all(pieces: Ints, count: int, limit: int, chosen: Ints) -> int:
    """Offer the earliest `limit` instants (negative: all)."""
    rows = 0
    for p in range(count):
        if limit == 0:
            break
        length = pieces[p, TO] - pieces[p, FROM]
        if 0 < limit < length:
            length = limit
        chosen[rows, 0] = pieces[p, FROM]
        chosen[rows, 1] = pieces[p, FROM] + length
        chosen[rows, 2] = p
        rows += 1
        if limit > 0:
            limit -= length
    return rows


@bare
def drawn_instant(weights: Ints, count: int, draw: Draw, counter: int) -> int:
    """Draw an instant, weighted by index (uniform) or index · e^(−decay · instant) (exponential)."""
    key, decay = draw.key, draw.decay
    if draw.kind == UNIFORM:
        total = np.int64(0)
        for p in range(count):
            total += weights[p, INDEX] * (weights[p, TO] - weights[p, FROM])
        place = draw_below(key, counter, total)
        for p in range(count):
            mass = weights[p, INDEX] * (weights[p, TO] - weights[p, FROM])
            if place < mass:
                return weights[p, FROM] + place // weights[p, INDEX]
            place -= mass
        return weights[count - 1, TO] - 1
    whole = 0.0
    for p in range(count):
        whole += weights[p, INDEX] * (np.exp(-decay * weights[p, FROM]) - np.exp(-decay * weights[p, TO]))
    rest = draw_unit(key, counter) * whole
    for p in range(count):
        top = np.exp(-decay * weights[p, FROM])
        part_mass = weights[p, INDEX] * (top - np.exp(-decay * weights[p, TO]))
        if rest < part_mass:
            instant = np.int64(np.floor(-np.log(top - rest / weights[p, INDEX]) / decay))
            return min(max(instant, weights[p, FROM]), weights[p, TO] - 1)
        rest -= part_mass
    return weights[count - 1, TO] - 1


@bare
def free_rank(next_free: Ints, rank: int) -> int:
    """Next free rank (cyclic), and shorten the path."""
    root = rank
    while next_free[root] != root:
        root = next_free[root]
    while next_free[rank] != root:
        following = next_free[rank]
        next_free[rank] = root
        rank = following
    return root


@bare
def offer_drawn(
    pieces: Ints, count: int, weights: Ints, weight_count: int, draw: Draw, chosen: Ints, next_free: Ints
) -> int:
    """Draw distinct feasible instants; else move cyclically to the next.

    `weights`: pieces with a positive index; `pieces`: with at least 1. `next_free`: space for all.
    """
    quota = draw.quota
    feasible = np.int64(0)
    for p in range(count):
        feasible += pieces[p, TO] - pieces[p, FROM]
    for rank in range(feasible if quota > 1 else 0):
        next_free[rank] = rank
    rank = np.int64(0)
    for d in range(quota):
        instant = drawn_instant(weights, weight_count, draw, d)
        rank = np.int64(0)
        for p in range(count):
            if instant < pieces[p, TO]:
                rank += max(instant - pieces[p, FROM], 0)
                break
            rank += pieces[p, TO] - pieces[p, FROM]
        if rank == feasible:
            rank = np.int64(0)
        if quota > 1:
            rank = free_rank(next_free, rank)
            next_free[rank] = rank + 1 if rank + 1 < feasible else 0
    rows = 0
    p = 0
    before = np.int64(0)
    for taken in range(0 if quota > 1 else rank, feasible if quota > 1 else rank + 1):
        if quota > 1 and next_free[taken] == taken:
            continue
        while taken - before >= pieces[p, TO] - pieces[p, FROM]:
            before += pieces[p, TO] - pieces[p, FROM]
            p += 1
        instant = pieces[p, FROM] + taken - before
        if rows > 0 and chosen[rows - 1, 1] == instant and chosen[rows - 1, 2] == p:
            chosen[rows - 1, 1] += 1
        else:
            chosen[rows, 0] = instant
            chosen[rows, 1] = instant + 1
            chosen[rows, 2] = p
            rows += 1
    return rows


@bare
def instants_in(pieces: Ints, count: int) -> int:
    """Count the instants in the pieces."""
    total = np.int64(0)
    for p in range(count):
        total += pieces[p, TO] - pieces[p, FROM]
    return total


@bare
def generate(
    pieces: Ints, count: int, weights: Ints, weight_count: int, draw: Draw, chosen: Ints, next_free: Ints
) -> int:
    """Write the runs offered: up to the quota, or all."""
    if instants_in(pieces, count) <= draw.quota:
        return offer_all(pieces, count, np.int64(-1), chosen)
    if draw.kind == FIRST:
        return offer_all(pieces, count, draw.quota, chosen)
    return offer_drawn(pieces, count, weights, weight_count, draw, chosen, next_free)
