"""The hours between the moment when a plan is made and the day that it is for, as they are to be expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dardis.metrics.system import used_profile
from dardis.model.arrays import Ints
from dardis.model.job import Actual, Job
from dardis.model.platform import Platform
from dardis.model.profile import StepFunction
from dardis.model.resources import CORES
from offline.planner.midnight import State, running_of
from offline.planner.problem import Expected
from offline.site.history import replayed


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
