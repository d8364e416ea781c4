"""Planning a day: one plan for the same seed, never above its bound, and a reason why it ended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.plan_problems import day_problem, legal, plan_problems

from dardis.model.platform import Maintenance
from dardis.power.tariff import Tariff
from offline.planner import plan as planning
from offline.planner.budget import Effort, Watch
from offline.planner.improve import improve
from offline.planner.money import rank_of
from offline.planner.plan import plan
from offline.planner.problem import StoppedBy
from offline.planner.rules import rule_plans, rule_setups


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
    assert np.array_equal(again.best.placed.nodes, plans.best.placed.nodes)
    assert again.best.bound == plans.best.bound


@given(plan_problems(most=6))
@examples(0.05)
def test_no_plan_is_above_its_bound(problem):
    plans = plan(problem, time_limit=1e6)
    assert legal(problem, plans.best)
    assert plans.best.bound is not None
    assert plans.best.profit <= plans.best.bound + 1e-6 * abs(plans.best.bound)


def against_the_rules(problem, plans):
    """See that a plan is legal and ranks no lower than what any rule makes of the jobs; all nodes are on."""
    assert legal(problem, plans.best)
    rank, profit = rank_of(problem, plans.best.start)
    assert plans.best.profit == profit
    ranks = {rule.search: rank_of(problem, rule.start) for rule in rule_plans(problem)}
    assert set(ranks) == set(rule_setups())
    assert ranks[plans.rule.search] == (max(of_rule for of_rule, _ in ranks.values()), plans.rule.profit)
    assert rank >= ranks[plans.rule.search][0]
    assert rank >= rank_of(problem, plans.multi_search.start)[0]


@given(plan_problems(most=8), st.sampled_from((None, 0.01, 0.5, 5.0)), st.sampled_from((None, 3.0)))
@examples(0.3)
def test_no_plan_is_worse_than_any_rule_however_soon_it_ends(problem, most_kw, penalty):
    problem = replace(problem, tariff=Tariff(contracted_kw=most_kw, contract_penalty_per_kwh=penalty))
    against_the_rules(problem, plan(problem, time_limit=0.0))
    against_the_rules(problem, plan(problem, stop=lambda: True))


@given(plan_problems(most=8), st.sampled_from((0, 2, 30)), st.sampled_from((0, 1)), st.integers(0, 9))
@examples(0.05)
def test_no_plan_is_worse_than_any_rule_whatever_its_budget(problem, groups, polishes, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "GROUPS", groups)
        patch.setattr(planning, "POLISHES", polishes)
        against_the_rules(problem, plan(problem, time_limit=1e6, seed=seed))


@pytest.mark.parametrize(("seed", "prices"), [(1, "flat"), (1, "tou"), (3, "tou")])
def test_where_a_rule_is_best_the_search_begins_with_it(monkeypatch, seed, prices):
    monkeypatch.setattr(planning, "GROUPS", 300)
    problem = day_problem(60, 4, 0.8, seed, cores=8, prices=prices)
    plans = plan(problem, time_limit=1e6)
    against_the_rules(problem, plans)
    budget = Effort(planning.GROUPS, 1)
    alone = improve(problem, plans.multi_search, budget, Watch(), polishes=planning.POLISHES)
    assert alone.profit < plans.rule.profit, "a day on which multi-search leads nowhere near"


@examples(0.4)
@given(plan_problems(maintenance=False), st.data())
def test_rules_make_plans_beside_what_runs_into_a_maintenance(problem, data):
    nodes = tuple(data.draw(st.sets(st.integers(0, problem.platform.node_count - 1), min_size=1)))
    begin = problem.conditions.start + data.draw(st.integers(0, 70))
    closed = (Maintenance(nodes, begin, begin + data.draw(st.integers(1, 60))),)
    problem = replace(problem, platform=replace(problem.platform, maintenance=closed))
    jobs = problem.jobs
    for rule in rule_plans(problem):
        alone = replace(problem, running=replace(problem.running, finish=np.minimum(problem.running.finish, begin)))
        assert legal(alone, rule)
        assert (rule.start >= jobs.earliest).all()


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
