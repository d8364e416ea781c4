"""Earlier jobs by hour of submission, for forecasts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.errors import InputError
from dardis.predict.recent import LastTwoRuntimes
from dardis.workload.trace import UNKNOWN, Trace
from offline.site.calendar import DAY_S, HOUR_S
from offline.site.history import job_ends, record_begins

WINDOW_DAYS = 56
"""Older days would weigh 3 % of yesterday."""


class ShortHistoryError(InputError):
    """Too little history for a forecast."""


@dataclass(frozen=True, eq=False)
class Hourly:
    """Core demand by hour of submission.

    `work` (hours,): core-hours submitted in the hour. `load` (hours, lags): mean cores in the same hour, the next, and
    so on, if jobs start at once.
    """

    work: Floats
    load: Floats


@dataclass(frozen=True, eq=False)
class SubmissionHistory:
    """Complete days before `origin`; `jobs` as known then, in submission order.

    Unfinished jobs have expected runtimes. `hour` (jobs,) counts from the first day.
    """

    origin: int
    days: int
    jobs: Trace
    hour: Ints
    hourly: Hourly
    last_number: int

    @property
    def work(self) -> Floats:
        """Core-hours submitted, (days, 24)."""
        return self.hourly.work.reshape(self.days, 24)

    @property
    def load(self) -> Floats:
        """Cores in use by lag, (days, 24, lags)."""
        return self.hourly.load.reshape(self.days, 24, -1)


def history_before(trace: Trace, origin: int, hours: int) -> SubmissionHistory:
    """Knowledge at `origin` for a forecast of `hours` hours. InputError: less than a day of jobs."""
    before = trace.submit < origin
    if not before.any() or origin - int(trace.submit[before].min()) < DAY_S:
        known = (origin - int(trace.submit[before].min())) / HOUR_S if before.any() else 0
        found = f"{int(before.sum())} jobs in the {known:.1f} h before that day"
        raise ShortHistoryError("forecast", found, "jobs on at least one complete day before it")
    ends = job_ends(trace.submit, trace.wait, trace.runtime)[before]
    days = min((origin - record_begins(trace.submit[before], ends, origin)) // DAY_S, WINDOW_DAYS)
    start = origin - days * DAY_S
    rows = np.flatnonzero(before & (trace.submit >= start))
    if not len(rows):
        raise ShortHistoryError(
            "forecast", f"no job in the {days} days before that day", "a day that follows the history"
        )
    jobs = known_jobs(trace.take(rows[np.argsort(trace.submit[rows], kind="stable")]), origin)
    hourly = by_hour(jobs, start, 24 * days, hours)
    last_number = int(trace.number[before].max())
    return SubmissionHistory(origin, days, jobs, (jobs.submit - start) // HOUR_S, hourly, last_number)


def drop_last_hours(past: SubmissionHistory, hours: int) -> SubmissionHistory:
    """Complete days that end `hours` (0 to 23) earlier; `past` if none."""
    days = past.days - (hours > 0)
    if not hours or not days:
        return past
    first = 24 * past.days - hours - 24 * days
    inside = (past.hour >= first) & (past.hour < first + 24 * days)
    hourly = Hourly(*(of[first : first + 24 * days] for of in (past.hourly.work, past.hourly.load)))
    return replace(
        past, origin=past.origin - hours * HOUR_S, days=days, jobs=past.jobs.take(inside),
        hour=past.hour[inside] - first, hourly=hourly,
    )  # fmt: skip


def known_jobs(jobs: Trace, origin: int) -> Trace:
    """Jobs submitted before `origin` as known then, with expected runtimes.

    Jobs without a recorded wait count as started at once.
    """
    start = np.where(jobs.wait > 0, jobs.submit + jobs.wait, jobs.submit)
    ended = start + jobs.runtime <= origin
    run = np.minimum(jobs.runtime, jobs.walltime)
    # Without requested times, a trace has runtimes instead, unknown before a job's end.
    if not ended.any() or bool((jobs.runtime == jobs.walltime)[ended].all()):
        typical = int(run[ended].mean()) if ended.any() else HOUR_S
        expected = np.maximum(typical, 2 * np.maximum(origin - start, 0))
        walltime = np.where(ended, jobs.walltime, expected)
    else:
        expected, walltime = run.copy(), jobs.walltime
        _expect_runtimes(expected, jobs, origin, start, ended)
    wait = np.where(start <= origin, jobs.wait, UNKNOWN)
    runtime = np.maximum(np.where(ended, run, expected), 1)
    return replace(jobs, runtime=runtime, walltime=walltime, wait=wait, comments=(), skipped=())


def _expect_runtimes(run: Ints, jobs: Trace, origin: int, start: Ints, ended: Bools) -> None:
    users = jobs.user.tolist()
    of_ended = [users[place] for place in np.flatnonzero(ended).tolist()]
    finish = (start + jobs.runtime)[ended]
    predictor = LastTwoRuntimes(finish, run[ended], of_ended, jobs.walltime[ended])
    for place in np.flatnonzero(~ended).tolist():
        elapsed = max(origin - int(start[place]), 0)
        run[place] = predictor.runtime(users[place], int(jobs.walltime[place]), origin, elapsed)


def by_hour(jobs: Trace, start: int, hours: int, lags: int) -> Hourly:
    """Demand of jobs submitted in `hours` hours from `start` on."""
    jobs = jobs.take((jobs.submit >= start) & (jobs.submit < start + hours * HOUR_S))
    hour = (jobs.submit - start) // HOUR_S
    run = np.minimum(jobs.runtime, jobs.walltime)
    work = np.bincount(hour, weights=run * jobs.procs / HOUR_S, minlength=hours).astype(np.float64)
    since = jobs.submit - start - hour * HOUR_S
    load = np.zeros((hours, lags))
    for lag in range(lags):
        used = np.minimum(since + run, (lag + 1) * HOUR_S) - np.maximum(since, lag * HOUR_S)
        load[:, lag] = np.bincount(hour, weights=np.maximum(used, 0) * jobs.procs / HOUR_S, minlength=hours)
    return Hourly(work, load)


def in_use(load: Floats) -> Floats:
    """Mean cores in use (…, hours), from a load (…, hours, lags), lags ≥ hours."""
    hours = load.shape[-2]
    used = np.zeros(load.shape[:-1])
    for hour in range(hours):
        used[..., hour:] += load[..., hour, : hours - hour]
    return used
