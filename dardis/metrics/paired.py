"""What is different between two dispatchers, draw by draw of the same jobs, and whether that may be chance.

Differences have Student's interval of their mean. Ratios of means have Fieller's (Some problems in interval
estimation, 1954): all ratios r for which the mean of `other - r * first` may be 0 by the same test. So the interval of
a ratio holds 1 just where that of the difference holds 0, and draws in which nobody waits are no harm. Where the mean
of `first` itself may be 0, the ratio may be anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

SHARE: Final = 0.95
"""Of all such experiments the interval holds the truth in so many, where means are normally distributed."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure, and between what it lies; an end that nobody knows is infinite."""

    value: float
    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether that may be the truth."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Paired:
    """A figure beside that of the first dispatcher on the same draws."""

    pairs: int
    first: float
    """Mean of the first dispatcher."""
    mean: float
    difference: Interval
    ratio: Interval | None
    """Of the means; None where the first's is 0."""

    @property
    def may_be_chance(self) -> bool:
        """Whether there may be no difference."""
        return self.difference.holds(0.0)


def paired(other: Sequence[float], first: Sequence[float]) -> Paired | None:
    """Compare figures of the same draws, in the same order; None of fewer than two."""
    if len(other) < 2:
        return None
    x, y = np.asarray(other, dtype=np.float64), np.asarray(first, dtype=np.float64)
    mean, base = float(x.mean()), float(y.mean())
    return Paired(len(x), base, mean, mean_of((x - y).tolist()), _ratio(x.tolist(), y.tolist()))


def mean_of(values: Sequence[float]) -> Interval:
    """The mean of at least two values, with Student's interval."""
    x = np.asarray(values, dtype=np.float64)
    mean, half = float(x.mean()), _t(len(x)) * float(x.std(ddof=1)) / math.sqrt(len(x))
    return Interval(mean, mean - half, mean + half)


def _t(count: int) -> float:
    """Student's quantile for a mean of so many values."""
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, (1 + SHARE) / 2))


def _ratio(x: Sequence[float], y: Sequence[float]) -> Interval | None:
    """Mean of x over that of y with Fieller's interval; None where the latter is 0."""
    (xx, xy), (_, yy) = (np.cov(x, y) / len(x)).tolist()
    mean, base = float(np.mean(x)), float(np.mean(y))
    if base == 0:
        return None
    squared = _t(len(x)) ** 2
    # Roots of a r² - 2 b r + c: where the mean of x - r y is as far from 0 as its deviation allows.
    a, b, c = base * base - squared * yy, mean * base - squared * xy, mean * mean - squared * xx
    inner = b * b - a * c
    if a <= 0 or inner < 0:
        return Interval(mean / base, -math.inf, math.inf)
    root = math.sqrt(inner)
    return Interval(mean / base, (b - root) / a, (b + root) / a)
