"""CPU time a job at a size, kept as CSV in the repository, and power laws through it: cost = a × size ** exponent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

import numpy as np

from dardis.model.arrays import Floats
from scripts.lab.kit.page import read_csv, write_csv
from scripts.lab.kit.spread import Spread

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


KEPT: Final = Path(__file__).with_name("kept.csv")
_HEAD: Final = ("over", "what", "size", "median_us", "least_us", "most_us")


@dataclass(frozen=True, slots=True)
class Point:
    """CPU µs a job of a kind (`what`) at a size of that which grows (`over`)."""

    over: str
    what: str
    size: float
    cost_us: Spread

    @classmethod
    def of(cls, over: str, what: str, size: float, costs_s: Sequence[float]) -> Point:
        """Sum up what was measured in s."""
        return cls(over, what, size, Spread.of([1e6 * cost for cost in costs_s]))


def write(path: Path, points: Sequence[Point]) -> None:
    """Keep the points."""
    rows = [(one.over, one.what, f"{one.size:g}", *(f"{of:.4g}" for of in astuple(one.cost_us))) for one in points]
    write_csv(path, _HEAD, rows)


def read(path: Path) -> list[Point]:
    """The points that were kept."""
    return [
        Point(row["over"], row["what"], float(row["size"]), Spread(*(float(row[name]) for name in _HEAD[3:])))
        for row in read_csv(path)
    ]


def curves_of(points: Sequence[Point]) -> dict[str, dict[str, list[Point]]]:
    """The points by what grows and by kind, each as it was measured: small sizes first."""
    curves: dict[str, dict[str, list[Point]]] = {}
    for one in points:
        curves.setdefault(one.over, {}).setdefault(one.what, []).append(one)
    return curves
