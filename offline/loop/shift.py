"""Holds jobs until energy is cheap; opt-in, because users wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.job import ActualJob, Job
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.model.series import Series
from dardis.power.conditions import cost_of_joule
from dardis.power.node_power import full_watts
from offline.site.history import predictor_of
from offline.site.site_inputs import SiteInputs

GRAIN_S = 900
"""Seconds between candidate starts."""
WAIT_HOUR_COST = 0.02
"""Least savings for an hour of waiting, in money."""


def shift_jobs(
    site: SiteInputs, jobs: Sequence[ActualJob], past: Schedule, days: tuple[int, int], hours: float
) -> list[ActualJob]:
    """Set the earliest start of the days' jobs to the cheapest time within `hours`.

    Cost: energy with CO2, plus cooling at half load, over the expected runtime; a core draws its share of a busy node.
    Starts stay within days with known prices. Waiting costs `WAIT_HOUR_COST`. Deadlines stay.
    """
    start, end = site.calendar.day(days[0])[0], site.calendar.day(days[1])[1]
    conditions = site.conditions(days[0], days[1] - days[0] + 1)
    full_w = full_watts(site.platform)
    half_load = Series(conditions.edges[[0, -1]], np.array([full_w / 2]))
    joule_cost = cost_of_joule(conditions, site.cooling, site.tariff, half_load)
    area = np.concatenate([[0.0], np.cumsum(joule_cost.values * np.diff(conditions.edges))])
    cores, core_w = site.platform.kinds.index(CORES), full_w / site.platform.cores
    predictor = predictor_of(past)

    def held(job: Job) -> Job:
        if not start <= job.submit < end:
            return job
        expected = predictor.runtime(job.user, job.walltime, job.submit)
        latest = min(job.earliest + int(3600 * hours), conditions.end - expected)
        latest = latest if job.latest is None else min(latest, job.latest)
        starts = np.arange(job.earliest, max(latest, job.earliest) + 1, GRAIN_S, dtype=np.int64)
        watts = job.units * job.request[cores] * core_w
        cost = watts * _per_watt(starts, expected, conditions.edges, area)
        cost += WAIT_HOUR_COST * (starts - job.earliest) / 3600
        return replace(job, earliest=int(starts[cost.argmin()]))

    return [replace(job, job=held(job.job)) for job in jobs]


def _per_watt(starts: Ints, length: int, edges: Ints, area: Floats) -> Floats:
    return np.asarray(np.interp(starts + length, edges, area) - np.interp(starts, edges, area))
