"""Searches without a solver, on real nodes: moves worth what the account says, no plan worse than its beginning."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.dense import ONE, dense_nodes
from kit.effort import examples
from kit.plan_problems import day_problem, legal, plan_problems, same

from dardis.power.conditions import PowerLimit, Tariff
from offline.planner.budget import SearchBudget, Watch
from offline.planner.day_problem import DayProblem, StoppedBy
from offline.planner.improve import improve
from offline.planner.money import account_of, profit_of, rank_of
from offline.planner.packing import Packing
from offline.planner.searches import heuristic, multi_search, order_of, place_in_order, plan_of


@given(plan_problems())
@examples(0.4)
def test_improve_is_no_worse_than_multi_search_and_that_no_worse_than_the_heuristic(problem):
    first = heuristic(problem)
    multi, _ = multi_search(problem, Watch())
    ours = improve(problem, multi, SearchBudget(20), Watch())
    plans = (first, multi, ours)
    assert all(legal(problem, plan) for plan in plans)
    ranks = [rank_of(problem, plan.start)[0] for plan in plans]
    assert ranks[0] <= ranks[1] <= ranks[2]
    assert all(plan.stopped_by is StoppedBy.DONE for plan in plans)
    assert all(plan.profit == account_of(problem, plan.start).profit for plan in plans)


@pytest.mark.parametrize(("load", "prices"), [(0.2, "tou"), (0.7, "flat"), (1.1, "tou")])
def test_improve_beats_multi_search_on_synthetic_days(load, prices):
    problem = day_problem(300, 30, load, seed=4, prices=prices)
    multi, _ = multi_search(problem, Watch())
    ours = improve(problem, multi, SearchBudget(200), Watch())
    assert legal(problem, multi)
    assert legal(problem, ours)
    assert ours.profit > multi.profit


def test_a_demand_charge_lowers_no_profit():
    problem = replace(day_problem(200, 10, 0.4, seed=8, prices="tou"), tariff=Tariff(demand_per_kw=2.0))
    first = heuristic(problem)
    assert improve(problem, first, SearchBudget(50), Watch()).profit > first.profit


def test_interrupted_search_returns_the_best_plan_so_far():
    problem = day_problem(50, 4, 0.5, seed=1, cores=8, prices="tou")
    asked = itertools.count()

    def interrupt(doing, best, bound):
        if not doing.startswith("multi-search, earliest"):
            raise KeyboardInterrupt

    gained = []
    for how, reason in (
        ({"guard_s": 0.0}, StoppedBy.TIME),
        ({"stop": lambda: next(asked) % 5 == 4}, StoppedBy.USER),
        ({"progress": interrupt}, StoppedBy.USER),
    ):
        multi, _ = multi_search(problem, Watch(**how))
        ours = improve(problem, multi, SearchBudget(1000), Watch(**how))
        for plan in (multi, ours):
            assert plan.stopped_by is reason
            assert legal(problem, plan)
        gained.append(ours.profit - multi.profit)
    assert gained[0] == 0
    assert min(gained[1:]) > 0


class SmoothPlant:
    """Cooling without a kink, so that a fine table is as good as a formula."""

    def watts(self, temp_c, it_w):
        return 0.01 * (20 + np.asarray(temp_c)) * it_w + 1e-7 * np.square(it_w)


@st.composite
def cases(draw) -> DayProblem:
    """A problem under any tariff but a demand charge, which the kernels know in part only."""
    problem = draw(plan_problems())
    day = problem.conditions
    limits = []
    for _ in range(draw(st.integers(0, 2))):
        begin = draw(st.integers(day.start - 10, day.end))
        limits.append(PowerLimit(begin, begin + draw(st.integers(1, 100)), 0.0, draw(st.sampled_from((None, 0.7)))))
    contract = draw(st.sampled_from((None, 0.0)))
    tariff = Tariff(
        co2_per_t=draw(st.sampled_from((0.0, 80.0))), limits=tuple(limits), contracted_kw=contract,
        contract_penalty_per_kwh=0.5,
    )  # fmt: skip
    return replace(problem, tariff=tariff, cooling=SmoothPlant())


@given(cases(), st.randoms(use_true_random=False))
@examples()
def test_the_gains_of_rebuilding_are_those_of_the_account(problem, random):
    jobs = list(range(len(problem.jobs.number)))
    random.shuffle(jobs)
    board = place_in_order(problem, np.array(jobs, dtype=np.int64))
    before = rank_of(problem, board.start)[0]
    profit = profit_of(problem, board.start)
    groups = [np.array(jobs[low : low + size], dtype=np.int64) for size in (1, 3) for low in range(0, len(jobs), size)]
    gained = board.rebuild(profit, groups)
    after = rank_of(problem, board.start)[0]
    assert gained >= -1e-9
    assert after - before == pytest.approx(gained, abs=1e-6)
    fresh = profit_of(problem, board.start)
    np.testing.assert_allclose(profit.hours.watts, fresh.hours.watts, atol=1e-6)
    np.testing.assert_allclose(profit.limits.watts, fresh.limits.watts, atol=1e-6)


@given(plan_problems(), st.randoms(use_true_random=False))
@examples(0.5)
def test_every_job_starts_as_soon_as_the_nodes_allow_after_those_before_it(problem, random):
    jobs, running = problem.jobs, problem.running
    order = list(range(len(jobs.number)))
    random.shuffle(order)
    plan = plan_of(problem, place_in_order(problem, np.array(order, dtype=np.int64)), "test")
    assert legal(problem, plan)
    until = problem.horizon + int(jobs.duration.sum()) + 200
    nodes = dense_nodes(problem.platform, None, until)
    for i in range(len(running.number)):
        nodes[running.placed.nodes[i]].take(int(running.start[i]), int(running.finish[i]), running.request[i])
    group = problem.platform.group_of_node
    for job in order:
        first = int(max(jobs.earliest[job], problem.conditions.start))
        length, request = int(jobs.duration[job]), jobs.request[job]
        able = [node for place, node in enumerate(nodes) if int(jobs.groups[job]) >> int(group[place]) & 1]
        units = sum(node.index_of_starts(first, until - length, length, request, False) // ONE for node in able)
        assert plan.start[job] == first + int(np.flatnonzero(units >= jobs.units[job])[0])
        for node, units in zip(*plan.placed.of(job), strict=True):
            start = int(plan.start[job])
            nodes[node].take(start, start + length, units * request)


def test_job_larger_than_a_node_is_refused():
    problem = day_problem(3, 2, 0.1, seed=1, cores=4)
    problem.jobs.request[1] = 5
    with pytest.raises(ValueError, match="job 2 is too large"):
        place_in_order(problem, np.arange(3))


def test_ties_are_decided_by_duration_one_way_whichever_way_the_order_goes():
    problem = day_problem(50, 4, 0.5, seed=3, cores=4)
    problem.jobs.core_w[:] = 6.0
    for name, sign in (("power / profit, shorter first", 1), ("power / profit, longer first", -1)):
        for decreasing in (False, True):
            order = order_of(problem, name, decreasing=decreasing)
            assert (np.diff(sign * problem.jobs.duration[order]) >= 0).all()


@given(plan_problems(), st.integers(0, 400))
@examples(0.3)
def test_a_plan_can_be_put_on_an_empty_machine_again(problem, later):
    packing = Packing(problem)
    soonest = np.maximum(problem.jobs.earliest, problem.conditions.start)
    for job in range(len(problem.jobs.number)):
        assert packing.put(job, later) >= max(int(soonest[job]), later)
    plan = plan_of(problem, packing, "test")
    again = Packing(problem)
    again.place_as_planned(plan, range(len(plan.start)))
    assert again.start.tolist() == plan.start.tolist()
    assert same(plan_of(problem, again, "test"), plan)
