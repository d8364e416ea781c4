"""No plan brings more than the bound with switching, whatever nodes are down and however energy is priced."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
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
from offline.planner.switched_bound import bound_with_switching, most_of_machine
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
    most = min(bound_with_switching(problem), most_of_machine(problem))
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
