"""What is different between two dispatchers, draw by draw of the same jobs, and whether that may be chance.

Draws of weeks are a bootstrap of one trace: more of them make the mean over draws exact, and tell nothing more of other
months. Of W weeks a mean over draws has the deviation s over draws as its standard error, too small by √((W − 1) / W),
as each bootstrap is (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 5). With what N draws leave
open the variance is s² (W / (W − 1) + 1 / N). It is known from W weeks and N draws only: by Satterthwaite (1946) with
1 / (1 / (W − 1) + 1 / (N − 1)) degrees of freedom. Shakes of a trace are N draws of what is asked, their mean itself:
s² / N with N − 1 degrees.

Differences have Student's interval of that variance. Ratios of means have Fieller's (Some problems in interval
estimation, 1954): all ratios r for which the mean of `other - r * first` may be 0 by the same test, so that draws in
which nobody waits are no harm. It holds 1 just where the interval of the difference holds 0, unless the mean of `first`
itself may be 0: then the ratio may be anything, and only the difference tells.
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

    @property
    def bounded(self) -> bool:
        """Whether anything is known of it."""
        return math.isfinite(self.low) and math.isfinite(self.high)


@dataclass(frozen=True, slots=True)
class Paired:
    """A figure beside that of the first dispatcher on the same draws."""

    pairs: int
    first: float
    """Mean of the first dispatcher."""
    mean: float
    difference: Interval
    ratio: Interval | None
    """Of the means; None where the first's is 0, without bounds where that may be 0."""

    @property
    def may_be_chance(self) -> bool:
        """Whether there may be no difference."""
        return self.difference.holds(0.0)


def paired(other: Sequence[float], first: Sequence[float], weeks: int = 0) -> Paired | None:
    """Compare figures of the same draws, in the same order; None of fewer than two.

    `weeks` are those of the trace of which each draw is made anew; 0: it is shaken.
    """
    if len(other) < 2:
        return None
    x, y = np.asarray(other, dtype=np.float64), np.asarray(first, dtype=np.float64)
    mean, base = float(x.mean()), float(y.mean())
    ratio = _ratio(x.tolist(), y.tolist(), weeks)
    return Paired(len(x), base, mean, mean_of((x - y).tolist(), weeks), ratio)


def mean_of(values: Sequence[float], weeks: int = 0) -> Interval:
    """The mean of a figure of at least two draws, with its interval; `weeks` as in `paired`."""
    x = np.asarray(values, dtype=np.float64)
    mean, half = float(x.mean()), math.sqrt(_squared(len(x), weeks)) * float(x.std(ddof=1))
    return Interval(mean, mean - half, mean + half)


def _squared(draws: int, weeks: int) -> float:
    """The square of half an interval's length over the variance over draws."""
    from scipy.special import stdtrit

    degrees, share = draws - 1.0, 1 / draws
    if weeks:
        degrees, share = 1 / (1 / (weeks - 1) + 1 / degrees), share + weeks / (weeks - 1)
    return float(stdtrit(degrees, (1 + SHARE) / 2)) ** 2 * share


def _ratio(x: Sequence[float], y: Sequence[float], weeks: int) -> Interval | None:
    """Mean of x over that of y with Fieller's interval; None where the latter is 0."""
    (xx, xy), (_, yy) = (np.cov(x, y) * _squared(len(x), weeks)).tolist()
    mean, base = float(np.mean(x)), float(np.mean(y))
    if base == 0:
        return None
    # Roots of a r² - 2 b r + c: where the mean of x - r y is as far from 0 as its deviation allows.
    a, b, c = base * base - yy, mean * base - xy, mean * mean - xx
    inner = b * b - a * c
    if a <= 0 or inner < 0:
        return Interval(mean / base, -math.inf, math.inf)
    root = math.sqrt(inner)
    return Interval(mean / base, (b - root) / a, (b + root) / a)
