"""Trace's parts: by seconds, UTC dates, or times after the first submission."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from dardis.model.errors import InputError
from dardis.model.moments import parse_utc
from dardis.model.numbers import whole_number

Cut = int | str
"""Seconds on the trace's clock, a date (`2012-02-03T10:00Z`), or a time after the first submission (`+2d`)."""
Trim = tuple[Cut, Cut]
"""Warm-up and cool-down."""

MOST_WALLTIME_FACTOR: Final = 1_000_000
LONGEST_TRIM: Final = 1 << 40
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN: Final = re.compile(r"(\+?)(\d{1,12})([smhdw]?)", re.ASCII)
_WHEN: Final = "a UTC date such as 2012-02-03 or 2012-02-03T10:00Z, or +2d from the first submission (s, m, h, d, w)"
_CUT: Final = f"whole seconds on the trace's clock, {_WHEN}"
_TRIM: Final = f"WARMUP,COOLDOWN, each in seconds, as a span such as 2d, or as a time: {_WHEN}"


class TraceClock(NamedTuple):
    """Trace, first submission, and Unix time of second 0 (None: unknown). `dates_need` is advice for errors."""

    trace: Path
    first: int
    unix_start: int | None
    dates_need: str = "--calendar-start, the UTC moment of its first submission"


def cut_of(option: str, text: str) -> Cut:
    """Read a cut without a trace. Raises InputError."""
    try:
        return _moment(option, text, _CUT) if text.startswith("+") else whole_number(text)
    except ValueError:
        return _moment(option, text, _CUT)


def trim_of(option: str, text: str) -> Trim:
    """Read `WARMUP,COOLDOWN`. Raises InputError."""
    first, comma, last = text.partition(",")
    if not comma:
        raise InputError(option, repr(text), _TRIM)
    return _trimmed(option, first.strip()), _trimmed(option, last.strip())


def seconds_of(option: str, cut: Cut, clock: TraceClock) -> int:
    """Convert to seconds on the trace's clock. Raises InputError without a calendar."""
    if isinstance(cut, int):
        return cut
    if (span := _SPAN.fullmatch(cut)) is not None:
        return clock.first + _length(span)
    if clock.unix_start is None:
        found = f"{clock.trace} does not state its start date"
        raise InputError(f"{option} {cut}", found, clock.dates_need)
    return parse_utc(cut) - clock.unix_start


def trim_seconds(option: str, trim: Trim, clock: TraceClock, last: int) -> tuple[int, int]:
    """Warm-up and cool-down in s, between the submissions `clock.first` and `last`. Raises InputError."""
    begin, end = trim
    warm_up = begin if isinstance(begin, int) else max(seconds_of(option, begin, clock) - clock.first, 0)
    # Submissions at the moment are included.
    cool_down = end if isinstance(end, int) else max(last + 1 - seconds_of(option, end, clock), 0)
    return warm_up, cool_down


def _trimmed(option: str, text: str) -> Cut:
    span = _SPAN.fullmatch(text)
    if span is None or span[1]:
        return _moment(option, text, _TRIM)
    if _length(span) > LONGEST_TRIM:
        raise InputError(option, repr(text), _TRIM)
    return _length(span)


def _moment(option: str, text: str, expected: str) -> str:
    span = _SPAN.fullmatch(text)
    if span is not None and span[1] and _length(span) <= LONGEST_TRIM:
        return text
    try:
        if span is None:
            parse_utc(text)
            return text
    except (ValueError, OverflowError):
        pass
    raise InputError(option, repr(text), expected)


def _length(span: re.Match[str]) -> int:
    return int(span[2]) * _UNITS[span[3]]
