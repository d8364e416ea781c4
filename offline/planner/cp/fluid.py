"""Prices at which a day's market nearly clears, from a linear programme in which jobs are fluid.

Jobs that begin to be possible in the same hour, earn the same and take the same are one class; a class may spread its
core-seconds as it likes, and cooling is the lower convex hull of its curve. The prices are the programme's duals. They
prove nothing by themselves; `Market.bound` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.solver.lp import LinearProgram, solve_lp
from dardis.solver.result import Budget
from offline.planner.cp.market import Market, Prices
from offline.planner.day_account import cores_of

POWER_CLASSES = 8
"""Jobs are told apart by this many steps of the power of their cores."""
HULL_POINTS = 129
"""Points of the cost curve from which its hull is made."""


def fluid_prices(market: Market, budget: Budget) -> Prices | None:
    """The prices of the fluid day; None where there is no job, or none are found within the budget."""
    if not len(market.possible):
        return None
    classes = _Classes.of_market(market)
    segments, rooms = len(market.seconds), len(market.rows)
    hours = market.seconds / 3600
    amount = np.arange(classes.count * segments).reshape(classes.count, segments)
    power = amount.size + np.arange(segments)
    money = power + segments
    entries = _Entries()
    for place in range(classes.count):  # a class has no more than its core-hours
        entries.row(amount[place], np.ones(segments), -np.inf, float(classes.core_h[place]))
    for row in range(rooms):
        for s in range(segments):
            entries.row(amount[:, s], classes.demand[:, row], -np.inf, float(market.free[row, s]) / 3600)
    for s in range(segments):  # kW that is added, a mean
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
    """Classes of jobs, arrays of shape (classes,): core-hours in all, income and kW of a core."""

    core_h: Floats
    most_core_h: Floats
    """In each segment, (classes, segments)."""
    income: Floats
    core_kw: Floats
    demand: Floats
    """Of each row a core, (classes, rows)."""

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self.core_h)

    @classmethod
    def of_market(cls, market: Market) -> _Classes:
        """Put the jobs into classes."""
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
    """Rows of a linear programme, gathered."""

    def __init__(self) -> None:
        self._columns: list[Ints] = []
        self._values: list[Floats] = []
        self._bounds: list[tuple[float, float]] = []

    def row(self, columns: Ints, values: Floats, lower: float, upper: float) -> None:
        """One row more."""
        some = values != 0
        self._columns.append(columns[some])
        self._values.append(values[some])
        self._bounds.append((lower, upper))

    def program(self, objective: Floats, lower: Floats, upper: Floats) -> LinearProgram:
        """The programme of all rows."""
        row = np.repeat(np.arange(len(self._columns)), [len(columns) for columns in self._columns])
        bounds = np.array(self._bounds)
        column, value = np.concatenate(self._columns), np.concatenate(self._values)
        return LinearProgram(objective, lower, upper, row, column, value, bounds[:, 0], bounds[:, 1])


def _hull(market: Market, segment: int) -> list[tuple[float, float]]:
    """Lower convex hull of a segment's money an hour over the kW added: slope and value at 0 of each of its edges."""
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
