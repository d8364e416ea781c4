"""The forecast itself: jobs to plan with, the demand to expect with its bands, and how they came about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.errors import InputError
from dardis.workload.trace import Trace
from offline.forecast.donors import DEFAULT, donors
from offline.forecast.past import Past, look_back
from offline.forecast.scenarios import Demand, bands, draw, jobs_of, nearest
from offline.site.calendar import DAY_S, HOUR_S, Calendar

HORIZONS = (24, 48)


@dataclass(frozen=True, eq=False)
class Forecast:
    """What is expected to be submitted in `[edges[0], edges[-1])`, whose hours `edges` (hours + 1,) bound.

    `trace` holds made-up jobs whose numbers none had before, in the order of submission; it may be empty. Their
    runtimes are what they are expected to run. `notes` say what the method could not do as asked.
    """

    trace: Trace
    demand: Demand
    edges: Ints
    method: str
    notes: tuple[str, ...] = ()


def forecast(
    trace: Trace, calendar: Calendar, day: int, hours: int = 24, method: str = DEFAULT, seed: int = 1
) -> Forecast:
    """Forecast so many hours (24 or 48) from the beginning of UTC day `day` with what was known then.

    Jobs that are submitted later are not looked at, nor the runtimes of those that have not ended by then. InputError:
    less than a day of jobs before, another number of hours, an unknown method.
    """
    if hours not in HORIZONS:
        raise InputError("hours", f"{hours}", "24 or 48")
    return forecast_from(look_back(trace, calendar.day(day)[0], hours), hours, method, seed)


def forecast_from(past: Past, hours: int, method: str, seed: int) -> Forecast:
    """As `forecast`, from a past that reaches so many hours ahead."""
    chosen = donors(past, method, hours // 24)
    drawn = draw(past, chosen, seed)
    demand, blind = bands(past, chosen, drawn)
    made = jobs_of(past, nearest(past, demand, drawn))
    edges = past.origin + HOUR_S * np.arange(hours + 1)
    return Forecast(made, demand, edges, method, (*_silence(past), *chosen.notes, *blind))


def _silence(past: Past) -> tuple[str, ...]:
    """A note when the history ends long before the forecast begins."""
    empty = (past.origin - int(past.jobs.submit[-1])) // DAY_S
    return (f"no job in the {empty} days before the forecast",) if empty else ()
