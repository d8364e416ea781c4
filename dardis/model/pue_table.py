"""Measured cooling: PUE by outdoor temperature and IT power."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dardis.model.arrays import Floats
from dardis.model.errors import InputError


class RowChoice(StrEnum):
    """Choice for a temperature between two rows."""

    NEAREST = "nearest"
    """Nearest row (thesis 6.5.3: rows 5 °C apart); halfway, the warmer."""
    INTERPOLATE = "interpolate"


@dataclass(frozen=True, slots=True)
class PueTable:
    """PUE `pue[i, j]` (at least 1) at `temps_c[i]` (°C) and `it_w[j]` (W), both ascending.

    Cooling power is linear between columns and down to 0 W at no load. Refused: higher loads, and temperatures outside
    the rows (`NEAREST`: by more than half a step).
    """

    temps_c: Floats
    it_w: Floats
    pue: Floats
    rows: RowChoice = RowChoice.NEAREST
    name: str = "PUE table"

    def __post_init__(self) -> None:
        if self.pue.shape != (len(self.temps_c), len(self.it_w)) or 0 in self.pue.shape:
            raise ValueError("a PUE table needs one row for each temperature and one column for each IT power")
        if (np.diff(self.temps_c) <= 0).any() or (np.diff(self.it_w, prepend=0.0) <= 0).any():
            raise ValueError("a PUE table's temperatures and (positive) powers must ascend")
        if not (self.pue >= 1).all() or not np.isfinite(self.pue).all():
            raise ValueError("a PUE is at least 1")

    @property
    def coldest_c(self) -> float:
        """Lowest permitted temperature."""
        return self._reach(0, 1)

    @property
    def hottest_c(self) -> float:
        """Highest permitted temperature."""
        return self._reach(-1, -2)

    @property
    def most_it_w(self) -> float:
        """Highest permitted IT power."""
        return float(self.it_w[-1])

    def watts(self, temp_c: Floats | float, it_w: Floats | float) -> Floats:
        """Cooling power (W) elementwise. Raises InputError outside the table."""
        temp, load = np.broadcast_arrays(np.asarray(temp_c, dtype=float), np.asarray(it_w, dtype=float))
        self._check(temp, load)
        if self.rows is RowChoice.NEAREST or len(self.temps_c) == 1:
            middles = (self.temps_c[1:] + self.temps_c[:-1]) / 2
            return self._along(np.searchsorted(middles, temp, side="right"), load)
        row = np.clip(np.searchsorted(self.temps_c, temp, side="right") - 1, 0, len(self.temps_c) - 2)
        share = (temp - self.temps_c[row]) / (self.temps_c[row + 1] - self.temps_c[row])
        return np.asarray((1 - share) * self._along(row, load) + share * self._along(row + 1, load))

    def _reach(self, last: int, neighbour: int) -> float:
        edge = float(self.temps_c[last])
        if self.rows is RowChoice.INTERPOLATE or len(self.temps_c) == 1:
            return edge
        return edge + (edge - float(self.temps_c[neighbour])) / 2

    def _check(self, temp: Floats, load: Floats) -> None:
        covered = f"{self.coldest_c:g} to {self.hottest_c:g} °C and 0 to {self.most_it_w:g} W"
        outside = ~((temp >= self.coldest_c) & (temp <= self.hottest_c) & (load >= 0) & (load <= self.most_it_w))
        if outside.any():
            place = np.flatnonzero(outside.ravel())[0]
            found = f"{temp.ravel()[place]:g} °C and {load.ravel()[place]:g} W of IT power"
            raise InputError(self.name, found, f"a point within {covered}")

    def _along(self, row: np.ndarray, load: Floats) -> Floats:
        columns = np.concatenate([[0.0], self.it_w])
        cooling = np.concatenate([np.zeros((len(self.temps_c), 1)), (self.pue - 1) * self.it_w], axis=1)
        right = np.clip(np.searchsorted(columns, load, side="left"), 1, len(columns) - 1)
        share = (load - columns[right - 1]) / (columns[right] - columns[right - 1])
        return np.asarray((1 - share) * cooling[row, right - 1] + share * cooling[row, right])
