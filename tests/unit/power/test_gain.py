import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.downtime import Downtime
from dardis.power.account import Work, account
from dardis.power.conditions import Conditions
from dardis.power.cooling import AirPlant
from dardis.power.gain import gain
from dardis.power.nodes import MachinePower
from dardis.power.tariff import Tariff

MACHINE = MachinePower(
    *(np.array([x, x]) for x in (100.0, 6.0, 10.0, 125.0, 100.0)), np.array([240, 240]), np.array([30, 30])
)
CONDITIONS = Conditions(
    np.array([0, 3600, 7200]), np.array([20.0, 20.0]), np.array([0.5, 0.1]), np.array([400.0, 400.0])
)
NO_TARIFF = Tariff()
jobs = st.lists(st.tuples(st.integers(0, 7000), st.integers(1, 4000), st.integers(1, 30)), max_size=4)


def told(some, down=(), tariff=NO_TARIFF):
    start, long, cores = (
        (np.array(x, dtype=np.int64) for x in zip(*some, strict=True)) if some else [np.zeros(0, int)] * 3
    )
    work = Work(start, start + long, cores, 6.0 * cores, np.full(len(cores), 0.1))
    node, at, up = (np.array(x, dtype=np.int64) for x in (zip(*down, strict=True) if down else ([], [], [])))
    return account(work, Downtime(node, at, up), MACHINE, CONDITIONS, AirPlant(1000.0), tariff)


@given(jobs, jobs, st.booleans())
def test_the_parts_of_a_gain_add_up_to_the_difference_in_profit(before, after, charged):
    tariff = Tariff(demand_per_kw=2.0, co2_per_t=50.0) if charged else NO_TARIFF
    a, b = told(before, (), tariff), told(after, [(1, 500, 4000)], tariff)
    assert gain(a, b).total == pytest.approx(b.profit - a.profit)


def test_each_reason_is_found_by_its_name():
    early, late = [(0, 3600, 10)], [(3600, 3600, 10)]
    moved = gain(told(early), told(late))
    assert moved.price == pytest.approx(0.06 * (0.5 - 0.1))
    assert moved.throughput == pytest.approx(0)
    assert moved.idle_power == pytest.approx(0)
    off = gain(told(early), told(early, [(1, 0, 7200)]))
    assert off.idle_power > 0
    assert off.cooling > 0
    assert off.price == off.throughput == pytest.approx(0)
    more = gain(told(early), told(early * 2))
    assert more.throughput == pytest.approx(10 * 0.1 - 0.06 * 0.5)
    assert more.price == pytest.approx(0)
    first = gain(told([]), told(early))
    assert first.throughput == pytest.approx(10 * 0.1 - 0.06 * 0.5)
