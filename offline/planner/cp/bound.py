"""Proven upper bound on a day's profit with all nodes on.

Plans with nodes off may exceed the bound by the saved idle power.
"""

from __future__ import annotations

import numpy as np

from dardis.model.placements import Placements
from dardis.solver.cpsat import solve
from dardis.solver.result import Budget
from offline.planner.cp import model
from offline.planner.cp.market import Market, Prices, fluid_prices
from offline.planner.day_problem import DayProblem, Plan
from offline.planner.money import price_per_j

EXACT_JOBS = 20
"""Most jobs for CP-SAT; the market's bound is far better on larger days."""
_COLUMN_W = 100
_PATIENCE = 8
"""Steps without a better bound before the step size halves."""


def bound(problem: DayProblem, *, steps: int = 60, deterministic_s: float = 10.0, guard_s: float = 60.0) -> float:
    """Market's best bound after `steps` steps, or CP-SAT's if lower."""
    market = Market.of_problem(problem)
    most = lowest_bound(market, fluid_prices(market, Budget(deterministic_s, guard_s)) or idle_prices(market), steps)
    if 0 < len(problem.jobs.number) <= EXACT_JOBS:
        most = min(most, exact_bound(problem, Budget(deterministic_s, guard_s)))
    return most


def idle_prices(market: Market) -> Prices:
    """Prices without jobs: power at cost, room free."""
    power = price_per_j(market.problem)
    return Prices(power, np.zeros_like(market.free))


def lowest_bound(market: Market, prices: Prices, steps: int) -> float:
    """Follow demand with the prices; return the lowest bound."""
    whole_w = np.maximum(market.levels_w[-1] - market.base_w, 1.0) * market.seconds
    whole_room = np.maximum(market.free, max(market.free.mean() if market.free.size else 0.0, 1.0))
    best, power, room = market.bound_and_demand(prices)
    best_prices, now, hoped, worse = prices, best, 0.005 * abs(best), 0
    for _ in range(steps):
        power, room = power / whole_w, room / whole_room
        slope = float((power**2).sum() + (room**2).sum())
        if slope == 0:
            break
        step = (now - best + hoped) / slope
        prices = Prices(
            prices.power + step * power / whole_w, np.maximum(prices.capacity + step * room / whole_room, 0)
        )
        now, power, room = market.bound_and_demand(prices)
        worse = 0 if now < best else worse + 1
        if now < best:
            best, best_prices = now, prices
        elif worse == _PATIENCE:
            hoped, worse, prices = hoped / 2, 0, best_prices
            now, power, room = market.bound_and_demand(prices)
    return best


def exact_bound(problem: DayProblem, budget: Budget) -> float:
    """CP-SAT's bound on the optimistically rounded model; infinite if none."""
    day = model.DayModel(problem, model.unmerged_segments(problem), optimistic=True, column_w=_COLUMN_W)
    model.add_starts(day)
    model.add_capacity_rows(day)
    model.add_profit(day)
    day.maximize_profit()
    nowhere = Placements.none(len(day.start))
    # The trivial plan, with all jobs on another day: CP-SAT gives a bound only with a solution.
    model.add_hints(day, Plan(day.latest, nowhere, 0.0, "none"))
    proven = solve(day.model, budget).result.bound
    fixed = model.fixed_money(problem)
    return np.inf if proven is None else fixed + proven / model.MONEY + 1e-9 * (1 + abs(fixed))
