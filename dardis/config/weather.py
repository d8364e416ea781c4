"""Outdoor temperature (°C): measurements, forecasts and typical years."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np

from dardis.config.clocks import digits_clock, fixed_clock, offset_of, unix_or
from dardis.config.series_file import NOTHING, SeriesFormat, SeriesTable, Within, find_columns, lines_of, table_of
from dardis.config.series_json import JsonFormat, json_table
from dardis.model.arrays import Floats
from dardis.model.errors import InputError
from dardis.model.files import Read, csv_rows, is_json, read_text
from dardis.model.numbers import decimal_number, whole_number
from dardis.model.series import Series

COLDEST_C, HOTTEST_C = -90.0, 60.0
"""Limits of outdoor temperatures ever measured."""


def celsius(values: Sequence[float]) -> str:
    """Complaint about implausible temperatures in °C, or ""."""
    hottest, coldest = max(values), min(values)
    if hottest > HOTTEST_C:
        return f"temperatures up to {hottest:g} °C look like {'K' if coldest > 150 else '°F'}"
    return f"a temperature of {coldest:g} °C is implausibly low" if coldest < COLDEST_C else ""


_METEOSTAT = SeriesFormat("Meteostat (hourly; CSV or JSON)", r"time \(utc\)", "temp", lambda _: fixed_clock(0),
     check=celsius)  # fmt: skip
FORMS = (
    SeriesFormat("start_utc[,end_utc],temp_c", "start_utc", "temp_c", lambda _: unix_or(fixed_clock(0)), end="end_utc",
         check=celsius),
    SeriesFormat("time_local_utc+1,temperature_c (any offset)", r"time_local_utc[+-]\d{1,2}(:?\d\d)?", "temperature_c",
         lambda name: fixed_clock(offset_of(name)), check=celsius),
    SeriesFormat("STATIONS_ID;MESS_DATUM;…;TT_TU or TT_10 (DWD)", "mess_datum", "tt_tu|tt_10", lambda _: digits_clock(),
         check=celsius, keep=lambda row: row["mess_datum"] >= "2000", alike=("stations_id",),
         missing=NOTHING | {"-999", "-999.0"}),
    _METEOSTAT,
)  # fmt: skip
"""DWD's times before 2000 may be in Central European Time."""
_OPEN_METEO = SeriesFormat("an Open-Meteo export (CSV or JSON) of hourly temperature_2m in °C", "time( .*)?",
     r"temperature_2m( \(°c\))?", lambda name: unix_or(fixed_clock(whole_number(name[5:]))), check=celsius)  # fmt: skip
JSON_FORMS = (
    JsonFormat(_OPEN_METEO, ("minutely_15", "hourly"), ("{}_units.temperature_2m", "°C"), "utc_offset_seconds"),
    JsonFormat(replace(_METEOSTAT, time="time"), ("data",)),
)
_METEOSTAT_TIME = "time (UTC)"
_METEOSTAT_VALUES = ["temp", "dwpt", "rhum", "prcp", "snow", "wdir", "wspd", "wpgt", "pres", "tsun", "coco"]


@dataclass(frozen=True)
class Weather:
    """Outdoor temperature (°C) over Unix time."""

    temperature: SeriesTable | Series
    """Typical years (EPW) repeat from 1990 to 2049."""
    assumed: str | None = None

    def over(self, within: Within) -> Series:
        """Temperature around `within`, or typical years. Raises InputError."""
        return self.temperature if isinstance(self.temperature, Series) else self.temperature.over(within)


def read_weather(path: Path, read: Read = Path.read_bytes) -> Weather:
    """Read a weather file. Raises InputError."""
    text = read_text(path, read)
    begin = text.lstrip()
    if is_json(begin):
        return Weather(json_table(path, begin, JSON_FORMS))
    if begin.startswith("LOCATION,"):
        return Weather(_epw_series(path, text, celsius))
    lines = lines_of(path, text)
    names = [name.lower() for name in lines[0][1]] if lines else []
    if "utc_offset_seconds" in names:
        return Weather(_open_meteo_csv(path, lines, names.index("utc_offset_seconds")))
    if (form := _find_typical_format(names)) is not None:
        assumed = f"{path}: a typical year without a time zone; its times count as UTC"
        return Weather(_typical_series(path, lines, form, celsius), assumed)
    said = (_OPEN_METEO.description, *TYPICAL_TEXTS)
    others = [SeriesFormat(description, "(?!)", "(?!)", lambda _: fixed_clock(0)) for description in said]
    return Weather(table_of(path, _meteostat_lines(lines), (*FORMS, *others)))


