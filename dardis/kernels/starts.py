"""Start-time generators: which of a node's feasible starts it offers (thesis 5.3.3 to 5.3.5 and 7.5).

Instants are counted on the window's grid: instant i is `first + i * grain`. An offer is a run of instants
`[from, to)` with one fitting index. Each generator writes rows (from, to, piece it lies in), ascending.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.chance import PURPOSE_START, below, draw_key, unit
from dardis.kernels.fitting import ONE
from dardis.kernels.jit import kernel
from dardis.kernels.rows import Ints

FIRST, UNIFORM, EXPONENTIAL = 0, 1, 2
"""Codes of the generators."""


@kernel
def to_grid(pieces: Ints, count: int, first: int, grain: int) -> int:
    """Turn starts in seconds (columns 0, 1) into instants of the grid; drop pieces without one. Return their count."""
    kept = 0
    for p in range(count):
        low = (pieces[p, 0] - first + grain - 1) // grain
        high = (pieces[p, 1] - first + grain - 1) // grain
        if low < high:
            for c in range(pieces.shape[1]):
                pieces[kept, c] = pieces[p, c]
            pieces[kept, 0] = low
            pieces[kept, 1] = high
            kept += 1
    return kept


@kernel
def offer_all(pieces: Ints, count: int, limit: int, chosen: Ints) -> int:
    """Offer the earliest `limit` instants (less than 0: all of them)."""
    rows = 0
    for p in range(count):
        if limit == 0:
            break
        length = pieces[p, 1] - pieces[p, 0]
        if 0 < limit < length:
            length = limit
        chosen[rows, 0] = pieces[p, 0]
        chosen[rows, 1] = pieces[p, 0] + length
        chosen[rows, 2] = p
        rows += 1
        if limit > 0:
            limit -= length
    return rows


@kernel
def drawn_instant(weights: Ints, count: int, kind: int, decay: float, key: int, counter: int) -> int:
    """Draw an instant with probability in proportion to index (uniform) or index · e^(−decay · instant) (exponential)."""
    if kind == UNIFORM:
        total = np.int64(0)
        for p in range(count):
            total += weights[p, 2] * (weights[p, 1] - weights[p, 0])
        place = below(key, counter, total)
        for p in range(count):
            mass = weights[p, 2] * (weights[p, 1] - weights[p, 0])
            if place < mass:
                return weights[p, 0] + place // weights[p, 2]
            place -= mass
        return weights[count - 1, 1] - 1
    whole = 0.0
    for p in range(count):
        whole += weights[p, 2] * (np.exp(-decay * weights[p, 0]) - np.exp(-decay * weights[p, 1]))
    rest = unit(key, counter) * whole
    for p in range(count):
        top = np.exp(-decay * weights[p, 0])
        part_mass = weights[p, 2] * (top - np.exp(-decay * weights[p, 1]))
        if rest < part_mass:
            instant = np.int64(np.floor(-np.log(top - rest / weights[p, 2]) / decay))
            return min(max(instant, weights[p, 0]), weights[p, 1] - 1)
        rest -= part_mass
    return weights[count - 1, 1] - 1


@kernel
def free_rank(next_free: Ints, rank: int) -> int:
    """Follow taken ranks to the next one that is free (cyclic), shortening the path."""
    root = rank
    while next_free[root] != root:
        root = next_free[root]
    while next_free[rank] != root:
        following = next_free[rank]
        next_free[rank] = root
        rank = following
    return root


@kernel
def offer_drawn(
    pieces: Ints,
    count: int,
    weights: Ints,
    weight_count: int,
    quota: int,
    kind: int,
    decay: float,
    key: int,
    chosen: Ints,
) -> int:
    """Draw `quota` different feasible instants; a draw that is infeasible or taken moves on to the next, cyclically.

    `weights` are all pieces with a positive index, `pieces` those with index >= 1, which hold more than `quota` instants.
    """
    feasible = np.int64(0)
    for p in range(count):
        feasible += pieces[p, 1] - pieces[p, 0]
    next_free = np.arange(feasible if quota > 1 else 0)
    ranks = np.empty(quota, dtype=np.int64)
    for d in range(quota):
        instant = drawn_instant(weights, weight_count, kind, decay, key, d)
        rank = np.int64(0)
        found = False
        for p in range(count):
            if instant < pieces[p, 1]:
                rank += max(instant - pieces[p, 0], 0)
                found = True
                break
            rank += pieces[p, 1] - pieces[p, 0]
        if not found:
            rank = 0
        if quota > 1:
            rank = free_rank(next_free, rank)
            next_free[rank] = rank + 1 if rank + 1 < feasible else 0
        ranks[d] = rank
    ranks.sort()
    rows = 0
    p = 0
    before = np.int64(0)
    for d in range(quota):
        while ranks[d] - before >= pieces[p, 1] - pieces[p, 0]:
            before += pieces[p, 1] - pieces[p, 0]
            p += 1
        instant = pieces[p, 0] + ranks[d] - before
        if rows > 0 and chosen[rows - 1, 1] == instant and chosen[rows - 1, 2] == p:
            chosen[rows - 1, 1] += 1
        else:
            chosen[rows, 0] = instant
            chosen[rows, 1] = instant + 1
            chosen[rows, 2] = p
            rows += 1
    return rows


@kernel
def instants_in(pieces: Ints, count: int) -> int:
    """How many instants the pieces hold."""
    total = np.int64(0)
    for p in range(count):
        total += pieces[p, 1] - pieces[p, 0]
    return total


@kernel
def generate(
    pieces: Ints,
    count: int,
    weights: Ints,
    weight_count: int,
    kind: int,
    quota: int,
    decay: float,
    seed: int,
    job: int,
    attempt: int,
    node: int,
    chosen: Ints,
) -> int:
    """Write the runs of instants that a node offers; `quota` less than 0 means all feasible ones."""
    if quota < 0 or instants_in(pieces, count) <= quota:
        return offer_all(pieces, count, -1, chosen)
    if kind == FIRST:
        return offer_all(pieces, count, quota, chosen)
    key = draw_key(seed, job, attempt, node, PURPOSE_START)
    return offer_drawn(pieces, count, weights, weight_count, quota, kind, decay, key, chosen)


__all__ = ["EXPONENTIAL", "FIRST", "ONE", "UNIFORM", "generate", "to_grid"]
