"""Files of values over time."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from dardis.config.clocks import Clock
from dardis.model.errors import InputError
from dardis.model.files import Read, read_text
from dardis.model.moments import utc_text
from dardis.model.numbers import decimal_number
from dardis.model.series import Series

LONGEST_STEP_S = 3600
DAY_S = 86_400
NOTHING = frozenset({"", "-", "n/e", "n/a", "nan", "null"})
LINES = ":{}"
"""Format of a row's place after the path."""


@dataclass(frozen=True)
class SeriesFormat:
    """File format, with regular expressions for lower-case column names."""

    description: str
    time: str
    value: str
    clock: Callable[[str], Clock]
    factor: float = 1.0
    """From the file's unit to ours."""
    end: str | None = None
    check: Callable[[Sequence[float]], str] = lambda _: ""
    """Complaint about values in file units, or ""."""
    keep: Callable[[dict[str, str]], bool] = lambda _: True
    """Whether a row belongs to the series."""
    alike: tuple[str, ...] = ()
    """Columns with a constant text, such as the place."""
    otherwise: str | None = None
    """Column where `value` has none."""
    currency: str = ""
    """Currency, unless the value's column names it."""
    number: Callable[[str], float] = decimal_number
    missing: frozenset[str] = NOTHING
    """Lower-case texts."""
    ordered: bool = True
    """Whether times must ascend."""


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """One value; times are Unix s (end None: until the next)."""

    line: int
    start: int
    end: int | None
    value: float


Within = tuple[int, int] | None
"""Relevant Unix s `[start, end)`; None: all."""


@dataclass(frozen=True)
class SeriesTable:
    """Rows of a file in its unit."""

    path: Path
    form: SeriesFormat
    rows: Sequence[SeriesRow]
    line: int = 1
    value_name: str = ""
    places: str = LINES

    def place(self, line: int) -> str:
        """Place of a row for messages."""
        return f"{self.path}{self.places.format(line)}"

    def over(self, within: Within) -> Series:
        """Checked values around a span. Raises InputError."""
        rows = list(self.rows)
        if within is not None:
            rows = [row for row in rows if row.start > within[0] - DAY_S and row.start < within[1] + DAY_S]
        if within is not None and not rows:
            found = f"values from {utc_text(self.rows[0].start)} to {utc_text(_last_end([*self.rows]))}"
            raise InputError(self.path, found, f"values from {utc_text(within[0])} to {utc_text(within[1])}")
        complaint = self.form.check([row.value for row in rows])
        if complaint:
            raise InputError(self.place(rows[0].line), complaint, f"the unit of {self.form.description}")
        rows = _unbroken(self.place, rows, within)
        edges = np.array([*(row.start for row in rows), _last_end(rows)], dtype=np.int64)
        return Series(edges, self.form.factor * np.array([row.value for row in rows], dtype=np.float64))


def read_lines(path: Path, read: Read = Path.read_bytes) -> list[tuple[int, list[str]]]:
    """Read a file as `lines_of`. Raises InputError."""
    return lines_of(path, read_text(path, read))


def lines_of(path: Path, text: str) -> list[tuple[int, list[str]]]:
    """Line numbers and fields of nonblank lines, split at commas, semicolons or tabs. Raises InputError."""
    head = text[: text.find("\n") if "\n" in text else None]
    delimiter = max(",;\t", key=head.count)
    reader = csv.reader(text.splitlines(), delimiter=delimiter)
    try:
        return [(reader.line_num, [field.strip() for field in fields]) for fields in reader if any(fields)]
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}", f"no CSV ({error})") from None


def table_of(
    path: Path, lines: Sequence[tuple[int, list[str]]], forms: Sequence[SeriesFormat], places: str = LINES
) -> SeriesTable:
    """Parse lines with a header. Raises InputError."""
    if len(lines) < 2:
        raise InputError(path, "no values", listed(forms))
    number, header = lines[0]
    names = [name.lower() for name in header]
    form, columns = _recognised(f"{path}{places.format(number)}", names, forms)
    rows = list(_rows(path, form, columns, header, lines[1:], places))
    if not rows:
        raise InputError(path, "no values", form.description)
    if not form.ordered:
        rows.sort(key=lambda row: row.start)
    return SeriesTable(path, form, rows, number, names[columns["value"]], places)


def _clock_of(path: Path, form: SeriesFormat, column: str) -> Clock:
    try:
        return form.clock(column.lower())
    except ValueError as error:
        raise InputError(f"{path}: the clock of {column!r}", "unknown clock", str(error)) from None


def flat(value: float, start: int, end: int) -> Series:
    """Constant series."""
    return Series(np.array([start, end], dtype=np.int64), np.array([value], dtype=np.float64))


def listed(forms: Iterable[SeriesFormat]) -> str:
    """Descriptions for a message."""
    return " | ".join(dict.fromkeys(form.description for form in forms))


