"""What is measured: CPU time a job at a size, again and again; kept as CSV in the repository."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.lab.kit.page import write_csv
from scripts.lab.kit.spread import Spread

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
    rows = [
        (one.over, one.what, f"{one.size:g}", *(f"{of:.4g}" for of in (one.cost_us.median, one.cost_us.least,
         one.cost_us.most)))
        for one in points
    ]  # fmt: skip
    write_csv(path, _HEAD, rows)


def read(path: Path) -> list[Point]:
    """The points that were kept."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Point(row["over"], row["what"], float(row["size"]),
                  Spread(*(float(row[name]) for name in _HEAD[3:])))
            for row in csv.DictReader(file)
        ]  # fmt: skip


def curves_of(points: Sequence[Point]) -> dict[str, dict[str, list[Point]]]:
    """The points by what grows and by kind, each as it was measured: small sizes first."""
    curves: dict[str, dict[str, list[Point]]] = {}
    for one in points:
        curves.setdefault(one.over, {}).setdefault(one.what, []).append(one)
    return curves
