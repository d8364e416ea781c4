"""Does a `jobs.csv` say the same in all its columns? Those that follow from others are worked out anew."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dardis.metrics import columns
from dardis.metrics.audit import Violation
from dardis.metrics.table import rows
from dardis.model.schedule import Schedule

_DERIVED: Final = (
    "requested_number_of_resources", "success", "execution_time", "waiting_time", "turnaround_time", "stretch",
    "allocated_resources",
)  # fmt: skip
_TOLERANCE: Final = 1e-5
"""Relative difference that a stretch may have: other writers round it to six digits."""


def contradictions(path: Path, schedule: Schedule) -> Iterator[Violation]:
    """The values of derived columns that disagree with `schedule`, which was read from the same file."""
    order = columns.header(schedule.kinds)
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        names = next(reader)
        checks = [(name, names.index(name), order.index(name)) for name in _DERIVED if name in names]
        lines = (row for row in reader if row)
        for row, right in zip(lines, rows(schedule, 0, len(schedule.number)), strict=True):
            for name, place, ours in checks:
                if not _agree(row[place], right[ours]):
                    text = f"{name} is {row[place]!r}, yet the other columns make it {_text(right[ours])!r}"
                    yield Violation(int(right[0] or 0), None, None, text)


def _text(value: str | float | None) -> str:
    """A value as it is written."""
    return "" if value is None else str(value)


def _agree(text: str, value: str | float | None) -> bool:
    """Whether a field says this value, in whatever way it is written."""
    if text == _text(value):
        return True
    try:
        if isinstance(value, str):
            return columns.canonical_interval_set(text) == value
        return value is not None and math.isclose(float(text), value, rel_tol=_TOLERANCE * isinstance(value, float))
    except ValueError:
        return False
