"""The past of a machine as a schedule, the jobs that the machine can run, and since when the history is complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.capacity import could_hold
from dardis.model.errors import InputError
from dardis.model.job import Actual
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.model.target import Target
from dardis.predict.recent import LastTwo
from dardis.registry import find_dispatcher
from dardis.runs.play import play
from dardis.workload.trace import UNKNOWN, Trace
from offline.site.calendar import DAY_S

MOST_LATE = 0.02
"""Share of the recorded jobs that may find no nodes at their own start: nodes broke, or the record rounds."""


def replayed(jobs: Sequence[Actual], platform: Platform) -> Schedule:
    """What EASY backfilling makes of the jobs: the past of a machine whose own starts are not known."""
    return play(platform, jobs, find_dispatcher("easy"), Target(), seed=1).schedule


def recorded(
    jobs: Sequence[Actual], waits: Mapping[int, int], platform: Platform, now: int
) -> tuple[Schedule, list[Actual]] | None:
    """The schedule that was recorded, on nodes of the platform, and its jobs in its order; None where it can't be.

    `waits` (s, by job number) are needed of all jobs. A job that finds no nodes at its own start begins when it does;
    when these are more than `MOST_LATE` of those that began before `now`, the record is of another machine. What began
    later is only there: nobody may look at it.
    """
    if any(waits.get(job.number, UNKNOWN) < 0 for job in jobs):
        return None
    began = {job.number: job.submit + waits[job.number] for job in jobs}

    def at_its_start(job: Actual) -> Actual:
        start = began[job.number]
        return replace(job, asked=replace(job.asked, submit=start, earliest=start, latest=None), after=None)

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


class Past(NamedTuple):
    """What has run: its schedule, the jobs in its order, and where it comes from, for people."""

    schedule: Schedule
    jobs: list[Actual]
    source: str


def past_of(jobs: list[Actual], trace: Trace, platform: Platform, now: int) -> Past:
    """The past of a machine as the trace recorded it, where this machine can hold it, else as EASY would have it."""
    waits = dict(zip(trace.number.tolist(), trace.wait.tolist(), strict=True))
    record = recorded(jobs, waits, platform, now)
    if record is not None:
        return Past(*record, "what runs already is as the trace recorded it")
    source = "the trace's own starts are not all known or don't fit the platform: its past is replayed under EASY"
    return Past(replayed(jobs, platform), jobs, source)


def predictor_of(schedule: Schedule) -> LastTwo:
    """Knows the runtimes of the schedule's jobs from their ends on."""
    ran = np.flatnonzero(schedule.ran)
    users = [schedule.user[i] for i in ran.tolist()]
    return LastTwo(schedule.finish[ran], (schedule.finish - schedule.start)[ran], users, schedule.walltime[ran])


def record_begins(submit: Ints, end: Ints, now: int) -> int:
    """The first submission, but no earlier than a day before the first end; what ends after `now` is not looked at.

    Of a span Slurm tells all jobs that ran or waited in it, whenever they were submitted, and none that ended before.
    """
    known = end[end <= now]
    first = int(submit.min())
    return max(first, int(known.min()) - DAY_S) if len(known) else first


def known_ends(submit: Ints, wait: Ints, runtime: Ints) -> Ints:
    """When jobs end; those whose wait is not known began at once."""
    return np.asarray(submit + np.maximum(wait, 0) + runtime)


def trace_that_fits(trace: Trace, platform: Platform) -> tuple[Trace, str | None]:
    """The jobs that ask for no more cores than the machine has, and a note on the others, which will never run."""
    fits = trace.procs <= platform.cores
    if fits.all():
        return trace, None
    if not fits.any():
        raise InputError("forecast", f"no job fits the {platform.cores:,} cores of {platform.name}", "its own trace")
    note = f"left out: {int((~fits).sum()):,} jobs of more cores than the {platform.cores:,} of {platform.name}"
    return trace.take(fits), note


def jobs_that_fit(jobs: Sequence[Actual], platform: Platform) -> list[Actual]:
    """The jobs that the empty machine holds."""
    return [job for job in jobs if could_hold(job.asked, platform.sets, distinct=False) >= job.units]