def _open_meteo_csv(path: Path, lines: list[tuple[int, list[str]]], column: int) -> SeriesTable:
    if "location_id" in (name.lower() for name in lines[0][1]):
        raise InputError(f"{path}:1", "an Open-Meteo export of several locations", "one location")
    try:
        offset_s = whole_number(lines[1][1][column])
    except (IndexError, ValueError):
        raise InputError(f"{path}:2", "no utc_offset_seconds", _OPEN_METEO.description) from None
    table = lines[2:]
    heads = [i for i, (_, fields) in enumerate(table) if fields[0] == "time"]
    sections = [table[start:end] for start, end in pairwise([*heads, len(table)])]
    hourly = (one for one in sections if find_columns([name.lower() for name in one[0][1]], _OPEN_METEO))
    longest = max(hourly, key=len, default=table)
    named = [(line, [f"time {offset_s}", *fields[1:]] if fields[0] == "time" else fields) for line, fields in longest]
    return table_of(path, named, [_OPEN_METEO])


def _meteostat_lines(lines: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    names = [name.lower() for name in lines[0][1]] if lines else []
    if names[:4] == ["year", "month", "day", "hour"]:
        dates, rows, values = 3, lines[1:], names[4:]
    elif len(names) == 2 + len(_METEOSTAT_VALUES) and re.fullmatch(r"\d{4}-\d\d-\d\d", names[0]):
        dates, rows, values = 1, lines, _METEOSTAT_VALUES
    else:
        return lines
    joined = [(line, [_hour(fields[:dates], fields[dates : dates + 1]), *fields[dates + 1 :]]) for line, fields in rows]
    return [(lines[0][0], [_METEOSTAT_TIME, *values]), *joined]


def _hour(date: list[str], hour: list[str]) -> str:
    return f"{'-'.join(part.zfill(2) for part in date)}T{''.join(hour).zfill(2)}"


FIRST_YEAR, LAST_YEAR = 1990, 2049
HOURS = 8760
_EPW_HEAD = 8
_EPW_TEMPERATURE = 6
_EPW_MISSING = 99.9
Check = Callable[[Sequence[float]], str]


@dataclass(frozen=True)
class TypicalYearFormat:
    """Format of a typical year."""

    description: str
    columns: tuple[str, ...]
    date: Callable[[list[str]], tuple[int, int, int]]
    """Month, day, hour (1 to 24)."""
    temperature: int


TYPICAL_FORMS = (
    TypicalYearFormat("source_year,month-day,hour_1_24,dry_bulb_c (typical year, clock of UTC)",
         ("source_year", "month-day", "hour_1_24", "dry_bulb_c"),
         lambda fields: (*_split_numbers(fields[1], "-"), whole_number(fields[2])), 3),
    TypicalYearFormat("date,time,dry_bulb_c (typical year, MM/DD/YYYY and 01:00 to 24:00, clock of UTC)",
         ("date", "time", "dry_bulb_c"),
         lambda fields: (*_split_numbers(fields[0], "/"), _split_numbers(fields[1], ":")[0]), 2),
)  # fmt: skip
TYPICAL_TEXTS = ("an EPW file", *(form.description for form in TYPICAL_FORMS))


def _split_numbers(text: str, between: str) -> tuple[int, int]:
    first, second = text.split(between)[:2]
    return whole_number(first), whole_number(second)


def _find_typical_format(names: list[str]) -> TypicalYearFormat | None:
    return next((form for form in TYPICAL_FORMS if tuple(names[: len(form.columns)]) == form.columns), None)


def _epw_series(path: Path, text: str, check: Check) -> Series:
    lines = list(csv_rows(path, text))
    expected = "an EPW file: eight header lines, the first with the offset from UTC, then 8760 hours"
    try:
        offset_s = round(decimal_number(lines[0][1][8]) * 3600)
    except (IndexError, ValueError):
        raise InputError(f"{path}:1", "missing offset from UTC in the ninth field", expected) from None
    if abs(offset_s) >= 24 * 3600:
        raise InputError(f"{path}:1", f"{lines[0][1][8]} hours ahead of UTC", expected)

    def date(fields: list[str]) -> tuple[int, int, int]:
        return whole_number(fields[1]), whole_number(fields[2]), whole_number(fields[3])

    return _series(path, _table(path, lines[_EPW_HEAD:], date, _EPW_TEMPERATURE), offset_s, check)


def _typical_series(path: Path, lines: list[tuple[int, list[str]]], form: TypicalYearFormat, check: Check) -> Series:
    return _series(path, _table(path, lines[1:], form.date, form.temperature), 0, check)


def _table(
    path: Path, lines: Iterable[tuple[int, list[str]]], date: Callable[[list[str]], tuple[int, int, int]], column: int
) -> Floats:
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
