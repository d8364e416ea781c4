from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.downtime import Downtime
from dardis.model.job import FOREVER, Status
from dardis.model.placements import Placements
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.schedule import Schedule
from dardis.model.series import Series
from dardis.power.account import Work, account, account_of_load, span_sums, work_of
from dardis.power.conditions import Conditions
from dardis.power.cooling import AirPlant, HybridPlant
from dardis.power.nodes import MachinePower
from dardis.power.tariff import PowerLimit, Tariff

NODES = 4
MACHINE = MachinePower(
    idle_w=np.array([100.0, 100.0, 80.0, 0.0]), core_w=np.full(NODES, 6.0), off_w=np.array([10.0, 10.0, 5.0, 0.0]),
    boot_w=np.full(NODES, 125.0), shutdown_w=np.full(NODES, 90.0), boot_s=np.array([240, 240, 60, 0]),
    shutdown_s=np.array([30, 30, 20, 0]),
)  # fmt: skip
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
    work = Work(
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


@given(cases(), st.integers(1, 6999))
def test_two_halves_of_a_day_make_the_whole_of_it(case, cut):
    work, downtime, conditions = case
    whole = conditions.edges[0] + cut

    def part(low, high):
        edges = np.unique(np.clip(np.append(conditions.edges, whole), low, high))
        at = np.searchsorted(conditions.edges, edges[:-1], side="right") - 1
        return Conditions(edges, conditions.temp_c[at], conditions.price_per_kwh[at], conditions.gco2_per_kwh[at])

    def told(of):
        a = account(work, downtime, MACHINE, of, HybridPlant(3000.0), FREE)
        return np.array([a.income_eur, a.energy_eur, a.cooling_eur, a.energy_kwh, a.co2_kg])

    halves = told(part(conditions.start, whole)) + told(part(whole, conditions.end))
    np.testing.assert_allclose(halves, told(part(conditions.start, conditions.end)), rtol=1e-9, atol=1e-9)


@given(spans, st.lists(st.integers(-200, 9000), min_size=2, max_size=9, unique=True))
def test_span_sums_are_counted_seconds(jobs, edges):
    edges = np.array(sorted(edges))
    start = np.array([s for s, _ in jobs], dtype=np.int64)
    finish = start + np.array([d for _, d in jobs], dtype=np.int64)
    weight = np.arange(len(jobs)) + 0.5
    expected = [
        sum(w * max(min(f, b) - max(s, a), 0) for s, f, w in zip(start, finish, weight, strict=True))
        for a, b in pairwise(edges)
    ]
    np.testing.assert_allclose(span_sums(start, finish, weight, edges), expected, atol=1e-6)


def hour(temp=20.0, price=0.13, hours=1):
    edges = np.arange(0, hours * 3600 + 1, 3600)
    return Conditions(edges, np.full(hours, temp), np.full(hours, price), np.full(hours, 400.0))


def test_where_power_goes_when_a_node_is_switched_off_for_half_an_hour():
    downtime = Downtime(np.array([0]), np.array([600]), np.array([2400]))
    told = account(NOTHING, downtime, MACHINE, hour(), HybridPlant(), FREE)
    assert told.idle_w[0] * 3600 == pytest.approx(280 * 3600 - 100 * 1800)
    assert told.switching_w[0] * 3600 == pytest.approx(30 * 90 + 240 * 125)
    assert told.off_w[0] * 3600 == pytest.approx((1800 - 270) * 10)


NOTHING = Work(*(np.zeros(0, dtype=np.int64),) * 3, np.zeros(0), np.zeros(0))


def test_a_load_curve_is_accounted_like_jobs_that_draw_it():
    conditions = hour(hours=3, price=-0.05)
    curve = Series(np.array([-100, 1000, 5000, 99_999]), np.array([500.0, 2000.0, 100.0]))
    start, finish = curve.edges[:-1], curve.edges[1:]
    work = Work(start, finish, np.zeros(3, dtype=np.int64), curve.values, np.zeros(3))
    nodes = MachinePower(*(np.zeros(1),) * 5, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    as_jobs = account(work, Downtime.none(), nodes, conditions, AirPlant(), FREE)
    as_curve = account_of_load(curve, conditions, AirPlant(), FREE)
    np.testing.assert_allclose(as_curve.it_w, as_jobs.it_w)
    assert as_curve.profit == pytest.approx(as_jobs.profit)
    assert as_curve.peak_kw == pytest.approx(as_jobs.peak_kw)
    assert as_curve.profit > 0  # who is paid for drawing power earns by it


def test_peak_power_is_of_quarters_of_an_hour_however_long_the_segments_are():
    work = Work(np.array([900]), np.array([1800]), np.array([1]), np.array([4000.0]), np.array([0.0]))
    told = account(work, Downtime.none(), MACHINE, hour(), HybridPlant(), FREE)
    quarter_w = 4280.0
    assert told.it_w[0] == pytest.approx(1280)
    assert told.peak_kw == pytest.approx((quarter_w + HybridPlant().watts(20.0, quarter_w)) / 1000)


def test_a_grid_limit_costs_its_penalty_or_makes_a_schedule_infeasible():
    work = Work(np.array([0]), np.array([7200]), np.array([1]), np.array([720.0]), np.array([0.0]))
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


def test_work_is_what_ran_where_it_ran_at_the_price_of_its_queue():
    groups = (NodeGroup("a", 2, {"cores": 8}, NodePower(core_w=5.0)), NodeGroup("b", 1, {"cores": 8}))
    platform = Platform("p", groups, income_by_queue={"b": 0.1})
    work = work_of(schedule(platform, [[4], [2], [1]]), platform)
    assert work.start.tolist() == [5, 10]
    assert work.cores.tolist() == [8, 6]
    np.testing.assert_allclose(work.added_w, [8 * 5, 4 * 5 + 2 * 9.455])
    assert work.income.tolist() == [0.013, 0.1]


def test_stated_watts_go_before_the_cores_and_include_the_share_of_idle_power():
    group = NodeGroup("a", 3, {"cores": 8, "power": 400}, NodePower(idle_w=80.0, core_w=5.0))
    platform = Platform("p", (group,))
    work = work_of(schedule(platform, [[4, 100], [2, 0], [1, 9]]), platform)
    np.testing.assert_allclose(work.added_w, [2 * (100 - 40), 6 * 5])


def test_stated_watts_below_the_share_of_idle_power_add_nothing():
    group = NodeGroup("a", 3, {"cores": 8, "power": 400}, NodePower(idle_w=80.0, core_w=5.0))
    platform = Platform("p", (group,))
    work = work_of(schedule(platform, [[4, 30], [2, 21], [1, 9]]), platform)
    np.testing.assert_allclose(work.added_w, [0, 3 * (21 - 20)])
