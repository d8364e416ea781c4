"""Proves a bound on a day's profit by prices of power and room.

Jobs pay `power` for joules and `room` for capacity, and start at their best times. A supplier sells power; the machine
sells room. For any prices (`room` at least 0), no plan earns more than the three together (weak duality). Omitted, on
the safe side: packing, latest starts, demand charges, penalties and power limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.power.cooling import PueTable
from dardis.solver.milp import LinearProgram, solve_lp
from dardis.solver.result import Budget
from offline.planner.cp.capacity_model import CapacityRow, able_groups, rows
from offline.planner.day_problem import DayProblem
from offline.planner.money import account_of_running, added_w, cores_of, most_added_w, price_per_j

LEVELS = 8192
"""IT power levels; between two, the cheaper cooling applies."""

_BLOCK = 2_000


@dataclass(frozen=True)
class Prices:
    """`power` (segments,): money a joule. `room` (rows, segments): money a second for a unit of a row's kind."""

    power: Floats
    capacity: Floats


@dataclass(frozen=True)
class Market:
    """Problem's data for the market; arrays (segments,) unless stated."""

    problem: DayProblem
    edges: Ints
    rows: list[CapacityRow]
    base_w: Floats
    """IT power of idle nodes and running jobs."""
    base_income: float
    free: Floats
    """Integral of free capacity, (rows, segments)."""
    levels_w: Floats
    """(levels,)."""
    cost: Floats
    """Money a second, (segments, levels)."""
    watts: Floats
    """Of jobs, (jobs,)."""
    income_rate: Floats
    """Of jobs, money a second, (jobs,)."""
    possible: Ints
    """Jobs that fit a node and may start in the day."""

    @classmethod
    def of_problem(cls, problem: DayProblem) -> Market:
        """Derive the market's data from a problem."""
        base, edges = account_of_running(problem), problem.conditions.edges
        found = rows(problem)
        free = np.array([row.means(edges) for row in found], dtype=np.float64).reshape(len(found), len(edges) - 1)
        levels = _power_reach(problem, base.it_w, LEVELS)
        cooling = problem.cooling.watts(problem.conditions.temp_c[:, None], levels[None, :])
        cost = price_per_j(problem)[:, None] * (levels[None, :] + cooling)
        watts, earned = added_w(problem), cores_of(problem) * problem.jobs.income / 3600
        possible = np.flatnonzero(np.array(able_groups(problem), dtype=bool) & (problem.jobs.earliest < edges[-1]))
        return cls(problem, edges, found, base.it_w, base.income_eur, free, levels, cost, watts, earned, possible)

    @property
    def seconds(self) -> Ints:
        """Length of the segments."""
        return np.diff(self.edges)

    def bound(self, prices: Prices) -> float:
        """Upper bound on the profit of any plan."""
        bound, _, _ = self.bound_and_demand(prices)
        return bound

    def bound_and_demand(self, prices: Prices) -> tuple[float, Floats, Floats]:
        """Bound, and excess demand for power (W·s) and rows.

        Excess demand is the bound's slope.
        """
        gain, asked_power, asked_room = self._jobs(prices)
        sold, level = self._supplier(prices.power)
        letting = (prices.capacity * self.free).sum()
        supplied = (level - self.base_w) * self.seconds
        total = self.base_income + gain + sold.sum() + letting
        safe = 1e-11 * (abs(self.base_income) + abs(gain) + np.abs(sold).sum() + letting)
        return float(total + safe), asked_power - supplied, asked_room - self.free

    def _supplier(self, power: Floats) -> tuple[Floats, Floats]:
        above = self.levels_w[None, :] - self.base_w[:, None]
        revenue = power[:, None] * above
        # Between two levels: the better revenue and the lower cost.
        most = np.maximum(revenue[:, :-1], revenue[:, 1:]) - np.minimum(self.cost[:, :-1], self.cost[:, 1:])
        most = np.where(above[:, 1:] >= 0, most, -np.inf)
        best = most.argmax(axis=1)
        rows_ = np.arange(len(power))
        level = np.maximum(self.levels_w[best], self.base_w)
        return most[rows_, best] * self.seconds, level

    def _jobs(self, prices: Prices) -> tuple[float, Floats, Floats]:
        gain, power = 0.0, np.zeros(len(self.seconds))
        room = np.zeros((len(self.rows), len(self.seconds)))
        for first in range(0, len(self.possible), _BLOCK):
            block = self.possible[first : first + _BLOCK]
            surplus, start = self.best_starts(block, prices)
            runs = surplus > 0
            gain += float(surplus[runs].sum())
            overlap = self.overlaps(block[runs], start[runs])
            power += self.watts[block[runs]] @ overlap
            for place, row in enumerate(self.rows):
                room[place] += row.demand[block[runs]] @ overlap
        return gain, power, room

    def best_starts(self, block: Ints, prices: Prices) -> tuple[Floats, Ints]:
        """Best gains and starts of jobs. Gains are linear between candidates."""
        jobs, edges = self.problem.jobs, self.edges
        earliest, duration = jobs.earliest[block, None], jobs.duration[block, None]
        wished = np.concatenate([np.tile(edges, (len(block), 1)), edges[None, :] - duration], axis=1)
        start = np.maximum(wished, earliest)
        gain = self.income_rate[block, None] * self._between(start, duration, np.ones(len(self.seconds)))
        gain -= self.watts[block, None] * self._between(start, duration, prices.power)
        for row, price in zip(self.rows, prices.capacity, strict=True):
            if price.any():
                gain -= row.demand[block, None] * self._between(start, duration, price)
        best = gain.argmax(axis=1)
        each = np.arange(len(block))
        return gain[each, best], start[each, best]

    def _between(self, start: Ints, duration: Ints, rate: Floats) -> Floats:
        whole = np.concatenate([[0.0], np.cumsum(rate * self.seconds)])
        return np.asarray(np.interp(start + duration, self.edges, whole) - np.interp(start, self.edges, whole))

    def overlaps(self, block: Ints, start: Ints) -> Floats:
        """Seconds of jobs in segments, (jobs, segments)."""
        finish = start + self.problem.jobs.duration[block]
        low = np.maximum(start[:, None], self.edges[None, :-1])
        high = np.minimum(finish[:, None], self.edges[None, 1:])
        return np.asarray(np.maximum(high - low, 0), dtype=np.float64)


