"""Planning a day: one plan for the same seed, never above its bound, and a reason why it ended."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from kit.effort import examples
from kit.plan_problems import day_problem, legal, plan_problems

from offline.planner import plan as planning
from offline.planner.plan import plan
from offline.planner.problem import StoppedBy


def test_the_best_plan_is_legal_better_than_multi_search_and_below_the_bound(monkeypatch):
    monkeypatch.setattr(planning, "GROUPS", 100)
    problem = day_problem(250, 20, 0.6, seed=1, prices="tou")
    told = []
    plans = plan(problem, time_limit=1e6, progress=lambda *what: told.append(what))
    assert legal(problem, plans.best)
    assert plans.multi_search.profit < plans.best.profit <= plans.best.bound
    assert plans.best.stopped_by is StoppedBy.DONE
    profits = [best for _, best, _ in told if best is not None]
    assert profits == sorted(profits)
    assert told[-1][2] == plans.best.bound
    again = plan(problem, time_limit=1e6)
    assert np.array_equal(again.best.start, plans.best.start)
    assert np.array_equal(again.best.nodes, plans.best.nodes)
    assert again.best.bound == plans.best.bound


@given(plan_problems(most=6))
@examples(0.05)
def test_no_plan_is_above_its_bound(problem):
    plans = plan(problem, time_limit=1e6)
    assert legal(problem, plans.best)
    assert plans.best.bound is not None
    assert plans.best.profit <= plans.best.bound + 1e-6 * abs(plans.best.bound)


def test_without_time_there_is_a_plan_that_says_so():
    problem = day_problem(40, 4, 0.6, seed=2, cores=8)
    plans = plan(problem, time_limit=0.0)
    assert plans.best.stopped_by is StoppedBy.TIME
    assert plans.best.bound is None
    assert legal(problem, plans.best)


def test_the_user_ends_planning_with_the_best_so_far():
    problem = day_problem(40, 4, 0.6, seed=2, cores=8)
    plans = plan(problem, stop=lambda: True)
    assert plans.best.stopped_by is StoppedBy.USER
    assert legal(problem, plans.best)
