"""Day's scenarios, from similar past days."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME
from dardis.model.placements import indexes_of
from dardis.model.randomness import stream
from dardis.workload.trace import UNKNOWN, Trace
from offline.forecast.submission_history import SubmissionHistory, in_use
from offline.site.calendar import HOUR_S

SCENARIOS = 200
STAY_HOURS = 6
"""Mean hours of a scenario with the same past day."""

LOW, HIGH = 0.1, 0.9


@dataclass(frozen=True, eq=False)
class Band:
    """Demand by hour, (hours,): 10 % quantile, mean and 90 % quantile."""

    low: Floats
    mean: Floats
    high: Floats

    def hours(self, first: int, last: int) -> Band:
        """Hours `[first, last)`."""
        cut = slice(first, last)
        return Band(self.low[cut], self.mean[cut], self.high[cut])


@dataclass(frozen=True, eq=False)
class CoreDemand:
    """Core demand by hour of jobs submitted in the forecast.

    `in_use`: mean cores in use if jobs start at once. `submitted`: core-hours submitted in the hour.
    """

    in_use: Band
    submitted: Band

    def hours(self, first: int, last: int) -> CoreDemand:
        """Hours `[first, last)`."""
        return CoreDemand(self.in_use.hours(first, last), self.submitted.hours(first, last))


def expected(past: SubmissionHistory, donors: Donors) -> tuple[Floats, Floats]:
    """Exact expected cores in use and core-hours submitted, by hour."""
    work = _blend_hours(np.tensordot(donors.weights, past.work, 1), donors.any_hour)
    load = _blend_hours(np.tensordot(donors.weights, past.load, 1), donors.any_hour)
    return in_use(load.reshape(-1, load.shape[-1])), work.reshape(-1)


def _blend_hours(by_hour: Floats, any_hour: float) -> Floats:
    return np.asarray((1 - any_hour) * by_hour + any_hour * by_hour.mean(axis=1, keepdims=True))


def draw_scenarios(past: SubmissionHistory, donors: Donors, seed: int) -> Ints:
    """Draw past hours for coming hours, (scenarios, hours); a single row for a replay.

    `donors` gives probabilities. Successive hours come from the same day, until a random switch.
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
    # Midnight always draws anew: the weights change.
    fresh = (starts < 1 / STAY_HOURS) | (np.arange(hours) % 24 == 0)
    since = np.maximum.accumulate(np.where(fresh, np.arange(hours), 0), axis=1)
    drawn, shift = np.take_along_axis(drawn, since, 1), np.take_along_axis(shift, since, 1)
    return 24 * drawn + (np.arange(hours) + shift) % 24


def bands(past: SubmissionHistory, donors: Donors, drawn: Ints) -> tuple[CoreDemand, tuple[str, ...]]:
    """Demand with bands, and a note on replays without a measure."""
    used, work = expected(past, donors)
    if not donors.is_replay:
        used_drawn, work_drawn = in_use(past.hourly.load[drawn]), past.hourly.work[drawn]
        return CoreDemand(_band(used, used_drawn), _band(work, work_drawn)), ()
    used_errors, work_errors = _replay_errors(past, donors)
    note = "no past day to test this replay, so its bands have no width"
    demand = CoreDemand(_band(used, used + used_errors), _band(work, work + work_errors))
    return demand, () if len(used_errors) else (note,)


def _band(mean: Floats, cases: Floats) -> Band:
    if not len(cases):
        return Band(mean, mean, mean)
    low, high = np.quantile(cases, (LOW, HIGH), axis=0)
    return Band(np.minimum(np.maximum(low, 0), mean), mean, np.maximum(high, mean))


def _replay_errors(past: SubmissionHistory, donors: Donors) -> tuple[Floats, Floats]:
    ahead = np.arange(len(donors.weights))
    back = past.days - donors.weights.argmax(axis=1) + ahead  # days back from each coming day to its source
    first = max(int((back - ahead).max()), past.days - LONGEST_LOOK)
    truth = np.arange(first, past.days - len(ahead) + 1)[:, None] + ahead
    load, work = past.load, past.work
    lags = load.shape[-1]

    hours = 24 * len(ahead)

    def used(days: Ints) -> Floats:
        return in_use(load[days].reshape(len(days), hours, lags))

    work_errors = (work[truth] - work[truth - back]).reshape(len(truth), hours)
    return used(truth) - used(truth - back), work_errors


def nearest_scenario(past: SubmissionHistory, demand: CoreDemand, drawn: Ints) -> Ints:
    """Scenario nearest to the mean cores in use, (hours,)."""
    used = in_use(past.hourly.load[drawn])
    return np.asarray(drawn[np.abs(used - demand.in_use.mean).sum(axis=1).argmin()])


def jobs_of(past: SubmissionHistory, scenario: Ints) -> Trace:
    """Make the jobs of a scenario (hours,)."""
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


MEAN_DAYS = 7
SPELL_DAYS, LONG_RUN_DAYS = 3.0, 28.0
"""Half-lives in days: recent spells and the long run. Same weekdays use only the long run."""

