"""Holds jobs for hours in which energy is cheap: opt-in, since whoever submitted them waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dardis.model.job import Job
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.model.series import Floats, Ints
from dardis.power.conditions import Conditions
from dardis.power.nodes import full_watts
from offline.history import predictor_of
from offline.site import Site

GRAIN_S = 900
"""How far apart the starts are that are looked at."""
HOUR_OF_WAITING = 0.02
"""What an hour of a job's waiting has to save, in money: so the few jobs are held that use nearly all of the energy."""


def shifted(site: Site, jobs: Sequence[Job], past: Schedule, days: tuple[int, int], hours: float) -> list[Job]:
    """The jobs, those submitted in the days with the earliest start within so many hours that is worth waiting for.

    What a start costs is the price of its energy and of the cooling that it adds, over the time that the job is
    expected to run, a core drawing its share of a busy node. Nothing is held beyond the days, whose prices are known.
    The best start saves most beside `HOUR_OF_WAITING`. Deadlines stay.
    """
    start, end = site.calendar.day(days[0])[0], site.calendar.day(days[1])[1]
    conditions = site.conditions(days[0], days[1] - days[0] + 1)
    worth = conditions.price_per_kwh * (1 + _marginal(site, conditions))
    area = np.concatenate([[0.0], np.cumsum(worth * np.diff(conditions.edges) / 3600)])
    cores, core_kw = site.platform.kinds.index(CORES), full_watts(site.platform) / site.platform.cores / 1000
    predictor = predictor_of(past)

    def held(job: Job) -> Job:
        if not start <= job.submit < end:
            return job
        expected = predictor.runtime(job.user, job.walltime, job.submit)
        latest = min(job.earliest + int(3600 * hours), conditions.end - expected)
        latest = latest if job.latest is None else min(latest, job.latest)
        starts = np.arange(job.earliest, max(latest, job.earliest) + 1, GRAIN_S, dtype=np.int64)
        kilowatts = job.units * job.request[cores] * core_kw
        cost = kilowatts * _per_kw(starts, expected, conditions.edges, area)
        cost += HOUR_OF_WAITING * (starts - job.earliest) / 3600
        return replace(job, earliest=int(starts[cost.argmin()]))

    return [held(job) for job in jobs]


def _per_kw(starts: Ints, length: int, edges: Ints, area: Floats) -> Floats:
    """What a kW costs from each start on for so many seconds."""
    return np.asarray(np.interp(starts + length, edges, area) - np.interp(starts, edges, area))


def _marginal(site: Site, conditions: Conditions) -> Floats:
    """Cooling power that a watt more takes in each segment, at half of full load."""
    half, step = full_watts(site.platform) / 2, full_watts(site.platform) / 100
    more, less = (
        site.cooling.watts(conditions.temp_c, np.full(len(conditions.temp_c), w)) for w in (half + step, half)
    )
    return np.asarray((more - less) / step)
