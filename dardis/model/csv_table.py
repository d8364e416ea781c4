"""Tables declared once by columns, for CSV files, DataFrames and docs.

    WAITS = CsvTable("waits.csv", Column("user", TEXT, "Who submitted."), Column("mean_wait_s", REAL, "Mean wait."))

Texts never become spreadsheet formulas, and read back unchanged.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar, get_args, get_type_hints

import numpy as np

from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.errors import InputError
from dardis.model.files import atomic_text, csv_rows, read_text
from dardis.model.numbers import LARGEST_INT64, LEAST_INT64, decimal_number, whole_number

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T")
BLOCK_ROWS: Final = 8192
_UNITS: Final = {
    "core_s": "core-seconds", "core_h": "core-hours", "kwh": "kWh", "kw": "kW", "w": "W", "kg": "kg", "eur": "currency",
    "s": "s", "ns": "ns", "c": "°C", "bytes": "bytes", "share": "share", "utc": "UTC",
}  # fmt: skip
"""Longer suffixes first."""
_FORMULA: Final = re.compile(r"'*[=+\-@\t\r]")


def as_cell(text: str) -> str:
    """Prefix an apostrophe to a text that is a spreadsheet formula, or looks protected. Not for numbers."""
    return f"'{text}" if _FORMULA.match(text) else text


def from_cell(cell: str) -> str:
    """Reverse `as_cell`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _unit_of(name: str) -> str:
    return next((unit for end, unit in _UNITS.items() if name.endswith(f"_{end}") and "_per_" not in name), "")


class Kind(Enum):
    """Value kind of a column. Cells may be empty."""

    WHOLE = "whole number"
    REAL = "number"
    WORD = "word"
    """Words and notations of DARDIS: `killed`, `0-3 7`."""
    TEXT = "text"
    """User-chosen names, protected by `as_cell`."""


WHOLE, REAL, WORD, TEXT = Kind


@dataclass(frozen=True)
class Column:
    """Column; `meaning` is one sentence, `detail` Markdown."""

    name: str
    kind: Kind
    meaning: str
    unit: str | None = None
    """None: from the name suffix (`_s`, `_w`)."""
    form: str = ""
    """Number format; empty: the shortest exact form."""
    detail: str = ""

    @property
    def unit_text(self) -> str:
        """Unit, or ""."""
        return _unit_of(self.name) if self.unit is None else self.unit

    def renamed(self, name: str, **more: Any) -> Column:  # noqa: ANN401 (any field)
        """Rename the column, keeping the unit."""
        return replace(self, name=name, unit=self.unit_text, **more)

    def cells(self, values: Sequence[Any]) -> Sequence[Any]:
        """Convert values to file cells; None becomes empty."""
        if self.kind is TEXT:
            safe = {text: as_cell(text) for text in {value for value in values if isinstance(value, str)}}
            return [safe[value] if isinstance(value, str) else value for value in values]
        if self.form:
            return ["" if value is None else format(value, self.form) for value in values]
        return values

    def series(self, values: Any) -> Any:  # noqa: ANN401 (an array, or texts)
        """Convert for a DataFrame: int64 for gapless whole numbers, else float64 with NaN."""
        if self.kind in {WORD, TEXT}:
            return [*values]
        if isinstance(values, np.ndarray):
            return values
        return np.array(values, dtype=np.int64 if self.kind is WHOLE and None not in values else np.float64)


