"""What scripts/lab/run growth fits to points."""

import pytest

from scripts.lab.growth import points

SIZES = (10, 100, 1000, 10_000, 100_000)


def curve(cost):
    return [points.Point.of("nodes", "all", size, [cost(size) * part for part in (0.9, 1.0, 1.2)]) for size in SIZES]


def test_a_power_law_is_found():
    law = points.law_of(curve(lambda size: 3e-6 * size**0.7))
    assert law.exponent == pytest.approx(0.7)
    assert law.off == pytest.approx(1.0)
    assert law.least < 0.7 < law.most
