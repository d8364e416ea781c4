"""The planner's opponents: the thesis's six rule-based set-ups (6.8), on the same jobs, told every runtime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from dardis.dispatch import CENTRAL_SETUPS, CentralDispatcher, CentralSetUp
from dardis.dispatch.setups import Ordering
from dardis.model.addresses import JobId
from dardis.model.job import NO_TIME, Actual, Job
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.sim.simulation import Simulation
from dardis.turns import CentralTurns
from offline.planner.day_account import account_of
from offline.planner.problem import Expected, Plan, Problem, Running

RULES: Final = ("rules-fcfs", "rules-wt", "rules-profit")


def rule_setups() -> dict[str, CentralSetUp]:
    """The three rules of thesis 6.3 (earliest start, walltime, profit), each strict and relaxed."""
    return {
        f"{name} {ordering}": replace(CENTRAL_SETUPS[name], ordering=ordering).checked()
        for name in RULES
        for ordering in Ordering
    }


def rule_based(
    jobs: Sequence[Expected], running: Running, platform: Platform, setup: CentralSetUp, now: int
) -> Schedule:
    """What a rule makes of the jobs from `now` on, beside what runs: in the order of the jobs, which are sorted here.

    A job runs as expected, and that is its walltime: the opponent knows as much as the planner. The dispatcher is made
    here, not by the registry, since nobody else has to begin on nodes that hold something.
    """
    dispatcher = CentralDispatcher(setup, platform, None, seed=1)
    for nodes, units, request, begin, end in running.held(platform, now):
        dispatcher.occupy(nodes, units, request, begin, end)

    def told(job: Expected) -> Actual:
        submit, earliest = max(job.asked.submit, now), max(job.asked.earliest, now)
        asked = replace(job.asked, submit=submit, earliest=earliest, walltime=job.duration)
        return Actual(asked, job.duration)

    arrivals = sorted(map(told, jobs), key=lambda job: (job.submit, job.number))
    simulation = Simulation(arrivals, CentralTurns(setup.event_order, dispatcher))
    simulation.run()
    return simulation.recorder.schedule(simulation.jobs, platform.kinds)


def rule_plans(problem: Problem) -> Iterator[Plan]:
    """What each set-up makes of the jobs of a problem, as plans named by it. ValueError as in `Packing.put`."""
    jobs, platform, now = problem.jobs, problem.platform, problem.conditions.start
    told = [_job(problem, place) for place in range(len(jobs.number))]
    for name, setup in rule_setups().items():
        schedule = rule_based(told, problem.running, platform, setup, now)
        for number in schedule.number[~schedule.ran].tolist():
            raise ValueError(f"job {number} is too large for the machine")
        order = np.argsort(schedule.number)
        place = order[np.searchsorted(schedule.number[order], jobs.number)]
        start = schedule.start[place]
        profit = account_of(problem, start).profit
        yield Plan(start, schedule.placed.take(place), profit, name)


def _job(problem: Problem, place: int) -> Expected:
    """A job of a problem, whose walltime is as long as it is expected to run."""
    jobs = problem.jobs
    submit, latest, duration = (int(x[place]) for x in (jobs.submit, jobs.latest, jobs.duration))
    asked = Job(
        JobId(int(jobs.number[place])), submit, int(jobs.earliest[place]), None if latest == NO_TIME else latest,
        duration, int(jobs.units[place]), tuple(jobs.request[place].tolist()), int(jobs.groups[place]),
    )  # fmt: skip
    return Expected(asked, duration)
