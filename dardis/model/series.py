"""Values over time, in a finite span without gaps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dardis.model.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Series:
    """Value `values[i]` holds in `[edges[i], edges[i+1])`; `edges` (values + 1,) are s, ascending."""

    edges: Ints
    values: Floats

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.values) + 1 or not (np.diff(self.edges) > 0).all():
            raise ValueError("a series needs ascending edges, one more than values")

    @property
    def start(self) -> int:
        """Start of the first value."""
        return int(self.edges[0])

    @property
    def end(self) -> int:
        """End of the last value."""
        return int(self.edges[-1])

    def shifted(self, by: int) -> Series:
        """Shift the series by `by` seconds."""
        return replace(self, edges=self.edges + by)

    def extend_last(self, until: int, most_s: int) -> Series:
        """Extend the last value to `until` if at most `most_s` is missing."""
        if not 0 < until - self.end <= most_s:
            return self
        return Series(np.append(self.edges, until), np.append(self.values, self.values[-1]))

    def at(self, moments: Ints | int) -> Floats:
        """Values at times within `[start, end)`."""
        place = np.searchsorted(self.edges, moments, side="right") - 1
        if np.any(place < 0) or np.any(place >= len(self.values)):
            raise ValueError("a time outside the series")
        return np.asarray(self.values[place])

    def means(self, edges: Ints) -> Floats:
        """Time-weighted means over `[edges[i], edges[i+1])`."""
        if edges[0] < self.start or edges[-1] > self.end:
            raise ValueError("a span outside the series")
        whole = np.concatenate([[0.0], np.cumsum(np.diff(self.edges) * self.values)])
        return np.asarray(np.diff(np.interp(edges, self.edges, whole)) / np.diff(edges))
