"""The orders in which a search may place jobs: the eleven of the thesis (6.7.1), each both ways."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.job import FOREVER, NO_TIME
from offline.planner.day_account import added_w, cores_of
from offline.planner.problem import Problem

Key = Callable[[Problem], Floats | Ints]


def _latest(problem: Problem) -> Ints:
    return np.where(problem.jobs.latest == NO_TIME, FOREVER, problem.jobs.latest)


def _of_a_node(problem: Problem) -> Floats:
    """What a unit asks for, of each kind as a share of what any node has most of it, in sum."""
    most = np.maximum(problem.platform.group_capacity.max(axis=0), 1)
    return np.asarray((problem.jobs.request / most).sum(axis=1))


def _of_all_units(problem: Problem) -> Floats:
    return _of_a_node(problem) * problem.jobs.units


def _power_over_profit(problem: Problem) -> Floats:
    income = cores_of(problem) * problem.jobs.income
    return np.where(income > 0, added_w(problem) / np.maximum(income, 1e-300), np.inf)


def _none(problem: Problem) -> Ints:
    return np.zeros(len(problem.jobs.number), dtype=np.int64)


ORDERS: dict[str, tuple[Key, Key]] = {
    "earliest start": (lambda problem: problem.jobs.earliest, _none),
    "duration": (lambda problem: problem.jobs.duration, _none),
    "latest start": (_latest, _none),
    "job units": (lambda problem: problem.jobs.units, _none),
    "resources per node": (_of_a_node, _none),
    "total resources": (_of_all_units, _none),
    "total resources x duration": (lambda problem: _of_all_units(problem) * problem.jobs.duration, _none),
    "power": (added_w, _none),
    "power / profit": (_power_over_profit, _none),
    "power / profit, shorter first": (_power_over_profit, lambda problem: problem.jobs.duration),
    "power / profit, longer first": (_power_over_profit, lambda problem: -problem.jobs.duration),
}
"""Name to what jobs are ordered by and what decides ties; what ties then stays in the order of the jobs."""


def order_of(problem: Problem, name: str, *, decreasing: bool = False) -> Ints:
    """The places of the jobs in this order; the way that ties are decided does not turn."""
    key, ties = ORDERS[name]
    values = key(problem)
    return np.lexsort((ties(problem), -values if decreasing else values)).astype(np.int64)


def all_orders(problem: Problem) -> dict[str, Ints]:
    """Every order both ways, by name."""
    return {
        f"{name}, {'decreasing' if decreasing else 'increasing'}": order_of(problem, name, decreasing=decreasing)
        for name in ORDERS
        for decreasing in (False, True)
    }
