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


@dataclass(frozen=True)
class SeriesFormat:
    """A file format, with regular expressions for lower-case column names."""

    description: str
    time: str
    value: str
    clock: Callable[[str], Clock]
    factor: float = 1.0
    """From the file's unit to ours."""
    end: str | None = None
    """Column of value ends."""
    check: Callable[[Sequence[float]], str] = lambda _: ""
    """Complaint about values in file units, or ""."""
    keep: Callable[[dict[str, str]], bool] = lambda _: True
    """Whether a row belongs to the series."""
    alike: str | None = None
    """Column with a constant text, such as the place."""


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
            raise InputError(f"{self.path}:{rows[0].line}", complaint, f"the unit of {self.form.description}")
        rows = _unbroken(self.path, rows, within)
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


def table_of(path: Path, lines: Sequence[tuple[int, list[str]]], forms: Sequence[SeriesFormat]) -> SeriesTable:
    """Parse lines with a header. Raises InputError."""
    if len(lines) < 2:
        raise InputError(path, "no values", _listed(forms))
    number, header = lines[0]
    names = [name.lower() for name in header]
    form, columns = _recognised(f"{path}:{number}", names, forms)
    rows = list(_rows(path, form, columns, header, lines[1:]))
    return SeriesTable(path, form, rows, number, names[columns["value"]])


def clock_of(path: Path, form: SeriesFormat, column: str) -> Clock:
    """Clock of a time column. Raises InputError."""
    try:
        return form.clock(column.lower())
    except ValueError as error:
        raise InputError(f"{path}: the clock of {column!r}", "unknown clock", str(error)) from None


def flat(value: float, start: int, end: int) -> Series:
    """Constant series."""
    return Series(np.array([start, end], dtype=np.int64), np.array([value], dtype=np.float64))


def _listed(forms: Iterable[SeriesFormat]) -> str:
    return " | ".join(form.description for form in forms)


def _recognised(place: str, names: list[str], forms: Sequence[SeriesFormat]) -> tuple[SeriesFormat, dict[str, int]]:
    for form in forms:
        columns = {"time": form.time, "value": form.value} | ({"end": form.end} if form.end else {})
        found = {
            what: next((i for i, name in enumerate(names) if re.fullmatch(pattern, name)), None)
            for what, pattern in columns.items()
        }
        if found["time"] is not None and found["value"] is not None:
            return form, {what: index for what, index in found.items() if index is not None}
    raise InputError(place, f"columns {','.join(names)[:120]!r} have an unknown format", _listed(forms))


def _rows(
    path: Path, form: SeriesFormat, columns: dict[str, int], header: list[str], lines: Iterable[tuple[int, list[str]]]
) -> Iterator[SeriesRow]:
    clock = clock_of(path, form, header[columns["time"]])
    end_clock = clock_of(path, form, header[columns["end"]]) if "end" in columns else clock
    names = [name.lower() for name in header]
    first_alike: str | None = None
    for line, fields in lines:
        place = f"{path}:{line}"
        if len(fields) < len(header):
            raise InputError(place, f"{len(fields)} fields", f"{len(header)}: {','.join(header)}")
        named = dict(zip(names, fields, strict=False))
        if not form.keep(named):
            continue
        if form.alike in named:
            first_alike = first_alike or named[form.alike]
            if named[form.alike] != first_alike:
                raise InputError(place, f"{form.alike} {named[form.alike]!r} after {first_alike!r}", "only one of them")
        text = fields[columns["value"]]
        if text.lower() in NOTHING:
            continue
        start = _moment(place, clock, fields[columns["time"]])
        end = _moment(place, end_clock, fields[columns["end"]]) if "end" in columns else None
        if end is not None and end <= start:
            raise InputError(place, f"ends {utc_text(end)}, begins {utc_text(start)}", "an end after the begin")
        try:
            yield SeriesRow(line, start, end, decimal_number(text))
        except ValueError:
            raise InputError(place, f"{header[columns['value']]} {text!r}", "a number") from None


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


def _unbroken(path: Path, rows: list[SeriesRow], within: Within) -> list[SeriesRow]:
    steps = [after.start - before.start for before, after in pairwise(rows)]
    usual = _usual_steps(steps)
    first = 0
    for index, (before, after) in enumerate(pairwise(rows)):
        step = steps[index]
        if step <= 0:
            found = "a second value at" if step == 0 else "out of order:"
            raise InputError(f"{path}:{after.line}", f"{found} {utc_text(after.start)}", "ascending times, each once")
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
            raise InputError(f"{path}:{after.line}", gap if ends < after.start else odd, expected)
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
