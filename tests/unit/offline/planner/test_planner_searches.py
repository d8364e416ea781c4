"""The searches without a solver: legal on real nodes, never worse than what they start from, the same again."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from kit.effort import examples
from kit.plan_problems import day_problem, legal, plan_problems, same

from dardis.model.job import NO_TIME
from dardis.power.tariff import PowerLimit, Tariff
from offline.planner.budget import Effort, Watch
from offline.planner.day_account import account_of
from offline.planner.improve import improve
from offline.planner.money import rank_of
from offline.planner.problem import StoppedBy
from offline.planner.searches import heuristic, multi_search


@given(plan_problems())
@examples(0.4)
def test_ours_is_no_worse_than_multi_search_and_that_no_worse_than_the_heuristic(problem):
    first = heuristic(problem)
    multi, _ = multi_search(problem, Watch())
    ours = improve(problem, multi, Effort(20), Watch())
    plans = (first, multi, ours)
    assert all(legal(problem, plan) for plan in plans)
    ranks = [rank_of(problem, plan.start)[0] for plan in plans]
    assert ranks[0] <= ranks[1] <= ranks[2]
    assert all(plan.stopped_by is StoppedBy.DONE for plan in plans)
    assert all(plan.profit == account_of(problem, plan.start).profit for plan in plans)


@given(plan_problems())
@examples(0.1)
def test_the_same_seed_gives_the_same_plan(problem):
    multi, _ = multi_search(problem, Watch())
    assert same(multi, multi_search(problem, Watch())[0])
    assert same(*(improve(problem, multi, Effort(20, seed=3), Watch()) for _ in range(2)))


@pytest.mark.parametrize("prices", ["flat", "tou"])
@pytest.mark.parametrize("load", [0.2, 0.7, 1.1])
def test_ours_beats_multi_search_on_made_up_days(load, prices):
    problem = day_problem(300, 30, load, seed=4, prices=prices)
    multi, _ = multi_search(problem, Watch())
    ours = improve(problem, multi, Effort(200), Watch())
    assert legal(problem, multi)
    assert legal(problem, ours)
    assert ours.profit > multi.profit


def test_a_latest_start_that_can_be_kept_is_kept_whatever_it_costs():
    problem = day_problem(60, 4, 0.3, seed=6, cores=8, prices="tou")
    urgent = np.where(np.arange(60) % 3 == 0, problem.jobs.earliest + 6 * 3600, NO_TIME)
    problem = replace(problem, jobs=replace(problem.jobs, latest=urgent))
    ours = improve(problem, heuristic(problem), Effort(100), Watch())
    assert (ours.start <= urgent)[urgent != NO_TIME].all()


def test_a_limit_of_power_that_binds_is_kept_by_moving_jobs():
    problem = day_problem(300, 10, 0.6, seed=7, cores=16)
    day = problem.conditions
    free = improve(problem, heuristic(problem), Effort(50), Watch())
    limit = PowerLimit(day.start + 12 * 3600, day.start + 14 * 3600, 1.8)
    bound = replace(problem, tariff=Tariff(limits=(limit,)))
    assert account_of(bound, free.start).over_limit_kwh > 0.1
    kept = improve(bound, heuristic(bound), Effort(50), Watch())
    assert account_of(bound, kept.start).feasible
    assert legal(bound, kept)


def test_a_demand_charge_lowers_no_profit():
    problem = replace(day_problem(200, 10, 0.4, seed=8, prices="tou"), tariff=Tariff(demand_per_kw=2.0))
    first = heuristic(problem)
    assert improve(problem, first, Effort(50), Watch()).profit > first.profit


def test_the_guard_ends_every_search_with_a_legal_plan_that_says_so():
    problem = day_problem(50, 4, 0.5, seed=1, cores=8)
    multi, _ = multi_search(problem, Watch(guard_s=0.0))
    for plan in (multi, improve(problem, multi, Effort(50), Watch(0.0))):
        assert plan.stopped_by is StoppedBy.TIME
        assert legal(problem, plan)


def test_the_user_ends_a_search_with_the_best_so_far():
    problem = day_problem(50, 4, 0.5, seed=1, cores=8, prices="tou")
    asked = itertools.count()
    plan, _ = multi_search(problem, Watch(stop=lambda: next(asked) > 3))
    assert plan.stopped_by is StoppedBy.USER
    ours = improve(problem, plan, Effort(1000), Watch(stop=lambda: next(asked) > 7))
    assert ours.stopped_by is StoppedBy.USER
    assert ours.profit > plan.profit


def test_ctrl_c_ends_a_search_with_the_best_so_far():
    problem = day_problem(50, 4, 0.5, seed=1, cores=8, prices="tou")

    def interrupt(doing, best, bound):
        if not doing.startswith("multi-search, earliest"):
            raise KeyboardInterrupt

    multi, _ = multi_search(problem, Watch(progress=interrupt))
    ours = improve(problem, multi, Effort(1000), Watch(progress=interrupt))
    for plan in (multi, ours):
        assert plan.stopped_by is StoppedBy.USER
        assert legal(problem, plan)
    assert ours.profit > multi.profit
