"""What a number of a coming day will be between: quantiles over past days, by how much each says of it."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dardis.model.arrays import Floats
from offline.forecast.donors import WEEK, credibility, seasonal, weekday_strength
from offline.forecast.past import Past

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
