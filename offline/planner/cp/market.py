"""A day as a market: what a plan can bring at most, proven by prices of power and of room for each segment.

Let every job pay `power` for its joules and `room` for what it takes of each row of capacity, and start whenever that
suits it best; let a supplier sell any power at `power`, and the machine its room. Whatever the prices (`room` not below
0), no plan brings more than these three earn together (weak duality). So a bound needs no trust in the solver that
proposed its prices. Left out, to the safe side: packing units on nodes, latest starts, demand charges, penalties and
limits of power.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.power.cooling import PueTable
from offline.planner.cp.capacity import Row, able_groups, rows
from offline.planner.day_account import account_of_running, added_w, cores_of, most_added_w, price_per_j
from offline.planner.problem import Problem

LEVELS = 8192
"""IT powers that are looked at; between two of them cooling is taken to be as cheap as at either (it ascends)."""

_BLOCK = 2_000
"""Jobs that look for their starts at a time: what bounds the memory."""


@dataclass(frozen=True)
class Prices:
    """`power` (segments,) is money a joule, `room` (rows, segments) money for one of a row's kind, a second."""

    power: Floats
    room: Floats


@dataclass(frozen=True)
class Market:
    """The parts of a problem that prices speak of; arrays of shape (segments,) unless stated."""

    problem: Problem
    edges: Ints
    rows: list[Row]
    base_w: Floats
    """IT power of idle nodes and what runs already."""
    base_income: float
    free: Floats
    """Integral of what is free, (rows, segments)."""
    levels_w: Floats
    """IT powers that may be drawn, (levels,)."""
    cost: Floats
    """Money a second at each level, (segments, levels)."""
    watts: Floats
    """Of the jobs, (jobs,)."""
    earned: Floats
    """Of the jobs, money a second, (jobs,)."""
    possible: Ints
    """The jobs that some node holds and that may start before the day is over."""

    @classmethod
    def of_problem(cls, problem: Problem) -> Market:
        """Lay out a problem."""
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
        """Profit that no plan exceeds."""
        bound, _, _ = self.answer(prices)
        return bound

    def answer(self, prices: Prices) -> tuple[float, Floats, Floats]:
        """The bound, and what is asked beyond what is there at these prices: power (W·s), and of each row.

        The latter are the slopes of the bound: a price whose good is in demand should rise.
        """
        gain, asked_power, asked_room = self._jobs(prices)
        sold, level = self._supplier(prices.power)
        letting = (prices.room * self.free).sum()
        supplied = (level - self.base_w) * self.seconds
        total = self.base_income + gain + sold.sum() + letting
        safe = 1e-11 * (abs(self.base_income) + abs(gain) + np.abs(sold).sum() + letting)
        return float(total + safe), asked_power - supplied, asked_room - self.free

    def _supplier(self, power: Floats) -> tuple[Floats, Floats]:
        """The most that selling power brings in each segment, and the level at which it does, nearly."""
        above = self.levels_w[None, :] - self.base_w[:, None]
        revenue = power[:, None] * above
        # Between two levels: the better revenue and the lower cost of both.
        most = np.maximum(revenue[:, :-1], revenue[:, 1:]) - np.minimum(self.cost[:, :-1], self.cost[:, 1:])
        most = np.where(above[:, 1:] >= 0, most, -np.inf)
        best = most.argmax(axis=1)
        rows_ = np.arange(len(power))
        level = np.maximum(self.levels_w[best], self.base_w)
        return most[rows_, best] * self.seconds, level

    def _jobs(self, prices: Prices) -> tuple[float, Floats, Floats]:
        """What all jobs gain at their best starts, and the power and the room that they then ask for."""
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
        """The start at which each of some jobs gains most, and how much. Gains are linear between the candidates."""
        jobs, edges = self.problem.jobs, self.edges
        earliest, duration = jobs.earliest[block, None], jobs.duration[block, None]
        wished = np.concatenate([np.tile(edges, (len(block), 1)), edges[None, :] - duration], axis=1)
        start = np.maximum(wished, earliest)
        gain = self.earned[block, None] * self._between(start, duration, np.ones(len(self.seconds)))
        gain -= self.watts[block, None] * self._between(start, duration, prices.power)
        for row, price in zip(self.rows, prices.room, strict=True):
            if price.any():
                gain -= row.demand[block, None] * self._between(start, duration, price)
        best = gain.argmax(axis=1)
        each = np.arange(len(block))
        return gain[each, best], start[each, best]

    def _between(self, start: Ints, duration: Ints, rate: Floats) -> Floats:
        """Integral of a rate of the segments while a job runs."""
        whole = np.concatenate([[0.0], np.cumsum(rate * self.seconds)])
        return np.asarray(np.interp(start + duration, self.edges, whole) - np.interp(start, self.edges, whole))

    def overlaps(self, block: Ints, start: Ints) -> Floats:
        """Seconds in each segment of some jobs that begin at `start`, (jobs, segments)."""
        finish = start + self.problem.jobs.duration[block]
        low = np.maximum(start[:, None], self.edges[None, :-1])
        high = np.minimum(finish[:, None], self.edges[None, 1:])
        return np.asarray(np.maximum(high - low, 0), dtype=np.float64)


def _power_reach(problem: Problem, base_w: Floats, count: int) -> Floats:
    """IT powers (W) from the least to the most that the day may see, `count` of them or some more.

    They hold the columns of a measured table, between which cooling is linear, and end where the table does.
    """
    low = float(base_w.min())
    high = float(base_w.max()) + most_added_w(problem)
    inner = np.zeros(0)
    if isinstance(problem.cooling, PueTable):
        high = min(high, problem.cooling.most_it_w)
        inner = problem.cooling.it_w
    points = np.linspace(low, max(high, low + 1.0), count)
    return np.unique(np.concatenate([points, inner[(inner > low) & (inner < high)]]))
