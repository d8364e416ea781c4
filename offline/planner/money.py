"""Plan's profit by the exact account, and cost arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dardis.kernels.day_profit import DayProfit, Grid
from dardis.model.arrays import Floats, Ints
from dardis.model.job import NO_TIME
from dardis.model.resources import CORES
from dardis.model.schedule import Downtime
from dardis.model.series import Series
from dardis.power.account import Account, AccountedJobs, account
from dardis.power.conditions import DEMAND_SPAN_S, Conditions, price_of_joule
from dardis.power.cooling import PueTable
from dardis.power.node_power import MachinePower
from offline.planner.day_problem import DayProblem

STEPS = 4096
"""IT power levels; costs are linear between."""
LATE = 1e6
"""Penalty for a late start, or a kWh above a strict limit."""

Limit = tuple[int, int, float, float]
"""Begin, end, most kW, and cost of a kWh above."""


def rank_of(problem: DayProblem, start: Ints) -> tuple[float, float]:
    """Plan's rank and profit. Late starts and strict limits outweigh money."""
    account = account_of(problem, start)
    late = int(((problem.jobs.latest != NO_TIME) & (start > problem.jobs.latest)).sum())
    return account.profit - LATE * (late + account.over_limit_kwh), account.profit


def profit_of(problem: DayProblem, start: Ints) -> DayProfit:
    """Data for kernels to value moves, with jobs at `start`."""
    conditions = problem.conditions
    idle_w = float(MachinePower.of_platform(problem.platform).idle_w.sum())
    core_w = np.concatenate([problem.jobs.core_w, problem.running.core_w]).max(initial=0.0)
    step_w = np.array([max(problem.platform.cores * float(core_w), 1.0) / (STEPS - 1)])
    levels_w: Floats = idle_w + step_w * np.arange(STEPS, dtype=np.float64)
    price = price_per_j(problem) * np.diff(conditions.edges)
    found = _limits(problem, start)
    quarters = _conditions_at(conditions, conditions.quarters if found else conditions.edges[:2])
    limits = _limit_costs(found, quarters, _drawn_w(problem, quarters, levels_w) / 1000)
    return DayProfit(
        _grid(problem, start, conditions, _drawn_w(problem, conditions, levels_w) * price[:, None], step_w),
        _grid(problem, start, quarters, limits, step_w),
        added_w(problem),
        cores_of(problem) * problem.jobs.income / 3600,
        np.maximum(problem.jobs.earliest, conditions.start),
        np.array([LATE]),
    )


def _grid(problem: DayProblem, start: Ints, conditions: Conditions, cost: Floats, step_w: Floats) -> Grid:
    told = account_of(replace(problem, conditions=conditions), start)
    return Grid(np.ascontiguousarray(conditions.edges), told.jobs_w, np.ascontiguousarray(cost), step_w)


def _drawn_w(problem: DayProblem, conditions: Conditions, it_w: Floats) -> Floats:
    most_w = problem.cooling.most_it_w if isinstance(problem.cooling, PueTable) else np.inf
    inside = np.minimum(it_w, most_w)  # a measured table refuses larger values
    return np.asarray(it_w + problem.cooling.watts(conditions.temp_c[:, None], inside[None, :]))


def _limits(problem: DayProblem, start: Ints) -> list[Limit]:
    tariff, conditions = problem.tariff, problem.conditions
    found = [(limit.start, limit.end, limit.most_kw, limit.penalty_per_kwh) for limit in tariff.limits]
    if tariff.contracted_kw is not None:
        found.append((conditions.start, conditions.end, tariff.contracted_kw, tariff.contract_penalty_per_kwh))
    if tariff.demand_per_kw > 0:
        a_quarter = tariff.demand_per_kw * 3600 / DEMAND_SPAN_S
        found.append((conditions.start, conditions.end, account_of(problem, start).peak_kw, a_quarter))
    return [(begin, end, most, LATE if price is None else price) for begin, end, most, price in found]


def _conditions_at(conditions: Conditions, edges: Ints) -> Conditions:
    series = (conditions.temp_c, conditions.price_per_kwh, conditions.gco2_per_kwh)
    temp_c, price, gco2 = (Series(conditions.edges, values).means(edges) for values in series)
    return Conditions(edges, temp_c, price, gco2, conditions.offset)


def _limit_costs(limits: list[Limit], quarters: Conditions, drawn_kw: Floats) -> Floats:
    cost = np.zeros(drawn_kw.shape)
    for start, end, most_kw, price in limits:
        inside = np.clip(np.minimum(quarters.edges[1:], end) - np.maximum(quarters.edges[:-1], start), 0, None)
        cost += price * np.maximum(drawn_kw - most_kw, 0) * inside[:, None] / 3600
    return cost


def cores_of(problem: DayProblem) -> Ints:
    """Cores of each job, (jobs,)."""
    jobs = problem.jobs
    return np.asarray(jobs.units * jobs.request[:, problem.platform.kinds.index(CORES)])


def added_w(problem: DayProblem) -> Floats:
    """W added by each job, (jobs,)."""
    return cores_of(problem) * problem.jobs.core_w


def most_added_w(problem: DayProblem) -> float:
    """Most W added by the jobs at any time."""
    whole_machine = problem.platform.cores * float(problem.jobs.core_w.max(initial=0.0))
    return min(float(added_w(problem).sum()), whole_machine)


def account_of(problem: DayProblem, start: Ints, downtime: Downtime | None = None) -> Account:
    """Day's account with jobs at `start` and running jobs; default: all nodes on."""
    jobs = problem.jobs
    finish = start + jobs.duration
    return _account(problem, start, finish, cores_of(problem), added_w(problem), jobs.income, downtime)


def account_of_running(problem: DayProblem) -> Account:
    """Day's account of running jobs."""
    nothing = np.zeros(0, dtype=np.int64)
    return _account(problem, nothing, nothing, nothing, np.zeros(0), np.zeros(0))


def _account(
    problem: DayProblem, start: Ints, finish: Ints, cores: Ints, watts: Floats, income: Floats,
    downtime: Downtime | None = None,
) -> Account:  # fmt: skip
    running, conditions = problem.running, problem.conditions
    busy = running.placed.units_of_jobs * running.request[:, problem.platform.kinds.index(CORES)]
    work = AccountedJobs(
        np.concatenate([running.start, start]),
        np.concatenate([running.finish, finish]),
        np.concatenate([busy, cores]),
        np.concatenate([busy * running.core_w, watts]),
        np.concatenate([running.income, income]),
    )
    machine = MachinePower.of_platform(problem.platform)
    return account(work, downtime or Downtime.none(), machine, conditions, problem.cooling, problem.tariff)


def price_per_j(problem: DayProblem) -> Floats:
    """Money a joule with CO2, (segments,)."""
    return price_of_joule(problem.conditions, problem.tariff)
