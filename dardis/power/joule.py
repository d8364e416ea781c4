"""What a joule costs: its energy, the CO2 of it, and the cooling that it adds. All that weigh energy ask here."""

from __future__ import annotations

import numpy as np

from dardis.model.arrays import Floats
from dardis.model.series import Series
from dardis.power.conditions import Conditions
from dardis.power.cooling import Cooling
from dardis.power.tariff import Tariff


def co2_per_kwh(conditions: Conditions, tariff: Tariff) -> Floats:
    """Money for the CO2 of a kWh in each segment, shape (segments,)."""
    return tariff.co2_per_t * conditions.gco2_per_kwh / 1e6


def price_of_joule(conditions: Conditions, tariff: Tariff) -> Floats:
    """Money for a joule that is drawn in each segment, CO2 included, shape (segments,).

    What is charged for peaks and above limits is of no single joule, and not in it.
    """
    return np.asarray((conditions.price_per_kwh + co2_per_kwh(conditions, tariff)) / 3.6e6)


def cost_of_joule(conditions: Conditions, cooling: Cooling, tariff: Tariff, it_w: Series) -> Series:
    """What a joule of a node costs in each segment: the price of it and of the cooling that it adds at this IT load."""
    load = it_w.means(conditions.edges)
    step_w = np.maximum(load * 0.01, 100.0)
    less = np.maximum(load - step_w, 0.0)  # a measured plant may not know more than this load
    marginal = (cooling.watts(conditions.temp_c, load) - cooling.watts(conditions.temp_c, less)) / np.maximum(
        load - less, 1e-9
    )
    return Series(conditions.edges, price_of_joule(conditions, tariff) * (1 + marginal))
