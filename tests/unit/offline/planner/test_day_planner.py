"""Planning a day: one plan for the same seed, and no plan above its bound, whatever nodes are down."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.plan_problems import day_problem, legal, plan_problems

from dardis.metrics.audit import audit
from dardis.model.job import FOREVER
from dardis.model.platform import Maintenance, NodePower
from dardis.model.schedule import Downtime
from dardis.power.conditions import Tariff
from dardis.power.node_power import MachinePower
from offline.onoff.spans import idle_gaps
from offline.planner import day_planner as planning
from offline.planner.day_planner import plan, schedule_of
from offline.planner.day_problem import StoppedBy
from offline.planner.machine_use import node_spans
from offline.planner.money import account_of, rank_of
from offline.planner.searches import heuristic, rule_plans, rule_setups
from offline.planner.switched_bound import bound_with_switching, most_of_machine


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
