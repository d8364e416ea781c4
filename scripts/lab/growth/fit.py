"""Power laws through points on log-log paper: cost = a × size ** exponent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dardis.model.arrays import Floats
from scripts.lab.growth.points import Point

UPPER: Final = 100.0
"""The upper decades: sizes of at least the largest over this."""


@dataclass(frozen=True, slots=True)
class Law:
    """Its exponent, what that could be within the points' spreads, and by which factor a point is `off` at most."""

    exponent: float
    least: float
    most: float
    off: float

    def __str__(self) -> str:
        """The exponent, and its range."""
        return f"{self.exponent:.2f} ({self.least:.2f}–{self.most:.2f})"


def law_of(points: Sequence[Point]) -> Law | None:
    """The law of a curve, by least squares on logarithms; none through fewer than two sizes above 0."""
    some = [one for one in points if one.size > 0]
    if len({one.size for one in some}) < 2:
        return None
    x = np.log([one.size for one in some])
    y = np.log([one.cost_us.median for one in some])
    exponent, constant = _line(x, y)
    off = np.exp(np.abs(y - exponent * x - constant).max())
    # The ends of the spreads that tilt the line most.
    half = len(some) / 2
    flat = [one.cost_us.most if place < half else one.cost_us.least for place, one in enumerate(some)]
    steep = [one.cost_us.least if place < half else one.cost_us.most for place, one in enumerate(some)]
    least, most = (_line(x, np.log(costs))[0] for costs in (flat, steep))
    return Law(exponent, least, most, float(off))


def upper(points: Sequence[Point]) -> list[Point]:
    """The points of the upper decades."""
    return [one for one in points if one.size * UPPER >= points[-1].size]


def _line(x: Floats, y: Floats) -> tuple[float, float]:
    slope, constant = np.polyfit(x, y, 1)
    return float(slope), float(constant)
