"""An air-cooled computer room's plant: room fans, chilled-water pump, and either dry cooler or air-cooled chiller."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dardis.model.arrays import Floats
from dardis.power.chiller import Chiller

DESIGN_W = 107_000.0
"""The thesis's machine: 300 nodes of 32 cores of 11.11 W."""


@dataclass(frozen=True, slots=True)
class AirPlant:
    """Cooling power at an outdoor dry bulb temperature T (°C) and IT power P (W), with x = P / design_w.

    Room fans: P_fan = P · fan_pa / (air_heat · air_k · fan_efficiency) · ((1 − k) + k x²), k = `fan_cubic`.
    Pump: P_pump = (P + P_fan) · pump_pa / (water_heat · water_k · pump_efficiency). Heat: Q = P + P_fan + P_pump.
    Free cooling where T + AT ≤ `free_c`, with the approach AT = `approach_k` + `approach_slope_k` x: the dry cooler's
    fans run at m = AT / (free_c − T), within [0.1, 1], and draw `dry_cooler` · Q · m³. Otherwise the chiller runs, and
    also where it would be cheaper. Ranges of the parameters: Lei & Masanet 2022, doi 10.1016/j.resconrec.2022.106323.
    Calibrated on the thesis's tables 6.1 and 6.2, for T from -10 to 40 °C and 5 to 100 % of `design_w`; not validated.
    """

    design_w: float = DESIGN_W
    """IT power that the plant was built for."""
    fan_pa: float = 664.5
    """Pressure rise of the room fans (400–1000 Pa in practice)."""
    air_k: float = 8.0
    """Warming of the air (5–10 K)."""
    fan_efficiency: float = 0.65
    """0.60–0.80."""
    air_heat: float = 1.2 * 1006.0
    """Heat capacity of air, J/(m³ K)."""
    fan_cubic: float = 0.266
    """Share of the fans' power at design that follows the cube of the flow; the rest is staged in proportion."""
    pump_pa: float = 143.6e3
    """Pressure rise of the chilled-water pump (114.9–172.4 kPa)."""
    water_k: float = 5.0
    """Warming of the water (5–10 K)."""
    pump_efficiency: float = 0.70
    """0.6–0.8."""
    water_heat: float = 998.0 * 4186.0
    """Heat capacity of water, J/(m³ K)."""
    free_c: float = 17.0
    """Water temperature that free cooling must reach."""
    approach_k: float = 5.7
    """How much warmer than the air the dry cooler leaves the water, at no load …"""
    approach_slope_k: float = 1.0
    """… and what is added at design."""
    dry_cooler: float = 0.0377
    """Power of the dry cooler's fans at full speed, by heat removed."""
    slowest: float = 0.1
    """Lowest speed of those fans, of full speed."""
    chiller: Chiller = field(default_factory=Chiller)

    def watts(self, temp_c: Floats | float, it_w: Floats | float) -> Floats:
        """Cooling power (W), element by element."""
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
        """Whether the air is cold enough to do without the chiller."""
        return np.asarray(temp + self._approach(load) <= self.free_c)

    def dry_cooler_watts(self, temp: Floats, load: Floats, heat: Floats) -> Floats:
        """Power (W) of the dry cooler's fans (affinity law), where the air is cold enough."""
        room = np.maximum(self.free_c - temp, 1e-9)
        speed = np.clip(self._approach(load) / room, self.slowest, 1.0)
        return np.asarray(self.dry_cooler * heat * speed**3)

    def _approach(self, load: Floats) -> Floats:
        return np.asarray(self.approach_k + self.approach_slope_k * load / self.design_w)
