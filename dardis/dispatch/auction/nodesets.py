"""Nodesets (001, section 4): nodes side by side that all have cores free, and so much of what else a job asks for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.model.arrays import Bools, Ints


class Nodeset(NamedTuple):
    """The first and last node, what cores they have free together, and what each has of the other kinds at least."""

    first: int
    last: int
    cores: int
    others: tuple[int, ...]


def nodesets(free: Ints, levels: list[tuple[int, ...]]) -> list[Nodeset]:
    """All of them, by level and then by node: the longest runs of nodes with a core, and `levels[i]` of the others.

    `free` has shape (nodes, kinds); cores come first.
    """
    found = []
    for others in levels:
        holds = (free[:, 0] > 0) & (free[:, 1:] >= np.array(others, dtype=np.int64)).all(axis=1)
        found += [
            Nodeset(first, end - 1, int(free[first:end, 0].sum()), others)
            for first, end in zip(*runs(holds), strict=True)
        ]
    return found


def runs(holds: Bools) -> tuple[list[int], list[int]]:
    """The runs of nodes that hold something: the first node of each, and the one behind its last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]]))).tolist()
    return edges[::2], edges[1::2]
