"""Decides which files of outdoor temperature are read, and promises °C at every moment they cover."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dardis.config import typical_year
from dardis.config.clocks import fixed_clock, offset_of, unix_or
from dardis.config.series_file import Form, Row, SeriesTable, Within, clock_of, lines_of, table_of
from dardis.model.errors import InputError
from dardis.model.files import Read, read_text
from dardis.model.numbers import decimal_number, whole_number
from dardis.model.series import Series

COLDEST_C, HOTTEST_C = -90.0, 60.0
"""Nothing outside of these was ever measured outdoors."""


def celsius(values: Sequence[float]) -> str:
    """What looks wrong about temperatures in °C; nothing if nothing."""
    hottest, coldest = max(values), min(values)
    if hottest > HOTTEST_C:
        return f"temperatures up to {hottest:g} °C look like {'K' if coldest > 150 else '°F'}"
    return f"a temperature of {coldest:g} °C was never measured" if coldest < COLDEST_C else ""


FORMS = (
    Form("start_utc[,end_utc],temp_c", "start_utc", "temp_c", lambda _: unix_or(fixed_clock(0)), end="end_utc",
         check=celsius),
    Form("time_local_utc+1,temperature_c (any offset)", r"time_local_utc[+-]\d{1,2}(:?\d\d)?", "temperature_c",
         lambda name: fixed_clock(offset_of(name)), check=celsius),
)  # fmt: skip
"""Tables that are recognised by their header alone."""
_OPEN_METEO = "an Open-Meteo export (CSV or JSON) of hourly temperature_2m in °C"


@dataclass(frozen=True)
class Weather:
    """Outdoor temperature (°C) over Unix time, as a file has it."""

    temperature: SeriesTable | Series
    """A typical year (EPW) has no year of its own: it is repeated for every one from 1990 to 2049."""
    assumed: str | None = None
    """What had to be assumed of the file's clock, in words; None where it names one."""

    def over(self, within: Within) -> Series:
        """The temperature around a span, or of all typical years. Raises InputError; `within` as that of prices."""
        return self.temperature if isinstance(self.temperature, Series) else self.temperature.over(within)


def read_weather(path: Path, read: Read = Path.read_bytes) -> Weather:
    """The weather of a file. Raises InputError with file and line."""
    text = read_text(path, read)
    begin = text.lstrip()
    if begin.startswith("{"):
        return Weather(_open_meteo_json(path, begin))
    if begin.startswith("LOCATION,"):
        return Weather(typical_year.epw_series(path, text, celsius))
    lines = lines_of(path, text)
    names = [name.lower() for name in lines[0][1]] if lines else []
    if "utc_offset_seconds" in names:
        return Weather(_open_meteo_csv(path, lines, names.index("utc_offset_seconds")))
    if (form := typical_year.recognised(names)) is not None:
        assumed = f"{path}: a typical year that names no time zone; its clock is taken for UTC"
        return Weather(typical_year.table_series(path, lines, form, celsius), assumed)
    others = [Form(said, "(?!)", "(?!)", lambda _: fixed_clock(0)) for said in (_OPEN_METEO, *typical_year.SAID)]
    return Weather(table_of(path, lines, (*FORMS, *others)))


def _open_meteo_form(offset_s: int) -> Form:
    """Times are local on one clock for the whole file (its metadata name the offset), or Unix seconds."""
    value = r"temperature_2m( \(°c\))?"
    return Form(_OPEN_METEO, "time", value, lambda _: unix_or(fixed_clock(offset_s)), check=celsius)


def _open_meteo_csv(path: Path, lines: list[tuple[int, list[str]]], column: int) -> SeriesTable:
    """Two lines of metadata, then the table; further tables (by day) are left out."""
    try:
        offset_s = whole_number(lines[1][1][column])
    except (IndexError, ValueError):
        raise InputError(f"{path}:2", "no utc_offset_seconds", _OPEN_METEO) from None
    table = lines[2:]
    again = next((i for i, (_, fields) in enumerate(table) if i and fields[0] == "time"), len(table))
    return table_of(path, table[:again], [_open_meteo_form(offset_s)])


def _open_meteo_json(path: Path, text: str) -> SeriesTable:
    try:
        content: Any = json.loads(text)
        part = "minutely_15" if "temperature_2m" in content.get("minutely_15", {}) else "hourly"
        pairs = list(zip(content[part]["time"], content[part]["temperature_2m"], strict=True))
        unit, offset_s = content[f"{part}_units"]["temperature_2m"], whole_number(str(content["utc_offset_seconds"]))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise InputError(path, "JSON of another form", _OPEN_METEO) from None
    if unit != "°C":
        raise InputError(f"{path}: {part}_units.temperature_2m", repr(unit), "°C")
    form, rows = _open_meteo_form(offset_s), []
    clock = clock_of(path, form, "time")
    for index, (time, value) in enumerate(pairs):
        place = f"{path}: {part}[{index}]"
        if value is None:
            continue
        try:
            rows.append(Row(index, clock(str(time)), None, decimal_number(str(value))))
        except (ValueError, TypeError):
            raise InputError(place, f"{time!r}, {value!r}", "a time and a number") from None
    return SeriesTable(path, form, rows)
