"""The account of power and money, and the segments that it adds up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.errors import InputError
from dardis.model.job import FOREVER, Status
from dardis.model.placements import Placements
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.schedule import Downtime, Schedule
from dardis.model.series import Series
from dardis.power.account import AccountedJobs, account, accounted_jobs, gain
from dardis.power.conditions import Conditions, PowerLimit, Tariff, conditions_over, cost_of_joule
from dardis.power.cooling import AirPlant, HybridPlant, table_of
from dardis.power.node_power import MachinePower

NODES = 4
MACHINE = MachinePower(
    idle_w=np.array([100.0, 100.0, 80.0, 0.0]), core_w=np.full(NODES, 6.0), off_w=np.array([10.0, 10.0, 5.0, 0.0]),
    boot_w=np.full(NODES, 125.0), shutdown_w=np.full(NODES, 90.0), boot_s=np.array([240, 240, 60, 0]),
    shutdown_s=np.array([30, 30, 20, 0]),
)  # fmt: skip
NO_NODES = MachinePower(*np.zeros((5, 0)), *np.zeros((2, 0), dtype=np.int64))
FREE = Tariff()
spans = st.lists(st.tuples(st.integers(-500, 9000), st.integers(0, 5000)), max_size=8)


@st.composite
def cases(draw):
    """Jobs, times down and conditions over less than three hours, with a begin anywhere.

    Some stays down are shorter than shutting down and booting take.
    """
    edges = np.unique([0, *draw(st.lists(st.integers(1, 6999), max_size=4)), 3500, 7000]) + draw(st.integers(-9, 9))
    count = len(edges) - 1

    def values(low, high):
        return np.array(draw(st.lists(st.floats(low, high), min_size=count, max_size=count)))

    offset = draw(st.integers(-900, 900))
    conditions = Conditions(edges, values(-10, 40), values(-0.5, 0.5), values(0, 900), offset)
    jobs = draw(spans)
    start = np.array([s for s, _ in jobs], dtype=np.int64)
    size = len(jobs)
    work = AccountedJobs(
        start=start, finish=start + np.array([d for _, d in jobs], dtype=np.int64), cores=np.arange(size) + 1,
        added_w=6.0 * (np.arange(size) + 1), income=np.linspace(0.01, 0.1, size),
    )  # fmt: skip
    node, down, up = [], [], []
    for n in range(NODES):
        at = -400
        for gap, long in draw(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 3000)), max_size=2)):
            node, down = [*node, n], [*down, at + gap]
            cycle = int(MACHINE.cycle_s[n])
            at = down[-1] + 1 + (long if long < cycle else cycle + long)
            up.append(at)
        if up and node[-1] == n and draw(st.booleans()):
            up[-1] = FOREVER
    return work, Downtime(*(np.array(x, dtype=np.int64) for x in (node, down, up))), conditions


def by_second(work, downtime, conditions):
    """IT power and income second by second, told from the definition alone."""
    seconds = np.arange(conditions.start, conditions.end)
    watts, income = np.zeros(len(seconds)), np.zeros(len(seconds))
    for i in range(len(work.start)):
        runs = (seconds >= work.start[i]) & (seconds < work.finish[i])
        watts += runs * work.added_w[i]
        income += runs * work.income[i] * work.cores[i] / 3600
    for n in range(NODES):
        drawn = np.full(len(seconds), MACHINE.idle_w[n])
        for node, down, up in zip(downtime.node, downtime.down, downtime.up, strict=True):
            if node == n:
                # A boot that has not the time for all of it begins when the node has been shut down.
                there = (seconds >= down) & (seconds < up)
                drawn[there] = MACHINE.off_w[n]
                drawn[there & (seconds >= up - MACHINE.boot_s[n])] = MACHINE.boot_w[n]
                drawn[there & (seconds < down + MACHINE.shutdown_s[n])] = MACHINE.shutdown_w[n]
        watts += drawn
    return seconds, watts, income


@given(cases(), st.sampled_from([AirPlant(3000.0), HybridPlant(3000.0)]), st.integers(-500, 7000), st.integers(1, 4000))
def test_an_account_is_the_sum_over_all_seconds(case, plant, limited, long):
    work, downtime, conditions = case
    limits = (PowerLimit(limited, limited + long, 0.25, 1.5),)
    tariff = Tariff(3.0, 80.0, contracted_kw=0.3, contract_penalty_per_kwh=2.0, limits=limits)
    told = account(work, downtime, MACHINE, conditions, plant, tariff)
    seconds, watts, income = by_second(work, downtime, conditions)
    segment = np.searchsorted(conditions.edges, seconds, side="right") - 1
    length = np.diff(conditions.edges)
    it_w = np.bincount(segment, watts) / length
    cooling_w = plant.watts(conditions.temp_c, it_w)
    np.testing.assert_allclose(told.it_w, it_w, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(told.cooling_w, cooling_w, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(told.income, np.bincount(segment, income), rtol=1e-9, atol=1e-9)
    kwh = (it_w + cooling_w) * length / 3.6e6
    assert told.energy_eur + told.cooling_eur == pytest.approx((kwh * conditions.price_per_kwh).sum())
    assert told.co2_kg == pytest.approx((kwh * conditions.gco2_per_kwh).sum() / 1000)
    assert told.co2_eur == pytest.approx(told.co2_kg * 0.08)
    quarter = (seconds + conditions.offset) // 900
    means = [
        np.mean([x[quarter == q] for x in (watts, conditions.temp_c[segment])], axis=1) for q in np.unique(quarter)
    ]
    drawn = np.array([load + plant.watts(temp, load) for load, temp in means]) / 1000
    assert told.peak_kw == pytest.approx(drawn.max())
    assert told.demand_eur == pytest.approx(3 * drawn.max())
    hours = np.unique(quarter, return_counts=True)[1] / 3600
    inside = (limited <= seconds) & (seconds < limited + long)
    limited_h = np.array([inside[quarter == q].sum() for q in np.unique(quarter)]) / 3600
    beyond = 2 * (np.maximum(drawn - 0.3, 0) * hours).sum() + 1.5 * (np.maximum(drawn - 0.25, 0) * limited_h).sum()
    assert told.penalty_eur == pytest.approx(beyond, abs=1e-9)
    extras = told.demand_eur + told.co2_eur + told.penalty_eur
    assert told.profit == pytest.approx(income.sum() - told.energy_eur - told.cooling_eur - extras)
    assert told.feasible


def hour(temp=20.0, price=0.13, hours=1):
    edges = np.arange(0, hours * 3600 + 1, 3600)
    return Conditions(edges, np.full(hours, temp), np.full(hours, price), np.full(hours, 400.0))


def test_a_grid_limit_costs_its_penalty_or_makes_a_schedule_infeasible():
    work = AccountedJobs(np.array([0]), np.array([7200]), np.array([1]), np.array([720.0]), np.array([0.0]))
    drawn_kw = (1000 + HybridPlant().watts(20.0, 1000.0)) / 1000

    def told(penalty):
        tariff = Tariff(limits=(PowerLimit(1800, 5400, 0.6, penalty),))
        return account(work, Downtime.none(), MACHINE, hour(hours=2), HybridPlant(), tariff)

    assert told(5.0).penalty_eur == pytest.approx(5 * (drawn_kw - 0.6))
    assert told(5.0).feasible
    assert told(None).penalty_eur == 0
    assert told(None).over_limit_kwh == pytest.approx(drawn_kw - 0.6)
    assert not told(None).feasible


def schedule(platform, request, queue=("a", "b")):
    ints = np.array
    return Schedule(
        kinds=platform.kinds, number=ints([1, 2, 3]), submit=ints([0, 0, 0]), earliest=ints([0, 0, 0]),
        latest=ints([0, 0, 0]), walltime=ints([9, 9, 9]), units=ints([2, 3, 1]), request=np.array(request),
        status=ints([Status.COMPLETED, Status.KILLED, Status.REJECTED], dtype=np.int8), start=ints([5, 10, 0]),
        finish=ints([8, 20, 0]), attempts=ints([1, 1, 1]),
        placed=Placements(ints([0, 2, 4, 4]), ints([0, 1, 1, 2]), ints([1, 1, 2, 1])),
        queue=[*queue, "c"], user=["", "", ""],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("watts", "added"), [((100, 0), [2 * (100 - 40), 6 * 5]), ((30, 21), [0, 3 * (21 - 20)])], ids=["above", "below"]
)
def test_stated_watts_go_before_the_cores_and_include_the_share_of_idle_power(watts, added):
    group = NodeGroup("a", 3, {"cores": 8, "power": 400}, NodePower(idle_w=80.0, core_w=5.0))
    platform = Platform("p", (group,))
    work = accounted_jobs(schedule(platform, [[4, watts[0]], [2, watts[1]], [1, 9]]), platform)
    np.testing.assert_allclose(work.added_w, added)


TWO = MachinePower(
    *(np.array([x, x]) for x in (100.0, 6.0, 10.0, 125.0, 100.0)), np.array([240, 240]), np.array([30, 30])
)
DAY = Conditions(np.array([0, 3600, 7200]), np.array([20.0, 20.0]), np.array([0.5, 0.1]), np.array([400.0, 400.0]))
some_jobs = st.lists(st.tuples(st.integers(0, 7000), st.integers(1, 4000), st.integers(1, 30)), max_size=4)


def told(some, down=(), tariff=FREE):
    start, long, cores = (
        (np.array(x, dtype=np.int64) for x in zip(*some, strict=True)) if some else [np.zeros(0, int)] * 3
    )
    work = AccountedJobs(start, start + long, cores, 6.0 * cores, np.full(len(cores), 0.1))
    node, at, up = (np.array(x, dtype=np.int64) for x in (zip(*down, strict=True) if down else ([], [], [])))
    return account(work, Downtime(node, at, up), TWO, DAY, AirPlant(1000.0), tariff)


@given(some_jobs, some_jobs, st.booleans())
def test_parts_of_a_gain_sum_to_the_profit_difference(before, after, charged):
    tariff = Tariff(demand_per_kw=2.0, co2_per_t=50.0) if charged else FREE
    a, b = told(before, (), tariff), told(after, [(1, 500, 4000)], tariff)
    assert gain(a, b).total == pytest.approx(b.profit - a.profit)


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
    tariff, edges = Tariff(co2_per_t=co2_per_t), conditions.edges

    def charged(watts):
        jobs = AccountedJobs(edges[:-1], edges[1:], np.ones_like(edges[1:]), watts, np.zeros(len(watts)))
        return -account(jobs, Downtime.none(), NO_NODES, conditions, plant, tariff).profit

    joule_cost = cost_of_joule(conditions, plant, tariff, Series(conditions.edges, load_w))
    whole, seconds = charged(load_w), np.diff(conditions.edges)
    for segment in range(len(load_w)):
        less_w = np.zeros_like(load_w)
        less_w[segment] = max(load_w[segment] / 100, 100.0)
        saved = whole - charged(load_w - less_w)
        joules = less_w[segment] * seconds[segment]
        assert joule_cost.values[segment] == pytest.approx(saved / joules, rel=1e-6, abs=1e-12)


def series(start, step, values):
    return Series(start + step * np.arange(len(values) + 1), np.array(values, dtype=float))


@pytest.mark.parametrize("step", [600, 900, 3600])
def test_quarters_are_those_of_utc_however_long_or_short_the_time_and_whatever_the_series_steps(step):
    weather, offset = series(0, step, range(8 * 3600 // step)), 100
    of = conditions_over(3000 - offset, 6000 - offset, weather, weather, offset=offset)
    assert (of.quarters + offset).tolist() == [3000, 3600, 4500, 5400, 6000]
    assert (of.between(4000 - offset, 5000 - offset).quarters + offset).tolist() == [4000, 4500, 5000]
    within_an_hour = conditions_over(3700 - offset, 5000 - offset, weather, weather, offset=offset)
    assert (within_an_hour.quarters + offset).tolist() == [3700, 4500, 5000]


@pytest.mark.parametrize(("name", "late"), [("weather", 0), ("prices", 1), ("carbon", 2)])
def test_a_series_that_does_not_cover_all_is_named(name, late):
    whole, short = series(0, 3600, range(4)), series(3600, 3600, range(3))
    three = [short if i == late else whole for i in range(3)]
    with pytest.raises(InputError, match=rf"{name}: covers 1970-01-01T01:00Z to .*expected all of 1970-01-01T00:50Z"):
        conditions_over(3000, 7200, *three)
