from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.node_schedules import QUICK, machine, random_jobs, schedule_of

from offline.onoff.replay import PastDemand, demands_of

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
def test_the_arithmetic_is_the_rule_played_second_by_second(seed: int, early: int, late: int) -> None:
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


@given(st.integers(0, 100_000))
def test_demand_counts_the_idle_nodes_that_a_job_takes(seed: int) -> None:
    jobs = schedule_of(random_jobs(np.random.default_rng(seed), 25, 6, 120))
    demand = demands_of(jobs, machine(6))[0]
    held = np.zeros(400, dtype=np.int64)
    for start, finish, width in zip(jobs.start, jobs.finish, jobs.placed.counts, strict=True):
        held[start:finish] += width
    assert np.array_equal(demand.busy.at(np.arange(400)), held)
    assert (demand.level <= held[demand.start]).all()
    last = {int(start): int(level) for start, level in zip(demand.start, demand.level, strict=True) if level}
    assert all(level == held[start] for start, level in last.items())


def test_spares_are_used_then_replaced_a_boot_later() -> None:
    # One node more every 2 s from second 50 on: the second job finds the spare used and its replacement booting.
    jobs = schedule_of([(50, 90, (0,)), (52, 90, (1,)), (60, 90, (2,))])
    past = PastDemand(demands_of(jobs, machine(4))[0], QUICK, IDLE_S, np.array([0, 100]))
    assert past.replay(0).delay.tolist() == [5, 5, 5]
    assert past.replay(1).delay.tolist() == [0, 3, 0]
    assert past.replay(2).delay.tolist() == [0, 0, 0]
    assert past.replay(1).mean_delay_s == 1
    assert past.replay(1).delayed_share == pytest.approx(1 / 3)


@given(st.integers(0, 100_000), st.integers(0, 130))
def test_a_demand_before_a_time_knows_nothing_that_begins_from_then_on(seed: int, end: int) -> None:
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
