"""Sets of node groups, as bit sets and as 64-bit codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from dardis.model.arrays import Bools, Ints
from dardis.model.errors import InputError

MAX_DIRECT: Final = 62
"""Up to this many groups, the code is the bit set."""
WORD_BITS: Final = 50
"""With more groups, a code has a word number above this bit and one bit below."""

MOST_KEPT: Final = 1 << 16


def bits_of(groups: Iterable[int]) -> int:
    """Bit set of group indices."""
    return sum(1 << group for group in {*groups})


class NodeSets:
    """Sets of node groups, and capacity of their empty nodes.

    A set is an integer with a bit per group. `member` (nodes, words): sets of each node by code.
    """

    def __init__(self, counts: Sequence[int], capacity: Ints, named: Iterable[int]) -> None:
        """`capacity` (groups, kinds): of a node. Above `MAX_DIRECT` groups, only `named` sets have codes."""
        self.counts: Ints = np.array(counts, dtype=np.int64)
        self.capacity = capacity
        self._known: dict[int, Ints] = {}
        self._nodes: dict[int, Bools] = {}
        self._count: dict[int, int] = {}
        self._spans: dict[int, tuple[Ints, Ints]] = {}
        self._most: dict[tuple[int, tuple[int, ...], bool], int] = {}
        self._codes: dict[int, int] | None = None
        self._last = -1, 0
        """Last set and code: hashing is slow."""
        words: Ints = 1 << np.arange(len(counts), dtype=np.int64)[:, None]
        if len(counts) > MAX_DIRECT:
            sets = dict.fromkeys(named)
            places = {one: divmod(place, WORD_BITS) for place, one in enumerate(sets)}
            self._codes = {one: word << WORD_BITS | 1 << bit for one, (word, bit) in places.items()}
            words = np.zeros((len(counts), -(-len(sets) // WORD_BITS)), dtype=np.int64)
            for one, (word, bit) in places.items():
                words[self.groups(one), word] |= 1 << bit
        self.member: Ints = np.ascontiguousarray(np.repeat(words, self.counts, axis=0))

    def with_counts(self, counts: Sequence[int]) -> NodeSets:
        """Same groups with other node counts."""
        return NodeSets(counts, self.capacity, self._codes or ())

    def code(self, bits: int) -> int:
        """Code of a set. Raises InputError for a set without a code."""
        if self._codes is None:
            return bits
        if bits is not self._last[0]:
            if bits not in self._codes:
                found = f"a job names {len(self.groups(bits)):,} of {len(self.counts):,} node groups"
                raise InputError("platform", found, f"those of partitions and queues, or at most {MAX_DIRECT} groups")
            self._last = bits, self._codes[bits]
            return self._codes[bits]
        return self._last[1]

    def groups(self, bits: int) -> Ints:
        """Groups of a set, ascending."""
        if bits not in self._known:
            octets = np.frombuffer(bits.to_bytes(len(self.counts) // 8 + 8, "little"), dtype=np.uint8)
            self._known[bits] = np.flatnonzero(np.unpackbits(octets, bitorder="little")[: len(self.counts)])
        return self._known[bits]

    def nodes(self, bits: int) -> Bools:
        """Membership of nodes in a set, (nodes,)."""
        if bits not in self._nodes:
            inside = np.zeros(len(self.counts), dtype=bool)
            inside[self.groups(bits)] = True
            self._nodes[bits] = np.repeat(inside, self.counts)
            self._nodes[bits].flags.writeable = False
        return self._nodes[bits]

    def able(self, bits: int, request: Sequence[int]) -> int:
        """Groups of a set with empty nodes that hold a unit of `request`."""
        groups = self.groups(bits)
        holds = (self.capacity[groups] >= np.array(request, dtype=np.int64)).all(axis=1)
        return bits_of(groups[holds & (self.counts[groups] > 0)].tolist())

    def count(self, bits: int) -> int:
        """Number of nodes of a set."""
        if bits not in self._count:
            self._count[bits] = int(self.counts[self.groups(bits)].sum())
        return self._count[bits]

    def spans(self, bits: int) -> tuple[Ints, Ints]:
        """First node of each span of a set, and cumulative node counts."""
        if bits not in self._spans:
            edges = np.diff(self.nodes(bits), prepend=False, append=False).nonzero()[0]
            self._spans[bits] = edges[::2].copy(), np.cumsum(edges[1::2] - edges[::2])
        return self._spans[bits]

    def most_units(self, bits: int, request: tuple[int, ...], *, distinct: bool) -> int:
        """Number of units on the empty nodes of a set, at most one per node if `distinct`."""
        key = bits, request, distinct
        if key not in self._most:
            if len(self._most) >= MOST_KEPT:
                self._most.clear()
            groups = self.groups(bits)
            fit = units_in(self.capacity[groups], request)
            self._most[key] = int(self.counts[groups] @ (np.minimum(fit, 1) if distinct else fit))
        return self._most[key]


def units_in(capacity: Ints, request: Sequence[int]) -> Ints:
    """Number of units of `request` (kinds,) in each row of `capacity` (rows, kinds), shape (rows,)."""
    asked = np.array(request, dtype=np.int64)
    kinds = asked > 0
    return np.asarray((capacity[:, kinds] // asked[kinds]).min(axis=1))
