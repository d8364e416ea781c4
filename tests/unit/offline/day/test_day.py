"""What a day hands on: its nodes down, its target and its profile; and what is made of the room below a limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.machine import platforms, step_functions
from kit.plan_problems import POWER, day_problem

from dardis.config.target_file import read_profile, write_target
from dardis.metrics.audit import audit
from dardis.model.platform import NodeGroup, Platform
from dardis.model.resources import CORES
from dardis.model.step_function import ZERO, StepFunction
from dardis.model.target import Split, Switching, Target
from dardis.power.conditions import PowerLimit, Tariff
from offline.day.day import desired_profile_of, planned_downtime
from offline.day.day_targets import hourly_target
from offline.day.idle_reserve import reactive_switching
from offline.day.plan_spec import Reactive
from offline.day.power_headroom import EvaluatedPlans, use_headroom
from offline.onoff.planned_switching import SwitchingLimits, check_switch_count
from offline.planner.budget import Watch
from offline.planner.day_planner import Plans, schedule_of
from offline.planner.day_problem import StoppedBy
from offline.planner.machine_use import cores_used, node_spans
from offline.planner.money import account_of
from offline.planner.power_limits import close_nodes_to_limits
from offline.planner.searches import heuristic, multi_search

HOUR = 3600


LEARNED, SPARE = step_functions(100, 4 * HOUR), step_functions(30, 4 * HOUR)


@given(step_functions(100, 4 * HOUR, 9), LEARNED, SPARE, st.integers(1, 100))
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
def test_busy_and_always_on_nodes_stay_on(data, seed, load, nodes):
    problem = day_problem(25, nodes, load, seed, cores=8, prices=data.draw(st.sampled_from(("flat", "tou"))))
    plan = heuristic(problem)
    begin, end = problem.conditions.start, problem.conditions.end
    spares, floors = (data.draw(st.none() | st.just(kept(data.draw, begin, nodes))) for _ in range(2))
    wished = Switching({} if spares is None else {0: spares}, {} if floors is None else {0: floors})
    down = planned_downtime(problem, plan, account_of(problem, plan.start), wished)
    schedule, cores = schedule_of(problem, plan), cores_used(problem, plan.start)
    assert audit(schedule, problem.platform, downtime=down) == []
    check_switch_count(down, problem.platform, SwitchingLimits().most_switches)
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
    job = schedule.placed.job_of
    for moment in moments.tolist():  # nodes and cores in use are those of the schedule
        here = (schedule.start[job] <= moment) & (moment < schedule.finish[job])
        assert int(cores.at(moment)) == int((schedule.placed.units * schedule.request[job, 0])[here].sum())
        on_now = busy.node[(busy.start <= moment) & (moment < busy.end)]
        assert sorted(on_now.tolist()) == sorted(set(schedule.placed.nodes[here].tolist()))


@given(st.lists(st.integers(1, 50), min_size=1, max_size=4), st.integers(0, 300))
def test_idle_reserve_of_a_reactive_rule_is_split_by_group_size(counts, spares):
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


@st.composite
def days(draw, most):
    """Edges and cores of up to three days (of 8 h, in a row) of any segments; no more than `most` cores."""
    found = []
    for day in range(draw(st.integers(1, 3))):
        cuts = sorted(draw(st.sets(st.integers(1, 28_799), max_size=5)))
        edges = 28_800 * day + np.array([0, *cuts, 28_800]) - 1000
        target = np.array([draw(st.integers(0, most)) for _ in edges[1:]])
        found.append((edges, target))
    return found


@examples(0.6)
@given(st.data())
def test_target_holds_planned_cores_of_its_days_and_all_cores_outside(tmp_path_factory, data):
    platform = data.draw(platforms())
    told = data.draw(days(platform.cores))
    desired = desired_profile_of(platform, told)
    path = tmp_path_factory.mktemp("target") / "target.json"
    write_target(path, Target(desired, None, 7), platform)
    read = read_profile(path, platform, Split.PROPORTIONAL)
    place = platform.kinds.index(CORES)
    for one in (desired, read.desired):
        wished = one.machine[place]
        assert one.split is Split.OPEN_NODES
        for edges, cores in told:
            moments = np.concatenate([edges[:-1], edges[1:] - 1])
            assert (wished.at(moments) == np.tile(cores, 2)).all()
        around = np.array([told[0][0][0] - 1, told[-1][0][-1], 10**9])
        assert (wished.at(around) == platform.cores).all()
    assert read.desired.machine[place].times.tolist() == desired.machine[place].times.tolist()
    assert read.desired.machine[place].values.tolist() == desired.machine[place].values.tolist()
    assert (read.switching, read.unix_start) == (None, 7)


def limit_of(problem, since, until, most_kw):
    """A limit from one hour of the day to another."""
    start = problem.conditions.start
    return PowerLimit(start + since * HOUR, start + until * HOUR, most_kw)


SPARES = Switching({0: StepFunction.from_steps(0, [])})


class Settling:
    """Plans a problem under any tariff, with nodes off, and counts how often."""

    def __init__(self, problem, stopped_by=StoppedBy.DONE):
        self.problem, self.stopped_by, self.asked = problem, stopped_by, []

    def __call__(self, tariff):
        self.asked.append(tariff)
        plan, _ = multi_search(close_nodes_to_limits(replace(self.problem, tariff=tariff)), Watch())
        plan = replace(plan, stopped_by=self.stopped_by)
        all_on = account_of(self.problem, plan.start)
        down = planned_downtime(self.problem, plan, all_on, SPARES)
        return EvaluatedPlans(Plans(plan, plan, plan), all_on, down, account_of(self.problem, plan.start, down))


def limited_day(seed, load, most_kw):
    problem = day_problem(40, 8, load, seed, cores=8)
    return replace(problem, tariff=Tariff(limits=(limit_of(problem, 8, 12, most_kw),)))


@examples(0.25)
@given(st.integers(0, 60), st.sampled_from((0.5, 0.9)), st.floats(1.3, 2.2))
def test_use_of_power_headroom_keeps_the_limit_and_the_profit(seed, load, most_kw):
    problem = limited_day(seed, load, most_kw)
    settle = Settling(problem)
    first = settle(problem.tariff)
    best = use_headroom(problem, first, settle)
    assert best.account.profit >= first.account.profit
    assert best.account.feasible or not first.account.feasible
    (limit,) = problem.tariff.limits
    for tariff in settle.asked[1:]:
        (eased,) = tariff.limits
        assert eased.most_kw > limit.most_kw
        assert (eased.start, eased.end) == (limit.start, limit.end)


def test_nodes_that_are_paid_to_idle_are_off_where_their_co2_costs_more():
    problem = day_problem(0, 4, 0.0, 1, cores=8)
    conditions = replace(problem.conditions, price_per_kwh=np.full(24, -0.01), gco2_per_kwh=np.full(24, 400.0))
    plan = heuristic(problem)
    for co2_per_t, off in ((0.0, 0), (100.0, 4)):
        paid = replace(problem, conditions=conditions, tariff=Tariff(co2_per_t=co2_per_t))
        all_on = account_of(paid, plan.start)
        down = planned_downtime(paid, plan, all_on, SPARES)
        assert len(down.node) == off
        assert account_of(paid, plan.start, down).profit >= all_on.profit
