"""Backtests forecast methods on past days."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Floats
from dardis.model.errors import InputError
from dardis.workload.trace import Trace
from offline.forecast.forecast import Forecast, forecast_from
from offline.forecast.scenarios import METHODS, WEEK, Band
from offline.forecast.submission_history import by_hour, history_before, in_use
from offline.site.calendar import DAY_S, HOUR_S, Calendar

MOST_DAYS = 365
"""Most days, evenly spread."""


@dataclass(frozen=True)
class Score:
    """Method's errors, means over all hours unless stated otherwise.

    `mae`, `rmse`: forecast cores in use against truth. `jobs_mae`: with made-up jobs instead. `total`: |error| of total
    core-hours in use. `submitted_mae`: core-hours submitted by hour. `inside`, `submitted_inside`: share of hours with
    truth in the band (target: 0.8).
    """

    method: str
    mae: float
    rmse: float
    jobs_mae: float
    total: float
    submitted_mae: float
    inside: float
    submitted_inside: float


@dataclass(frozen=True)
class Backtest:
    """Scores of all methods over the same UTC `days`, in the order of METHODS.

    `mean_in_use`: true mean cores in use.
    """

    days: tuple[int, ...]
    hours: int
    mean_in_use: float
    scores: tuple[Score, ...]


def backtest_days(trace: Trace, calendar: Calendar, hours: int, within: tuple[int, int] | None = None) -> list[int]:
    """Complete days with enough history, within A to B.

    Enough: a day, or a week if more than two weeks are left. InputError: none.
    """
    first, last = int(trace.submit.min()), int(trace.submit.max())
    days = [
        day
        for day in range(calendar.day_of(first), calendar.day_of(last) + 1)
        if calendar.day(day)[0] - first >= DAY_S and calendar.day(day)[0] + hours * HOUR_S <= last
    ]
    if within is not None:
        chosen = [day for day in days if within[0] <= day <= within[1]]
    else:
        chosen = days[WEEK - 1 :] if len(days) > 2 * WEEK else days
    if not chosen:
        have = f"days {days[0]} to {days[-1]}" if days else f"a trace with a day of history and the following {hours} h"
        raise InputError("backtest", "no day has jobs on the day before and until its end", have)
    places = np.linspace(0, len(chosen) - 1, min(MOST_DAYS, len(chosen))).round().astype(int)
    return [chosen[place] for place in places.tolist()]


def backtest(
    trace: Trace,
    calendar: Calendar,
    days: Sequence[int],
    hours: int,
    seed: int = 1,
    done: Callable[[], None] | None = None,
) -> Backtest:
    """Score each method's forecasts of each day; `done` is called after each day."""
    cases: dict[str, list[Forecast]] = {method: [] for method in METHODS}
    used, submitted = [], []
    for day in days:
        start = calendar.day(day)[0]
        past = history_before(trace, start, hours)
        for method, made in cases.items():
            made.append(forecast_from(past, hours, method, seed))
        truth = by_hour(trace, start, hours, hours)
        used.append(in_use(truth.load))
        submitted.append(truth.work)
        if done:
            done()
    scores = tuple(score(method, made, np.array(used), np.array(submitted)) for method, made in cases.items())
    return Backtest(tuple(days), hours, float(np.mean(used)), scores)


def score(method: str, made: Sequence[Forecast], used: Floats, submitted: Floats) -> Score:
    """Score forecasts against truth, (forecasts, hours): cores in use, and core-hours submitted."""
    hours = used.shape[1]
    errors = np.array([case.demand.in_use.mean for case in made]) - used
    of_jobs = np.array([in_use(by_hour(case.trace, int(case.edges[0]), hours, hours).load) for case in made]) - used
    of_submitted = np.array([case.demand.submitted.mean for case in made]) - submitted
    return Score(
        method=method,
        mae=float(np.abs(errors).mean()),
        rmse=float(np.sqrt((errors**2).mean())),
        jobs_mae=float(np.abs(of_jobs).mean()),
        total=float(np.abs(errors.sum(axis=1)).mean()),
        submitted_mae=float(np.abs(of_submitted).mean()),
        inside=_inside([case.demand.in_use for case in made], used),
        submitted_inside=_inside([case.demand.submitted for case in made], submitted),
    )


def _inside(bands: Sequence[Band], truth: Floats) -> float:
    low, high = (np.array([getattr(band, side) for band in bands]) for side in ("low", "high"))
    return float(((low - 1e-6 <= truth) & (truth <= high + 1e-6)).mean())
