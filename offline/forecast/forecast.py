"""The forecast: jobs to plan with, and the demand with its bands and ranges."""

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
    Demand,
    bands,
    credibility,
    donors,
    draw,
    jobs_of,
    nearest,
    seasonal,
    weekday_strength,
)
from offline.forecast.submission_history import Past, look_back, without_last
from offline.site.calendar import DAY_S, HOUR_S, Calendar

HORIZONS = (24, 48)


@dataclass(frozen=True, eq=False)
class Forecast:
    """What is expected to be submitted in `[edges[0], edges[-1])`, whose hours `edges` (hours + 1,) bound.

    `trace` holds made-up jobs whose numbers none had before, in the order of submission; it may be empty. Their
    runtimes are what they are expected to run. What was forecast earlier than `edges[0]` has the jobs from then on.
    `notes` say what the method could not do as asked.
    """

    trace: Trace
    demand: Demand
    edges: Ints
    method: str
    jobs: Range
    """Jobs submitted in 24 hours."""
    core_h: Range
    """Core-hours that they will use."""
    day_weights: Floats
    """How much each past day says of the coming one, shape (days,); the last is the last whole day that is known."""
    notes: tuple[str, ...] = ()


def forecast(
    trace: Trace, calendar: Calendar, day: int, hours: int = 24, method: str = DEFAULT, seed: int = 1, lead_s: int = 0
) -> Forecast:
    """Forecast so many hours (24 or 48) from the beginning of UTC day `day` with what was known `lead_s` s before it.

    The jobs of the time between are forecast, too. Jobs that are submitted later than what is known are not looked at,
    nor the runtimes of those that have not ended by then. InputError: less than a day of jobs before, another number of
    hours, an unknown method.
    """
    if hours not in HORIZONS:
        raise InputError("hours", f"{hours}", "24 or 48")
    start = calendar.day(day)[0]
    if not lead_s:
        return forecast_from(look_back(trace, start, hours), hours, method, seed)
    before = -(-lead_s // HOUR_S)
    reach = 24 * -(-(before + hours) // 24)
    past = look_back(trace, start - before * HOUR_S, reach)
    found = _cut(forecast_from(past, reach, method, seed), trace, start - lead_s, before, hours)
    jobs, core_h, weights = _of_days(without_last(past, -before % 24), -(-before // 24))
    return replace(found, jobs=jobs, core_h=core_h, day_weights=weights)


def _cut(found: Forecast, trace: Trace, now: int, before: int, hours: int) -> Forecast:
    """What is forecast of so many hours from the hour `before` on, with the jobs from `now` to the end of them."""
    edges = found.edges[before : before + hours + 1]
    jobs = found.trace.take((found.trace.submit >= now) & (found.trace.submit < edges[-1]))
    known = int(trace.number[trace.submit < now].max())
    numbered = replace(jobs, number=known + 1 + np.arange(len(jobs)))
    return replace(found, trace=numbered, demand=found.demand.hours(before, before + hours), edges=edges)


def forecast_from(past: Past, hours: int, method: str, seed: int) -> Forecast:
    """As `forecast`, from a past that reaches so many hours ahead."""
    chosen = donors(past, method, hours // 24)
    drawn = draw(past, chosen, seed)
    demand, blind = bands(past, chosen, drawn)
    made = jobs_of(past, nearest(past, demand, drawn))
    edges = past.origin + HOUR_S * np.arange(hours + 1)
    return Forecast(made, demand, edges, method, *_of_days(past), (*_silence(past), *chosen.notes, *blind))


def _of_days(past: Past, ahead: int = 0) -> tuple[Range, Range, Floats]:
    """Jobs and core-hours of the day that begins so many days after the past ends, and the weights of past days."""
    weights = day_weights(past, ahead)
    came = np.bincount(past.hour // 24, minlength=past.days).astype(np.float64)
    jobs, core_h = (range_of(on_its_weekday(values, ahead), weights) for values in (came, past.work.sum(axis=1)))
    return jobs, core_h, weights


def _silence(past: Past) -> tuple[str, ...]:
    """A note when the history ends long before the forecast begins."""
    empty = (past.origin - int(past.jobs.submit[-1])) // DAY_S
    return (f"no job in the {empty} days before the forecast",) if empty else ()


LEVELS: Final = (0.07, 0.93)
"""The quantiles over some weeks that hold eight of ten coming days: few days have not seen all that may come."""


class Range(NamedTuple):
    """What is expected, and what a day falls below, and exceeds, one time in ten."""

    low: float
    mean: float
    high: float


def day_weights(past: Past, ahead: int = 0) -> Floats:
    """How much each past day says of the coming one, or of one `ahead` days later, shape (days,); they sum to 1.

    Half of it is said by the days that the seasonal forecast draws from, half by all alike.
    """
    return np.asarray((seasonal(past, ahead + 1).weights[ahead] + 1 / past.days) / 2)


def on_its_weekday(values: Floats, ahead: int = 0) -> Floats:
    """Numbers of past days, shape (days,), at least 0, as if of the weekday of the coming day, or of one `ahead` later.

    Square roots are moved by the difference between the weekdays' means, as far as the weekdays differ by more than the
    days of one weekday do. With less than three weeks the numbers stay as they are.
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
    """The range of a number from those of past days, shape (days,), at least one, and how much each says.

    Where these are too few to have seen what may come it reaches `beyond`, a share of its width on each side of the
    mean.
    """
    order = np.argsort(values, kind="stable")
    share = weights[order] / weights.sum()
    low, high = np.interp(LEVELS, np.cumsum(share) - share / 2, values[order]).tolist()
    mean = float(np.clip(share @ values[order], values.min(), values.max()))
    reach = 1 + beyond
    return Range(mean - reach * max(mean - low, 0.0), mean, mean + reach * max(high - mean, 0.0))
