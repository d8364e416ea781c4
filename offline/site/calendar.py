"""Maps a trace's clock to UTC and days.

Trace time = Unix time − Unix(calendar start) + first submit. UTC day 0 contains the calendar's start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.workload.trace import Trace

HOUR_S = 3600
DAY_S = 24 * HOUR_S
_EARLIEST_UNIX = 631_152_000
"""1990-01-01T00:00Z. Larger submit times are Unix seconds."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """Maps a trace's clock to UTC; the first submit is at `begins_unix`."""

    first_submit: int
    begins_unix: int
    is_known: bool = True
    """Otherwise day 0 begins with the first submit, undated."""

    @property
    def offset(self) -> int:
        """Unix time minus trace time, s."""
        return self.begins_unix - self.first_submit

    def to_unix(self, moment: int) -> int:
        """Unix time of a trace time."""
        return moment + self.offset

    def from_unix(self, unix: int) -> int:
        """Trace time of a Unix time."""
        return unix - self.offset

    def day(self, number: int) -> tuple[int, int]:
        """`[start, end)` of a UTC day on the trace's clock."""
        start = self.from_unix((self.begins_unix // DAY_S + number) * DAY_S)
        return start, start + DAY_S

    def day_of(self, moment: int) -> int:
        """Number of the UTC day of a trace time."""
        return self.number_of(self.to_unix(moment))

    def number_of(self, unix: int) -> int:
        """Number of the UTC day of a Unix time."""
        return unix // DAY_S - self.begins_unix // DAY_S

    def text(self, moment: int) -> str:
        """Format a trace time as UTC text, `2023-07-03T00:00:00Z`."""
        return np.datetime_as_string(np.datetime64(self.to_unix(moment), "s"), timezone="UTC")

    def display_text(self, moment: int) -> str:
        """Format a trace time, undated by day number and time."""
        if self.is_known:
            return self.text(moment)
        day = self.day_of(moment)
        minutes = (moment - self.day(day)[0]) // 60
        return f"day {day}, {minutes // 60:02d}:{minutes % 60:02d}"


def calendar_note(trace: Trace, calendar: Calendar) -> str | None:
    """Note if the calendar contradicts Unix submit times."""
    first = calendar.first_submit
    if first < _EARLIEST_UNIX or trace.unix_start is not None or not calendar.offset:
        return None
    own = Calendar(first, first)
    return f"the stated start moves the trace from {own.text(first)} to {calendar.text(first)}"


def calendar_of(trace: Trace, begins_unix: int | None = None) -> tuple[Calendar, str | None]:
    """Trace's calendar, and a note on assumptions.

    Start: stated, or the trace's (`UnixStartTime`, or Unix submit times). Otherwise day 0 begins with the first submit,
    on an unknown weekday.
    """
    first = int(trace.submit.min())
    if begins_unix is not None:
        return Calendar(first, begins_unix), None
    if (begin := trace.unix_start) is not None and begin >= _EARLIEST_UNIX:
        return Calendar(first, begin + first), None
    if first >= _EARLIEST_UNIX:
        return Calendar(first, first), None
    assumed = "the trace states no start date, so day 0 begins with its first submission"
    return Calendar(first, 0, is_known=False), assumed
