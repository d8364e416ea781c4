"""Does a `jobs.csv` say the same in all its columns? Those that follow from others are worked out anew."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from dardis.metrics import columns
from dardis.metrics.table import Block, Value, derived
from dardis.metrics.violation import Found, Violation

_TOLERANCE: Final = 1e-5
"""Relative difference that a stretch may have: other writers round it to six digits."""


def contradictions(block: Block) -> Iterator[Found]:
    """The values of derived columns that disagree with the others of their rows, by row of the block."""
    numbers = block.schedule.number
    right = derived(block.schedule, 0, len(numbers))
    checks = [(name, block.names.index(name), values) for name, values in right.items() if name in block.names]
    for index, row in enumerate(block.rows):
        for name, place, values in checks:
            if not _agree(row[place], values[index]):
                text = f"{name} is {row[place]!r}, yet the other columns make it {_text(values[index])!r}"
                yield index, Violation(int(numbers[index]), None, None, text)


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
