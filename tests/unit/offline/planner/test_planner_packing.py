"""Placing on real nodes: algorithm 5 against one array entry a second, and against conservative backfilling."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.central import setup_of, starts_on_one_node
from kit.dense import ONE, dense_nodes
from kit.effort import examples
from kit.plan_problems import day_problem, legal, plan_problems, same
from kit.pool_reference import PoolJobs

from dardis.model.job import NO_TIME
from dardis.model.placements import Placements
from dardis.model.platform import Maintenance, NodeGroup, Platform
from offline.planner.orders import ORDERS, all_orders, order_of
from offline.planner.packing import Packing
from offline.planner.problem import PlanJobs, Problem, Running
from offline.planner.searches import in_order, plan_of


@given(plan_problems(), st.randoms(use_true_random=False))
@examples(0.5)
def test_every_job_starts_as_soon_as_the_nodes_allow_after_those_before_it(problem, random):
    jobs, running = problem.jobs, problem.running
    order = list(range(len(jobs.number)))
    random.shuffle(order)
    plan = plan_of(problem, in_order(problem, np.array(order, dtype=np.int64)), "test")
    assert legal(problem, plan)
    until = problem.horizon + int(jobs.duration.sum()) + 200
    nodes = dense_nodes(problem.platform, None, until)
    for i in range(len(running.number)):
        nodes[running.placed.nodes[i]].take(int(running.start[i]), int(running.finish[i]), running.request[i])
    group = problem.platform.group_of_node
    for job in order:
        first, length, request = (
            int(max(jobs.earliest[job], problem.conditions.start)),
            int(jobs.duration[job]),
            jobs.request[job],
        )
        able = [node for place, node in enumerate(nodes) if int(jobs.groups[job]) >> int(group[place]) & 1]
        units = sum(node.index_of_starts(first, until - length, length, request, False) // ONE for node in able)
        assert plan.start[job] == first + int(np.flatnonzero(units >= jobs.units[job])[0])
        for node, units in zip(*plan.placed.of(job), strict=True):
            start = int(plan.start[job])
            nodes[node].take(start, start + length, units * request)


@given(plan_problems(most=12))
@examples(0.3)
def test_in_order_of_arrival_it_is_conservative_backfilling_that_knows_every_runtime(problem):
    jobs, day = problem.jobs, problem.conditions
    cores = int(jobs.request[:, 0].max(initial=1)) + 3
    platform = Platform("one", (NodeGroup("n", 1, {"cores": cores}),))
    request = np.maximum(jobs.request[:, :1], 1)
    ones = np.ones(len(jobs.number), dtype=np.int64)
    submit = np.sort(np.maximum(jobs.submit, day.start))
    alone = PlanJobs(
        jobs.number, submit, submit, jobs.latest, jobs.duration, ones, request, ones, jobs.core_w, jobs.income
    )
    none = np.zeros(0, dtype=np.int64)
    empty = Running(none, none, none, none, request[:0], none, none, Placements.none(0))
    case = Problem(platform, day, problem.cooling, problem.tariff, alone, empty, problem.horizon)
    placed = in_order(case, np.arange(len(ones))).start
    times = jobs.duration.tolist()
    pool = PoolJobs(submit.tolist(), times, times, request[:, 0].tolist())
    assert placed.tolist() == starts_on_one_node(pool, cores, setup_of("conservative"))


@given(plan_problems(), st.integers(0, 200))
@examples(0.2)
def test_a_plan_can_be_put_on_an_empty_machine_again(problem, later):
    packing = Packing(problem)
    for job in range(len(problem.jobs.number)):
        assert packing.put(job, later) >= later
    plan = plan_of(problem, packing, "test")
    again = Packing(problem)
    again.keep_all(plan, range(len(plan.start)))
    assert again.start.tolist() == plan.start.tolist()
    assert same(plan_of(problem, again, "test"), plan)


@given(plan_problems(), st.integers(0, 400))
@examples(0.2)
def test_no_job_begins_before_it_may_nor_before_it_is_asked_for(problem, first):
    packing = Packing(problem)
    soonest = np.maximum(problem.jobs.earliest, problem.conditions.start)
    for job in range(len(problem.jobs.number)):
        assert packing.put(job, first) >= max(int(soonest[job]), first)


def test_what_no_node_holds_is_refused():
    problem = day_problem(3, 2, 0.1, seed=1, cores=4)
    problem.jobs.request[1] = 5
    with pytest.raises(ValueError, match="job 2 is too large"):
        in_order(problem, np.arange(3))


def test_a_running_job_keeps_its_node_into_a_maintenance():
    problem = day_problem(3, 2, 0.9, seed=1, cores=4)
    begin = int(problem.running.finish[0]) - 10
    problem = replace(problem, platform=replace(problem.platform, maintenance=(Maintenance((0,), begin, begin + 50),)))
    plan = plan_of(problem, in_order(problem, np.arange(3)), "test")
    on_node = [job for job in range(3) if 0 in plan.placed.of(job)[0]]
    assert on_node
    assert all(plan.start[job] >= begin + 50 for job in on_node)


def test_the_orders_are_the_eleven_of_the_thesis_both_ways():
    problem = day_problem(200, 4, 0.5, seed=2, cores=4)
    assert len(ORDERS) == 11
    orders = all_orders(problem)
    assert len(orders) == 22
    assert all(sorted(order) == list(range(200)) for order in orders.values())
    work = problem.jobs.units * problem.jobs.request[:, 0] * problem.jobs.duration
    assert (np.diff(work[orders["total resources x duration, increasing"]]) >= 0).all()
    assert (np.diff(work[orders["total resources x duration, decreasing"]]) <= 0).all()


@pytest.mark.parametrize(("name", "sign"), [("power / profit, shorter first", 1), ("power / profit, longer first", -1)])
@pytest.mark.parametrize("decreasing", [False, True])
def test_ties_are_decided_by_duration_one_way_whichever_way_the_order_goes(name, sign, decreasing):
    problem = day_problem(50, 4, 0.5, seed=3, cores=4)
    problem.jobs.core_w[:] = 6.0
    order = order_of(problem, name, decreasing=decreasing)
    assert (np.diff(sign * problem.jobs.duration[order]) >= 0).all()


def test_jobs_without_a_latest_start_are_last_in_that_order():
    problem = day_problem(5, 4, 0.5, seed=3, cores=4)
    problem.jobs.latest[3] = problem.conditions.end
    assert order_of(problem, "latest start").tolist() == [3, 0, 1, 2, 4]
    assert (problem.jobs.latest == NO_TIME).sum() == 4
