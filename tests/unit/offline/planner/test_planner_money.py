"""What a move is worth, as the kernels see it, is what the exact account says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.plan_problems import plan_problems

from dardis.kernels.day_profit import cost_of, extra, fill_before
from dardis.power.tariff import PowerLimit, Tariff
from offline.planner.day_account import account_of
from offline.planner.money import profit_of, rank_of
from offline.planner.problem import Problem
from offline.planner.searches import in_order


class SmoothPlant:
    """Cooling without a kink, so that a fine table is as good as a formula."""

    def watts(self, temp_c, it_w):
        return 0.01 * (20 + np.asarray(temp_c)) * it_w + 1e-7 * np.square(it_w)


@st.composite
def cases(draw) -> Problem:
    """A problem under any tariff but a demand charge, which the kernels know in part only."""
    problem = draw(plan_problems())
    day = problem.conditions
    limits = []
    for _ in range(draw(st.integers(0, 2))):
        begin = draw(st.integers(day.start - 10, day.end))
        limits.append(PowerLimit(begin, begin + draw(st.integers(1, 100)), 0.0, draw(st.sampled_from((None, 0.7)))))
    contract = draw(st.sampled_from((None, 0.0)))
    tariff = Tariff(
        co2_per_t=draw(st.sampled_from((0.0, 80.0))), limits=tuple(limits), contracted_kw=contract,
        contract_penalty_per_kwh=0.5,
    )  # fmt: skip
    return replace(problem, tariff=tariff, cooling=SmoothPlant())


@given(cases(), st.randoms(use_true_random=False))
@examples()
def test_the_gains_of_rebuilding_are_those_of_the_account(problem, random):
    jobs = list(range(len(problem.jobs.number)))
    random.shuffle(jobs)
    board = in_order(problem, np.array(jobs, dtype=np.int64))
    before = rank_of(problem, board.start)[0]
    profit = profit_of(problem, board.start)
    groups = [np.array(jobs[low : low + size], dtype=np.int64) for size in (1, 3) for low in range(0, len(jobs), size)]
    gained = board.rebuild(profit, groups)
    after = rank_of(problem, board.start)[0]
    assert gained >= -1e-9
    assert after - before == pytest.approx(gained, abs=1e-6)
    fresh = profit_of(problem, board.start)
    np.testing.assert_allclose(profit.hours.watts, fresh.hours.watts, atol=1e-6)
    np.testing.assert_allclose(profit.limits.watts, fresh.limits.watts, atol=1e-6)


@given(cases(), st.data())
@examples(0.5)
def test_a_job_more_costs_what_the_account_says(problem, data):
    board = in_order(problem, np.arange(len(problem.jobs.number)))
    start = board.start
    if not len(start):
        return
    job = data.draw(st.integers(0, len(start) - 1))
    gone, here = start.copy(), start.copy()
    gone[job] = problem.conditions.end
    here[job] = data.draw(st.integers(problem.conditions.start - 20, problem.conditions.end + 5))
    end = int(here[job] + problem.jobs.duration[job])
    told = profit_of(problem, gone)
    cost = 0.0
    for grid in (told.hours, told.limits):
        before = np.empty(len(grid.edges))
        fill_before(grid, told.added_w[job], before)
        cost += extra(grid, before, int(here[job]), end, told.added_w[job])
    change = _cost(problem, here) - _cost(problem, gone)
    assert cost == pytest.approx(change, abs=1e-6)


def _cost(problem: Problem, start) -> float:
    told = account_of(problem, start)
    return told.energy_eur + told.cooling_eur + told.tariff_eur + 1e6 * told.over_limit_kwh


def test_beyond_its_last_power_a_cost_goes_on_as_steep():
    from dardis.kernels.day_profit import Grid

    grid = Grid(np.array([0, 10]), np.zeros(1), np.array([[0.0, 1.0, 3.0]]), np.ones(1))
    assert [cost_of(grid, 0, watts) for watts in (0.5, 1.5, 4.0)] == [0.5, 2.0, 7.0]
