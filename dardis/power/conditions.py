"""What a machine's power costs and meets over time: outdoor temperature, price and CO2 in segments of one value each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.model.series import Floats, Ints

HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class Conditions:
    """Segments `[edges[i], edges[i+1])` in s of the trace's clock, at most an hour each; all values per segment.

    The power of a segment is its mean (thesis eq. 6.4), so these segments are the grain of every account.
    """

    edges: Ints
    temp_c: Floats
    price_per_kwh: Floats
    gco2_per_kwh: Floats

    def __post_init__(self) -> None:
        """Refuse arrays that don't belong together."""
        lengths = {len(self.temp_c), len(self.price_per_kwh), len(self.gco2_per_kwh), len(self.edges) - 1}
        if len(lengths) != 1 or np.diff(self.edges).min() < 1 or np.diff(self.edges).max() > HOUR_S:
            raise ValueError("segments of 1 s to 1 h, each with its temperature, price and CO2")

    @property
    def start(self) -> int:
        """Begin of the first segment."""
        return int(self.edges[0])

    @property
    def end(self) -> int:
        """End of the last segment."""
        return int(self.edges[-1])
