"""Moments in Slurm's notation (`--begin`, `--deadline`, `sacct`), in local time. Pure."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import Final

from dardis.live.job_option_texts import LAST_MOMENT_MS
from dardis.model.errors import InputError

MOMENTS: Final = "now+1hour, 16:00, 2026-12-24, 2026-12-24T16:00:00, 12/24/26, tomorrow, noon, midnight or teatime"
_NOW: Final = re.compile(r"now(?:\s*([+-])\s*(\d{1,9})\s*([a-z]*))?")
_UNITS_S: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604_800}
_CLOCK: Final = re.compile(r"(\d\d?):(\d\d)(?::(\d\d))?\s*([ap]m)?")
_ISO_DATE: Final = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)")
_US_DATE: Final = re.compile(r"(\d\d?)([/.])(\d\d?)(?:\2(\d\d|\d{4}))?")
_DIGITS: Final = re.compile(r"(\d\d)(\d\d)(\d\d)?")
_NAMED: Final = {"midnight": time(0), "elevenses": time(11), "noon": time(12), "fika": time(15), "teatime": time(16)}


def read_moment(text: str, place: str, now: datetime, *, past: bool = False) -> int:
    """Unix s of a moment. `now` has the time zone (None: local).

    A time of day, or a day without a year, is the next; with `past`: today's, this year's. Raises InputError.
    """
    said = text.strip().lower()
    if (found := _NOW.fullmatch(said)) is not None:
        unit_s = _unit_s(found[3] or "")
        shift_s = int(found[2] or 0) * (unit_s or 0)
        moment_s = int(now.timestamp()) + (-shift_s if found[1] == "-" else shift_s)
        if unit_s is not None and 0 <= moment_s * 1000 <= LAST_MOMENT_MS:
            return moment_s
    elif (moment := _of_words(said, now, past=past)) is not None:
        return int(moment.timestamp())
    raise InputError(place, repr(text), MOMENTS)


def _unit_s(unit: str) -> int | None:
    return 1 if not unit else _UNITS_S.get(unit) or _UNITS_S.get(unit.removesuffix("s"))


def _of_words(said: str, now: datetime, *, past: bool) -> datetime | None:
    words = re.sub(r"\s+([ap]m)\b", r"\1", re.sub(r"(\d)t(?=\d)", r"\1 ", said)).split()
    day: date | None = None
    clock: time | None = None
    for word in words:
        found_day, found_clock = _day(word, now, past=past), _clock(word)
        if (found_day is None) == (found_clock is None) or (found_day and day) or (found_clock and clock):
            return None
        day, clock = found_day or day, found_clock if found_clock is not None else clock
    if day is None and clock is None:
        return None
    if day is None:
        moment = datetime.combine(now.date(), clock or time(), now.tzinfo)
        if past or moment > now:
            return moment
        return datetime.combine(now.date() + timedelta(1), clock or time(), now.tzinfo)
    if clock is None and day == now.date() and not past:
        return now
    return datetime.combine(day, clock or time(), now.tzinfo)


def _clock(word: str) -> time | None:
    if word in _NAMED:
        return _NAMED[word]
    if (found := _CLOCK.fullmatch(word)) is None:
        return None
    hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    if found[4]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found[4] == "pm" else 0)
    return time(hour, minute, second) if hour < 24 and minute < 60 and second < 60 else None


def _day(word: str, now: datetime, *, past: bool) -> date | None:
    if word in ("today", "tomorrow"):
        return now.date() + timedelta(word == "tomorrow")
    if (found := _ISO_DATE.fullmatch(word)) is not None:
        return _date(int(found[1]), int(found[2]), int(found[3]))
    if (found := _US_DATE.fullmatch(word)) is not None:
        month, day, year = found[1], found[3], found[4]
        month, day = (day, month) if found[2] == "." else (month, day)
    elif (found := _DIGITS.fullmatch(word)) is not None:
        month, day, year = found.groups()
    else:
        return None
    if year is not None:
        return _date(int(year) + (0 if len(year) == 4 else 2000), int(month), int(day))
    this = _date(now.year, int(month), int(day))
    return this if past or this is None or this >= now.date() else _date(now.year + 1, int(month), int(day))


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
