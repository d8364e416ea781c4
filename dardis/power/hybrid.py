"""A hybrid plant: hot water takes most heat at the chips, chilled rear doors the rest; both with free cooling."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dardis.model.arrays import Floats
from dardis.power.air import DESIGN_W
from dardis.power.chiller import Chiller


@dataclass(frozen=True, slots=True)
class Loop:
    """One water loop with a dry cooler and, for what that can't take, a chiller (integrated economiser).

    With x = load of design: the approach is AT = `approach_k` + `approach_slope_k` x, the share that the dry cooler
    takes φ = (supply_c + warming_k − T − AT) / warming_k, within [0, 1]; its fans draw `dry_cooler` · Q · m³ with
    m = AT / (supply_c − T), within [0.1, 1], and 1 while the chiller trims. It is left off where that doesn't pay.
    """

    supply_c: float
    """Water temperature that the loop is to have."""
    warming_k: float
    approach_k: float
    approach_slope_k: float
    dry_cooler: float = 0.0175
    slowest: float = 0.1
    chiller: Chiller = field(default_factory=Chiller)

    def watts(self, temp: Floats, load: Floats, heat: Floats) -> Floats:
        """Power (W) that removes `heat`, at a load of design between 0 and 1."""
        approach = self.approach_k + self.approach_slope_k * load
        share = np.clip((self.supply_c + self.warming_k - temp - approach) / self.warming_k, 0.0, 1.0)
        speed = np.clip(approach / np.maximum(self.supply_c - temp, 1e-9), self.slowest, 1.0)
        fans = self.dry_cooler * heat * np.where(share < 1, 1.0, speed) ** 3
        with_free = fans + self.chiller.watts(temp, (1 - share) * heat)
        return np.asarray(np.minimum(with_free, self.chiller.watts(temp, heat)))


@dataclass(frozen=True, slots=True)
class HybridPlant:
    """Cooling power at an outdoor dry bulb temperature T (°C) and IT power P (W).

    Pumps draw `pump` · P; `liquid` of the heat goes to the hot loop (45 °C, ASHRAE class W45), the rest to the cold one
    (24 °C rear doors). Calibrated on the thesis's table 6.2 (exact by construction), for T from -10 to 40 °C.
    """

    design_w: float = DESIGN_W
    """IT power that the plant was built for."""
    liquid: float = 0.662
    """Share of the heat that the hot loop takes."""
    pump: float = 0.00275
    """Power of the pumps, by IT power."""
    hot: Loop = field(default_factory=lambda: Loop(supply_c=45, warming_k=8, approach_k=2, approach_slope_k=6))
    cold: Loop = field(default_factory=lambda: Loop(supply_c=24, warming_k=5, approach_k=2, approach_slope_k=7.41))

    def watts(self, temp_c: Floats | float, it_w: Floats | float) -> Floats:
        """Cooling power (W), element by element."""
        temp, load = np.asarray(temp_c, dtype=float), np.asarray(it_w, dtype=float)
        full = load / self.design_w
        hot = self.hot.watts(temp, full, self.liquid * load)
        cold = self.cold.watts(temp, full, (1 - self.liquid) * load)
        return np.asarray(self.pump * load + hot + cold)
