"""Days that could come: past hours in a new order, whole with all their jobs, so that bursts and job shapes stay."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.job import NO_TIME
from dardis.model.placements import indexes_of
from dardis.model.randomness import stream
from dardis.workload.trace import UNKNOWN, Trace
from offline.forecast.donors import LONGEST_LOOK, Donors
from offline.forecast.past import Past, in_use
from offline.site.calendar import HOUR_S

SCENARIOS = 200
STAY_HOURS = 6
"""A scenario stays with a past day for so many hours on average: what a day has in common stays together."""

LOW, HIGH = 0.1, 0.9


@dataclass(frozen=True, eq=False)
class Band:
    """Demand by hour, each of shape (hours,): what is expected, and what nine in ten days exceed and stay below."""

    low: Floats
    mean: Floats
    high: Floats

    def hours(self, first: int, last: int) -> Band:
        """Of the hours `[first, last)`."""
        cut = slice(first, last)
        return Band(self.low[cut], self.mean[cut], self.high[cut])


@dataclass(frozen=True, eq=False)
class Demand:
    """Core demand of jobs submitted within the forecast, by hour; what was submitted before is not in it.

    `in_use`: mean cores in use in the hour (its core-hours) if every job started at once, which is what a planner has
    to provide. `submitted`: core-hours of the jobs submitted in the hour, whenever they run.
    """

    in_use: Band
    submitted: Band

    def hours(self, first: int, last: int) -> Demand:
        """Of the hours `[first, last)`."""
        return Demand(self.in_use.hours(first, last), self.submitted.hours(first, last))


def expected(past: Past, donors: Donors) -> tuple[Floats, Floats]:
    """Expected cores in use and expected core-hours submitted by coming hour: exact, no draws."""
    work = _blended(np.tensordot(donors.weights, past.work, 1), donors.any_hour)
    load = _blended(np.tensordot(donors.weights, past.load, 1), donors.any_hour)
    return in_use(load.reshape(-1, load.shape[-1])), work.reshape(-1)


def _blended(by_hour: Floats, any_hour: float) -> Floats:
    """Hours (axis 1) shrunk to their day's mean."""
    return np.asarray((1 - any_hour) * by_hour + any_hour * by_hour.mean(axis=1, keepdims=True))


def draw(past: Past, donors: Donors, seed: int) -> Ints:
    """Scenarios: the past hour that stands for each coming hour, shape (scenarios, hours); one where nothing is drawn.

    By the hour each has the chances that `donors` says; successive hours come from the same day, by chance of another.
    """
    hours = 24 * len(donors.weights)
    count = 1 if donors.is_replay else SCENARIOS
    chance = stream(seed, "forecast", past.origin)
    starts, days, shifted, shifts = (chance.random((count, hours)) for _ in range(4))
    upto = np.cumsum(donors.weights, axis=1)
    upto /= upto[:, -1:]
    drawn = np.empty((count, hours), dtype=np.int64)
    for day, bounds in enumerate(upto):
        span = slice(24 * day, 24 * (day + 1))
        drawn[:, span] = np.searchsorted(bounds, days[:, span], side="right")
    shift = np.where(shifted < donors.any_hour, np.floor(24 * shifts), 0).astype(np.int64)
    # Midnight always draws anew: the weights are another day's.
    fresh = (starts < 1 / STAY_HOURS) | (np.arange(hours) % 24 == 0)
    since = np.maximum.accumulate(np.where(fresh, np.arange(hours), 0), axis=1)
    drawn, shift = np.take_along_axis(drawn, since, 1), np.take_along_axis(shift, since, 1)
    return 24 * drawn + (np.arange(hours) + shift) % 24


def bands(past: Past, donors: Donors, drawn: Ints) -> tuple[Demand, tuple[str, ...]]:
    """The demand with its bands, and a note where there is nothing to judge a replay by."""
    used, work = expected(past, donors)
    if not donors.is_replay:
        used_drawn, work_drawn = in_use(past.hourly.load[drawn]), past.hourly.work[drawn]
        return Demand(_band(used, used_drawn), _band(work, work_drawn)), ()
    used_errors, work_errors = _replay_errors(past, donors)
    note = "no past day to judge this replay by: its bands have no width"
    demand = Demand(_band(used, used + used_errors), _band(work, work + work_errors))
    return demand, () if len(used_errors) else (note,)


def _band(mean: Floats, cases: Floats) -> Band:
    """Quantiles over the cases (cases, hours), never below 0 and always around the mean."""
    if not len(cases):
        return Band(mean, mean, mean)
    low, high = np.quantile(cases, (LOW, HIGH), axis=0)
    return Band(np.minimum(np.maximum(low, 0), mean), mean, np.maximum(high, mean))


def _replay_errors(past: Past, donors: Donors) -> tuple[Floats, Floats]:
    """Truth less replay of the last weeks' days, had they been forecast the same way: (cases, hours) each."""
    ahead = np.arange(len(donors.weights))
    back = past.days - donors.weights.argmax(axis=1) + ahead  # from each coming day to the past day it is
    first = max(int((back - ahead).max()), past.days - LONGEST_LOOK)
    truth = np.arange(first, past.days - len(ahead) + 1)[:, None] + ahead
    load, work = past.load, past.work
    lags = load.shape[-1]

    hours = 24 * len(ahead)

    def used(days: Ints) -> Floats:
        return in_use(load[days].reshape(len(days), hours, lags))

    work_errors = (work[truth] - work[truth - back]).reshape(len(truth), hours)
    return used(truth) - used(truth - back), work_errors


def nearest(past: Past, demand: Demand, drawn: Ints) -> Ints:
    """The scenario whose cores in use are nearest to the mean: the one to plan with, shape (hours,)."""
    used = in_use(past.hourly.load[drawn])
    return np.asarray(drawn[np.abs(used - demand.in_use.mean).sum(axis=1).argmin()])


def jobs_of(past: Past, scenario: Ints) -> Trace:
    """The jobs of a scenario (hours,), at the same moment of the hour as in the past, with numbers of their own."""
    first = np.searchsorted(past.hour, scenario)
    counts = np.searchsorted(past.hour, scenario, side="right") - first
    coming = np.repeat(np.arange(len(scenario)), counts)
    rows = indexes_of(first, counts)
    jobs = past.jobs.take(rows)
    change = (coming - past.hour[rows] + 24 * past.days) * HOUR_S
    unknown = np.full(len(rows), UNKNOWN, dtype=np.int64)
    return replace(
        jobs,
        number=past.last_number + 1 + np.arange(len(rows)),
        submit=jobs.submit + change,
        est=jobs.est + change,
        lst=np.where(jobs.lst == NO_TIME, NO_TIME, jobs.lst + change),
        wait=unknown,
        after=unknown,
        think=unknown,
    )