def _power_reach(problem: DayProblem, base_w: Floats, count: int) -> Floats:
    low = float(base_w.min())
    high = float(base_w.max()) + most_added_w(problem)
    inner = np.zeros(0)
    if isinstance(problem.cooling, PueTable):
        high = min(high, problem.cooling.most_it_w)
        inner = problem.cooling.it_w
    points = np.linspace(low, max(high, low + 1.0), count)
    return np.unique(np.concatenate([points, inner[(inner > low) & (inner < high)]]))


POWER_CLASSES = 8
"""Core power steps to classify jobs."""
HULL_POINTS = 129


def fluid_prices(market: Market, budget: Budget) -> Prices | None:
    """Prices of the fluid relaxation, if found within the budget."""
    if not len(market.possible):
        return None
    classes = _Classes.of_market(market)
    segments, rooms = len(market.seconds), len(market.rows)
    hours = market.seconds / 3600
    amount = np.arange(classes.count * segments).reshape(classes.count, segments)
    power = amount.size + np.arange(segments)
    money = power + segments
    entries = _Entries()
    for place in range(classes.count):  # a class has at most its core-hours
        entries.row(amount[place], np.ones(segments), -np.inf, float(classes.core_h[place]))
    for row in range(rooms):
        for s in range(segments):
            entries.row(amount[:, s], classes.demand[:, row], -np.inf, float(market.free[row, s]) / 3600)
    for s in range(segments):  # mean kW added
        columns, values = np.append(amount[:, s], power[s]), np.append(classes.core_kw / hours[s], -1.0)
        entries.row(columns, values, 0.0, 0.0)
    for s in range(segments):
        for slope, least in _hull(market, s):
            entries.row(np.array([money[s], power[s]]), np.array([1.0, -slope]), least, np.inf)
    objective = np.concatenate([np.repeat(classes.income, segments), np.zeros(segments), -hours])
    lower = np.concatenate([np.zeros(amount.size), np.full(2 * segments, -np.inf)])
    upper = np.concatenate([classes.most_core_h.ravel(), np.full(2 * segments, np.inf)])
    answer = solve_lp(entries.program(objective, lower, upper), budget)
    if not answer.result.found:
        return None
    room = answer.duals[classes.count :][: rooms * segments].reshape(rooms, segments)
    rate = answer.duals[classes.count + rooms * segments :][:segments]
    return Prices(rate / (1000 * market.seconds), np.maximum(room, 0) / 3600)


