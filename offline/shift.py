"""Holds jobs for hours in which energy is cheap: opt-in, since whoever submitted them waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dardis.model.errors import InputError
from dardis.model.job import Job
from dardis.model.schedule import Schedule
from dardis.model.series import Floats, Ints
from dardis.power.conditions import Conditions
from dardis.power.nodes import full_watts
from offline.history import predictor_of
from offline.site import Site

GRAIN_S = 900
"""How far apart the starts are that are looked at."""
LEAST_SAVING = 0.05
"""A job is held only if that saves at least this share of what its energy would cost at once."""


def shifted(site: Site, jobs: Sequence[Job], past: Schedule, days: tuple[int, int], hours: float) -> list[Job]:
    """The jobs, those submitted in the days with the earliest start that is cheapest within so many hours.

    What a start costs is the price of the energy and of the cooling that it adds, over the time that the job is
    expected to run; prices and weather are known as far as the files reach. Deadlines stay.
    """
    start, end = site.calendar.day(days[0])[0], site.calendar.day(days[1])[1]
    conditions = _as_far_as_known(site, days)
    worth = conditions.price_per_kwh * (1 + _marginal(site, conditions))
    area = np.concatenate([[0.0], np.cumsum(worth * np.diff(conditions.edges))])
    predictor = predictor_of(past)

    def held(job: Job) -> Job:
        if not start <= job.submit < end:
            return job
        expected = predictor.runtime(job.user, job.walltime, job.submit)
        latest = min(job.earliest + int(3600 * hours), conditions.end - expected, job.latest or conditions.end)
        starts = np.arange(job.earliest, max(latest, job.earliest) + 1, GRAIN_S, dtype=np.int64)
        cost = _cost(starts, expected, conditions.edges, area)
        best = int(cost.argmin())
        saved = cost[0] - cost[best]
        return replace(job, earliest=int(starts[best])) if saved > LEAST_SAVING * abs(cost[0]) else job

    return [held(job) for job in jobs]


def _cost(starts: Ints, length: int, edges: Ints, area: Floats) -> Floats:
    return np.asarray(np.interp(starts + length, edges, area) - np.interp(starts, edges, area))


def _marginal(site: Site, conditions: Conditions) -> Floats:
    """Cooling power that a watt more takes in each segment, at half of full load."""
    half, step = full_watts(site.platform) / 2, full_watts(site.platform) / 100
    more, less = (
        site.cooling.watts(conditions.temp_c, np.full(len(conditions.temp_c), w)) for w in (half + step, half)
    )
    return np.asarray((more - less) / step)


def _as_far_as_known(site: Site, days: tuple[int, int]) -> Conditions:
    """Conditions of the days, and of the day after them where they are known."""
    try:
        return site.conditions(days[0], days[1] - days[0] + 2)
    except InputError:
        return site.conditions(days[0], days[1] - days[0] + 1)
