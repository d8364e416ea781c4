"""No plan brings more than the bound; polish makes none worse or overfull, and is the same again."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.plan_problems import day_problem, plan_problems

from dardis.model.placements import Placements
from dardis.model.pue_table import PueTable
from dardis.power.conditions import Conditions
from dardis.solver.result import Budget
from offline.planner.budget import SearchBudget, Watch
from offline.planner.cp.bound import bound, exact_bound, idle_prices, lowest_bound
from offline.planner.cp.capacity_model import OccupiedSpans, rows
from offline.planner.cp.market import Market, Prices, fluid_prices
from offline.planner.cp.polish import penalised_profit, polish
from offline.planner.day_problem import DayProblem, RunningJobs, StoppedBy
from offline.planner.money import account_of


def free_by_second(problem: DayProblem, until: int) -> np.ndarray:
    """What each node has of each kind at each second, (nodes, kinds, seconds), beside what runs and maintenance."""
    platform, running = problem.platform, problem.running
    free = np.repeat(platform.capacity[:, :, None], until, axis=2)
    for job in range(len(running.number)):
        for node, units in zip(*running.placed.of(job), strict=True):
            span = slice(max(int(running.start[job]), 0), int(running.finish[job]))
            free[node, :, span] -= units * running.request[job][:, None]
    for window in platform.maintenance:
        free[list(window.nodes), :, window.start : window.end] = 0
    return free


def placed(problem: DayProblem, order, wishes) -> np.ndarray:
    """A legal plan: jobs in an order, each at the first of its wishes that fits real nodes, else after the day."""
    jobs, group = problem.jobs, problem.platform.group_of_node
    free = free_by_second(problem, problem.horizon + 400)
    start = np.full(len(jobs.number), problem.conditions.end)
    for job in order:
        for binding in wishes[job]:
            span = slice(int(binding), int(binding + jobs.duration[job]))
            wanted, taken = int(jobs.units[job]), []
            for node in np.flatnonzero(jobs.groups[job] >> group & 1):
                while len(taken) < wanted and (free[node, :, span] >= jobs.request[job][:, None]).all():
                    free[node, :, span] -= jobs.request[job][:, None]
                    taken.append(node)
            if len(taken) == wanted:
                start[job] = binding
                break
            for node in taken:
                free[node, :, span] += jobs.request[job][:, None]
    return start


@given(plan_problems(most=6), st.integers(0, 1 << 30))
@examples(0.6)
def test_no_plan_on_real_nodes_brings_more(problem, seed):
    market = Market.of_problem(problem)
    prices = [idle_prices(market), fluid_prices(market, Budget(1.0)) or idle_prices(market)]
    bounds = [market.bound(each) for each in prices] + [lowest_bound(market, prices[1], 15)]
    rng = np.random.default_rng(seed)
    count, edges = len(problem.jobs.number), problem.conditions.edges
    for _ in range(12):
        wishes = []
        for job in range(count):
            at = np.concatenate([edges, edges - problem.jobs.duration[job], rng.integers(0, edges[-1], 4)])
            wishes.append(rng.permutation(np.maximum(at, problem.jobs.earliest[job])))
        start = placed(problem, rng.permutation(count), wishes)
        start = np.maximum(start, problem.jobs.earliest)
        assert account_of(problem, start).profit <= min(bounds) + 1e-12


@given(plan_problems(most=3))
@examples(0.1)
def test_cp_sat_bounds_the_best_of_all_plans(problem):
    proven = exact_bound(problem, Budget(0.5))
    edges = problem.conditions.edges
    jobs = problem.jobs
    choices = [
        np.unique(np.maximum(np.concatenate([edges, edges - jobs.duration[job]]), jobs.earliest[job]))
        for job in range(len(jobs.number))
    ]
    rng = np.random.default_rng(5)
    for start in itertools.islice(itertools.product(*(rng.permutation(each) for each in choices)), 60):
        legal = placed(problem, range(len(start)), [[binding] for binding in start])
        assert account_of(problem, np.maximum(legal, jobs.earliest)).profit <= proven + 1e-9


@st.composite
def measured_days(draw):
    """Two or three equal hours, a job or two that fit together, any measured plant."""
    problem = day_problem(draw(st.integers(1, 2)), 1, 0.95, draw(st.integers(0, 99)), cores=8)
    hours = draw(st.integers(2, 3))
    begin = problem.conditions.start
    price = draw(st.sampled_from((0.13, 0.4, -0.1)))
    day = Conditions(begin + 3600 * np.arange(hours + 1), *(np.full(hours, value) for value in (20.0, price, 0.0)))
    columns = np.cumsum(draw(st.lists(st.integers(30, 700), min_size=2, max_size=6))).astype(float)
    columns = np.append(columns, columns[-1] + 3000)
    pue = draw(st.lists(st.floats(1, 3), min_size=len(columns), max_size=len(columns)))
    earliest = np.full(len(problem.jobs.number), begin)
    jobs = replace(
        problem.jobs, submit=earliest, earliest=earliest, core_w=np.full(len(earliest), 150.0),
        request=np.full((len(earliest), 1), draw(st.integers(1, 4))), units=np.ones_like(earliest),
        duration=np.array([draw(st.integers(600, 7200)) for _ in earliest]), income=np.full(len(earliest), 0.05),
    )  # fmt: skip
    table = PueTable(np.array([20.0]), columns, np.array([pue]))
    columns = {
        name: getattr(problem.running, name)[:0] for name in RunningJobs.__dataclass_fields__ if name != "placed"
    }
    nobody = RunningJobs(**columns, placed=Placements.none(0))
    return replace(problem, conditions=day, cooling=table, jobs=jobs, running=nobody)


@given(measured_days())
@examples(0.15)
def test_equal_hours_stay_separate_in_the_bound(problem):
    # Where cooling is not convex in the load, two hours alike cost less apart than what their mean costs.
    proven = exact_bound(problem, Budget(2.0))
    edges = problem.conditions.edges
    every = [
        np.unique(np.append(np.arange(edges[0], edges[-1] + 1, 600), np.maximum(edges - length, edges[0])))
        for length in problem.jobs.duration.tolist()
    ]
    for start in itertools.product(*every):
        assert account_of(problem, np.array(start)).profit <= proven + 1e-9


@given(plan_problems(most=5), st.integers(0, 1 << 30))
@examples(0.2)
def test_no_start_gains_more_than_the_best_of_a_job(problem, seed):
    market, rng = Market.of_problem(problem), np.random.default_rng(seed)
    shape = (len(market.rows), len(market.seconds))
    prices = Prices(rng.normal(0, 1e-4, shape[1]), np.maximum(rng.normal(0, 1e-5, shape), 0))
    block, jobs = market.possible, problem.jobs
    surplus, _ = market.best_starts(block, prices)
    for start in range(problem.conditions.start, problem.conditions.end + 1):
        overlap = market.overlaps(block, np.maximum(start, jobs.earliest[block]))
        gain = market.income_rate[block] * overlap.sum(axis=1) - market.watts[block] * (overlap @ prices.power)
        for row, price in zip(market.rows, prices.capacity, strict=True):
            gain -= row.demand[block] * (overlap @ price)
        assert (gain <= surplus + 1e-12).all()


def one_by_one(problem: DayProblem) -> np.ndarray:
    """Starts that keep all rows: each job as early as those before it allow, on a grid of a minute."""
    begin, step = problem.conditions.start, 60
    cells = np.arange(begin, problem.horizon + 86_400, step)
    found = rows(problem)
    free = [np.minimum(row.free.at(cells), row.free.at(cells + step - 1)) for row in found]
    start = np.zeros(len(problem.jobs.number), dtype=np.int64)
    for job, duration in enumerate(problem.jobs.duration.tolist()):
        first = -(-(int(problem.jobs.earliest[job]) - begin) // step)
        length = -(-duration // step)
        while not all((f[first : first + length] >= row.demand[job]).all() for row, f in zip(found, free, strict=True)):
            first += 1
        for row, f in zip(found, free, strict=True):
            f[first : first + length] -= row.demand[job]
        start[job] = cells[first]
    return start


def overfull(problem: DayProblem, start) -> bool:
    """Whether some row is broken at some start, where use can only have grown."""
    finish = start + problem.jobs.duration
    for row in rows(problem):
        times = np.unique(np.concatenate([start, row.free.times[1:]]))
        running = (start[None, :] <= times[:, None]) & (times[:, None] < finish[None, :])
        closed = row.free.at(times)
        if ((running @ row.demand > closed) & (running @ row.demand > 0)).any():
            return True
    return False


@pytest.mark.parametrize(("load", "prices"), [(0.6, "tou"), (0.9, "flat")])
def test_polish_improves_a_plan_and_keeps_it_legal(load, prices):
    problem = day_problem(80, 8, load, 5, prices=prices)
    before = one_by_one(problem)
    told = []
    watch = Watch(progress=lambda _doing, best, _bound: told.append(best))
    after = polish(problem, before, SearchBudget(3), watch)
    assert not overfull(problem, before)
    assert not overfull(problem, after)
    assert (after >= problem.jobs.earliest).all()
    assert (
        penalised_profit(problem, before)
        <= penalised_profit(problem, after)
        <= bound(problem, steps=0, deterministic_s=0.1)
    )
    assert told == sorted(told)
    assert len(told) == 3
    assert told[-1] == penalised_profit(problem, after)
    if prices == "tou":
        assert penalised_profit(problem, after) > penalised_profit(problem, before)


def test_polish_evaluates_placements_on_nodes_and_stops_on_request():
    # A judge that likes nothing better than the plan as it is has the last word.
    problem = day_problem(60, 6, 0.6, 7, prices="tou")
    before = one_by_one(problem)
    asked = []

    def judge(wished):
        asked.append(wished.copy())
        return before, account_of(problem, before).profit

    assert polish(problem, before, SearchBudget(2), Watch(), judge).tolist() == before.tolist()
    assert len(asked) > 1
    watch = Watch(stop=lambda: True)
    assert polish(problem, before, SearchBudget(5), watch).tolist() == before.tolist()
    assert watch.stopped_by is StoppedBy.USER


def test_a_latest_start_is_kept_whatever_a_later_one_would_bring():
    problem = day_problem(80, 8, 0.6, 5, prices="tou")
    before = one_by_one(problem)
    problem = replace(problem, jobs=replace(problem.jobs, latest=before + 1200))
    after = polish(problem, before, SearchBudget(4), Watch())
    assert (after != before).any()
    assert (after <= problem.jobs.latest).all()


def test_a_node_that_two_jobs_fill_by_halves_is_taken_once():
    problem = day_problem(1, 1, 0.9, 0, cores=4)
    begin = problem.conditions.start
    finish = begin + np.array([600, 900, 1800])
    running = RunningJobs(
        np.arange(3), *(np.array([begin - 60, begin - 60, begin + 900]),) * 2, finish, np.array([[2], [2], [3]]),
        np.zeros(3), np.zeros(3), Placements(np.arange(4), np.zeros(3, dtype=np.int64), np.ones(3, dtype=np.int64)),
    )  # fmt: skip
    taken = OccupiedSpans.of_problem(replace(problem, running=running))
    _, start, end, amount = taken.blocked_spans(0, 2, problem.platform.capacity[:, 0])
    moments = begin + np.arange(0, 1800, 300)[:, None]
    counted = ((start <= moments) & (moments < end)) @ amount
    assert (counted <= 1).all()
    assert counted[[0, 1, 3, 4, 5]].tolist() == [1] * 5
