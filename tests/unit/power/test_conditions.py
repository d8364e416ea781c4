import numpy as np
import pytest

from dardis.model.errors import InputError
from dardis.model.series import Series
from dardis.power.conditions import HOUR_S, conditions_over


def series(start, step, values):
    return Series(start + step * np.arange(len(values) + 1), np.array(values, dtype=float))


def test_segments_end_at_hours_of_utc_and_where_a_series_changes():
    weather = series(0, 3600, [1, 2, 3, 4])
    prices = series(0, 900, range(16))
    offset = 100
    of = conditions_over(3000 - offset, 6000 - offset, weather, prices, offset=offset)
    assert (of.edges + offset).tolist() == [3000, 3600, 4500, 5400, 6000]
    assert of.temp_c.tolist() == [1, 2, 2, 2]
    assert of.price_per_kwh.tolist() == [3, 4, 5, 6]
    assert of.gco2_per_kwh.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("step", [600, 900, 3600])
def test_quarters_are_those_of_utc_however_long_or_short_the_time_and_whatever_the_series_steps(step):
    weather, offset = series(0, step, range(8 * 3600 // step)), 100
    of = conditions_over(3000 - offset, 6000 - offset, weather, weather, offset=offset)
    assert (of.quarters + offset).tolist() == [3000, 3600, 4500, 5400, 6000]
    assert (of.between(4000 - offset, 5000 - offset).quarters + offset).tolist() == [4000, 4500, 5000]
    within_an_hour = conditions_over(3700 - offset, 5000 - offset, weather, weather, offset=offset)
    assert (within_an_hour.quarters + offset).tolist() == [3700, 4500, 5000]


def test_no_segment_is_longer_than_an_hour_whatever_the_series_say():
    flat = series(0, 10**6, [5])
    of = conditions_over(1234, 20_000, flat, flat, flat)
    assert np.diff(of.edges).max() <= HOUR_S
    assert of.gco2_per_kwh.tolist() == [5] * len(of.temp_c)


@pytest.mark.parametrize(("name", "late"), [("weather", 0), ("prices", 1), ("carbon", 2)])
def test_a_series_that_does_not_cover_all_is_named(name, late):
    whole, short = series(0, 3600, range(4)), series(3600, 3600, range(3))
    three = [short if i == late else whole for i in range(3)]
    with pytest.raises(InputError, match=rf"{name}: covers 1970-01-01T01:00Z to .*expected all of 1970-01-01T00:50Z"):
        conditions_over(3000, 7200, *three)
