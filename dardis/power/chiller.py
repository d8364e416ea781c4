"""An air-cooled chiller's power by the outdoor temperature: DOE-2 curves with published coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Floats


def input_ratio(water_c: Floats | float, air_c: Floats | float) -> Floats:
    """EIRFT: electric power per heat against that at rating. Curve AirCooled_Chiller_2004_PathA_EIRFT."""
    w, a = np.asarray(water_c, dtype=float), np.asarray(air_c, dtype=float)
    return np.asarray(
        0.5961915 - 0.0099496 * w + 0.0007888 * w**2 + 0.0004506 * a + 0.0004875 * a**2 - 0.0007623 * w * a
    )


def part_load_ratio(load: Floats | float) -> Floats:
    """EIRFPLR: power against that at full load. Curve AirCooled_Chiller_AllCapacities_2004_2010_EIRFPLR."""
    p = np.asarray(load, dtype=float)
    return np.asarray(0.141 + 0.655 * p + 0.203 * p**2)


@dataclass(frozen=True, slots=True)
class Chiller:
    """Many staged machines, each at full load or off: power is proportional to heat.

    P = Q / cop · EIRFT(water_c, Tc) · EIRFPLR(1), Tc = the outdoor temperature within [`floor_c`, `ceiling_c`].
    """

    cop: float = 2.80
    """At rating: 1.256 kW a ton, the minimum of ASHRAE 90.1-2004 for air-cooled chillers."""
    water_c: float = 7.0
    """Leaving chilled water (°C)."""
    floor_c: float = 28.3
    """Head-pressure control keeps the condenser from getting colder (calibrated on the thesis's PUE)."""
    ceiling_c: float = 46.0
    """Where the curves end."""

    def watts(self, temp_c: Floats, heat_w: Floats) -> Floats:
        """Electric power (W) that removes `heat_w`."""
        condenser_c = np.clip(temp_c, self.floor_c, self.ceiling_c)
        ratio = input_ratio(self.water_c, condenser_c) * part_load_ratio(1.0)
        return np.asarray(heat_w / self.cop * ratio)
