"""Planning a day: one plan for the same seed, and no plan above its bound, whatever nodes are down."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.plan_problems import day_problem, legal, plan_problems

from dardis.metrics.audit import audit
from dardis.model.downtime import Downtime
from dardis.model.job import FOREVER
from dardis.model.platform import Maintenance, NodePower
from dardis.power.nodes import MachinePower
from dardis.power.tariff import Tariff
from offline.onoff.clairvoyant import clairvoyant
from offline.onoff.spans import idle_gaps
from offline.planner import plan as planning
from offline.planner.as_schedule import schedule_of
from offline.planner.budget import Effort, Watch
from offline.planner.cp.bound import bound
from offline.planner.day_account import account_of
from offline.planner.improve import improve
from offline.planner.money import rank_of
from offline.planner.plan import plan
from offline.planner.problem import StoppedBy
from offline.planner.rules import rule_plans, rule_setups
from offline.planner.searches import heuristic
from offline.planner.switched_bound import bound_with_switching, most_of_machine
from offline.planner.use import node_spans


def test_the_best_plan_is_legal_better_than_multi_search_and_below_the_bound(monkeypatch):
    monkeypatch.setattr(planning, "GROUPS", 40)
    problem = day_problem(120, 10, 0.6, seed=1, prices="tou")
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
    for more, reason in (({"time_limit": 0.0}, StoppedBy.TIME), ({"stop": lambda: True}, StoppedBy.USER)):
        plans = plan(problem, **more)
        against_the_rules(problem, plans)
        assert plans.best.stopped_by is reason
        assert plans.best.bound is None


@given(plan_problems(most=8), st.sampled_from((0, 2, 30)), st.sampled_from((0, 1)), st.integers(0, 9))
@examples(0.05)
def test_no_plan_is_worse_than_any_rule_whatever_its_budget(problem, groups, polishes, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "GROUPS", groups)
        patch.setattr(planning, "POLISHES", polishes)
        against_the_rules(problem, plan(problem, time_limit=1e6, seed=seed))


@pytest.mark.parametrize(("seed", "prices"), [(1, "flat"), pytest.param(3, "tou", marks=pytest.mark.slow)])
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


@st.composite
def powered(draw):
    """A random problem whose groups draw what they like: boots may take more than work, and off more than idle."""
    problem = draw(plan_problems(most=6))
    watts, seconds = st.sampled_from((0.0, 3.0, 20.0, 100.0, 400.0)), st.integers(0, 9)
    core_w = st.sampled_from((0.0, 5.5, 11.0))
    powers = st.builds(NodePower, watts, core_w, watts, seconds, watts, seconds, watts)
    groups = tuple(replace(group, power=draw(powers)) for group in problem.platform.groups)
    tariff = Tariff(co2_per_t=draw(st.sampled_from((0.0, 60.0))), demand_per_kw=draw(st.sampled_from((0.0, 0.1))))
    return replace(problem, platform=replace(problem.platform, groups=groups), tariff=tariff)


def some_downtime(problem, plan, rng) -> Downtime:
    """Nodes go down at random within their idle gaps, once or twice in each, some of them for good."""
    machine = MachinePower.of_platform(problem.platform)
    spans = []
    gaps = idle_gaps(node_spans(problem, plan), problem.platform.node_count, 0, problem.conditions.end)
    for node, begin, end in zip(gaps.node.tolist(), gaps.start.tolist(), gaps.end.tolist(), strict=True):
        least, at = max(int(machine.cycle_s[node]), 1), begin
        last = problem.conditions.end + 400 if end >= FOREVER else end
        while at + least <= last and rng.random() < 0.7:
            down = at if rng.random() < 0.4 else int(rng.integers(at, last - least + 1))
            up = last if rng.random() < 0.4 else int(rng.integers(down + least, last + 1))
            spans.append((node, down, FOREVER if end >= FOREVER and up == last else up))
            at = up
    return Downtime(*np.array(sorted(spans), dtype=np.int64).reshape(-1, 3).T.copy())


@given(powered(), st.integers(0, 1 << 30), st.sampled_from((False, False, False, True)))
@examples(0.7)
def test_no_plan_with_all_nodes_on_or_others_down_at_random_brings_more(problem, seed, paid_for):
    """Also where energy is paid for: then what nodes draw for nothing is in the bound."""
    if paid_for:
        prices = -np.abs(problem.conditions.price_per_kwh)
        problem = replace(problem, conditions=replace(problem.conditions, price_per_kwh=prices))
    plan = heuristic(problem)
    most = min(bound_with_switching(problem), most_of_machine(problem))
    assert account_of(problem, plan.start).profit <= most + 1e-9 * (1 + abs(most))
    rng = np.random.default_rng(seed)
    for _ in range(6):
        downtime = some_downtime(problem, plan, rng)
        assert audit(schedule_of(problem, plan), problem.platform, downtime=downtime) == []
        assert account_of(problem, plan.start, downtime).profit <= most + 1e-9 * (1 + abs(most))


def test_it_is_near_to_what_a_day_can_bring():
    problem = day_problem(60, 12, 0.4, seed=4, prices="tou")
    plan = heuristic(problem)
    start, end = problem.conditions.start, problem.conditions.end
    down = clairvoyant(schedule_of(problem, plan), problem.platform, start, end)
    all_on, switched = account_of(problem, plan.start).profit, account_of(problem, plan.start, down).profit
    most = bound_with_switching(problem)
    assert switched <= most
    assert most - switched < 0.5 * (most - all_on)


def test_where_idling_is_free_it_is_the_bound_with_all_nodes_on():
    problem = day_problem(40, 6, 0.5, seed=2)
    groups = tuple(replace(group, power=NodePower(core_w=9.455)) for group in problem.platform.groups)
    free = replace(problem, platform=replace(problem.platform, groups=groups))
    assert bound_with_switching(free) == bound(free, deterministic_s=5.0)


@pytest.mark.parametrize("price", [-0.2, 0.0, 0.13, 3.0])
def test_the_machine_earns_no_more_than_full_idle_or_off_nodes(price):
    """Whichever earns most, all day: full where that pays, or where energy does; else off."""
    problem = day_problem(30, 8, 0.5, seed=5)
    conditions = replace(problem.conditions, price_per_kwh=np.full(24, price))
    jobs = replace(problem.jobs, core_w=np.full(len(problem.jobs.number), 6.33))
    problem = replace(problem, conditions=conditions, jobs=jobs)
    machine = MachinePower.of_platform(problem.platform)

    def a_day(it_w, cores):
        cooling_w = problem.cooling.watts(conditions.temp_c, np.full(24, it_w))
        return 24 * 0.013 * cores - float((price * (it_w + cooling_w)).sum()) / 1000

    cores = problem.platform.cores
    full, idle, off = machine.idle_w.sum() + 6.33 * cores, machine.idle_w.sum(), machine.off_w.sum()
    expected = max(a_day(full, cores), a_day(idle, 0), a_day(off, 0))
    found = most_of_machine(problem)
    assert expected <= found + 1e-9
    assert found <= expected + 24 * 0.013 + 0.02 * abs(expected)  # it goes by steps of a core
    plan = heuristic(problem)
    assert account_of(problem, plan.start).profit <= found
