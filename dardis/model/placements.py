"""On which nodes jobs are, with how many units: one array for all jobs, whose rows differ in length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dardis.model.arrays import Integers, Ints


@dataclass(frozen=True, slots=True)
class Placements:
    """Job i has `units[k]` units on `nodes[k]` for every k in `[offsets[i], offsets[i+1])`, ascending by node.

    `offsets` has shape (jobs + 1,), the others (placements,).
    """

    offsets: Ints
    nodes: Integers
    units: Integers

    @classmethod
    def none(cls, jobs: int) -> Placements:
        """So many jobs that are on no node."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(jobs + 1, dtype=np.int64), nothing, nothing)

    @classmethod
    def of_parts(cls, parts: Sequence[Placements]) -> Placements:
        """The jobs of all parts, at least one, part after part."""
        offsets = offsets_of(np.concatenate([part.counts for part in parts]))
        nodes, units = (np.concatenate(column) for column in zip(*((p.nodes, p.units) for p in parts), strict=True))
        return cls(offsets, nodes, units)

    @property
    def counts(self) -> Ints:
        """On how many nodes each job is, shape (jobs,)."""
        return np.diff(self.offsets)

    @property
    def job_of(self) -> Ints:
        """The place of the job that each placement is of, shape (placements,)."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.counts)

    @property
    def units_of_jobs(self) -> Ints:
        """Units of each whole job, shape (jobs,)."""
        return np.diff(offsets_of(self.units)[self.offsets])

    def of(self, job: int) -> tuple[Integers, Integers]:
        """The nodes of a job, and the units on each."""
        mine = slice(self.offsets[job], self.offsets[job + 1])
        return self.nodes[mine], self.units[mine]

    def blocks(self, first: int, last: int) -> tuple[Ints, Integers, Integers]:
        """Blocks of neighbours, by node number, that the jobs at `[first, last)` are on, ascending.

        Where those of each job begin, shape (jobs + 1,); the first node of each block, and its last, shape (blocks,).
        """
        edges = self.offsets[first : last + 1] - self.offsets[first]
        nodes = self.nodes[self.offsets[first] : self.offsets[last]]
        opens = np.ones(len(nodes), dtype=np.bool_)
        opens[1:] = np.diff(nodes) != 1
        opens[edges[:-1][edges[:-1] < len(nodes)]] = True
        closes = np.append(opens[1:], True)[: len(nodes)]
        return np.searchsorted(np.flatnonzero(opens), edges), nodes[opens], nodes[closes]

    def pairs(self, job: int) -> list[tuple[int, int]]:
        """The same as (node, units)."""
        nodes, units = self.of(job)
        return list(zip(nodes.tolist(), units.tolist(), strict=True))

    def take(self, jobs: Ints) -> Placements:
        """Those of some jobs, in this order, in numbers of 64 bits as kernels take them."""
        counts = self.counts[jobs]
        place = indexes_of(self.offsets[jobs], counts)
        return Placements(offsets_of(counts), self.nodes[place].astype(np.int64), self.units[place].astype(np.int64))

    def texts(self, first: int, last: int) -> list[str]:
        """Those of the jobs at `[first, last)` in writing (`0:1 1:1 7:2`), empty for a job that is on no node."""
        edges = self.offsets[first : last + 1]
        span = slice(edges[0], edges[-1])
        nodes, units = self.nodes[span], self.units[span]
        base = int(units.max(initial=0)) + 1
        keys = (nodes.astype(np.int64) * base + units).tolist()
        texts = {key: f"{key // base}:{key % base}" for key in set(keys)}  # few differ, on a machine used for long
        return joined_by_job([texts[key] for key in keys], edges - edges[0])


def joined_by_job(texts: list[str], edges: Ints) -> list[str]:
    """Texts `[edges[i], edges[i+1])` as one, with blanks between, for every i."""
    return [texts[a] if b - a == 1 else " ".join(texts[a:b]) for a, b in pairwise(edges.tolist())]


def offsets_of(counts: Integers | Sequence[int]) -> Ints:
    """Where rows of these lengths begin, and where the last one ends, shape (rows + 1,)."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64, copy=False)


def indexes_of(first: Integers, counts: Integers) -> Ints:
    """The indexes `first[i]` to `first[i] + counts[i] - 1` of every row i, row after row."""
    offsets = offsets_of(counts)
    return np.repeat(first - offsets[:-1], counts) + np.arange(offsets[-1])
