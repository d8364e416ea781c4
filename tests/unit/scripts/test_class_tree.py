from __future__ import annotations

import numpy as np
import pytest

from dardis.power.cooling import AirPlant, HybridPlant, PueTable
from scripts.thesis_6.class_tree import CLASSES, DayRecords, day_above_slope, learn_classes, slope_change

TEMPS = np.array([10.0, 20.0])
LOADS = np.array([1000.0, 2000.0, 3000.0, 4000.0])
TABLE = PueTable(TEMPS, LOADS, np.array([[1.10, 1.11, 1.12, 1.30], [1.20, 1.40, 1.41, 1.42]]))


HOUR = np.array([3600])


def test_the_slope_change_is_the_load_before_the_largest_increment() -> None:
    assert slope_change(TABLE, TEMPS[:1], HOUR, 4000.0) == pytest.approx((3000.0, 1.12))
    assert slope_change(TABLE, TEMPS[1:], HOUR, 4000.0) == pytest.approx((1000.0, 1.20))


def test_the_curve_of_a_day_is_its_mean_over_time() -> None:
    # From 3 kW to 3.5 kW the cold hours' PUE rises more than that of the warm ones from 1 kW on, if they are most.
    mostly_cold = slope_change(TABLE, TEMPS, np.array([9, 1]), 4000.0)
    assert mostly_cold == pytest.approx((3000.0, 0.9 * 1.12 + 0.1 * 1.41))
    assert slope_change(TABLE, TEMPS, np.array([1, 9]), 4000.0)[0] == 1000.0


def test_the_modelled_plants_sort_the_thesis_cases_of_table_6_2() -> None:
    """Above the slope change there: hybrid in summer at high load; ours tells air, and hybrid in summer, alike."""
    hours = np.arange(24)
    summer, winter = (mean + swing * np.cos((hours - 15) / 12 * np.pi) for mean, swing in ((24.5, 6.5), (3.5, 3.5)))
    for plant, temps, high_w, above in (
        (AirPlant(), summer, 85_000.0, False),
        (AirPlant(), winter, 85_000.0, False),
        (HybridPlant(), summer, 85_000.0, True),
        (HybridPlant(), summer, 35_000.0, False),
        (HybridPlant(), winter, 35_000.0, False),
    ):
        day = day_above_slope(plant, temps, np.full(24, high_w), np.full(24, 3600), 107_000.0)
        assert (day > 0) == above


def records(days: int) -> DayRecords:
    """As the thesis found it: air never beyond the slope change, hybrid above 84.82 % of use."""
    rng = np.random.default_rng(1)
    use = rng.uniform(0.3, 1.0, days)
    day = np.repeat(np.arange(days), 2)
    hybrid = np.tile([False, True], days)
    above = np.where(hybrid & (np.repeat(use, 2) > 0.8482), 0.01, -0.01)
    return DayRecords(hybrid, np.repeat(use, 2), above, day)


def test_the_thesis_rule_is_found_again() -> None:
    tree = learn_classes(records(269))
    assert tree.accuracy > 0.99
    assert tree.cv_accuracy > 0.96
    assert tree.predict(hybrid=True, last_use=0.95) == CLASSES[1]
    assert tree.predict(hybrid=True, last_use=0.5) == tree.predict(hybrid=False, last_use=0.95) == CLASSES[0]
    (maximise,) = [rule for rule in tree.rules if rule.endswith(CLASSES[1])]
    assert "last day's use > 0.84" in maximise
    assert "hybrid cooling" in maximise
    assert "no hybrid" not in maximise
    assert "of 538 days right" in tree.summary()
    assert "thesis: 96.28 % of 538" in tree.summary()
