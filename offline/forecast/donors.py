"""The methods: which past hours stand for the coming ones, and how likely each. A mean, a replay and chance are one.

A method gives each past day a weight for each coming day. The expected demand of a coming hour is the weighted mean of
the same hour of those days; a scenario draws days by their weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from dardis.model.arrays import Floats
from dardis.model.errors import InputError
from offline.forecast.past import Past, in_use

MEAN_DAYS = 7
SPELL_DAYS, LONG_RUN_DAYS = 3.0, 28.0
"""Half-lives: days lose weight as spells of some days do and as the long run does; namesakes as the long run alone."""

LONGEST_LOOK = 28
"""Days over which rhythms are judged."""

MOST_ANY_HOUR = 0.5
WEEK = 7


@dataclass(frozen=True, eq=False)
class Donors:
    """`weights` (coming days, past days), rows sum to 1; past days in the order of time, yesterday the last.

    A share `any_hour` of the demand of an hour comes from all hours of the past day alike, the rest from the same hour.
    """

    weights: Floats
    any_hour: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def is_replay(self) -> bool:
        """Whether there is nothing to draw: each coming day is one past day again."""
        return self.any_hour == 0 and bool((self.weights.max(axis=1) == 1).all())


def previous_day(past: Past, ahead: int) -> Donors:
    """The thesis: the last 24 hours again, on every coming day."""
    return Donors(_replay(past.days, [1] * ahead))


def previous_week(past: Past, ahead: int) -> Donors:
    """Each day's namesake of a week ago; the previous day where there is less than a week."""
    if past.days < WEEK:
        note = f"previous-week: less than a week of history (days: {past.days}), so the previous day is replayed"
        return Donors(_replay(past.days, [1] * ahead), notes=(note,))
    return Donors(_replay(past.days, [WEEK - day for day in range(ahead)]))


def mean(past: Past, ahead: int) -> Donors:
    """The last seven days alike."""
    counted = min(past.days, MEAN_DAYS)
    weights = np.zeros((ahead, past.days))
    weights[:, -counted:] = 1 / counted
    notes = (f"mean: less than a week of history (days: {counted})",) if counted < MEAN_DAYS else ()
    return Donors(weights, notes=notes)


def seasonal(past: Past, ahead: int) -> Donors:
    """By weekday and hour, shrunk to the hour's and to the overall mean as far as the past shows no such rhythm."""
    ago = np.arange(past.days, 0, -1)
    long_run = 0.5 ** (ago / LONG_RUN_DAYS)
    all_days = 0.5 ** (ago / SPELL_DAYS) / SPELL_DAYS + long_run / LONG_RUN_DAYS
    all_days /= all_days.sum()
    # Square roots, or one burst would decide.
    strength = weekday_strength(np.sqrt(in_use(past.load[:, :, :24])))
    weights = np.tile(all_days, (ahead, 1))
    for day in range(ahead):
        namesakes = long_run * ((ago + day) % WEEK == 0)
        if strength > 0:
            share = credibility(strength, _effective(namesakes))
            weights[day] = share * namesakes / namesakes.sum() + (1 - share) * all_days
    by_hour = credibility(hour_strength(np.sqrt(past.work)), _effective(all_days))
    few = f"seasonal: no more than two weeks of history (days: {past.days}), so weekdays are not told apart"
    return Donors(weights, min(1 - by_hour, MOST_ANY_HOUR), (few,) if past.days <= 2 * WEEK else ())


METHODS: Final[dict[str, Callable[[Past, int], Donors]]] = {
    "previous-day": previous_day,
    "previous-week": previous_week,
    "mean": mean,
    "seasonal": seasonal,
}


def donors(past: Past, method: str, ahead: int) -> Donors:
    """The donors of a method by name for so many coming days. InputError: an unknown name."""
    if method not in METHODS:
        raise InputError("method", repr(method), ", ".join(METHODS))
    return METHODS[method](past, ahead)


def credibility(strength: float, days: float) -> float:
    """How far a mean over `days` days of one kind is to be trusted, 0 to 1 (Bühlmann): n ρ / (n ρ + 1)."""
    return 1.0 if np.isinf(strength) else days * strength / (days * strength + 1)


def weekday_strength(demand: Floats) -> float:
    """Variance between weekdays over the variance within one, of demand of shape (days, 24); 0 where none shows.

    Days of one weekday differ by twice the variance within, others by twice both; lags on both sides of a week keep a
    trend out of it. Two weeks show none: one namesake is no measure (on Curie's partition 4 a burst of one user would
    come again each week).
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
    """Variance between the hours of the day over that within an hour; 0 where none shows or one day is no measure."""
    recent = demand[-LONGEST_LOOK:]
    if len(recent) < 2:
        return 0.0
    within = float(recent.var(axis=0, ddof=1).mean())
    between = float(recent.mean(axis=0).var(ddof=1)) - within / len(recent)
    return _ratio(between + within, within)


def _gap(demand: Floats, lag: int) -> float:
    """Mean squared difference of days that are `lag` apart."""
    return float(np.mean((demand[lag:] - demand[:-lag]) ** 2))


def _ratio(both: float, within: float) -> float:
    """(both − within) / within, at least 0; infinite where nothing varies within."""
    if both <= within:
        return 0.0
    return both / within - 1 if within > 0 else float("inf")


def _effective(weights: Floats) -> float:
    """How many equal weights tell as much."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def _replay(days: int, ago: list[int]) -> Floats:
    weights = np.zeros((len(ago), days))
    weights[np.arange(len(ago)), days - np.array(ago)] = 1
    return weights
