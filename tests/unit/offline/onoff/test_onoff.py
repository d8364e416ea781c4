"""Nodes that are idle and switched: spans, counts, the best switching of a schedule, plans and replays of rules."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kit.effort import examples
from kit.node_schedules import DEFAULTS, QUICK, machine, random_jobs, schedule_of

from dardis.model.errors import InputError
from dardis.model.job import FOREVER
from dardis.model.platform import NodePower
from dardis.model.schedule import Downtime
from dardis.model.series import Series
from dardis.model.step_function import StepFunction
from dardis.power.account import account, accounted_jobs
from dardis.power.conditions import Conditions, Tariff
from dardis.power.node_power import MachinePower
from offline.onoff.planned_switching import Reserve, SwitchingLimits, check_switch_count, nodes_on, plan_switching
from offline.onoff.reserve_replay import PastDemand, demands_of
from offline.onoff.spans import busy_spans_of, clairvoyant_downtime, idle_gaps

END = 60
JOBS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 9), st.sets(st.integers(0, 3), min_size=1)), max_size=8)


def by_second(node: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    held = np.zeros((4, END), dtype=np.int64)
    for n, a, b in zip(node, start, end, strict=True):
        held[n, a:b] += 1
    return held


@given(JOBS)
def test_busy_spans_and_gaps_equal_a_count_second_by_second(drawn) -> None:
    jobs = [(start, start + length, tuple(nodes)) for start, length, nodes in drawn]  # nodes may be shared
    schedule = schedule_of(jobs)
    busy = busy_spans_of(schedule)
    placed = schedule.placed.job_of
    truth = by_second(schedule.placed.nodes, schedule.start[placed], schedule.finish[placed]) > 0
    spans = by_second(busy.node, busy.start, busy.end)
    assert np.array_equal(spans, truth)  # none overlap, or a 2 would be there

    same = busy.node[1:] == busy.node[:-1]
    assert (busy.start[1:][same] > busy.end[:-1][same]).all(), "spans that touch are one"
    assert np.array_equal(schedule.start[busy.opener], busy.start), "the opener found the node idle"

    gaps = idle_gaps(busy, 4, 5, 40)
    assert (gaps.start >= 5).all()
    assert (gaps.start < 40).all()
    idle = by_second(gaps.node, gaps.start, np.minimum(gaps.end, END))
    assert np.array_equal(idle[:, 5:40], 1 - truth[:, 5:40])
    ends = {(n, s) for n, s in zip(busy.node.tolist(), busy.start.tolist(), strict=True)}
    assert all(end == FOREVER or (n, end) in ends for n, end in zip(gaps.node.tolist(), gaps.end.tolist(), strict=True))


class Proportional:
    """A plant that draws 0.3 W for every watt."""

    def watts(self, temp_c, it_w):
        return 0.3 * np.asarray(it_w) + 0 * np.asarray(temp_c)


def profit(jobs, platform, downtime, end: int) -> float:
    edges = np.array([0, end // 2, end])
    conditions = Conditions(edges, np.full(2, 20.0), np.full(2, 0.13), np.zeros(2))
    power = MachinePower.of_platform(platform)
    return account(accounted_jobs(jobs, platform), downtime, power, conditions, Proportional(), Tariff()).profit


@given(st.integers(0, 100_000), st.integers(20, 130), st.sampled_from([130, 700]))
def test_no_other_switching_of_a_schedule_has_more_profit(seed: int, end: int, boot_w: int) -> None:
    rng = np.random.default_rng(seed)
    platform = machine(3, replace(QUICK, boot_w=boot_w))
    jobs = schedule_of(random_jobs(rng, 8, 3, 100))
    bound = profit(jobs, platform, clairvoyant_downtime(jobs, platform, 0, end), end)
    gaps = idle_gaps(busy_spans_of(jobs), 3, 0, end)
    for _ in range(10):
        rows = []
        for node, first, last in zip(gaps.node.tolist(), gaps.start.tolist(), gaps.end.tolist(), strict=True):
            down = int(rng.integers(first, min(last, end)))
            latest = min(last, end + 20)
            up = last if rng.random() < 0.5 else int(rng.integers(down, latest + 1))
            if up - down >= QUICK.boot_s + QUICK.shutdown_s and rng.random() < 0.8:
                rows.append((node, down, up))
        other = Downtime(*np.array(sorted(rows), dtype=np.int64).reshape(-1, 3).T)
        assert profit(jobs, platform, other, end) <= bound + 1e-12


STEP = 900
BOOT_J, STOP_J = (125 - 10) * 240, (100 - 10) * 30


def cost_of(on: tuple[int, ...], before: int, joule_cost: np.ndarray) -> float:
    """What keeping these nodes on costs more than all off, told step by step."""
    total, last = 0.0, before
    for step, now in enumerate(on):
        total += now * 90 * STEP * joule_cost[step]
        total += max(now - last, 0) * BOOT_J * max(joule_cost[max(step - 1, 0)], 0)
        total += max(last - now, 0) * STOP_J * max(joule_cost[step], 0)
        last = now
    return total


@example(1, [(1, 1.0), (0, 1.0), (1, 5.0)], 1, 4, 4)  # a boot is over when energy becomes dear
@example(2, [(0, -2.0), (0, 0.1)], 0, 1, 4)  # a second boot, paid before 0.1, is no gain
@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from([-2.0, 0.0, 0.1, 1.0, 5.0])), min_size=1, max_size=5),
    st.integers(0, 4),
    st.integers(0, 4),
    st.integers(0, 4),
)
def test_no_other_numbers_within_the_limits_cost_less(count, steps, before, most_on, most_off) -> None:
    need = np.array([min(n, count) for n, _ in steps])
    joule_cost = np.array([w for _, w in steps])
    before = min(before, count)
    limits = SwitchingLimits(off_per_min=most_off / 15, on_per_min=most_on / 15)
    edges = STEP * np.arange(len(steps) + 1)

    def legal(on: tuple[int, ...]) -> bool:
        moves = np.diff([before, *on])
        return bool((np.array(on) >= need).all() and moves.max() <= most_on and -moves.min() <= most_off)

    options = [on for on in product(range(count + 1), repeat=len(steps)) if legal(on)]
    if not options:
        with pytest.raises(InputError, match="rises faster"):
            nodes_on(need, edges, joule_cost, count, DEFAULTS, limits, before)
        return
    found = tuple(nodes_on(need, edges, joule_cost, count, DEFAULTS, limits, before).tolist())
    assert legal(found)
    assert cost_of(found, before, joule_cost) == pytest.approx(min(cost_of(on, before, joule_cost) for on in options))


@pytest.mark.parametrize(
    ("need", "limits", "told"),
    [
        (9, SwitchingLimits(), "9 nodes needed of 8"),
        (1, SwitchingLimits(min_on_s=1000), "1000 s"),
        (1, SwitchingLimits(min_off_s=1000), "1000 s"),
    ],
)
def test_excess_nodes_and_steps_shorter_than_the_minimum_stay_are_refused(need, limits, told) -> None:
    with pytest.raises((InputError, ValueError), match=told):
        nodes_on(np.array([need]), np.array([0, STEP]), np.ones(1), 8, DEFAULTS, limits)


DAY = 86_400
FLAT = Series(np.array([0, DAY]), np.array([0.13 / 3.6e6]))


def spares(number: int, share: float = 0.0) -> Reserve:
    return Reserve(StepFunction.from_steps(number, []), share)


def down_at(downtime: Downtime, moment: int) -> int:
    return int(((downtime.down <= moment) & (moment < downtime.up)).sum())


@given(
    st.integers(0, 100_000),
    st.integers(0, 3),
    st.sampled_from([0.0, 0.5, 0.7, 1.0]),
    st.sampled_from([0, 2000]),
    st.sampled_from([1.0, 60.0]),
    st.sampled_from([1, 150]),
    st.just(set()) | st.sets(st.integers(0, 5)),
)
@examples(2)
def test_plan_satisfies_every_constraint(
    seed: int, kept: int, share: float, stay_s: int, per_min: float, grain_s: int, off: set[int]
) -> None:
    count, soonest = 6, {node: 240 + 10 * (node % 3) for node in off}
    if off:  # the promises of who is off are those without stays and ramps
        share, stay_s, per_min = 0.0, 0, SwitchingLimits().on_per_min
    platform = machine(count, DEFAULTS)
    rows = [
        (start // grain_s * grain_s, finish // grain_s * grain_s, nodes)
        for start, finish, nodes in random_jobs(np.random.default_rng(seed), 30, count, DAY)
    ]
    rows = [row for row in rows if row[0] < row[1] and all(row[0] >= soonest.get(node, 0) for node in row[2])]
    busy = busy_spans_of(schedule_of(rows))
    limits = SwitchingLimits(
        min_on_s=stay_s, min_off_s=stay_s, off_per_min=per_min, on_per_min=per_min, most_switches=99
    )
    found = plan_switching(busy, platform, {0: spares(kept, share)}, FLAT, limits, soonest)

    first = {node: up for node, down, up in found.rows if down == 0 and node in off}
    assert set(first) == off
    assert all(up >= soonest[node] for node, up in first.items())
    for node, down, up in found.rows:
        mine = busy.node == node
        assert not (mine & (busy.start < up) & (busy.end > down)).any(), "down while a job needs it"
        assert up - down >= max(337, stay_s) or (down == 0 and node in off)
        assert down >= 0
    same = found.node[1:] == found.node[:-1]
    assert (found.down[1:][same] - found.up[:-1][same] >= stay_s).all()

    for moment in np.unique(np.concatenate([found.down, busy.start, busy.end, [260]])).tolist():
        if max(soonest.values(), default=0) <= moment < DAY:
            running = int(((busy.start <= moment) & (moment < busy.end)).sum())
            need = running + max(kept, int(np.ceil(share * (count - running) - 1e-9)))
            assert count - down_at(found, moment) >= min(need, count)

    for times in () if off else (found.down, found.up[found.up < FOREVER] - 240):
        assert max(np.bincount(times // 60), default=0) <= per_min


def test_nodes_that_are_always_on_or_idle_for_nothing_or_have_no_reserve_stay_on() -> None:
    jobs, always = schedule_of([(1000, 1100, (0,))]), machine(3, DEFAULTS, always_on=True)
    for platform in (always, machine(3, NodePower())):
        assert len(clairvoyant_downtime(jobs, platform, 0, 5000).node) == 0
    for platform, reserves in ((always, {0: spares(0)}), (machine(3, DEFAULTS), {})):
        assert len(plan_switching(busy_spans_of(jobs), platform, reserves, FLAT, SwitchingLimits()).node) == 0


def test_too_many_switches_are_refused_with_the_node_and_the_time() -> None:
    platform = machine(1, DEFAULTS)
    downtime = Downtime(np.zeros(3, dtype=np.int64), np.array([0, 20_000, 86_000]), np.array([10_000, 30_000, FOREVER]))
    check_switch_count(downtime, platform, 5)
    with pytest.raises(InputError, match="n0 would be switched more than 4 times in the day from 0 s on"):
        check_switch_count(downtime, platform, 4)
    busy = busy_spans_of(schedule_of([(start, start + 1000, (0,)) for start in range(5000, 80_000, 10_000)]))
    with pytest.raises(InputError, match="more than 2 times"):
        plan_switching(busy, platform, {0: spares(0)}, FLAT, SwitchingLimits(most_switches=2))


IDLE_S = 7
LONG_AGO = -(10**9)


def played(demand, count: int, start: int, end: int, spares) -> tuple[list[int], list[int], list[int], list[int]]:
    """Second by second with a stack of idle nodes (time of last use, when it is up): delays, nodes on, boots, stops."""
    busy: list[tuple[int, int]] = []
    idle: list[tuple[int, int]] = []
    delays, on, boots, stops = [], [], [], []
    jobs = list(zip(demand.start.tolist(), demand.level.tolist(), strict=True))
    first = start - QUICK.boot_s
    for t in range(-IDLE_S, end):
        wanted, booted, stopped = int(demand.busy.at(t)), 0, 0
        while len(busy) > wanted:
            idle.append((t, busy.pop()[1]))
        while len(busy) < wanted:
            if idle:
                busy.append((t, idle.pop()[1]))
            else:
                busy.append((t, t + QUICK.boot_s))
                booted += 1
        kept = min(spares(max(t, start)), count - wanted)
        while len(idle) < kept:
            idle.insert(0, (LONG_AGO, t + QUICK.boot_s))
            booted += 1
        while len(idle) > kept and idle[0][0] <= t - IDLE_S:
            idle.pop(0)
            stopped += 1
        if t == first:  # all that is wanted then is up already
            busy, idle = [(used, t) for used, _ in busy], [(used, t) for used, _ in idle]
        if t >= start:
            delays += [max(busy[level - 1][1] - t, 0) if level else 0 for begin, level in jobs if begin == t]
            on.append(len(busy) + len(idle))
            boots.append(booted)
            stops.append(stopped)
    return delays, on, boots, stops


@given(st.integers(0, 100_000), st.integers(0, 4), st.integers(0, 4))
def test_formula_equals_a_replay_second_by_second(seed: int, early: int, late: int) -> None:
    count, start, end = 6, 20, 140
    jobs = schedule_of(random_jobs(np.random.default_rng(seed), 25, count, 120))
    demand = demands_of(jobs, machine(count))[0]
    edges = np.array([start, 80, end])
    past = PastDemand(demand, QUICK, IDLE_S, edges)
    found = past.replay(np.array([early, late]))
    delays, on, boots, stops = played(demand, count, start, end, lambda t: early if t < 80 else late)
    assert found.delay.tolist() == delays
    for span, (a, b) in enumerate([(0, 60), (60, 120)]):
        assert found.boots[span] == sum(boots[a:b])
        saved = (count * (b - a) - sum(on[a:b])) * 90.0
        saved -= sum(boots[a:b]) * (130 - 100) * 5 + sum(stops[a:b]) * (110 - 10) * 2
        assert found.saved_j[span] == pytest.approx(saved)


@given(st.integers(0, 100_000), st.integers(0, 130))
def test_demand_before_a_time_ignores_later_jobs(seed: int, end: int) -> None:
    rows = random_jobs(np.random.default_rng(seed), 25, 6, 120)
    whole, some = (
        demands_of(schedule_of([row for row in rows if row[0] < until]), machine(6))[0] for until in (999, end)
    )
    for moment in {end, *(start for start, _, _ in rows)}:
        known = whole.before(moment)
        assert known.start.tolist() == whole.start[whole.start < moment].tolist()
        assert known.level.tolist() == whole.level[whole.start < moment].tolist()
    known = whole.before(end)
    assert known.start.tolist() == some.start.tolist()
    assert known.level.tolist() == some.level.tolist()
    moments = np.arange(-1, end)
    assert known.busy.at(moments).tolist() == some.busy.at(moments).tolist()
