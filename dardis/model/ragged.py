"""Rows of different lengths that lie one after the other in one array: where they begin, and how to gather some."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dardis.model.arrays import Integers, Ints


def offsets_of(counts: Integers | Sequence[int]) -> Ints:
    """Where rows of these lengths begin, and where the last one ends, shape (rows + 1,)."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64, copy=False)


def indexes_of(first: Integers, counts: Integers) -> Ints:
    """The indexes `first[i]` to `first[i] + counts[i] - 1` of every row i, row after row."""
    offsets = offsets_of(counts)
    return np.repeat(first - offsets[:-1], counts) + np.arange(offsets[-1])
