"""Power laws through points on log-log paper: cost = a × size ** exponent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scripts.growth_curves.points import Point

UPPER: Final = 100.0
"""The upper decades: sizes of at least the largest over this."""


@dataclass(frozen=True, slots=True)
class Law:
    """Its exponent, and by how much (a factor) the farthest point is off the straight line; where it begins and ends.

    `least` and `most`: the exponents if the first and the last point had the other ends of their spreads.
    """

    exponent: float
    least: float
    most: float
    off: float
    low: float
    high: float

    def __str__(self) -> str:
        """The exponent, and what it could be."""
        return f"{self.exponent:.2f} ({self.least:.2f}–{self.most:.2f})"


def law_of(points: Sequence[Point]) -> Law | None:
    """The law of a curve, by least squares on logarithms; none through fewer than two sizes above 0."""
    some = [one for one in points if one.size > 0]
    if len({one.size for one in some}) < 2:
        return None
    x = np.log([one.size for one in some])
    exponent, constant = _line(x, np.log([one.cost_us.median for one in some]))
    off = np.exp(np.abs(np.log([one.cost_us.median for one in some]) - exponent * x - constant).max())
    ends = []
    for first, last in (("most", "least"), ("least", "most")):
        middle = (len(some) - 1) / 2
        tilted = [getattr(one.cost_us, first if place < middle else last) for place, one in enumerate(some)]
        ends.append(_line(x, np.log(tilted))[0])
    return Law(exponent, *ends, off=float(off), low=some[0].size, high=some[-1].size)


def upper(points: Sequence[Point]) -> list[Point]:
    """The points of the upper decades."""
    return [one for one in points if one.size * UPPER >= points[-1].size]


def _line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    slope, constant = np.polyfit(x, y, 1)
    return float(slope), float(constant)
