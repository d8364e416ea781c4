"""Forecasts jobs for planning, and demand with bands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.errors import InputError
from dardis.workload.trace import Trace
from offline.forecast import DEFAULT
from offline.forecast.scenarios import (
    WEEK,
    CoreDemand,
    bands,
    credibility,
    donors,
    draw_scenarios,
    jobs_of,
    nearest_scenario,
    seasonal,
    weekday_strength,
)
from offline.forecast.submission_history import SubmissionHistory, drop_last_hours, history_before
from offline.site.calendar import DAY_S, HOUR_S, Calendar

HORIZONS = (24, 48)


@dataclass(frozen=True, eq=False)
class Forecast:
    """Expected submissions in `[edges[0], edges[-1])`; `edges` (hours + 1,).

    `trace`: made-up jobs with new numbers and expected runtimes, in submission order. Forecasts made before `edges[0]`
    include jobs from then on. `notes`: deviations from the method.
    """

    trace: Trace
    demand: CoreDemand
    edges: Ints
    method: str
    jobs: Range
    """Jobs in 24 hours."""
    core_h: Range
    """Core-hours in 24 hours."""
    day_weights: Floats
    """Weights of past days, (days,), latest last."""
    notes: tuple[str, ...] = ()


def forecast(
    trace: Trace, calendar: Calendar, day: int, hours: int = 24, method: str = DEFAULT, seed: int = 1, lead_s: int = 0
) -> Forecast:
    """Forecast 24 or 48 hours of UTC day `day`, from knowledge `lead_s` s earlier.

    Jobs of the time between are forecast too. Later submissions, and runtimes of unfinished jobs, are ignored.
    InputError: less than a day of jobs, another number of hours, an unknown method.
    """
    if hours not in HORIZONS:
        raise InputError("hours", f"{hours}", "24 or 48")
    start = calendar.day(day)[0]
    if not lead_s:
        return forecast_from(history_before(trace, start, hours), hours, method, seed)
    before = -(-lead_s // HOUR_S)
    reach = 24 * -(-(before + hours) // 24)
    past = history_before(trace, start - before * HOUR_S, reach)
    found = _cut(forecast_from(past, reach, method, seed), trace, start - lead_s, before, hours)
    jobs, core_h, weights = _day_ranges(drop_last_hours(past, -before % 24), -(-before // 24))
    return replace(found, jobs=jobs, core_h=core_h, day_weights=weights)


def _cut(found: Forecast, trace: Trace, now: int, before: int, hours: int) -> Forecast:
    edges = found.edges[before : before + hours + 1]
    jobs = found.trace.take((found.trace.submit >= now) & (found.trace.submit < edges[-1]))
    known = int(trace.number[trace.submit < now].max())
    numbered = replace(jobs, number=known + 1 + np.arange(len(jobs)))
    return replace(found, trace=numbered, demand=found.demand.hours(before, before + hours), edges=edges)


def forecast_from(past: SubmissionHistory, hours: int, method: str, seed: int) -> Forecast:
    """Forecast from a past with `hours` lags."""
    chosen = donors(past, method, hours // 24)
    drawn = draw_scenarios(past, chosen, seed)
    demand, blind = bands(past, chosen, drawn)
    made = jobs_of(past, nearest_scenario(past, demand, drawn))
    edges = past.origin + HOUR_S * np.arange(hours + 1)
    return Forecast(made, demand, edges, method, *_day_ranges(past), (*_empty_days_note(past), *chosen.notes, *blind))


def _day_ranges(past: SubmissionHistory, ahead: int = 0) -> tuple[Range, Range, Floats]:
    weights = day_weights(past, ahead)
    came = np.bincount(past.hour // 24, minlength=past.days).astype(np.float64)
    jobs, core_h = (range_of(adjust_to_weekday(values, ahead), weights) for values in (came, past.work.sum(axis=1)))
    return jobs, core_h, weights


def _empty_days_note(past: SubmissionHistory) -> tuple[str, ...]:
    empty = (past.origin - int(past.jobs.submit[-1])) // DAY_S
    return (f"no job in the {empty} days before the forecast",) if empty else ()


LEVELS: Final = (0.07, 0.93)
"""Quantiles of past weeks that cover eight of ten coming days."""


class Range(NamedTuple):
    """10 % quantile, mean and 90 % quantile."""

    low: float
    mean: float
    high: float


def day_weights(past: SubmissionHistory, ahead: int = 0) -> Floats:
    """Weights of past days for the coming day, or `ahead` days later, (days,); sum 1.

    Half follows the seasonal forecast, half is equal.
    """
    return np.asarray((seasonal(past, ahead + 1).weights[ahead] + 1 / past.days) / 2)


def adjust_to_weekday(values: Floats, ahead: int = 0) -> Floats:
    """Adjust numbers of past days (days,) to the coming weekday, or `ahead` days later.

    Square roots move by the weekdays' mean difference, shrunk by credibility. Values stay with less than three weeks.
    """
    days = len(values)
    roots = np.sqrt(values)
    strength = weekday_strength(roots[:, None])
    if days < 3 * WEEK or strength == 0:
        return values
    weekday = np.arange(-days, 0) % WEEK
    counted = np.bincount(weekday)
    means = np.bincount(weekday, weights=roots) / counted
    trust = np.array([credibility(strength, count) for count in counted.tolist()])
    effect = trust * (means - means.mean())
    return np.asarray(np.maximum(roots - effect[weekday] + effect[ahead % WEEK], 0.0) ** 2)


def range_of(values: Floats, weights: Floats, beyond: float = 0.0) -> Range:
    """Range of values of past days, (days,), with weights.

    `beyond`: widening on each side, share of the width.
    """
    order = np.argsort(values, kind="stable")
    share = weights[order] / weights.sum()
    low, high = np.interp(LEVELS, np.cumsum(share) - share / 2, values[order]).tolist()
    mean = float(np.clip(share @ values[order], values.min(), values.max()))
    reach = 1 + beyond
    return Range(mean - reach * max(mean - low, 0.0), mean, mean + reach * max(high - mean, 0.0))
