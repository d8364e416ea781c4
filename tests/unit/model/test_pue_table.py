import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.errors import InputError
from dardis.model.pue_table import PueTable, Rows

THESIS = PueTable(
    np.array([10.0, 15.0]),
    np.array([55_000.0, 55_500.0]),
    np.array([[6860, 6924], [22_842, 23_050]]) / np.array([55_000, 55_500]) + 1,
)


def table(rows=Rows.NEAREST):
    return PueTable(
        np.array([0.0, 5.0, 15.0]), np.array([100.0, 300.0]), np.array([[1.1, 1.2], [1.3, 1.4], [1.5, 1.6]]), rows
    )


def test_the_thesis_cells_come_back_as_whole_watts():
    cooling = THESIS.watts(np.array([10.0, 10.0, 15.0, 15.0]), np.array([55_000.0, 55_500.0, 55_000.0, 55_500.0]))
    assert np.rint(cooling).tolist() == [6860, 6924, 22_842, 23_050]


def test_the_nearest_row_answers_and_halfway_the_warmer_one():
    temps = np.array([-2.5, 2.4, 2.5, 9.9, 10.0, 20.0])
    rows = np.array([1.1, 1.1, 1.3, 1.3, 1.5, 1.5])
    np.testing.assert_allclose(table().watts(temps, 100.0), (rows - 1) * 100)


def test_rows_never_mix_across_a_jump_unless_that_is_asked_for():
    np.testing.assert_allclose(table().watts(12.0, 100.0), 50)
    np.testing.assert_allclose(table(Rows.INTERPOLATE).watts(10.0, 100.0), 40)


@given(st.floats(0, 15), st.floats(0, 300))
def test_between_columns_the_cooling_power_is_linear_from_nothing_on(temp, load):
    for of in (table(), table(Rows.INTERPOLATE)):
        at = [float(of.watts(temp, column)) for column in (0.0, 100.0, 300.0)]
        assert at[0] == 0
        assert float(of.watts(temp, load)) == pytest.approx(np.interp(load, [0, 100, 300], at))


@pytest.mark.parametrize(
    ("rows", "temp", "load"),
    [
        (Rows.NEAREST, -2.6, 100), (Rows.NEAREST, 20.1, 100), (Rows.INTERPOLATE, -0.1, 100),
        (Rows.INTERPOLATE, 15.1, 100), (Rows.NEAREST, 5, 300.1), (Rows.NEAREST, 5, -1),
        (Rows.NEAREST, float("nan"), 100),
    ],
)  # fmt: skip
def test_what_was_not_measured_is_refused(rows, temp, load):
    with pytest.raises(InputError, match="within what it covers"):
        table(rows).watts(np.array([5.0, temp]), np.array([100.0, load]))


@pytest.mark.parametrize(
    ("temps", "watts", "pue"),
    [
        ([5.0, 0.0], [1.0], [[1.1], [1.1]]), ([0.0], [2.0, 1.0], [[1.1, 1.1]]), ([0.0], [0.0], [[1.1]]),
        ([0.0], [1.0], [[0.9]]), ([0.0], [1.0], [[1.1, 1.2]]), ([0.0], [1.0], [[float("nan")]]),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused(temps, watts, pue):
    with pytest.raises(ValueError, match="PUE"):
        PueTable(np.array(temps), np.array(watts), np.array(pue))
