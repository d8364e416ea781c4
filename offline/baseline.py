"""The planner's opponents: the thesis's six rule-based set-ups (6.8), on the same jobs, told every runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from dardis.dispatch import CENTRAL_SETUPS, CentralDispatcher, CentralSetUp
from dardis.dispatch.setups import Ordering, checked
from dardis.model.job import Job
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.sim.central import CentralSimulation
from offline.planner.cp.money import account_of
from offline.planner.problem import Problem, Running

RULES: Final = ("rules-fcfs", "rules-wt", "rules-profit")


def rule_setups() -> dict[str, CentralSetUp]:
    """The three rules of thesis 6.3 (earliest start, walltime, profit), each strict and relaxed."""
    return {
        f"{name} {ordering}": checked(replace(CENTRAL_SETUPS[name], ordering=ordering))
        for name in RULES
        for ordering in Ordering
    }


def rule_based(jobs: Sequence[Job], running: Running, platform: Platform, setup: CentralSetUp, now: int) -> Schedule:
    """What a rule makes of the jobs from `now` on, beside what runs: in the order of the jobs, which are sorted here.

    A job's walltime is its runtime: the opponent knows as much as the planner.
    """
    dispatcher = CentralDispatcher(setup, platform, None, seed=1)
    for i in range(len(running.number)):
        span = slice(running.offsets[i], running.offsets[i + 1])
        dispatcher.occupy(
            running.nodes[span], running.node_units[span], running.request[i], now, int(running.finish[i])
        )
    told = sorted(
        (
            replace(
                job, submit=max(job.submit, now), earliest=max(job.earliest, now), walltime=job.duration,
                runtime=job.duration,
            )
            for job in jobs
        ),
        key=lambda job: (job.submit, job.number),
    )  # fmt: skip
    simulation = CentralSimulation(told, setup.event_order, dispatcher)
    simulation.run()
    return simulation.recorder.schedule(simulation.jobs, platform.kinds)


def best_rule(problem: Problem, jobs: Sequence[Job]) -> tuple[str, float]:
    """The set-up that earns most with the jobs of the problem, in its order, and its profit with all nodes on."""
    now = problem.conditions.start
    found = []
    for name, setup in rule_setups().items():
        schedule = rule_based(jobs, problem.running, problem.platform, setup, now)
        order = np.argsort(schedule.number)
        start = schedule.start[order[np.searchsorted(schedule.number[order], problem.jobs.number)]]
        found.append((account_of(problem, start).profit, name))
    profit, name = max(found)
    return name, profit
