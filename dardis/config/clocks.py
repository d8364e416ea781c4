"""Clocks convert times in weather, price and carbon files."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from dardis.model import moments
from dardis.model.errors import InputError
from dardis.model.numbers import whole_number

Clock = Callable[[str], int]
"""Text to Unix seconds, or ValueError. One clock reads one file, in order."""

_EUROPE = ZoneInfo("Europe/Brussels")
_FIRST_S, _LAST_S = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (1900, 9999))
_NUMERIC = re.compile(r"(\d\d)[./](\d\d)[./](\d{4}) (\d\d:\d\d(?::\d\d)?)")
_ENGLISH = re.compile(r"([A-Z][a-z]{2}) ([0-9]{1,2}), ([0-9]{4}),?\s+([0-9]{1,2}):([0-9]{2})\s+([AP])M")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DIGITS = re.compile(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)?", re.ASCII)
_OFFSET = re.compile(r"utc([+-]\d{1,2})(?::?(\d\d))?", re.ASCII)


def parse_utc(text: str, place: str = "--calendar-start") -> int:
    """Unix seconds of an ISO 8601 moment, UTC by default. Raises InputError."""
    try:
        return moments.parse_utc(text)
    except (ValueError, OverflowError):
        raise InputError(place, repr(text), "a moment since 1970 in whole seconds, as 2023-07-03T00:00Z") from None


def fixed_clock(offset_s: int) -> Clock:
    """Clock for ISO 8601 with a constant UTC offset in s; offsets in texts take precedence.

    Raises ValueError for a day or more.
    """
    if abs(offset_s) >= 24 * 3600:
        raise ValueError("an offset from UTC of less than a day")
    zone = timezone(timedelta(seconds=offset_s))

    def unix(text: str) -> int:
        moment = _iso(text)
        return _unix(moment if moment.tzinfo else moment.replace(tzinfo=zone))

    return unix


def offset_of(text: str) -> int:
    """Offset in s of `utc+1` or `utc-05:30`. Raises ValueError."""
    match = _OFFSET.search(text)
    if match is None:
        raise ValueError(f"no offset from UTC in {text!r}")
    hours, minutes = int(match[1]), int(match[2] or 0)
    return hours * 3600 + (-60 if match[1].startswith("-") else 60) * minutes


def european_clock() -> Clock:
    """Clock for Central European Time with summer time, in ISO 8601, as `31.12.2023 23:00` or `Dec 31, 2023 11:00 PM`.

    The first of two equal autumn hours is summer time, except with `(CET)` or `(CEST)`.
    """
    seen: set[datetime] = set()

    def unix(text: str) -> int:
        text, said = re.sub(r"\s*\((CES?T)\)", "", text).strip(), re.search(r"\((CES?T)\)", text)
        moment = _iso(_iso_text(text))
        if moment.tzinfo:
            return _unix(moment)
        second = said[1] == "CET" if said else moment in seen
        seen.add(moment)
        local = moment.replace(tzinfo=_EUROPE, fold=int(second))
        if local.astimezone(UTC).astimezone(_EUROPE).replace(tzinfo=None) != moment:
            raise ValueError("an hour that Central European Time has; here summer time begins")
        return _unix(local)

    return unix


def interval_clock(clock: Clock) -> Clock:
    """Clock for the start of `begin - end`."""

    def unix(text: str) -> int:
        return clock(_iso_text(text.partition(" - ")[0].strip()))

    return unix


def unix_or(clock: Clock) -> Clock:
    """Clock for Unix seconds or another clock's texts."""

    def unix(text: str) -> int:
        if not text.isdecimal():
            return clock(text)
        try:
            return whole_number(text, 0, _LAST_S - 1)
        except ValueError:
            raise ValueError("Unix seconds of a year before 9999") from None

    return unix


def digits_clock() -> Clock:
    """Clock for `2023123123` and `202312312350` in UTC."""

    def unix(text: str) -> int:
        match = _DIGITS.fullmatch(text)
        if match is None:
            raise ValueError("a time such as 2023123123 or 202312312350")
        return _unix(_iso(f"{match[1]}-{match[2]}-{match[3]}T{match[4]}:{match[5] or '00'}Z"))

    return unix


def millisecond_clock() -> Clock:
    """Clock for Unix milliseconds in whole seconds."""

    def unix(text: str) -> int:
        try:
            seconds, rest = divmod(whole_number(text, 0, 1000 * _LAST_S - 1), 1000)
        except ValueError:
            rest = 1
        if rest:
            raise ValueError("Unix milliseconds of a whole second before 9999") from None
        return seconds

    return unix


def _unix(moment: datetime) -> int:
    seconds = int(moment.timestamp())
    if not _FIRST_S <= seconds < _LAST_S:
        raise ValueError("a time from 1900 to 9998")
    return seconds


def _iso_text(text: str) -> str:
    if match := _NUMERIC.match(text):
        return f"{match[3]}-{match[2]}-{match[1]}T{match[4]}{text[match.end() :]}"
    if (match := _ENGLISH.fullmatch(text)) and match[1] in _MONTHS and 1 <= int(match[4]) <= 12:
        hour = int(match[4]) % 12 + (12 if match[6] == "P" else 0)
        return f"{match[3]}-{_MONTHS.index(match[1]) + 1:02}-{int(match[2]):02}T{hour:02}:{match[5]}"
    return text


def _iso(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("a time such as 2023-07-03T00:00Z") from None
