"""What a joule costs, against what the account charges for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.series import Series
from dardis.power.account import account_of_load
from dardis.power.conditions import Conditions
from dardis.power.cooling import AirPlant, HybridPlant, table_of
from dardis.power.joule import cost_of_joule
from dardis.power.tariff import Tariff

TEMPS_C, LOADS_W = np.linspace(-15, 45, 13), np.linspace(250, 6000, 24)
PLANTS = (AirPlant(6000.0), HybridPlant(6000.0), table_of(AirPlant(6000.0), TEMPS_C, LOADS_W))


@st.composite
def loads(draw):
    """An IT load (W) over some segments with weather, prices of either sign and CO2 that differ in each."""
    lengths = draw(st.lists(st.integers(60, 3600), min_size=1, max_size=6))

    def values(low, high):
        return np.array([draw(st.floats(low, high)) for _ in lengths])

    edges = np.concatenate([[0], np.cumsum(lengths)]) + draw(st.integers(-900, 900))
    return Conditions(edges, values(-10, 40), values(-0.3, 0.6), values(0, 900)), values(500, 5900)


@given(loads(), st.sampled_from(PLANTS), st.sampled_from((0.0, 80.0, 400.0)))
def test_a_joule_costs_what_the_account_charges_for_it(case, plant, co2_per_t):
    conditions, load_w = case
    tariff = Tariff(co2_per_t=co2_per_t)

    def charged(watts):
        return -account_of_load(Series(conditions.edges, watts), conditions, plant, tariff).profit

    joule_cost = cost_of_joule(conditions, plant, tariff, Series(conditions.edges, load_w))
    whole, seconds = charged(load_w), np.diff(conditions.edges)
    for segment in range(len(load_w)):
        less_w = np.zeros_like(load_w)
        less_w[segment] = max(load_w[segment] / 100, 100.0)
        saved = whole - charged(load_w - less_w)
        joules = less_w[segment] * seconds[segment]
        assert joule_cost.values[segment] == pytest.approx(saved / joules, rel=1e-6, abs=1e-12)


def test_a_joule_costs_its_own_price_and_that_of_its_co2_and_of_its_cooling():
    class Quarter:
        def watts(self, temp_c, it_w):
            return 0.25 * it_w * (temp_c > 15)

    conditions = Conditions(
        np.array([0, 3600, 7200]), np.array([10.0, 20.0]), np.array([0.30, 0.36]), np.array([600.0, 0.0])
    )
    load = Series(np.array([0, 7200]), np.array([5000.0]))
    joule_cost = cost_of_joule(conditions, Quarter(), Tariff(co2_per_t=100.0), load)
    assert joule_cost.values == pytest.approx(np.array([1e-7, 1.25e-7]))
