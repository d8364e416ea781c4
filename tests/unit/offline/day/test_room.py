"""The room that nodes which are off leave below a limit: what is made of it keeps the limit, and brings no less."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.plan_problems import day_problem

from dardis.model.profile import StepFunction
from dardis.model.target import Switching
from dardis.power.tariff import PowerLimit, Tariff
from offline.day.day import planned_downtime
from offline.day.room import Settled, fill_room
from offline.planner.budget import Watch
from offline.planner.day_account import account_of
from offline.planner.limits import closed_to_limits
from offline.planner.plan import Plans
from offline.planner.problem import StoppedBy
from offline.planner.searches import multi_search

SPARES = Switching({0: StepFunction.from_steps(0, [])})


class Settling:
    """Plans a problem under any tariff, with nodes off, and counts how often."""

    def __init__(self, problem, stopped_by=StoppedBy.DONE):
        self.problem, self.stopped_by, self.asked = problem, stopped_by, []

    def __call__(self, tariff):
        self.asked.append(tariff)
        plan, _ = multi_search(closed_to_limits(replace(self.problem, tariff=tariff)), Watch())
        plan = replace(plan, stopped_by=self.stopped_by)
        all_on = account_of(self.problem, plan.start)
        down = planned_downtime(self.problem, plan, all_on, SPARES)
        return Settled(Plans(plan, plan, plan), all_on, down, account_of(self.problem, plan.start, down))


def limited(seed, load, most_kw):
    problem = day_problem(40, 8, load, seed, cores=8)
    start = problem.conditions.start
    return replace(problem, tariff=Tariff(limits=(PowerLimit(start + 8 * 3600, start + 12 * 3600, most_kw),)))


@examples(0.25)
@given(st.integers(0, 60), st.sampled_from((0.5, 0.9)), st.floats(1.3, 2.2))
def test_it_keeps_the_limit_and_brings_no_less(seed, load, most_kw):
    problem = limited(seed, load, most_kw)
    settle = Settling(problem)
    first = settle(problem.tariff)
    best = fill_room(problem, first, settle)
    assert best.account.profit >= first.account.profit
    assert best.account.feasible or not first.account.feasible
    (limit,) = problem.tariff.limits
    for tariff in settle.asked[1:]:
        (eased,) = tariff.limits
        assert eased.most_kw > limit.most_kw
        assert (eased.start, eased.end) == (limit.start, limit.end)


def test_some_room_is_used():
    gained = []
    for seed in range(8):
        problem = limited(seed, 0.9, 1.6)
        settle = Settling(problem)
        first = settle(problem.tariff)
        gained.append(fill_room(problem, first, settle).account.profit - first.account.profit)
    assert max(gained) > 0


@pytest.mark.parametrize("reason", [StoppedBy.USER, StoppedBy.TIME])
def test_who_was_stopped_searches_no_more(reason):
    problem = limited(1, 0.9, 1.6)
    settle = Settling(problem, reason)
    first = settle(problem.tariff)
    assert fill_room(problem, first, settle) is first
    assert len(settle.asked) == 1


def test_without_a_limit_there_is_nothing_to_ease():
    problem = day_problem(40, 8, 0.9, 1, cores=8)
    settle = Settling(problem)
    first = settle(problem.tariff)
    assert fill_room(problem, first, settle) is first
