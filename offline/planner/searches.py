"""Thesis's greedy searches (6.6, 6.7.1), job orders, and six rule-based setups (6.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from dardis.dispatch import CENTRAL_SETUPS, CentralDispatcher, CentralSetUp
from dardis.dispatch.setups import Ordering
from dardis.model.addresses import JobId
from dardis.model.arrays import Floats, Ints
from dardis.model.job import FOREVER, NO_TIME, ActualJob, Job
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.sim.simulation import Simulation
from dardis.turns import CentralTurns
from offline.planner.budget import Watch
from offline.planner.day_problem import DayProblem, ExpectedJob, Plan, RunningJobs
from offline.planner.money import account_of, added_w, cores_of, rank_of
from offline.planner.packing import Packing


def place_in_order(problem: DayProblem, order: Ints) -> Packing:
    """Algorithm 5: place the jobs in order, each at the earliest free start."""
    packing = Packing(problem)
    for job in order.tolist():
        packing.put(job)
    return packing


def plan_of(problem: DayProblem, packing: Packing, search: str) -> Plan:
    """Complete packing as a plan."""
    return Plan(packing.start, packing.placed(), rank_of(problem, packing.start)[1], search)


def heuristic(problem: DayProblem) -> Plan:
    """Thesis's first solution: algorithm 5 by earliest starts."""
    return plan_of(problem, place_in_order(problem, order_of(problem, "earliest start")), "heuristic")


def multi_search(problem: DayProblem, watch: Watch) -> tuple[Plan, Ints]:
    """Algorithm 6: the heuristic's best plan over all orders (at least one), and the order."""
    best, order, rank = heuristic(problem), order_of(problem, "earliest start"), -float("inf")
    with watch.interruptible():
        for name, jobs in _all_orders(problem).items():
            if watch.over():
                break
            packing = place_in_order(problem, jobs)
            found = rank_of(problem, packing.start)[0]
            if found > rank:
                best, order, rank = plan_of(problem, packing, f"multi-search, {name}"), jobs, found
            watch.progress(f"multi-search, {name}", best.profit, None)
    return replace(best, stopped_by=watch.stopped_by), order


Key = Callable[[DayProblem], Floats | Ints]


def _latest(problem: DayProblem) -> Ints:
    return np.where(problem.jobs.latest == NO_TIME, FOREVER, problem.jobs.latest)


def _of_a_node(problem: DayProblem) -> Floats:
    most = np.maximum(problem.platform.group_capacity.max(axis=0), 1)
    return np.asarray((problem.jobs.request / most).sum(axis=1))


def _of_all_units(problem: DayProblem) -> Floats:
    return _of_a_node(problem) * problem.jobs.units


def _power_over_profit(problem: DayProblem) -> Floats:
    income = cores_of(problem) * problem.jobs.income
    return np.where(income > 0, added_w(problem) / np.maximum(income, 1e-300), np.inf)


def _none(problem: DayProblem) -> Ints:
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
"""Sort key and tie-breaker by name."""


def order_of(problem: DayProblem, name: str, *, decreasing: bool = False) -> Ints:
    """Job indices in this order; `decreasing` does not reverse tie-breaks."""
    key, ties = ORDERS[name]
    values = key(problem)
    return np.lexsort((ties(problem), -values if decreasing else values)).astype(np.int64)


def _all_orders(problem: DayProblem) -> dict[str, Ints]:
    return {
        f"{name}, {'decreasing' if decreasing else 'increasing'}": order_of(problem, name, decreasing=decreasing)
        for name in ORDERS
        for decreasing in (False, True)
    }


RULES: Final = ("rules-fcfs", "rules-wt", "rules-profit")


def rule_setups() -> dict[str, CentralSetUp]:
    """Rules of thesis 6.3 (earliest start, walltime, profit), strict and relaxed."""
    return {
        f"{name} {ordering}": replace(CENTRAL_SETUPS[name], ordering=ordering).checked()
        for name in RULES
        for ordering in Ordering
    }


def schedule_by_rule(
    jobs: Sequence[ExpectedJob], running: RunningJobs, platform: Platform, setup: CentralSetUp, now: int
) -> Schedule:
    """Schedule jobs by a rule from `now` on, beside running jobs, in sorted order.

    Jobs run as expected, with that time as walltime: equal knowledge for rule and planner.
    """
    dispatcher = CentralDispatcher(setup, platform, None, seed=1)
    for nodes, units, request, begin, end in running.holdings(platform, now):
        dispatcher.occupy(nodes, units, request, begin, end)

    def told(job: ExpectedJob) -> ActualJob:
        submit, earliest = max(job.job.submit, now), max(job.job.earliest, now)
        asked = replace(job.job, submit=submit, earliest=earliest, walltime=job.duration)
        return ActualJob(asked, job.duration)

    arrivals = sorted(map(told, jobs), key=lambda job: (job.submit, job.number))
    simulation = Simulation(arrivals, CentralTurns(setup.event_order, dispatcher))
    simulation.run()
    return simulation.recorder.schedule(simulation.jobs, platform.kinds)


def rule_plans(problem: DayProblem) -> Iterator[Plan]:
    """Yield plans of each setup. ValueError as in `Packing.put`."""
    jobs, platform, now = problem.jobs, problem.platform, problem.conditions.start
    told = [_job(problem, place) for place in range(len(jobs.number))]
    for name, setup in rule_setups().items():
        schedule = schedule_by_rule(told, problem.running, platform, setup, now)
        for number in schedule.number[~schedule.ran].tolist():
            raise ValueError(f"job {number} is too large for the machine")
        order = np.argsort(schedule.number)
        place = order[np.searchsorted(schedule.number[order], jobs.number)]
        start = schedule.start[place]
        profit = account_of(problem, start).profit
        yield Plan(start, schedule.placed.take(place), profit, name)


def _job(problem: DayProblem, place: int) -> ExpectedJob:
    jobs = problem.jobs
    submit, latest, duration = (int(x[place]) for x in (jobs.submit, jobs.latest, jobs.duration))
    asked = Job(
        JobId(int(jobs.number[place])), submit, int(jobs.earliest[place]), None if latest == NO_TIME else latest,
        duration, int(jobs.units[place]), tuple(jobs.request[place].tolist()), int(jobs.groups[place]),
    )  # fmt: skip
    return ExpectedJob(asked, duration)
