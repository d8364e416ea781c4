"""What a day hands on: enough cores for its plan, and no node down that a job needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.machine import step_functions
from kit.plan_problems import POWER, day_problem

from dardis.metrics.audit import audit
from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, Platform
from dardis.model.profile import ZERO, StepFunction
from dardis.model.target import Switching
from dardis.power.tariff import Tariff
from offline.day.aims import hourly_target
from offline.day.day import planned_downtime
from offline.day.options import Reactive, SwitchingRule, switching_rule
from offline.day.stay_on import idle_seconds, reactive_switching, thesis_switching
from offline.onoff.counts import Limits
from offline.onoff.planned import refuse_many_switches
from offline.planner.as_schedule import schedule_of
from offline.planner.day_account import account_of
from offline.planner.searches import heuristic
from offline.planner.use import cores_used, node_spans

HOUR = 3600


@given(
    step_functions(100, 4 * HOUR, 9), step_functions(100, 4 * HOUR), step_functions(30, 4 * HOUR), st.integers(1, 100)
)
def test_the_target_is_what_the_plan_uses_at_least(planned, learned, spare, most):
    hours = HOUR * np.arange(5)
    target = hourly_target(planned, learned, spare, hours, most)
    moments = np.unique(np.concatenate([hours[:-1], planned.times[(planned.times > 0) & (planned.times < 4 * HOUR)]]))
    assert (target.at(moments) >= np.minimum(planned.at(moments), most)).all()
    begins = hours[:-1]
    assert (target.at(begins) >= np.minimum(learned.at(begins) + spare.at(begins), most)).all()
    assert target.values.max() <= most
    assert (target.at(np.array([-1, 4 * HOUR])) == most).all()
    # No more than one of them asks for at some time of the hour, with the spares.
    for begin in begins.tolist():
        inside = moments[(moments >= begin) & (moments < begin + HOUR)]
        wished = max(int(planned.at(inside).max()), int(learned.at(begin))) + int(spare.at(begin))
        assert int(target.at(begin)) == min(wished, most)


def kept(draw, begin, count):
    """Numbers of nodes by hour, as wishes have them."""
    values = [draw(st.integers(0, count)) for _ in range(4)]
    return StepFunction.from_steps(count, [(begin + 6 * HOUR * place, value) for place, value in enumerate(values)])


@examples(0.4)
@given(st.data(), st.integers(0, 40), st.sampled_from((0.1, 0.4, 0.9)), st.integers(3, 12))
def test_no_node_is_down_while_a_job_is_on_it_and_what_is_to_stay_on_does(data, seed, load, nodes):
    problem = day_problem(25, nodes, load, seed, cores=8, prices=data.draw(st.sampled_from(("flat", "tou"))))
    plan = heuristic(problem)
    begin, end = problem.conditions.start, problem.conditions.end
    spares, floors = (data.draw(st.none() | st.just(kept(data.draw, begin, nodes))) for _ in range(2))
    wished = Switching({} if spares is None else {0: spares}, {} if floors is None else {0: floors})
    down = planned_downtime(problem, plan, account_of(problem, plan.start), wished)
    assert audit(schedule_of(problem, plan), problem.platform, downtime=down) == []
    refuse_many_switches(down, problem.platform, Limits().most_switches)
    assert (down.down >= begin).all()
    assert (down.down < end).all()
    if spares is None and floors is None:
        assert len(down.node) == 0
    busy = node_spans(problem, plan)
    on = StepFunction.from_spans(down.down, down.up, np.ones(len(down.node), dtype=np.int64))
    used = StepFunction.from_spans(busy.start, busy.end, np.ones(len(busy.node), dtype=np.int64))
    moments = np.unique(np.clip(np.concatenate([on.times, used.times, begin + HOUR * np.arange(24)]), begin, end - 1))
    up, in_use = nodes - on.at(moments), used.at(moments)
    assert (up >= np.minimum(in_use + (ZERO if spares is None else spares).at(moments), nodes)).all()
    assert (up >= (ZERO if floors is None else floors).at(moments)).all()


@examples(0.25)
@given(st.integers(0, 60), st.sampled_from((0.2, 0.8)))
def test_nodes_and_cores_in_use_are_those_of_the_schedule(seed, load):
    problem = day_problem(20, 5, load, seed, cores=8)
    plan = heuristic(problem)
    schedule, used, busy = schedule_of(problem, plan), cores_used(problem, plan.start), node_spans(problem, plan)
    job = schedule.placed.job_of
    rng = np.random.default_rng(seed)
    for moment in rng.integers(problem.conditions.start, problem.conditions.end, 20).tolist():
        here = (schedule.start[job] <= moment) & (moment < schedule.finish[job])
        assert int(used.at(moment)) == int((schedule.placed.units * schedule.request[job, 0])[here].sum())
        on_now = busy.node[(busy.start <= moment) & (moment < busy.end)]
        assert sorted(on_now.tolist()) == sorted(set(schedule.placed.nodes[here].tolist()))


@pytest.mark.parametrize(("co2_per_t", "off"), [(0.0, 0), (100.0, 4)])
def test_nodes_that_are_paid_to_idle_are_off_where_their_co2_costs_more(co2_per_t, off):
    problem = day_problem(0, 4, 0.0, 1, cores=8)
    conditions = replace(problem.conditions, price_per_kwh=np.full(24, -0.01), gco2_per_kwh=np.full(24, 400.0))
    problem = replace(problem, conditions=conditions, tariff=Tariff(co2_per_t=co2_per_t))
    plan = heuristic(problem)
    all_on = account_of(problem, plan.start)
    down = planned_downtime(problem, plan, all_on, Switching({0: StepFunction.from_steps(0, [])}))
    assert len(down.node) == off
    assert account_of(problem, plan.start, down).profit >= all_on.profit


def test_without_switching_no_node_is_down():
    problem = day_problem(20, 5, 0.3, 1, cores=8)
    plan = heuristic(problem)
    assert len(planned_downtime(problem, plan, account_of(problem, plan.start), None).node) == 0


def test_nodes_idle_at_least_until_being_down_would_have_cost_less():
    platform = Platform("p", (NodeGroup("a", 2, {"cores": 8}, POWER), NodeGroup("b", 2, {"cores": 8})))
    assert idle_seconds(platform) >= 337
    cores = StepFunction.from_steps(32, [(0, 16)])
    assert set(thesis_switching(cores, platform).floors) == {0}
    assert thesis_switching(cores, Platform("q", (NodeGroup("b", 2, {"cores": 8}),))) is None


@pytest.mark.parametrize("rule", SwitchingRule)
def test_rules_by_name(rule):
    assert switching_rule(rule.value) is rule
    with pytest.raises(InputError, match="--switching: 'spares'; expected spare, algorithm8, off"):
        switching_rule("spares")


@given(st.lists(st.integers(1, 50), min_size=1, max_size=4), st.integers(0, 300))
def test_spares_of_a_reactive_rule_are_shared_by_size(counts, spares):
    groups = [NodeGroup(f"g{i}-", count, {"cores": 8}, POWER) for i, count in enumerate(counts)]
    platform = Platform("p", (*groups, NodeGroup("on", 5, {"cores": 8}, POWER, always_on=True)))
    found = reactive_switching(Reactive(500, spares), platform, 1_000)
    kept = [int(found.spares[group].at(1_000)) for group in range(len(counts))]
    assert [int(found.spares[group].at(999)) for group in range(len(counts))] == counts
    assert found.idle_s == 500
    assert sum(kept) == min(spares, sum(counts))
    for number, count in zip(kept, counts, strict=True):
        assert abs(number - min(spares, sum(counts)) * count / sum(counts)) < 1
    assert reactive_switching(Reactive(1), Platform("p", (NodeGroup("n", 2, {"cores": 1}),)), 0) is None
