"""Delay search: legal on real nodes, never worse than multi-search, the same again, and ended by its guard."""

from __future__ import annotations

from hypothesis import given
from kit.effort import examples
from kit.plan_problems import day_problem, legal, plan_problems, same

from offline.planner.budget import Effort, Watch
from offline.planner.day_account import account_of
from offline.planner.money import rank_of
from offline.planner.problem import StoppedBy
from offline.planner.searches import multi_search
from scripts.thesis_6.delay_search import delay_search


@given(plan_problems())
@examples(0.4)
def test_delay_search_is_no_worse_than_multi_search_and_the_same_twice(problem):
    multi, _ = multi_search(problem, Watch())
    delayed = delay_search(problem, Effort(5), Watch())
    assert legal(problem, delayed)
    assert rank_of(problem, multi.start)[0] <= rank_of(problem, delayed.start)[0]
    assert delayed.stopped_by is StoppedBy.DONE
    assert delayed.profit == account_of(problem, delayed.start).profit
    assert same(delayed, delay_search(problem, Effort(5), Watch()))


def test_delay_search_moves_work_to_where_power_is_cheap():
    problem = day_problem(12, 4, 0.3, seed=5, cores=8, prices="tou")
    multi, _ = multi_search(problem, Watch())
    delayed = delay_search(problem, Effort(300), Watch())
    assert delayed.profit > multi.profit
    assert legal(problem, delayed)


def test_the_guard_ends_delay_search_with_a_legal_plan_that_says_so():
    problem = day_problem(50, 4, 0.5, seed=1, cores=8)
    plan = delay_search(problem, Effort(5), Watch(0.0))
    assert plan.stopped_by is StoppedBy.TIME
    assert legal(problem, plan)