class CsvTable:
    """Table with ordered columns."""

    def __init__(self, name: str, *columns: Column) -> None:
        self.name, self.columns = name, columns
        self.names = tuple(column.name for column in columns)
        self._changed = [(place, one.cells) for place, one in enumerate(columns) if one.form or one.kind is TEXT]

    def column(self, name: str) -> Column:
        """Column by name."""
        return self.columns[self.names.index(name)]

    @classmethod
    def of_fields(cls, name: str, record: type, form: str) -> CsvTable:
        """Make a table of fields such as `nodes: Annotated[int, "nodes of the machine"]`.

        `form`: format of real numbers.
        """
        columns = []
        for field, hint in get_type_hints(record, include_extras=True).items():
            held, meaning = get_args(hint)
            kind = {int: WHOLE, float: REAL}.get(get_args(held)[0] if NoneType in get_args(held) else held, WORD)
            columns.append(Column(field, kind, meaning, None, form if kind is REAL else ""))
        return cls(name, *columns)

    def write(self, path: Path, rows: Iterable[Sequence[Any]]) -> None:
        """Write rows atomically. Raises OSError."""
        with atomic_text(path) as file:
            self._write(file, rows)

    def text(self, rows: Iterable[Sequence[Any]]) -> str:
        """Rows as CSV text."""
        file = io.StringIO()
        self._write(file, rows)
        return file.getvalue()

    def write_blocks(self, path: Path, blocks: Iterable[Sequence[Sequence[Any]]]) -> None:
        """Write blocks given by column. Faster than `write`."""
        with atomic_text(path) as file:
            writer = self._begun(file)
            for block in blocks:
                writer.writerows(self._cells(block))

    def _write(self, file: TextIO, rows: Iterable[Sequence[Any]]) -> None:
        writer = self._begun(file)
        if not self._changed:
            writer.writerows(rows)
            return
        left = iter(rows)
        while block := list(islice(left, BLOCK_ROWS)):
            writer.writerows(self._cells([*zip(*block, strict=True)]))

    def _begun(self, file: TextIO) -> Any:  # noqa: ANN401 (a writer of the csv module has no name)
        texts = any(column.kind is TEXT for column in self.columns)
        writer = csv.writer(_LineFeeds(file), lineterminator="\r\n") if texts else csv.writer(file, lineterminator="\n")
        writer.writerow(self.names)
        return writer

    def _cells(self, block: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
        columns = [*block]
        for place, cells in self._changed:
            columns[place] = cells(columns[place])
        return zip(*columns, strict=True)

    def frame(self, columns: Iterable[Sequence[Any]]) -> DataFrame:
        """Make a DataFrame from column values."""
        from pandas import DataFrame

        return DataFrame({one.name: one.series(values) for one, values in zip(self.columns, columns, strict=True)})

    def read(self, path: Path) -> CsvCells:
        """Read a file with exactly these columns. Raises InputError."""
        found = CsvCells.of_csv(path)
        if tuple(found.header) != self.names:
            raise InputError(f"{path}:1", f"wrong columns for {self.name}", ",".join(self.names))
        return found


@dataclass(frozen=True)
class FilledTable:
    """Table with rows for one use."""

    table: CsvTable
    rows: Iterable[Sequence[Any]]

    def write(self, folder: Path) -> None:
        """Write into a folder. Raises OSError."""
        self.table.write(folder / self.table.name, self.rows)

    def frame(self) -> DataFrame:
        """DataFrame."""
        return self.table.frame([*zip(*self.rows, strict=True)] or [()] * len(self.table.names))


class _LineFeeds:
    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, row: str) -> int:
        return self._file.write(row[:-2] + "\n")


class CsvCells:
    """Text cells by column. Errors name file and row."""

    def __init__(self, place: str, header: list[str], rows: Iterable[tuple[int, list[str]]]) -> None:
        self.place, self.header = place, header
        body = list(rows)
        self.lines = [line for line, _ in body]
        for line, fields in body:
            if len(fields) != len(header):
                raise InputError(f"{place}:{line}", f"{len(fields)} fields", f"{len(header)}, as in the header")
        self._columns = {name: [fields[at] for _, fields in body] for at, name in enumerate(header)}

    @classmethod
    def of_csv(cls, path: Path) -> CsvCells:
        """Read a CSV file with line numbers."""
        rows = csv_rows(path, read_text(path))
        _, header = next(rows, (1, []))
        return cls(str(path), header, rows)

    def values(self, name: str, parse: Callable[[str], T], expected: str) -> list[T]:
        """Parse a column. `parse` raises ValueError, turned into InputError."""
        if self.header.count(name) != 1:
            raise InputError(f"{self.place}:1", f"not exactly one column {name}", "each column once")
        found = []
        for line, text in zip(self.lines, self._columns[name], strict=True):
            try:
                found.append(parse(text))
            except ValueError:
                raise InputError(f"{self.place}:{line}", f"{name} {text!r}", expected) from None
        return found

    def rows(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yield line numbers and cells."""
        return zip(self.lines, zip(*self._columns.values(), strict=True), strict=True)

    def integers(
        self, name: str, least: int = LEAST_INT64, most: int = LARGEST_INT64, empty: int | None = None
    ) -> Ints:
        """Whole numbers of `[least, most]`. `empty` replaces empty cells (None: errors)."""

        def parse(text: str) -> int:
            return empty if empty is not None and not text else whole_number(text, least, most)

        return np.array(self.values(name, parse, "a whole number"), dtype=np.int64)

    def reals(self, name: str, *, may_be_empty: bool) -> Floats:
        """Finite numbers, NaN for permitted empty cells."""

        def parse(text: str) -> float:
            return math.nan if may_be_empty and not text else decimal_number(text)

        return np.array(self.values(name, parse, "a number"), dtype=np.float64)

    def refuse(self, wrong: Bools, found: str) -> None:
        """Raise InputError at the first row marked `wrong`."""
        if wrong.any():
            raise InputError(f"{self.place}:{self.lines[int(np.argmax(wrong))]}", found)
