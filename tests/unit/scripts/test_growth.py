"""What scripts/lab/run growth fits to points."""

import pytest

from scripts.lab.growth import points


def test_a_power_law_is_found():
    curve = [(size, [3e-6 * size**0.7 * part for part in (0.9, 1.0, 1.2)]) for size in (10, 100, 1000, 10_000, 100_000)]
    law = points.law_of([points.Point.of("nodes", "all", *of) for of in curve])
    assert (law.exponent, law.off) == pytest.approx((0.7, 1.0))
    assert law.least < 0.7 < law.most
