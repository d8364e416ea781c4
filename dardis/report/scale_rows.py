"""The rows of scale.csv as values, and which of them make a line: alike in all that was asked for but the x axis."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Final

from dardis.model.errors import InputError
from dardis.model.files import read_text
from dardis.model.numbers import decimal_number, whole_number
from dardis.report import words

Value = int | float | str | None
FLAT, ALL = "flat", "all"
_ASKED: Final = (
    "nodes", "nodes_per_rank", "ranks", "task_managers", "overlap", "arity", "sample", "window_s", "reservations",
    "dispatcher", "seed", "jobs",
)  # fmt: skip


@dataclass(frozen=True)
class ScaleRow:
    """One experiment, by the names of scale.csv; `nodes_per_rank` is added."""

    values: dict[str, Value]

    def number(self, name: str) -> float:
        """A figure; NaN where there is none."""
        value = self.values[name]
        return float("nan") if value is None or isinstance(value, str) else float(value)

    def has(self, *names: str) -> bool:
        """Whether all these figures are there."""
        return all(self.values[name] is not None for name in names)

    @property
    def arity(self) -> int:
        """Children of a host in the tree; 0: flat."""
        value = self.values["arity"]
        return value if isinstance(value, int) else 0


@dataclass(frozen=True)
class Line:
    """Rows that differ in the x axis only, by it; the label says what else sets them apart from other lines."""

    label: str
    rows: list[ScaleRow]


def read_rows(path: Path) -> list[ScaleRow]:
    """Read scale.csv. Raises InputError."""
    text = read_text(path)
    rows = []
    for line, named in enumerate(csv.DictReader(text.splitlines()), start=2):
        if None in named or None in named.values():
            raise InputError(f"{path}:{line}", "another number of fields than the header has")
        values = {name: _value(name, cell) for name, cell in named.items()}
        missing = [name for name in _ASKED if name not in values and name != "nodes_per_rank"]
        if missing:
            raise InputError(path, f"no column {missing[0]}", "a scale.csv of `dardis scale`")
        nodes, ranks = values["nodes"], values["ranks"]
        if not (isinstance(nodes, int) and isinstance(ranks, int) and ranks):
            raise InputError(f"{path}:{line}", "nodes and ranks are no whole numbers")
        rows.append(ScaleRow(values | {"nodes_per_rank": nodes / ranks}))
    if not rows:
        raise InputError(path, "has no rows", "a scale.csv of `dardis scale`")
    return rows


def _value(name: str, cell: str) -> Value:
    if not cell:
        return None
    if name in {"schedule_digest", "dispatcher"}:
        return cell
    for parse in (whole_number, decimal_number):
        with suppress(ValueError):
            return parse(cell)
    return cell


def medians(rows: Sequence[ScaleRow]) -> list[ScaleRow]:
    """One row for each experiment, in order: the medians over its repeats of what was measured."""
    alike: dict[tuple[Value, ...], list[ScaleRow]] = {}
    for row in rows:
        alike.setdefault(tuple(row.values[name] for name in _ASKED), []).append(row)
    return [ScaleRow({name: _median([row.values[name] for row in same]) for name in same[0].values})
            for same in alike.values()]  # fmt: skip


def _median(values: Sequence[Value]) -> Value:
    """That of numbers; what is no number is the same in all, or the first."""
    numbers = [value for value in values if isinstance(value, int | float)]
    return median_low(numbers) if len(numbers) == len(values) else values[0]


def lines_over(rows: Sequence[ScaleRow], x: str, *figures: str, weak: bool = False, least: int = 2) -> list[Line]:
    """The lines over x of rows that have these figures, each with `least` places or more.

    They have the same nodes, or, where `weak`, the same nodes a rank.
    """
    free = {x, "nodes"} if weak else {x, "nodes_per_rank"}
    groups: dict[tuple[Value, ...], list[ScaleRow]] = {}
    names = [name for name in _ASKED if name not in free]
    for row in rows:
        if row.has(*figures):
            groups.setdefault(tuple(row.values[name] for name in names), []).append(row)
    kept = {key: group for key, group in groups.items() if len({row.values[x] for row in group}) >= least}
    varying = [place for place in range(len(names)) if len({key[place] for key in kept}) > 1]
    return [
        Line(
            ", ".join(said(names[place], key[place]) for place in varying) or "all experiments",
            sorted(group, key=lambda row: row.number(x)),
        )
        for key, group in kept.items()
    ]


def said(name: str, value: Value) -> str:
    """A setting as a label says it."""
    if name == "arity":
        return FLAT if value == FLAT else f"arity {value}"
    if name == "sample":
        return "all nodes asked" if value == ALL else f"sample {value}"
    if isinstance(value, int | float):
        if name in {"nodes_per_rank", "window_s"}:
            return f"{words.number(value)} " + ("nodes a rank" if name == "nodes_per_rank" else "s window")
        what = name.replace("_", " ")
        if name == "overlap":
            return f"{words.number(value)} job{'s' if value > 1 else ''} in flight"
        return f"seed {value}" if name == "seed" else f"{words.number(value)} {what[:-1] if value == 1 else what}"
    return str(value)
