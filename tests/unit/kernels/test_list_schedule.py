"""Plans on sums over nodes, against one array entry a second."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kit.list_schedules import SECONDS, cost_of_all, dense, drawn, first_start, list_schedule

from dardis.kernels.job_queue import GONE, REQUEST, SPAN, START, UNITS
from dardis.kernels.list_schedule import exchange, make_plan_buffers, put_all, schedule_or_postpone, write_least
from dardis.kernels.replan import begin_profile
from dardis.model.job import FOREVER, NO_TIME

SEEDS = range(8)


@pytest.mark.parametrize("seed", SEEDS)
def test_list_schedule_equals_the_dense_reference(seed):
    ahead, free = drawn(seed)
    count = len(ahead.order)
    cost = put_all(ahead, 0, count, 5)
    starts = list_schedule(free, 5, ahead.need, ahead.span, ahead.order.tolist())
    assert ahead.start.tolist() == starts
    assert cost == pytest.approx(cost_of_all(ahead, starts, 5))
    for place, job in enumerate(ahead.order.tolist(), 1):
        if starts[job] != FOREVER:
            free[starts[job] : starts[job] + ahead.span[job]] -= ahead.need[job]
        steps = ahead.steps[place]
        assert (dense(ahead.time[place, :steps], ahead.value[place, :steps])[5:] == free[5:]).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_exchanges_never_make_a_plan_worse(seed):
    costs = []
    for tries in (0, 1, 5, 20, 100):
        ahead, free = drawn(seed)
        count = len(ahead.order)
        cost = put_all(ahead, 0, count, 5)
        write_least(ahead, count, 5)
        exchange(ahead, count, tries, 7, cost, 5)
        order = ahead.order.tolist()
        assert sorted(order) == list(range(count))
        assert ahead.start.tolist() == list_schedule(free, 5, ahead.need, ahead.span, order)
        costs.append(cost_of_all(ahead, ahead.start.tolist(), 5))
    assert all(later <= before + 1e-9 for before, later in itertools.pairwise(costs))


@pytest.mark.parametrize("seed", SEEDS)
def test_free_capacity_excludes_running_jobs(seed):
    rng = np.random.default_rng(seed)
    slots, now = 8, 20
    steps = int(rng.integers(1, 6))
    times = np.concatenate([[NO_TIME], np.sort(rng.choice(np.arange(1, 60), steps - 1, replace=False))])
    base = rng.integers(0, 30, (steps, 4))  # two kinds, and what is wished of them
    ahead = make_plan_buffers(times, base, 3, slots)
    table = np.zeros((slots, REQUEST + 2), dtype=np.int64)
    free = dense(times, base)
    table[:, START] = NO_TIME
    for slot in range(slots):
        table[slot, SPAN], table[slot, UNITS] = rng.integers(1, 30), rng.integers(1, 4)
        table[slot, REQUEST:] = rng.integers(0, 4, 2)
        table[slot, GONE] = rng.integers(0, 2)
        if rng.random() < 0.7:  # those who have gone and don't run have no start; nor do most who wait
            table[slot, START] = rng.integers(max(1, now - table[slot, SPAN] + 1), now + 1)
        if table[slot, GONE] and table[slot, START] != NO_TIME:
            needs = np.tile(table[slot, REQUEST:], 2) * table[slot, UNITS]
            free[now : table[slot, START] + table[slot, SPAN]] -= needs
    begin_profile(ahead, table, now)
    count = ahead.steps[0]
    assert ahead.time[0, 0] == now
    assert (np.diff(ahead.time[0, :count]) > 0).all()
    assert (dense(ahead.time[0, :count], ahead.value[0, :count])[now:] == free[now:]).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_schedule_or_postpone_equals_the_dense_reference(seed):
    ahead, free = drawn(seed, columns=1 + seed % 2)
    count = len(ahead.span)
    expected = [FOREVER] * count
    for second in range(5, SECONDS):
        for job in range(count):
            if expected[job] == FOREVER and first_start(free, second, ahead.need[job], int(ahead.span[job])) == second:
                expected[job] = second
                free[second : second + ahead.span[job]] -= ahead.need[job]
    starts = np.empty(count, dtype=np.int64)
    schedule_or_postpone(ahead.time[0], ahead.value[0], ahead.steps[0], ahead.need, ahead.span, starts)
    assert starts.tolist() == expected
