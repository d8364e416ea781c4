"""Simulates the hours before the planned day, and collects hourly knowledge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dardis.metrics.system import used_profile
from dardis.model.arrays import Ints
from dardis.model.job import ActualJob, Job
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.model.series import Series
from dardis.model.step_function import StepFunction
from offline.extract.trees import HourTable, hour_table
from offline.planner.day_problem import ExpectedJob
from offline.planner.packing import MachineState, running_of
from offline.site.calendar import DAY_S, Calendar
from offline.site.history import record_begins, replay_easy
from offline.site.site_inputs import SiteInputs


@dataclass(frozen=True)
class HoursBefore:
    """Expected cores in use and submissions (ascending) until the state."""

    used: StepFunction
    submits: Ints
    state: MachineState


def simulate_ahead(
    state: MachineState, jobs: Sequence[Job], coming: Sequence[ExpectedJob], platform: Platform, until: int
) -> HoursBefore:
    """Simulate running, waiting and forecast jobs by EASY backfilling.

    `jobs`: the history's, with running ones. Nodes are assigned anew.
    """
    now, running = state.now, state.running
    by_number = {job.number: job for job in jobs if job.submit < now}  # later jobs may share a made-up number
    # Running jobs come a second before the others, without a queue, so that each starts at once.
    going = [
        _expected_job(replace(by_number[number], queue=""), now - 1, finish - now + 1)
        for number, finish in zip(running.number.tolist(), running.finish.tolist(), strict=True)
    ]
    new = {one.job.number: one for one in (*state.waiting, *coming)}
    to_come = [_expected_job(one.job, max(one.job.submit, now), one.duration) for one in new.values()]
    lived = sorted([*going, *to_come], key=lambda job: (job.submit, job.number))
    schedule = replay_easy(lived, platform)
    begun = schedule.ran & (schedule.start < until)
    on = np.flatnonzero(begun & (schedule.finish > until))
    asked = [by_number.get(job.number, job.job) for job in lived]
    place = {number: row for row, number in enumerate(running.number.tolist())}
    then = running_of(schedule, on, schedule.finish[on], asked, platform)
    was = np.array([place.get(number, -1) for number in then.number.tolist()], dtype=np.int64)
    then = replace(
        then,
        submit=np.where(was >= 0, running.submit[was], then.submit) if place else then.submit,
        start=np.where(was >= 0, running.start[was], then.start) if place else then.start,
    )
    waits = [new[number] for number in schedule.number[schedule.ran & ~begun].tolist() if number in new]
    return HoursBefore(
        used_profile(schedule, CORES),
        np.sort(np.array([one.job.submit for one in coming], dtype=np.int64)),
        MachineState(until, then, waits),
    )


def _expected_job(job: Job, submit: int, duration: int) -> ActualJob:
    asked = replace(job, submit=submit, earliest=max(job.earliest, submit), latest=None, walltime=duration)
    return ActualJob(asked, duration)


THURSDAY = 3
"""Weekday of Unix day 0; Monday is 0."""
LEARN_DAYS = 60


@dataclass(frozen=True)
class MachineHistory:
    """Machine's past until `until`.

    `ahead`: events expected until the planned day.
    """

    platform: Platform
    calendar: Calendar
    schedule: Schedule
    until: int
    more: dict[str, Series]
    """Weather and prices by names in rules."""
    expected_hours: HoursBefore | None = None

    @property
    def first_day(self) -> int:
        """First whole UTC day, within `LEARN_DAYS`."""
        ends = np.where(self.schedule.ran, self.schedule.finish, self.until + 1)
        begins = record_begins(self.schedule.submit, ends, self.until)
        first = self.calendar.day_of(begins - 1) + 1
        return max(first, self.next_day - LEARN_DAYS)

    @property
    def next_day(self) -> int:
        """First day not over by `until`."""
        return self.calendar.day_of(self.until)

    @property
    def used(self) -> StepFunction:
        """Cores in use, past and expected."""
        past = used_profile(self.schedule, CORES)
        return past if self.expected_hours is None else past.followed_by(self.expected_hours.used, self.until)

    def table(self, day: int, days: int) -> HourTable:
        """Hourly knowledge of UTC days, as of their beginnings."""
        start, end = self.calendar.day(day)[0], self.calendar.day(day + days - 1)[1]
        covered = {name: series for name, series in self.more.items() if series.start <= start and end <= series.end}
        weekday = (self.calendar.to_unix(start) // DAY_S + THURSDAY) % 7
        submits = np.sort(self.schedule.submit)
        if self.expected_hours is not None:
            submits = np.concatenate([submits[submits < self.until], self.expected_hours.submits])
        return hour_table(start, days, weekday, self.used, self.platform.cores, submits, covered)


def history_at(
    site: SiteInputs, past: Schedule, day: int, now: int, ahead: HoursBefore | None = None
) -> tuple[MachineHistory, tuple[str, ...]]:
    """Site's past at `now`, and notes on missing data."""
    known = MachineHistory(site.platform, site.calendar, past, now, {}, ahead)
    more, notes = site.series_ahead(min(known.first_day, day), day)
    return replace(known, more=more), notes
