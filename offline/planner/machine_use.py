"""Plan's use of cores and nodes over time."""

from __future__ import annotations

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.placements import Placements, offsets_of
from dardis.model.resources import CORES
from dardis.model.step_function import StepFunction
from offline.onoff.spans import BusySpans, Spans, busy_spans
from offline.planner.day_problem import DayProblem, Plan
from offline.planner.money import cores_of


def cores_used(problem: DayProblem, start: Ints) -> StepFunction:
    """Cores of planned and running jobs."""
    running = problem.running
    busy = running.placed.units_of_jobs * running.request[:, problem.platform.kinds.index(CORES)]
    return StepFunction.from_spans(
        np.concatenate([running.start, start]),
        np.concatenate([running.finish, start + problem.jobs.duration]),
        np.concatenate([busy, cores_of(problem)]),
    )


def node_spans(problem: DayProblem, plan: Plan, more: Spans | None = None) -> BusySpans:
    """Spans of nodes with jobs, or in use by `more`."""
    running = problem.running
    taken = more or Spans(*[np.zeros(0, dtype=np.int64)] * 3)
    each = np.ones(len(taken.node), dtype=np.int64)
    return busy_spans(
        np.concatenate([plan.start, running.start, taken.start]),
        np.concatenate([plan.start + problem.jobs.duration, running.finish, taken.end]),
        Placements.of_parts([plan.placed, running.placed, Placements(offsets_of(each), taken.node, each)]),
    )
