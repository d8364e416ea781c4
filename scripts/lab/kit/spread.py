"""Median and range of what was measured again and again."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and range of repeated figures."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> Spread:
        """Summarise at least one figure."""
        return cls(statistics.median(figures), min(figures), max(figures))

    @classmethod
    def ratio(cls, above: Sequence[float], below: Sequence[float]) -> Spread:
        """Of figures over others, turn by turn."""
        return cls.of([a / b for a, b in zip(above, below, strict=True)])

    def __str__(self) -> str:
        """Write `median (least–most)`, three digits each."""
        return f"{self.median:.3g} ({self.least:.3g}–{self.most:.3g})"
