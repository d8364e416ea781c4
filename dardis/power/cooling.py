"""Cooling power of measured tables, air-cooled and hybrid plants."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

import numpy as np

from dardis.model.arrays import Floats
from dardis.model.pue_table import PueTable, RowChoice


def input_ratio(water_c: Floats | float, air_c: Floats | float) -> Floats:
    """EIRFT: power per heat, relative to rating. Curve AirCooled_Chiller_2004_PathA_EIRFT."""
    w, a = np.asarray(water_c, dtype=float), np.asarray(air_c, dtype=float)
    return np.asarray(
        0.5961915 - 0.0099496 * w + 0.0007888 * w**2 + 0.0004506 * a + 0.0004875 * a**2 - 0.0007623 * w * a
    )


def part_load_ratio(load: Floats | float) -> Floats:
    """EIRFPLR: power relative to full load. Curve AirCooled_Chiller_AllCapacities_2004_2010_EIRFPLR."""
    p = np.asarray(load, dtype=float)
    return np.asarray(0.141 + 0.655 * p + 0.203 * p**2)


@dataclass(frozen=True, slots=True)
class Chiller:
    """Staged machines: power is proportional to heat.

    P = Q / cop · EIRFT(water_c, Tc) · EIRFPLR(1), Tc = outdoor temperature within [`floor_c`, `ceiling_c`].
    """

    cop: float = 2.80
    """1.256 kW per ton: ASHRAE 90.1-2004 minimum for air-cooled chillers."""
    water_c: float = 7.0
    """Leaving chilled water (°C)."""
    floor_c: float = 28.3
    """Lowest condenser temperature (head-pressure control; calibrated on thesis PUE)."""
    ceiling_c: float = 46.0
    """End of the curves."""

    def watts(self, temp_c: Floats, heat_w: Floats) -> Floats:
        """Electric power (W) to remove `heat_w`."""
        condenser_c = np.clip(temp_c, self.floor_c, self.ceiling_c)
        ratio = input_ratio(self.water_c, condenser_c) * part_load_ratio(1.0)
        return np.asarray(heat_w / self.cop * ratio)


DESIGN_W = 107_000.0
"""Thesis machine: 300 nodes, 32 cores, 11.11 W."""


@dataclass(frozen=True, slots=True)
class AirPlant:
    """Cooling power at outdoor temperature T (°C) and IT power P (W); x = P / design_w.

    Room fans: P_fan = P · fan_pa / (air_heat · air_k · fan_efficiency) · ((1 − k) + k x²), k = `fan_cubic`.

    Pump: P_pump = (P + P_fan) · pump_pa / (water_heat · water_k · pump_efficiency). Heat: Q = P + P_fan + P_pump.

    Free cooling if T + AT ≤ `free_c`, AT = `approach_k` + `approach_slope_k` x: fan speed m = AT / (free_c − T) within
    [0.1, 1], power `dry_cooler` · Q · m³. Otherwise, or if cheaper, the chiller runs.

    Parameters: Lei & Masanet 2022, doi 10.1016/j.resconrec.2022.106323. Calibrated on thesis tables 6.1 and 6.2: -10 to
    40 °C, 5 to 100 % of `design_w`; not validated.
    """

    design_w: float = DESIGN_W
    fan_pa: float = 664.5
    """Pressure rise (400–1000 Pa in practice)."""
    air_k: float = 8.0
    """Warming of air (5–10 K)."""
    fan_efficiency: float = 0.65
    """0.60–0.80."""
    air_heat: float = 1.2 * 1006.0
    """J/(m³ K)."""
    fan_cubic: float = 0.266
    """Share cubic in flow; the rest is proportional."""
    pump_pa: float = 143.6e3
    """Pressure rise (114.9–172.4 kPa)."""
    water_k: float = 5.0
    """Warming of water (5–10 K)."""
    pump_efficiency: float = 0.70
    """0.6–0.8."""
    water_heat: float = 998.0 * 4186.0
    """J/(m³ K)."""
    free_c: float = 17.0
    """Water temperature for free cooling."""
    approach_k: float = 5.7
    """Dry cooler approach at no load."""
    approach_slope_k: float = 1.0
    """Additional approach at design."""
    dry_cooler: float = 0.0377
    """Fan power at full speed, per heat removed."""
    slowest: float = 0.1
    """Least fan speed."""
    chiller: Chiller = field(default_factory=Chiller)

    def watts(self, temp_c: Floats | float, it_w: Floats | float) -> Floats:
        """Cooling power (W), elementwise."""
        temp, load = np.asarray(temp_c, dtype=float), np.asarray(it_w, dtype=float)
        fans, pump = self.room_watts(load)
        heat = load + fans + pump
        machine = self.chiller.watts(temp, heat)
        free = np.where(self.free(temp, load), self.dry_cooler_watts(temp, load, heat), np.inf)
        return np.asarray(fans + pump + np.minimum(free, machine))

    def room_watts(self, load: Floats) -> tuple[Floats, Floats]:
        """Power (W) of room fans and pump."""
        staged = (1 - self.fan_cubic) + self.fan_cubic * (load / self.design_w) ** 2
        fans = load * self.fan_pa / (self.air_heat * self.air_k * self.fan_efficiency) * staged
        pump = (load + fans) * self.pump_pa / (self.water_heat * self.water_k * self.pump_efficiency)
        return fans, pump

    def free(self, temp: Floats, load: Floats) -> np.ndarray:
        """Whether free cooling suffices."""
        return np.asarray(temp + self._approach(load) <= self.free_c)

    def dry_cooler_watts(self, temp: Floats, load: Floats, heat: Floats) -> Floats:
        """Dry cooler fan power (W), by affinity law."""
        room = np.maximum(self.free_c - temp, 1e-9)
        speed = np.clip(self._approach(load) / room, self.slowest, 1.0)
        return np.asarray(self.dry_cooler * heat * speed**3)

    def _approach(self, load: Floats) -> Floats:
        return np.asarray(self.approach_k + self.approach_slope_k * load / self.design_w)


@dataclass(frozen=True, slots=True)
class WaterLoop:
    """Water loop with dry cooler, and chiller for the rest (integrated economiser).

    With x = load of design: AT = `approach_k` + `approach_slope_k` x; share of the dry cooler φ = (supply_c + warming_k
    − T − AT) / warming_k, within [0, 1]; fan power `dry_cooler` · Q · m³, m = AT / (supply_c − T) within [0.1, 1], and
    1 while the chiller trims. The dry cooler stays off if uneconomic.
    """

    supply_c: float
    warming_k: float
    approach_k: float
    approach_slope_k: float
    dry_cooler: float = 0.0175
    slowest: float = 0.1
    chiller: Chiller = field(default_factory=Chiller)

    def watts(self, temp: Floats, load: Floats, heat: Floats) -> Floats:
        """Power (W) to remove `heat`; `load` relative to design."""
        approach = self.approach_k + self.approach_slope_k * load
        share = np.clip((self.supply_c + self.warming_k - temp - approach) / self.warming_k, 0.0, 1.0)
        speed = np.clip(approach / np.maximum(self.supply_c - temp, 1e-9), self.slowest, 1.0)
        fans = self.dry_cooler * heat * np.where(share < 1, 1.0, speed) ** 3
        with_free = fans + self.chiller.watts(temp, (1 - share) * heat)
        return np.asarray(np.minimum(with_free, self.chiller.watts(temp, heat)))


@dataclass(frozen=True, slots=True)
class HybridPlant:
    """Cooling power at outdoor temperature T (°C) and IT power P (W).

    Pumps: `pump` · P. Share `liquid` of the heat: hot loop (45 °C, ASHRAE W45); rest: cold loop (24 °C rear doors).
    Calibrated on thesis table 6.2, -10 to 40 °C.
    """

    design_w: float = DESIGN_W
    liquid: float = 0.662
    """Heat share of the hot loop."""
    pump: float = 0.00275
    hot: WaterLoop = field(
        default_factory=lambda: WaterLoop(supply_c=45, warming_k=8, approach_k=2, approach_slope_k=6)
    )
    cold: WaterLoop = field(
        default_factory=lambda: WaterLoop(supply_c=24, warming_k=5, approach_k=2, approach_slope_k=7.41)
    )

    def watts(self, temp_c: Floats | float, it_w: Floats | float) -> Floats:
        """Cooling power (W), elementwise."""
        temp, load = np.asarray(temp_c, dtype=float), np.asarray(it_w, dtype=float)
        full = load / self.design_w
        hot = self.hot.watts(temp, full, self.liquid * load)
        cold = self.cold.watts(temp, full, (1 - self.liquid) * load)
        return np.asarray(self.pump * load + hot + cold)


__all__ = [
    "AirPlant", "Cooling", "HybridPlant", "Plant", "PueTable", "RowChoice", "beyond_calibration", "modelled", "pue_of",
    "table_of",
]  # fmt: skip


CALIBRATED_C: Final = (-10.0, 40.0)
CALIBRATED_LOADS: Final = (0.05, 1.0)
"""Calibrated IT power over design power."""


class Plant(StrEnum):
    """Modelled plants."""

    AIR = "air"
    HYBRID = "hybrid"


class Cooling(Protocol):
    """Source of cooling power."""

    def watts(self, temp_c: Floats | float, it_w: Floats | float) -> Floats:
        """Cooling power (W) from outdoor temperature (°C) and IT power (W), elementwise; 0 without IT power."""
        ...


def modelled(plant: Plant, design_w: float = DESIGN_W) -> Cooling:
    """Modelled plant for `design_w` of IT power."""
    return AirPlant(design_w) if plant is Plant.AIR else HybridPlant(design_w)


def beyond_calibration(cooling: Cooling, temp_c: float, it_w: float) -> str | None:
    """Message if a modelled plant's calibration is exceeded, or None."""
    if not isinstance(cooling, AirPlant | HybridPlant):
        return None
    (coldest, warmest), (least, most) = CALIBRATED_C, CALIBRATED_LOADS
    found = []
    if not coldest <= temp_c <= warmest:
        found.append(f"{temp_c:g} °C ({coldest:g} to {warmest:g} °C)")
    load = it_w / cooling.design_w
    if not least <= load <= most:
        share = f"{100 * load:.3g} % of the design power of {cooling.design_w:g} W"
        found.append(f"{it_w:g} W, {share} ({100 * least:g} to {100 * most:g} %)")
    return f"outside the calibrated range of the plant's model: {'; '.join(found)}" if found else None


def pue_of(cooling: Cooling, temp_c: float, it_w: float) -> float:
    """1 + cooling power / IT power, as in the thesis."""
    return 1.0 + float(cooling.watts(temp_c, it_w)) / it_w


def table_of(cooling: Cooling, temps_c: Floats, it_w: Floats, rows: RowChoice = RowChoice.NEAREST) -> PueTable:
    """PUE table at temperatures (°C) and IT powers (W, above 0)."""
    cool_w = cooling.watts(temps_c[:, np.newaxis], it_w[np.newaxis, :])
    return PueTable(temps_c, it_w, 1.0 + cool_w / it_w, rows)