LONGEST_LOOK = 28

MOST_ANY_HOUR = 0.5
WEEK = 7


@dataclass(frozen=True, eq=False)
class Donors:
    """`weights` (coming days, past days): rows sum to 1, yesterday last.

    `any_hour`: share of an hour's demand spread over the past day.
    """

    weights: Floats
    any_hour: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def is_replay(self) -> bool:
        """Whether each coming day repeats a single past day."""
        return self.any_hour == 0 and bool((self.weights.max(axis=1) == 1).all())


def _previous_day(past: SubmissionHistory, ahead: int) -> Donors:
    return Donors(_replay(past.days, [1] * ahead))


def _previous_week(past: SubmissionHistory, ahead: int) -> Donors:
    if past.days < WEEK:
        note = f"previous-week: less than a week of history (days: {past.days}), so the previous day is replayed"
        return Donors(_replay(past.days, [1] * ahead), notes=(note,))
    return Donors(_replay(past.days, [WEEK - day for day in range(ahead)]))


def mean(past: SubmissionHistory, ahead: int) -> Donors:
    """Weight the last seven days equally."""
    counted = min(past.days, MEAN_DAYS)
    weights = np.zeros((ahead, past.days))
    weights[:, -counted:] = 1 / counted
    notes = (f"mean: less than a week of history (days: {counted})",) if counted < MEAN_DAYS else ()
    return Donors(weights, notes=notes)


def seasonal(past: SubmissionHistory, ahead: int) -> Donors:
    """Weight by weekday and hour, shrunk to overall means."""
    ago = np.arange(past.days, 0, -1)
    long_run = 0.5 ** (ago / LONG_RUN_DAYS)
    all_days = 0.5 ** (ago / SPELL_DAYS) / SPELL_DAYS + long_run / LONG_RUN_DAYS
    all_days /= all_days.sum()
    # Square roots reduce the effect of single bursts.
    strength = weekday_strength(np.sqrt(in_use(past.load[:, :, :24])))
    weights = np.tile(all_days, (ahead, 1))
    for day in range(ahead):
        namesakes = long_run * ((ago + day) % WEEK == 0)
        if strength > 0:
            share = credibility(strength, _effective(namesakes))
            weights[day] = share * namesakes / namesakes.sum() + (1 - share) * all_days
    by_hour = credibility(hour_strength(np.sqrt(past.work)), _effective(all_days))
    few = f"seasonal: no more than two weeks of history (days: {past.days}), so weekdays are not distinguished"
    return Donors(weights, min(1 - by_hour, MOST_ANY_HOUR), (few,) if past.days <= 2 * WEEK else ())


METHODS: Final[dict[str, Callable[[SubmissionHistory, int], Donors]]] = {
    "previous-day": _previous_day,
    "previous-week": _previous_week,
    "mean": mean,
    "seasonal": seasonal,
}


def donors(past: SubmissionHistory, method: str, ahead: int) -> Donors:
    """Donors of a method for `ahead` days. InputError: unknown name."""
    if method not in METHODS:
        raise InputError("method", repr(method), ", ".join(METHODS))
    return METHODS[method](past, ahead)


def credibility(strength: float, days: float) -> float:
    """Credibility (Bühlmann) of a mean over `days` days, 0 to 1: n ρ / (n ρ + 1)."""
    return 1.0 if np.isinf(strength) else days * strength / (days * strength + 1)


def weekday_strength(demand: Floats) -> float:
    """Variance between weekdays over variance within, for demand (days, 24); 0 if none.

    Days of a weekday differ by twice the variance within, other days by twice the sum. Lags on both sides of a week
    cancel trends. Two weeks are too few.
    """
    recent = demand[-LONGEST_LOOK:]
    days = len(recent)
    if days <= 2 * WEEK:
        return 0.0
    both = np.mean([_gap(recent, lag) for lag in range(1, 2 * WEEK) if lag != WEEK])
    alike = (WEEK, 2 * WEEK)
    within = np.average([_gap(recent, lag) for lag in alike], weights=[days - lag for lag in alike])
    return _ratio(float(both), float(within))


def hour_strength(demand: Floats) -> float:
    """Variance between hours of the day over variance within; 0 if none."""
    recent = demand[-LONGEST_LOOK:]
    if len(recent) < 2:
        return 0.0
    within = float(recent.var(axis=0, ddof=1).mean())
    between = float(recent.mean(axis=0).var(ddof=1)) - within / len(recent)
    return _ratio(between + within, within)


def _gap(demand: Floats, lag: int) -> float:
    return float(np.mean((demand[lag:] - demand[:-lag]) ** 2))


def _ratio(both: float, within: float) -> float:
    if both <= within:
        return 0.0
    return both / within - 1 if within > 0 else float("inf")


def _effective(weights: Floats) -> float:
    return float(weights.sum() ** 2 / (weights**2).sum())


def _replay(days: int, ago: list[int]) -> Floats:
    weights = np.zeros((len(ago), days))
    weights[np.arange(len(ago)), days - np.array(ago)] = 1
    return weights
