"""Does a `jobs.csv` say the same in all its columns? Those that follow from others are worked out anew."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from dardis.metrics import columns
from dardis.metrics.cores import cores_asked, cores_on_nodes
from dardis.metrics.job_rules import Found, Violation
from dardis.metrics.table import Block, Value, derived
from dardis.model.arrays import Ints

_TOLERANCE: Final = 1e-5
"""Relative difference that a stretch may have: other writers round it to six digits."""


def contradictions(block: Block, first_core: Ints | None = None) -> Iterator[Found]:
    """The values of derived columns that disagree with the others of their rows, by row of the block.

    `first_core` is each node's (`metrics.cores.first_cores`) where resources are cores; None: they are nodes.
    """
    numbers = block.schedule.number
    right = derived(block.schedule, 0, len(numbers))
    if first_core is not None:
        del right[columns.ALLOCATED]
    wrong_cores = {} if first_core is None else dict(_wrong_cores(block, first_core))
    checks = [(name, block.names.index(name), values) for name, values in right.items() if name in block.names]
    for index, row in enumerate(block.rows):
        if index in wrong_cores:
            yield index, wrong_cores[index]
        for name, place, values in checks:
            if not _agree(row[place], values[index]):
                text = f"{name} is {row[place]!r}, yet the other columns make it {_text(values[index])!r}"
                yield index, Violation(int(numbers[index]), None, None, text)


def _wrong_cores(block: Block, first_core: Ints) -> Iterator[Found]:
    """Jobs whose cores are not on the nodes where their units are, or not as many as these ask for."""
    if columns.ALLOCATED not in block.names:
        return
    place = block.names.index(columns.ALLOCATED)
    for index, (row, asked) in enumerate(zip(block.rows, cores_asked(block.schedule), strict=True)):
        try:
            agrees = cores_on_nodes(row[place], first_core) == asked
        except ValueError:
            agrees = False
        if not agrees:
            told = " ".join(f"{node}:{count}" for node, count in sorted(asked.items()))
            text = f"{columns.ALLOCATED} is {row[place]!r}, yet the other columns make it cores of nodes {told!r}"
            yield index, Violation(int(block.schedule.number[index]), None, None, text)


def _text(value: Value) -> str:
    """A value as it is written."""
    return "" if value is None else str(value)


def _agree(text: str, value: Value) -> bool:
    """Whether a field says this value, in whatever way it is written."""
    if text == _text(value):
        return True
    try:
        if isinstance(value, str):
            return columns.canonical_interval_set(text) == value
        return value is not None and math.isclose(float(text), value, rel_tol=_TOLERANCE * isinstance(value, float))
    except ValueError:
        return False
