"""Placement of jobs on nodes in flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dardis.model.arrays import Integers, Ints


@dataclass(frozen=True, slots=True)
class Placements:
    """Job i has `units[k]` units on `nodes[k]` for k in `[offsets[i], offsets[i+1])`, ascending by node.

    `offsets`: (jobs + 1,), the others (placements,).
    """

    offsets: Ints
    nodes: Integers
    units: Integers

    @classmethod
    def none(cls, jobs: int) -> Placements:
        """Jobs without nodes."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(jobs + 1, dtype=np.int64), nothing, nothing)

    @classmethod
    def of_parts(cls, parts: Sequence[Placements]) -> Placements:
        """Concatenate at least one part."""
        offsets = offsets_of(np.concatenate([part.counts for part in parts]))
        nodes, units = (np.concatenate(column) for column in zip(*((p.nodes, p.units) for p in parts), strict=True))
        return cls(offsets, nodes, units)

    @property
    def counts(self) -> Ints:
        """Number of nodes per job, (jobs,)."""
        return np.diff(self.offsets)

    @property
    def job_of(self) -> Ints:
        """Job index per placement, (placements,)."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.counts)

    @property
    def units_of_jobs(self) -> Ints:
        """Total units per job, (jobs,)."""
        return np.diff(offsets_of(self.units)[self.offsets])

    def of(self, job: int) -> tuple[Integers, Integers]:
        """Nodes and units of a job."""
        mine = slice(self.offsets[job], self.offsets[job + 1])
        return self.nodes[mine], self.units[mine]

    def blocks(self, first: int, last: int) -> tuple[Ints, Integers, Integers]:
        """Blocks of adjacent nodes for jobs `[first, last)`.

        Returns offsets, (jobs + 1,), and first and last nodes, (blocks,).
        """
        edges = self.offsets[first : last + 1] - self.offsets[first]
        nodes = self.nodes[self.offsets[first] : self.offsets[last]]
        opens = np.ones(len(nodes), dtype=np.bool_)
        opens[1:] = np.diff(nodes) != 1
        opens[edges[:-1][edges[:-1] < len(nodes)]] = True
        closes = np.append(opens[1:], True)[: len(nodes)]
        return np.searchsorted(np.flatnonzero(opens), edges), nodes[opens], nodes[closes]

    def pairs(self, job: int) -> list[tuple[int, int]]:
        """(node, units) pairs of a job."""
        nodes, units = self.of(job)
        return list(zip(nodes.tolist(), units.tolist(), strict=True))

    def take(self, jobs: Ints) -> Placements:
        """Select jobs in order, as 64-bit integers for kernels."""
        counts = self.counts[jobs]
        place = indexes_of(self.offsets[jobs], counts)
        return Placements(offsets_of(counts), self.nodes[place].astype(np.int64), self.units[place].astype(np.int64))

    def texts(self, first: int, last: int) -> list[str]:
        """Format jobs `[first, last)` as `0:1 1:1 7:2`; empty without nodes."""
        edges = self.offsets[first : last + 1]
        span = slice(edges[0], edges[-1])
        nodes, units = self.nodes[span], self.units[span]
        base = int(units.max(initial=0)) + 1
        keys = (nodes.astype(np.int64) * base + units).tolist()
        texts = {key: f"{key // base}:{key % base}" for key in set(keys)}  # few distinct keys on a long-used machine
        return joined_by_job([texts[key] for key in keys], edges - edges[0])


def joined_by_job(texts: list[str], edges: Ints) -> list[str]:
    """Join texts `[edges[i], edges[i+1])` with blanks."""
    return [texts[a] if b - a == 1 else " ".join(texts[a:b]) for a, b in pairwise(edges.tolist())]


def offsets_of(counts: Integers | Sequence[int]) -> Ints:
    """Offsets of rows with these lengths, (rows + 1,)."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64, copy=False)


def indexes_of(first: Integers, counts: Integers) -> Ints:
    """Concatenate indices `first[i]` to `first[i] + counts[i] - 1`."""
    offsets = offsets_of(counts)
    return np.repeat(first - offsets[:-1], counts) + np.arange(offsets[-1])
