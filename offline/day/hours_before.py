"""The hours from the moment of a plan to its day, as expected, and what is known of the machine hour by hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dardis.metrics.system import used_profile
from dardis.model.arrays import Ints
from dardis.model.job import Actual, Job
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.model.series import Series
from dardis.model.step_function import StepFunction
from offline.extract.trees import HourTable, hour_table
from offline.planner.day_problem import Expected
from offline.planner.packing import State, running_of
from offline.site.calendar import DAY_S, Calendar
from offline.site.history import record_begins, replayed
from offline.site.site_inputs import Site


@dataclass(frozen=True)
class Gap:
    """What is expected to happen from one moment on: cores in use, submissions (ascending), and the state at its end.

    It ends where the state is: nothing may be looked at that comes later.
    """

    used: StepFunction
    submits: Ints
    state: State


def live_on(state: State, jobs: Sequence[Job], coming: Sequence[Expected], platform: Platform, until: int) -> Gap:
    """Let EASY backfilling run what runs, waits and is forecast to come, for as long as each is expected to.

    `jobs` are those of the history, among them all that run; nodes are given out anew.
    """
    now, running = state.now, state.running
    by_number = {job.number: job for job in jobs if job.submit < now}  # what comes later may have a made-up number
    # What runs comes a second before the others, so that it finds its nodes, and asks no queue whether it may.
    going = [
        _as_expected(replace(by_number[number], queue=""), now - 1, finish - now + 1)
        for number, finish in zip(running.number.tolist(), running.finish.tolist(), strict=True)
    ]
    new = {one.asked.number: one for one in (*state.waiting, *coming)}
    to_come = [_as_expected(one.asked, max(one.asked.submit, now), one.duration) for one in new.values()]
    lived = sorted([*going, *to_come], key=lambda job: (job.submit, job.number))
    schedule = replayed(lived, platform)
    begun = schedule.ran & (schedule.start < until)
    on = np.flatnonzero(begun & (schedule.finish > until))
    asked = [by_number.get(job.number, job.asked) for job in lived]
    place = {number: row for row, number in enumerate(running.number.tolist())}
    then = running_of(schedule, on, schedule.finish[on], asked, platform)
    was = np.array([place.get(number, -1) for number in then.number.tolist()], dtype=np.int64)
    then = replace(
        then,
        submit=np.where(was >= 0, running.submit[was], then.submit) if place else then.submit,
        start=np.where(was >= 0, running.start[was], then.start) if place else then.start,
    )
    waits = [new[number] for number in schedule.number[schedule.ran & ~begun].tolist() if number in new]
    return Gap(
        used_profile(schedule, CORES),
        np.sort(np.array([one.asked.submit for one in coming], dtype=np.int64)),
        State(until, then, waits),
    )


def _as_expected(job: Job, submit: int, duration: int) -> Actual:
    """The job from a moment on, without a latest start, for so long."""
    asked = replace(job, submit=submit, earliest=max(job.earliest, submit), latest=None, walltime=duration)
    return Actual(asked, duration)


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
