"""Reads typical years (EPW and tables made from them): months of several years, put together to one without a year.

They are repeated for every year; a 29th of February has the weather of the 28th. Hour 1 is 00:00 to 01:00.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from dardis.model.arrays import Floats
from dardis.model.errors import InputError
from dardis.model.files import csv_rows
from dardis.model.numbers import decimal_number, whole_number
from dardis.model.series import Series

FIRST_YEAR, LAST_YEAR = 1990, 2049
HOURS = 8760
_EPW_HEAD = 8
_EPW_TEMPERATURE = 6
_EPW_MISSING = 99.9
Check = Callable[[Sequence[float]], str]


@dataclass(frozen=True)
class Form:
    """A table of a typical year: how it is listed, and its columns of month, day, hour (from 1) and temperature."""

    said: str
    columns: tuple[str, ...]
    date: Callable[[list[str]], tuple[int, int, int]]
    """Month, day and hour (1 to 24) of a line."""
    temperature: int


FORMS = (
    Form("source_year,month-day,hour_1_24,dry_bulb_c (typical year, clock of UTC)",
         ("source_year", "month-day", "hour_1_24", "dry_bulb_c"),
         lambda fields: (*_two(fields[1], "-"), whole_number(fields[2])), 3),
    Form("date,time,dry_bulb_c (typical year, MM/DD/YYYY and 01:00 to 24:00, clock of UTC)",
         ("date", "time", "dry_bulb_c"), lambda fields: (*_two(fields[0], "/"), _two(fields[1], ":")[0]), 2),
)  # fmt: skip
SAID = ("an EPW file", *(form.said for form in FORMS))


def _two(text: str, between: str) -> tuple[int, int]:
    first, second = text.split(between)[:2]
    return whole_number(first), whole_number(second)


def recognised(names: list[str]) -> Form | None:
    """The form that a header (in lower case) begins with."""
    return next((form for form in FORMS if tuple(names[: len(form.columns)]) == form.columns), None)


def epw_series(path: Path, text: str, check: Check) -> Series:
    """The dry-bulb temperature of an EPW file, on the clock that its first line names. Raises InputError."""
    lines = list(csv_rows(path, text))
    expected = "an EPW file: eight lines of head, the first with the offset from UTC, then 8760 hours"
    try:
        offset_s = round(decimal_number(lines[0][1][8]) * 3600)
    except (IndexError, ValueError):
        raise InputError(f"{path}:1", "no offset from UTC in the ninth field", expected) from None
    if abs(offset_s) >= 24 * 3600:
        raise InputError(f"{path}:1", f"{lines[0][1][8]} hours ahead of UTC", expected)

    def date(fields: list[str]) -> tuple[int, int, int]:
        return whole_number(fields[1]), whole_number(fields[2]), whole_number(fields[3])

    return _series(path, _table(path, lines[_EPW_HEAD:], date, _EPW_TEMPERATURE), offset_s, check)


def table_series(path: Path, lines: list[tuple[int, list[str]]], form: Form, check: Check) -> Series:
    """A table, on the clock of UTC as it names none. Raises InputError."""
    return _series(path, _table(path, lines[1:], form.date, form.temperature), 0, check)


def _table(
    path: Path, lines: Iterable[tuple[int, list[str]]], date: Callable[[list[str]], tuple[int, int, int]], column: int
) -> Floats:
    """Temperature of every hour of a year without a 29th of February."""
    year = np.full(HOURS, np.nan)
    for line, fields in lines:
        place = f"{path}:{line}"
        try:
            month, day, hour = date(fields)
            hours = (datetime(2001, month, day, tzinfo=UTC) - datetime(2001, 1, 1, tzinfo=UTC)) // timedelta(hours=1)
            value = decimal_number(fields[column])
        except (ValueError, IndexError, OverflowError):
            hour = 0
        if not 1 <= hour <= 24:
            raise InputError(place, f"{','.join(fields)[:60]!r}", "month, day, hour 1 to 24, temperature") from None
        if value == _EPW_MISSING:
            raise InputError(place, "a missing temperature (99.9)", "a temperature for every hour")
        if not np.isnan(year[hours + hour - 1]):
            raise InputError(place, f"a second value for {month:02d}-{day:02d} hour {hour}", "every hour once")
        year[hours + hour - 1] = value
    if np.isnan(year).any():
        missing = datetime(2001, 1, 1, tzinfo=UTC) + timedelta(hours=int(np.flatnonzero(np.isnan(year))[0]))
        raise InputError(path, f"no value for {missing:%m-%d} hour {missing.hour + 1}", "all 8760 hours of a year")
    return year


def _series(path: Path, year: Floats, offset_s: int, check: Check) -> Series:
    """The year over and over, from the first to the last."""
    complaint = check(year.tolist())
    if complaint:
        raise InputError(path, complaint, "°C")
    days = year.reshape(365, 24)
    leap = np.insert(days, 59, days[58], axis=0)
    values = np.concatenate(
        [leap if y % 4 == 0 and (y % 100 != 0 or y % 400 == 0) else days for y in range(FIRST_YEAR, LAST_YEAR + 1)]
    ).ravel()
    start = int(datetime(FIRST_YEAR, 1, 1, tzinfo=UTC).timestamp()) - offset_s
    return Series(start + 3600 * np.arange(len(values) + 1, dtype=np.int64), values)