def find_columns(names: Sequence[str], form: SeriesFormat) -> dict[str, list[int]] | None:
    """Find the columns of a format by their use, or None."""
    patterns = {"time": form.time, "value": form.value, "end": form.end, "otherwise": form.otherwise}
    found = {
        use: columns
        for use, pattern in patterns.items()
        if pattern and (columns := [i for i, name in enumerate(names) if re.fullmatch(pattern, name)])
    }
    return found if "time" in found and "value" in found else None


def _recognised(place: str, names: list[str], forms: Sequence[SeriesFormat]) -> tuple[SeriesFormat, dict[str, int]]:
    for form in forms:
        found = find_columns(names, form)
        if found is None:
            continue
        values = [names[column] for column in found["value"]]
        if len(set(values)) > 1:
            raise InputError(place, f"values in {values[0]!r} and {values[1]!r}", "one column of values")
        return form, {use: columns[0] for use, columns in found.items()}
    raise InputError(place, f"columns {','.join(names)[:120]!r} have an unknown format", listed(forms))


def _rows(
    path: Path,
    form: SeriesFormat,
    columns: dict[str, int],
    header: list[str],
    lines: Iterable[tuple[int, list[str]]],
    places: str,
) -> Iterator[SeriesRow]:
    clock = _clock_of(path, form, header[columns["time"]])
    end_clock = _clock_of(path, form, header[columns["end"]]) if "end" in columns else clock
    names = [name.lower() for name in header]
    alike: dict[str, str] = {}
    for line, fields in lines:
        place = f"{path}{places.format(line)}"
        if len(fields) < len(header):
            raise InputError(place, f"{len(fields)} fields", f"{len(header)}: {','.join(header)}")
        named = dict(zip(names, fields, strict=False))
        if not form.keep(named):
            continue
        _check_alike(place, form, named, alike)
        text = fields[columns["value"]]
        if text.lower() in form.missing and "otherwise" in columns:
            text = fields[columns["otherwise"]]
        if text.lower() in form.missing:
            continue
        start = _moment(place, clock, fields[columns["time"]])
        end = _moment(place, end_clock, fields[columns["end"]]) if "end" in columns else None
        if end is not None and end <= start:
            raise InputError(place, f"ends {utc_text(end)}, begins {utc_text(start)}", "an end after the begin")
        try:
            yield SeriesRow(line, start, end, form.number(text))
        except ValueError:
            raise InputError(place, f"{header[columns['value']]} {text!r}", "a number") from None


def _check_alike(place: str, form: SeriesFormat, named: dict[str, str], alike: dict[str, str]) -> None:
    for name in form.alike:
        if name not in named:
            continue
        first = alike[name] = alike.get(name) or named[name]
        if named[name] != first:
            raise InputError(place, f"{name} {named[name]!r} after {first!r}", "only one of them")


def _moment(place: str, clock: Clock, text: str) -> int:
    try:
        return clock(text)
    except (ValueError, OverflowError) as error:
        raise InputError(place, f"time {text!r}", str(error)) from None


def _last_end(rows: list[SeriesRow]) -> int:
    last = rows[-1]
    if last.end is not None:
        return last.end
    return last.start + (last.start - rows[-2].start if len(rows) > 1 else LONGEST_STEP_S)


def _unbroken(place: Callable[[int], str], rows: list[SeriesRow], within: Within) -> list[SeriesRow]:
    steps = [after.start - before.start for before, after in pairwise(rows)]
    usual = _usual_steps(steps)
    first = 0
    for index, (before, after) in enumerate(pairwise(rows)):
        step = steps[index]
        if step <= 0:
            found = "a second value at" if step == 0 else "out of order:"
            raise InputError(place(after.line), f"{found} {utc_text(after.start)}", "ascending times, each once")
        ends = before.end if before.end is not None else before.start + usual[index]
        if ends == after.start and step <= LONGEST_STEP_S:
            continue
        if within is not None and max(ends, after.start) <= within[0]:
            first = index + 1
        elif within is not None and min(ends, after.start) >= within[1]:
            return rows[first : index + 1]
        else:
            expected = "every hour or quarter of an hour once, also at changes to and from summer time"
            gap = f"no values from {utc_text(ends)} to {utc_text(after.start)}"
            odd = f"a step of {step} s to {utc_text(after.start)}"
            raise InputError(place(after.line), gap if ends < after.start else odd, expected)
    return rows[first:]


def _usual_steps(steps: list[int]) -> list[int]:
    if not steps:
        return []
    change = next((i for i, step in enumerate(steps) if step != steps[0]), len(steps))
    after = steps[change:]
    long_enough = change * steps[0] >= DAY_S and sum(after) + sum(after[-1:]) >= DAY_S
    if after and long_enough and len(set(after)) == 1 and 0 < after[0] <= LONGEST_STEP_S:
        return steps
    usual = min(max(sorted(steps)[len(steps) // 2], 1), LONGEST_STEP_S)
    return [usual] * len(steps)
