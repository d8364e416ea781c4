"""Machine's past as a schedule, and the complete record's beginning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.capacity import could_hold
from dardis.model.errors import InputError
from dardis.model.job import ActualJob
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.model.target import Target
from dardis.predict.recent import LastTwoRuntimes
from dardis.registry import find_dispatcher
from dardis.runs.play import play
from dardis.workload.trace import UNKNOWN, Trace
from offline.site.calendar import DAY_S

MOST_LATE = 0.02
"""Of recorded jobs without free nodes, by failures or rounding."""


def replay_easy(jobs: Sequence[ActualJob], platform: Platform) -> Schedule:
    """Schedule jobs by EASY backfilling, without known starts."""
    return play(platform, jobs, find_dispatcher("easy"), Target(), seed=1).schedule


def recorded_schedule(
    jobs: Sequence[ActualJob], waits: Mapping[int, int], platform: Platform, now: int
) -> tuple[Schedule, list[ActualJob]] | None:
    """Recorded schedule on the platform's nodes, and its jobs; None if infeasible.

    `waits` (s, by job number) must cover all jobs. Jobs without free nodes begin later; if more than `MOST_LATE` of
    those before `now` do, the record is of another machine. Later jobs must not be used.
    """
    if any(waits.get(job.number, UNKNOWN) < 0 for job in jobs):
        return None
    began = {job.number: job.submit + waits[job.number] for job in jobs}

    def at_its_start(job: ActualJob) -> ActualJob:
        start = began[job.number]
        return replace(job, job=replace(job.job, submit=start, earliest=start, latest=None), after=None)

    arrivals = sorted(map(at_its_start, jobs), key=lambda job: (job.submit, job.number))
    rule = find_dispatcher("rules-fcfs", ("ordering=relaxed", "node_choice=best-fit"))
    schedule = play(platform, arrivals, rule, Target(), seed=1).schedule
    begun = schedule.ran & (schedule.submit < now)
    if (schedule.start > schedule.submit)[begun].sum() > MOST_LATE * begun.sum():
        return None
    told = {job.number: job for job in jobs}
    ordered = [told[number] for number in schedule.number.tolist()]
    submit = np.array([job.submit for job in ordered], dtype=np.int64)
    earliest = np.array([job.earliest for job in ordered], dtype=np.int64)
    return replace(schedule, submit=submit, earliest=earliest), ordered


class PastSchedule(NamedTuple):
    """Past schedule, jobs in its order, and source text."""

    schedule: Schedule
    jobs: list[ActualJob]
    source: str


def past_of(jobs: list[ActualJob], trace: Trace, platform: Platform, now: int) -> PastSchedule:
    """Recorded past if feasible, otherwise a replay under EASY."""
    waits = dict(zip(trace.number.tolist(), trace.wait.tolist(), strict=True))
    record = recorded_schedule(jobs, waits, platform, now)
    if record is not None:
        return PastSchedule(*record, "running jobs are as recorded in the trace")
    source = "recorded starts are incomplete or do not fit the platform, so EASY replays the past"
    return PastSchedule(replay_easy(jobs, platform), jobs, source)


def predictor_of(schedule: Schedule) -> LastTwoRuntimes:
    """Make a runtime predictor that knows each job from its end on."""
    ran = np.flatnonzero(schedule.ran)
    users = [schedule.user[i] for i in ran.tolist()]
    return LastTwoRuntimes(schedule.finish[ran], (schedule.finish - schedule.start)[ran], users, schedule.walltime[ran])


def record_begins(submit: Ints, end: Ints, now: int) -> int:
    """First submission, but at most a day before the first end by `now`.

    Slurm reports the jobs that ran or waited in a span, and none ended before.
    """
    known = end[end <= now]
    first = int(submit.min())
    return max(first, int(known.min()) - DAY_S) if len(known) else first


def job_ends(submit: Ints, wait: Ints, runtime: Ints) -> Ints:
    """End of jobs; those with unknown waits began at once."""
    return np.asarray(submit + np.maximum(wait, 0) + runtime)


def trace_that_fits(trace: Trace, platform: Platform) -> tuple[Trace, str | None]:
    """Jobs within the machine's cores, and a note on others."""
    fits = trace.procs <= platform.cores
    if fits.all():
        return trace, None
    if not fits.any():
        raise InputError("forecast", f"no job fits the {platform.cores:,} cores of {platform.name}", "its own trace")
    note = f"left out: {int((~fits).sum()):,} jobs with more than the {platform.cores:,} cores of {platform.name}"
    return trace.take(fits), note


def jobs_that_fit(jobs: Sequence[ActualJob], platform: Platform) -> list[ActualJob]:
    """Jobs that fit the empty machine."""
    return [job for job in jobs if could_hold(job.job, platform.sets, distinct=False) >= job.units]