@dataclass(frozen=True)
class _Classes:
    """Classes of jobs, (classes,): total core-hours, income and kW of a core."""

    core_h: Floats
    most_core_h: Floats
    """(classes, segments)."""
    income: Floats
    core_kw: Floats
    demand: Floats
    """Of a core, (classes, rows)."""

    @property
    def count(self) -> int:
        return len(self.core_h)

    @classmethod
    def of_market(cls, market: Market) -> _Classes:
        block, jobs, edges = market.possible, market.problem.jobs, market.edges
        cores = np.maximum(cores_of(market.problem)[block], 1)
        begin = np.searchsorted(edges, jobs.earliest[block], side="right")
        watts = jobs.core_w[block]
        step = max(float(np.ptp(watts)) if len(watts) else 0.0, 1e-9) / POWER_CLASSES
        takes = [(row.demand[block] > 0).astype(np.int64) for row in market.rows]
        key = np.stack([begin, np.round(watts / step), np.round(jobs.income[block] * 1e6), *takes]).astype(np.int64)
        _, place, of = np.unique(key, axis=1, return_index=True, return_inverse=True)
        count = len(place)
        available = np.clip(edges[1:] - np.maximum(jobs.earliest[block, None], edges[:-1]), 0, None)
        most = cores[:, None] * np.minimum(available, jobs.duration[block, None]) / 3600
        total = cores * np.minimum(jobs.duration[block], edges[-1] - edges[0]) / 3600
        size = np.bincount(of, total, count).astype(np.float64)

        def mean(values: Floats) -> Floats:
            return np.bincount(of, values * total, count) / np.maximum(size, 1e-12)

        demand = [mean(row.demand[block] / cores) for row in market.rows]
        most_core_h = np.zeros((count, len(edges) - 1))
        np.add.at(most_core_h, of, most)
        return cls(
            size,
            most_core_h,
            jobs.income[block][place],
            mean(watts) / 1000,
            np.array(demand).reshape(len(demand), count).T,
        )


class _Entries:
    def __init__(self) -> None:
        self._columns: list[Ints] = []
        self._values: list[Floats] = []
        self._bounds: list[tuple[float, float]] = []

    def row(self, columns: Ints, values: Floats, lower: float, upper: float) -> None:
        some = values != 0
        self._columns.append(columns[some])
        self._values.append(values[some])
        self._bounds.append((lower, upper))

    def program(self, objective: Floats, lower: Floats, upper: Floats) -> LinearProgram:
        row = np.repeat(np.arange(len(self._columns)), [len(columns) for columns in self._columns])
        bounds = np.array(self._bounds)
        column, value = np.concatenate(self._columns), np.concatenate(self._values)
        return LinearProgram(objective, lower, upper, row, column, value, bounds[:, 0], bounds[:, 1])


def _hull(market: Market, segment: int) -> list[tuple[float, float]]:
    there = np.flatnonzero(market.levels_w >= market.base_w[segment])
    chosen = there[np.unique(np.linspace(0, len(there) - 1, HULL_POINTS).astype(np.int64))]
    points: list[tuple[float, float]] = []
    kw = (market.levels_w[chosen] - market.base_w[segment]) / 1000
    for x, y in zip(kw.tolist(), (market.cost[segment, chosen] * 3600).tolist(), strict=True):
        while len(points) > 1 and not _turns_left(points[-2], points[-1], (x, y)):
            points.pop()
        points.append((x, y))
    return [((d - b) / (c - a), b - a * (d - b) / (c - a)) for (a, b), (c, d) in pairwise(points)]


def _turns_left(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > 1e-12
