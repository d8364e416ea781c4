"""No plan brings more than the bound with switching, whatever nodes are down and however energy is priced."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.plan_problems import day_problem, plan_problems

from dardis.metrics.audit import audit
from dardis.model.downtime import Downtime
from dardis.model.job import FOREVER
from dardis.model.platform import NodePower
from dardis.power.nodes import MachinePower
from dardis.power.tariff import Tariff
from offline.onoff.clairvoyant import clairvoyant
from offline.onoff.spans import idle_gaps
from offline.planner.as_schedule import schedule_of
from offline.planner.cp.bound import bound
from offline.planner.day_account import account_of
from offline.planner.searches import heuristic
from offline.planner.switched_bound import bound_with_switching
from offline.planner.use import node_spans


@st.composite
def powered(draw):
    """A random problem whose groups draw what they like: boots may take more than work, and off more than idle."""
    problem = draw(plan_problems(most=6))
    watts = st.sampled_from((0.0, 3.0, 20.0, 100.0, 400.0))
    groups = tuple(
        replace(
            group,
            power=NodePower(
                draw(watts), draw(st.sampled_from((0.0, 5.5, 11.0))), draw(watts), draw(st.integers(0, 9)), draw(watts),
                draw(st.integers(0, 9)), draw(watts),
            ),
        )
        for group in problem.platform.groups
    )  # fmt: skip
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


def below_the_bound(problem, seed):
    """See that a plan brings no more than the bound, with all nodes on and with others down at random."""
    plan = heuristic(problem)
    most = bound_with_switching(problem)
    assert account_of(problem, plan.start).profit <= most + 1e-9 * (1 + abs(most))
    rng = np.random.default_rng(seed)
    for _ in range(6):
        downtime = some_downtime(problem, plan, rng)
        assert audit(schedule_of(problem, plan), problem.platform, downtime=downtime) == []
        assert account_of(problem, plan.start, downtime).profit <= most + 1e-9 * (1 + abs(most))


@given(powered(), st.integers(0, 1 << 30))
@examples(0.6)
def test_no_plan_with_any_nodes_down_brings_more(problem, seed):
    below_the_bound(problem, seed)


@given(powered(), st.integers(0, 1 << 30))
@examples(0.15)
def test_where_energy_is_paid_for_what_nodes_draw_for_nothing_is_in_the_bound(problem, seed):
    paid_for = replace(problem.conditions, price_per_kwh=-np.abs(problem.conditions.price_per_kwh))
    below_the_bound(replace(problem, conditions=paid_for), seed)


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
