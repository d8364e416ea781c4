"""Measured or forecast values over time (temperature, price): real numbers with a beginning and an end, no gap."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dardis.model.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Series:
    """`values[i]` holds in `[edges[i], edges[i+1])`; `edges` (values + 1,) are s, ascending."""

    edges: Ints
    values: Floats

    def __post_init__(self) -> None:
        """Refuse what is no series."""
        if len(self.edges) != len(self.values) + 1 or not (np.diff(self.edges) > 0).all():
            raise ValueError("a series needs ascending edges, one more than values")

    @property
    def start(self) -> int:
        """When the first value begins."""
        return int(self.edges[0])

    @property
    def end(self) -> int:
        """When the last value ends."""
        return int(self.edges[-1])

    def shifted(self, by: int) -> Series:
        """The same values `by` seconds later."""
        return replace(self, edges=self.edges + by)

    def held(self, until: int, most_s: int) -> Series:
        """The last value holding on until then, where no more than `most_s` is lacking of that; else as it is."""
        if not 0 < until - self.end <= most_s:
            return self
        return Series(np.append(self.edges, until), np.append(self.values, self.values[-1]))

    def at(self, moments: Ints | int) -> Floats:
        """Values at the given times, all within `[start, end)`."""
        place = np.searchsorted(self.edges, moments, side="right") - 1
        if np.any(place < 0) or np.any(place >= len(self.values)):
            raise ValueError("a time outside of the series")
        return np.asarray(self.values[place])

    def means(self, edges: Ints) -> Floats:
        """Mean values, weighted by time, over each `[edges[i], edges[i+1])`, all within `[start, end)`."""
        if edges[0] < self.start or edges[-1] > self.end:
            raise ValueError("a span outside of the series")
        whole = np.concatenate([[0.0], np.cumsum(np.diff(self.edges) * self.values)])
        return np.asarray(np.diff(np.interp(edges, self.edges, whole)) / np.diff(edges))
