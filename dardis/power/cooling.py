"""What cooling draws for an outdoor temperature and an IT power: a measured table, or a documented model of a plant."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Protocol

import numpy as np

from dardis.model.arrays import Floats
from dardis.model.pue_table import PueTable, Rows
from dardis.power.air import DESIGN_W, AirPlant
from dardis.power.hybrid import HybridPlant

__all__ = [
    "AirPlant", "Cooling", "HybridPlant", "Plant", "PueTable", "Rows", "beyond_calibration", "modelled", "pue_of",
    "table_of",
]  # fmt: skip


CALIBRATED_C: Final = (-10.0, 40.0)
"""Outdoor temperatures for which the modelled plants were calibrated."""
CALIBRATED_LOADS: Final = (0.05, 1.0)
"""And IT powers, of what they are built for."""


class Plant(StrEnum):
    """The plants that are modelled."""

    AIR = "air"
    HYBRID = "hybrid"


class Cooling(Protocol):
    """Anything that tells a cooling power."""

    def watts(self, temp_c: Floats | float, it_w: Floats | float) -> Floats:
        """Cooling power (W) at outdoor temperatures (°C) and IT powers (W), element by element; 0 at no IT power."""
        ...


def modelled(plant: Plant, design_w: float = DESIGN_W) -> Cooling:
    """A modelled plant, built for `design_w` of IT power (the thesis's machine by default)."""
    return AirPlant(design_w) if plant is Plant.AIR else HybridPlant(design_w)


def beyond_calibration(cooling: Cooling, temp_c: float, it_w: float) -> str | None:
    """What of a question lies outside of what a modelled plant was calibrated for, in words; None for a table."""
    if not isinstance(cooling, AirPlant | HybridPlant):
        return None
    (coldest, warmest), (least, most) = CALIBRATED_C, CALIBRATED_LOADS
    found = []
    if not coldest <= temp_c <= warmest:
        found.append(f"{temp_c:g} °C ({coldest:g} to {warmest:g} °C)")
    load = it_w / cooling.design_w
    if not least <= load <= most:
        share = f"{100 * load:.3g} % of the {cooling.design_w:g} W that it is built for"
        found.append(f"{it_w:g} W, {share} ({100 * least:g} to {100 * most:g} %)")
    return f"outside of what the plant's model was calibrated for: {'; '.join(found)}" if found else None


def pue_of(cooling: Cooling, temp_c: float, it_w: float) -> float:
    """PUE = 1 + cooling power / IT power (thesis: cooling alone counts), for an IT power above 0."""
    return 1.0 + float(cooling.watts(temp_c, it_w)) / it_w


def table_of(cooling: Cooling, temps_c: Floats, it_w: Floats, rows: Rows = Rows.NEAREST) -> PueTable:
    """The table that a plant gives at these temperatures (°C) and IT powers (W, above 0)."""
    cool_w = cooling.watts(temps_c[:, np.newaxis], it_w[np.newaxis, :])
    return PueTable(temps_c, it_w, 1.0 + cool_w / it_w, rows)
