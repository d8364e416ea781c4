"""What is known of a machine when a plan is made, hour by hour, for rules to be learned from: nothing later."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dardis.metrics.system import used_profile
from dardis.model.platform import Platform
from dardis.model.profile import StepFunction
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.model.series import Series
from offline.day.gap import Gap
from offline.extract.hours import HourTable, hour_table
from offline.site.calendar import DAY_S, Calendar
from offline.site.history import record_begins
from offline.site.site import Site

THURSDAY = 3
"""The weekday of Unix day 0, where Monday is 0."""
LEARN_DAYS = 60
"""At most so many past days are learned from."""


@dataclass(frozen=True)
class Known:
    """The past of a machine up to a moment: nothing in it may be looked at that was not known by `until`.

    From `until` to the day that is planned stands what is expected (`ahead`), where there is time between.
    """

    platform: Platform
    calendar: Calendar
    schedule: Schedule
    until: int
    more: dict[str, Series]
    """Weather and prices on the trace's clock, by the names that rules call them."""
    ahead: Gap | None = None

    @property
    def first_day(self) -> int:
        """Number of the first whole UTC day of the history, or a later one."""
        ends = np.where(self.schedule.ran, self.schedule.finish, self.until + 1)
        begins = record_begins(self.schedule.submit, ends, self.until)
        first = self.calendar.day_of(begins - 1) + 1
        return max(first, self.next_day - LEARN_DAYS)

    @property
    def next_day(self) -> int:
        """Number of the first day that was not over by `until`."""
        return self.calendar.day_of(self.until)

    @property
    def used(self) -> StepFunction:
        """Cores in use; meaningless after what is known or expected."""
        past = used_profile(self.schedule, CORES)
        return past if self.ahead is None else past.followed_by(self.ahead.used, self.until)

    def table(self, day: int, days: int) -> HourTable:
        """What was known of the hours of these UTC days when each began."""
        start, end = self.calendar.day(day)[0], self.calendar.day(day + days - 1)[1]
        covered = {name: series for name, series in self.more.items() if series.start <= start and end <= series.end}
        weekday = (self.calendar.to_unix(start) // DAY_S + THURSDAY) % 7
        submits = np.sort(self.schedule.submit)
        if self.ahead is not None:
            submits = np.concatenate([submits[submits < self.until], self.ahead.submits])
        return hour_table(start, days, weekday, self.used, self.platform.cores, submits, covered)


def known_at(site: Site, past: Schedule, day: int, now: int, ahead: Gap | None = None) -> tuple[Known, tuple[str, ...]]:
    """The past of a site at `now`, at most a day before `day` begins, and notes on what is not known of all of it."""
    known = Known(site.platform, site.calendar, past, now, {}, ahead)
    more, notes = site.known_ahead(min(known.first_day, day), day)
    return replace(known, more=more), notes
