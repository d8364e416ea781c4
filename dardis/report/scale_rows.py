"""Rows of scale.csv, grouped into lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Final

from dardis.model.csv_table import CsvCells
from dardis.model.errors import InputError
from dardis.model.numbers import decimal_number, whole_number
from dardis.report import words

Value = int | float | str | None
Reader = Callable[[str], Value]
"""Cell parser; may raise ValueError."""
FLAT, ALL = "flat", "all"
_ASKED: Final = (
    "nodes", "nodes_per_rank", "ranks", "task_managers", "overlap", "arity", "sample", "window_s", "reservations",
    "dispatcher", "seed", "jobs",
)  # fmt: skip
_LARGEST: Final = 1e24
"""Limit of values."""


def whole_number_reader(least: int, word: str = "") -> Reader:
    """Parser of whole numbers from `least`, or one word."""
    return lambda cell: cell if word and cell == word else whole_number(cell, least)


def real_number_reader(*, above_zero: bool = False, known: bool = False) -> Reader:
    """Parser of numbers; empty cells need `known` false."""

    def parse(cell: str) -> Value:
        if not cell and not known:
            return None
        number = decimal_number(cell)
        if abs(number) > _LARGEST or (above_zero and number <= 0):
            raise ValueError(f"{cell!r} is out of range")
        return number

    return parse


_COLUMNS: Final[dict[str, Reader]] = {
    **dict.fromkeys(("nodes", "ranks", "hosts", "task_managers", "overlap"), whole_number_reader(1)),
    "arity": whole_number_reader(2, FLAT),
    "sample": whole_number_reader(1, ALL),
    **dict.fromkeys(
        ("window_s", "reservations", "seed", "completed", "root_message_bytes", "chain"), whole_number_reader(0)
    ),
    **dict.fromkeys(("jobs", "repeat", "rounds"), whole_number_reader(1)),
    "waves": lambda cell: whole_number(cell, 1) if cell else None,
    **dict.fromkeys(("cpu_ns_per_node_job", "bytes_per_node", "message_bytes_per_node_job", "startup_s"),
                    real_number_reader(known=True)),
    **dict.fromkeys(("wall_s_per_round", "exchange_s_median", "mpi_share", "collective_s_per_round", "node_ns",
                     "message_ns", "select_ns", "ask_bytes", "answer_bytes"), real_number_reader()),
    **dict.fromkeys(("jobs_per_s", "predicted_s_per_round", "job_ns"), real_number_reader(above_zero=True)),
    **dict.fromkeys(("dispatcher", "schedule_digest"), str),
}  # fmt: skip
"""Parsers by column."""


@dataclass(frozen=True)
class ScaleRow:
    """Experiment by column, plus `nodes_per_rank`."""

    values: dict[str, Value]

    def number(self, name: str) -> float:
        """Numeric value, or NaN."""
        value = self.values[name]
        return float("nan") if value is None or isinstance(value, str) else float(value)

    def has(self, *names: str) -> bool:
        """Whether all figures exist."""
        return all(self.values[name] is not None for name in names)

    @property
    def arity(self) -> int:
        """Children per host; 0: flat."""
        value = self.values["arity"]
        return value if isinstance(value, int) else 0


@dataclass(frozen=True)
class ScaleLine:
    """Rows by x; the label names other differences."""

    label: str
    rows: list[ScaleRow]


def read_rows(path: Path, columns: dict[str, Reader] = _COLUMNS) -> list[ScaleRow]:
    """Read the given columns of a table. Raises InputError."""
    cells = CsvCells.of_csv(path)
    if not cells.lines:
        raise InputError(path, "has no rows", f"a {path.name} of `dardis scale`")
    found = {name: cells.values(name, parse, "the figures of `dardis scale`") for name, parse in columns.items()}
    rows = [ScaleRow(dict(zip(found, row, strict=True))) for row in zip(*found.values(), strict=True)]
    for row in rows:
        row.values["nodes_per_rank"] = row.number("nodes") / row.number("ranks") if "ranks" in columns else None
    return rows


def medians(rows: Sequence[ScaleRow]) -> list[ScaleRow]:
    """Medians over repeats."""
    alike: dict[tuple[Value, ...], list[ScaleRow]] = {}
    for row in rows:
        alike.setdefault(tuple(row.values[name] for name in _ASKED), []).append(row)
    return [ScaleRow({name: _median([row.values[name] for row in same]) for name in same[0].values})
            for same in alike.values()]  # fmt: skip


def _median(values: Sequence[Value]) -> Value:
    numbers = [value for value in values if isinstance(value, int | float)]
    return median_low(numbers) if len(numbers) == len(values) else values[0]


def lines_over(
    rows: Sequence[ScaleRow], x: str, *figures: str, weak: bool = False, least: int = 2,
    asked: Sequence[str] = _ASKED,
) -> list[ScaleLine]:  # fmt: skip
    """Lines over x with these figures and at least `least` places.

    Nodes are constant; with `weak`, nodes per rank.
    """
    free = {x, "nodes"} if weak else {x, "nodes_per_rank"}
    groups: dict[tuple[Value, ...], list[ScaleRow]] = {}
    names = [name for name in asked if name not in free]
    for row in rows:
        if row.has(*figures):
            groups.setdefault(tuple(row.values[name] for name in names), []).append(row)
    kept = {key: group for key, group in groups.items() if len({row.values[x] for row in group}) >= least}
    varying = [place for place in range(len(names)) if len({key[place] for key in kept}) > 1]
    return [
        ScaleLine(
            ", ".join(setting_label(names[place], key[place]) for place in varying) or "all experiments",
            sorted(group, key=lambda row: row.number(x)),
        )
        for key, group in kept.items()
    ]


def setting_label(name: str, value: Value) -> str:
    """Setting's label."""
    if name == "arity":
        return FLAT if value == FLAT else f"arity {value}"
    if name == "sample":
        return "all nodes asked" if value == ALL else f"sample {value}"
    if isinstance(value, int | float):
        if name in {"nodes_per_rank", "window_s"}:
            return f"{words.number(value)} " + ("nodes a rank" if name == "nodes_per_rank" else "s window")
        if name in {"duplicate", "delay_s", "resend_s", "crashes"}:
            return f"{name.removesuffix('_s')} {words.number(value)}"
        what = name.replace("_", " ")
        if name == "overlap":
            return f"{words.number(value)} job{'s' if value > 1 else ''} in flight"
        return f"seed {value}" if name == "seed" else f"{words.number(value)} {what[:-1] if value == 1 else what}"
    return str(value)
