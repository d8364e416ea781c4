"""What planned starts bring in their day, by the exact account; and the cores, watts and prices that it is made of."""

from __future__ import annotations

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.downtime import Downtime
from dardis.model.resources import CORES
from dardis.power.account import Account, Work, account
from dardis.power.joule import price_of_joule
from dardis.power.nodes import MachinePower
from offline.planner.problem import Problem


def cores_of(problem: Problem) -> Ints:
    """Cores of each whole job, shape (jobs,)."""
    jobs = problem.jobs
    return np.asarray(jobs.units * jobs.request[:, problem.platform.kinds.index(CORES)])


def added_w(problem: Problem) -> Floats:
    """W that each whole job adds to its nodes, shape (jobs,)."""
    return cores_of(problem) * problem.jobs.core_w


def most_added_w(problem: Problem) -> float:
    """W that the jobs add at most, at any time."""
    whole_machine = problem.platform.cores * float(problem.jobs.core_w.max(initial=0.0))
    return min(float(added_w(problem).sum()), whole_machine)


def account_of(problem: Problem, start: Ints, downtime: Downtime | None = None) -> Account:
    """The day's account if the jobs begin at `start`, with what runs already; by default with all nodes on."""
    jobs = problem.jobs
    finish = start + jobs.duration
    return _account(problem, start, finish, cores_of(problem), added_w(problem), jobs.income, downtime)


def account_of_running(problem: Problem) -> Account:
    """The day's account of what runs already, alone."""
    nothing = np.zeros(0, dtype=np.int64)
    return _account(problem, nothing, nothing, nothing, np.zeros(0), np.zeros(0))


def _account(
    problem: Problem, start: Ints, finish: Ints, cores: Ints, watts: Floats, income: Floats,
    downtime: Downtime | None = None,
) -> Account:  # fmt: skip
    running, conditions = problem.running, problem.conditions
    busy = running.placed.units_of_jobs * running.request[:, problem.platform.kinds.index(CORES)]
    work = Work(
        np.concatenate([running.start, start]),
        np.concatenate([running.finish, finish]),
        np.concatenate([busy, cores]),
        np.concatenate([busy * running.core_w, watts]),
        np.concatenate([running.income, income]),
    )
    machine = MachinePower.of_platform(problem.platform)
    return account(work, downtime or Downtime.none(), machine, conditions, problem.cooling, problem.tariff)


def price_per_j(problem: Problem) -> Floats:
    """Money for a joule in each segment, CO2 included, shape (segments,)."""
    return price_of_joule(problem.conditions, problem.tariff)
