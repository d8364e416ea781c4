"""A plan as a schedule, so that `dardis.metrics.audit` can judge it like any other."""

from __future__ import annotations

import numpy as np

from dardis.model.job import NO_TIME, Status
from dardis.model.placements import Placements
from dardis.model.schedule import Schedule
from offline.planner.problem import Plan, Problem


def schedule_of(problem: Problem, plan: Plan) -> Schedule:
    """All jobs of a plan and those that run already, by submission; what is expected to run is taken as what ran."""
    jobs, running = problem.jobs, problem.running
    number, submit = np.concatenate([jobs.number, running.number]), np.concatenate([jobs.submit, running.submit])
    order = np.lexsort((number, submit))
    start = np.concatenate([plan.start, running.start])
    finish = np.concatenate([plan.start + jobs.duration, running.finish])
    count = len(order)
    return Schedule(
        kinds=problem.platform.kinds,
        number=number[order],
        submit=submit[order],
        earliest=np.concatenate([jobs.earliest, running.start])[order],
        latest=np.concatenate([jobs.latest, np.full(len(running.number), NO_TIME)])[order],
        walltime=(finish - start)[order],
        units=np.concatenate([jobs.units, running.placed.units_of_jobs])[order],
        request=np.concatenate([jobs.request, running.request])[order],
        status=np.full(count, Status.COMPLETED, dtype=np.int8),
        start=start[order],
        finish=finish[order],
        attempts=np.ones(count, dtype=np.int64),
        placed=Placements.of_parts([plan.placed, running.placed]).take(order),
        queue=[""] * count,
        user=[""] * count,
    )
