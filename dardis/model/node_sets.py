"""Which nodes a job may use: sets of node groups as bit sets, and as codes of 64 bits for kernels and messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from dardis.model.arrays import Bools, Ints
from dardis.model.errors import InputError

MAX_DIRECT: Final = 62
"""With up to so many node groups the code of a set is its bit set: it fits a signed integer of 64 bits."""
WORD_BITS: Final = 50
"""With more groups a code names one set: the number of a word above so many bits, one bit of this word below."""

MOST_KEPT: Final = 1 << 16
"""Answers that are kept."""


def bits_of(groups: Iterable[int]) -> int:
    """The bit set of groups by their indices."""
    return sum(1 << group for group in {*groups})


class NodeSets:
    """The sets of node groups that jobs may be confined to, and what their empty nodes hold.

    A set is a bit set of groups: a Python integer with a bit for each group, however many there are. `member` (nodes,
    words) says for each node in which sets it is: `dardis.kernels.fitting` looks there for a code.
    """

    def __init__(self, counts: Sequence[int], capacity: Ints, named: Iterable[int]) -> None:
        """Of groups of so many nodes, each of which holds `capacity` (groups, kinds).

        With more than `MAX_DIRECT` groups only the sets that are `named` have a code.
        """
        self.counts: Ints = np.array(counts, dtype=np.int64)
        self.capacity = capacity
        self._known: dict[int, Ints] = {}
        self._nodes: dict[int, Bools] = {}
        self._count: dict[int, int] = {}
        self._spans: dict[int, tuple[Ints, Ints]] = {}
        self._most: dict[tuple[int, tuple[int, ...], bool], int] = {}
        self._codes: dict[int, int] | None = None
        self._last = -1, 0
        """The last set that was asked for, and its code: to hash a set of thousands of bits takes a microsecond."""
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
        """The same groups with other numbers of nodes."""
        return NodeSets(counts, self.capacity, self._codes or ())

    def code(self, bits: int) -> int:
        """The code of a set. InputError: the machine has more than `MAX_DIRECT` groups and does not name this set."""
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
        """The groups of a set, ascending."""
        if bits not in self._known:
            octets = np.frombuffer(bits.to_bytes(len(self.counts) // 8 + 8, "little"), dtype=np.uint8)
            self._known[bits] = np.flatnonzero(np.unpackbits(octets, bitorder="little")[: len(self.counts)])
        return self._known[bits]

    def nodes(self, bits: int) -> Bools:
        """Which nodes are of a set, shape (nodes,)."""
        if bits not in self._nodes:
            inside = np.zeros(len(self.counts), dtype=bool)
            inside[self.groups(bits)] = True
            self._nodes[bits] = np.repeat(inside, self.counts)
            self._nodes[bits].flags.writeable = False
        return self._nodes[bits]

    def able(self, bits: int, request: Sequence[int]) -> int:
        """The part of a set whose empty nodes hold a unit that asks for `request`."""
        groups = self.groups(bits)
        holds = (self.capacity[groups] >= np.array(request, dtype=np.int64)).all(axis=1)
        return bits_of(groups[holds & (self.counts[groups] > 0)].tolist())

    def count(self, bits: int) -> int:
        """How many nodes a set has."""
        if bits not in self._count:
            self._count[bits] = int(self.counts[self.groups(bits)].sum())
        return self._count[bits]

    def spans(self, bits: int) -> tuple[Ints, Ints]:
        """The nodes of a set as spans: the first node of each, and how many nodes it and those before it have."""
        if bits not in self._spans:
            edges = np.diff(self.nodes(bits), prepend=False, append=False).nonzero()[0]
            self._spans[bits] = edges[::2].copy(), np.cumsum(edges[1::2] - edges[::2])
        return self._spans[bits]

    def most_units(self, bits: int, request: tuple[int, ...], *, distinct: bool) -> int:
        """How many units that ask for `request` each the empty nodes of a set hold; if `distinct`, one a node."""
        key = bits, request, distinct
        if key not in self._most:
            if len(self._most) >= MOST_KEPT:
                self._most.clear()
            groups = self.groups(bits)
            fit = units_in(self.capacity[groups], request)
            self._most[key] = int(self.counts[groups] @ (np.minimum(fit, 1) if distinct else fit))
        return self._most[key]


def units_in(capacity: Ints, request: Sequence[int]) -> Ints:
    """How many units that ask for `request` (kinds,) each row of `capacity` (rows, kinds) holds, shape (rows,)."""
    asked = np.array(request, dtype=np.int64)
    kinds = asked > 0
    return np.asarray((capacity[:, kinds] // asked[kinds]).min(axis=1))
