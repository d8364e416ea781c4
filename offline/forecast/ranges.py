"""What a number of a coming day will be between: quantiles over past days, by how much each says of it."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dardis.model.arrays import Floats
from offline.forecast.donors import seasonal
from offline.forecast.past import Past

LEVELS: Final = (0.07, 0.93)
"""The quantiles over some weeks that hold eight of ten coming days: few days have not seen all that may come."""


class Range(NamedTuple):
    """What is expected, and what a day falls below, and exceeds, one time in ten."""

    low: float
    mean: float
    high: float


def day_weights(past: Past) -> Floats:
    """How much each past day says of the coming one, shape (days,), the last being yesterday; they sum to 1.

    Half of it is said by the days that the seasonal forecast draws from, half by all alike.
    """
    return np.asarray((seasonal(past, 1).weights[0] + 1 / past.days) / 2)


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
