"""The solver's plans on sums against every order: list schedules of all of them have the best (regular objectives)."""

from __future__ import annotations

from itertools import permutations
from math import inf

import numpy as np
import pytest
from kit.list_schedules import SECONDS, cost_of_all, drawn, list_schedule

from dardis.dispatch.cp.search_effort import Effort
from dardis.dispatch.replan.queue_plan import QueuePlan
from dardis.kernels.job_queue import NUMBER, REQUEST
from dardis.kernels.list_schedule import PlanBuffers, put_all, write_least
from dardis.kernels.replan import adopt
from dardis.model.job import FOREVER

NOW = 5
SEEDS = range(40)
PATIENT = Effort(first_s=10.0)


def planned(seed: int) -> tuple[PlanBuffers, np.ndarray, np.ndarray]:
    """A plan by some order, what is free by the second, and the jobs' rows."""
    ahead, free = drawn(seed, count=5, columns=1 + seed % 2)
    count = len(ahead.order)
    put_all(ahead, 0, count, NOW)
    write_least(ahead, count, NOW)
    rows = np.zeros((count, REQUEST + 2), dtype=np.int64)
    rows[:, NUMBER] = np.arange(count)
    adopt(ahead, rows, ahead.order.copy(), NOW)
    return ahead, free, rows


def best_of_orders(ahead: PlanBuffers, free: np.ndarray, places: list[int]) -> float:
    """The least cost of these jobs, all of which start."""
    best = inf
    for order in permutations(places):
        all_starts = [FOREVER] * len(ahead.order)
        starts = list_schedule(free, NOW, ahead.need[list(order)], ahead.span[list(order)], list(range(len(order))))
        if FOREVER not in starts:
            for place, start in zip(order, starts, strict=True):
                all_starts[place] = start
            best = min(best, cost_of_all(ahead, all_starts, NOW))
    return best


def see_that_it_fits(plan: QueuePlan, starts: np.ndarray, free: np.ndarray) -> None:
    left = free.copy()
    for place, start in zip(plan.places, starts + NOW, strict=True):
        end = start + plan.list_schedule.span[place]
        assert end <= SECONDS
        need = plan.list_schedule.need[place]
        assert ((left[start:end] >= need) | (need == 0)).all()
        left[start:end] -= need


@pytest.mark.parametrize("seed", SEEDS)
def test_a_proven_plan_is_the_best_of_all_orders_and_is_taken(seed):
    ahead, free, rows = planned(seed)
    plan = QueuePlan.of_list_schedule(ahead, NOW)
    before, never = plan.cost, (ahead.start == FOREVER).tolist()
    assert before == pytest.approx(cost_of_all(ahead, ahead.start.tolist(), NOW))
    best = best_of_orders(ahead, free, plan.places.tolist())
    found = plan.improve(PATIENT, 1)
    assert found.starts is not None
    assert found.result.proven
    see_that_it_fits(plan, found.starts, free)
    cost = float((ahead.weight[plan.places] * found.starts).sum())
    assert cost == pytest.approx(best)
    assert found.bound == pytest.approx(best)
    adopt(ahead, rows, plan.order_by(found.starts), NOW)
    assert ahead.start.tolist() == list_schedule(free, NOW, ahead.need, ahead.span, ahead.order.tolist())
    if never == (ahead.start == FOREVER).tolist():
        assert QueuePlan.of_list_schedule(ahead, NOW).cost == pytest.approx(best)
    assert QueuePlan.of_list_schedule(ahead, NOW).cost <= before + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_short_search_makes_no_plan_worse_and_its_bound_is_valid(seed):
    ahead, free, _ = planned(seed)
    plan = QueuePlan.of_list_schedule(ahead, NOW)
    best = best_of_orders(ahead, free, plan.places.tolist())
    one, two = (plan.improve(Effort(first_s=1e-5, longest_s=1e-5, conflicts=1), 3) for _ in range(2))
    assert one.starts is not None
    assert one.bound <= best + 1e-9
    assert best - 1e-9 <= float((ahead.weight[plan.places] * one.starts).sum()) <= plan.cost + 1e-9
    assert (one.starts.tolist(), one.bound) == (two.starts.tolist(), two.bound)
