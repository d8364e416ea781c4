"""Other readings of the thesis's measures: excess by node, makespan of planned jobs, dissimilarity of all work."""

from __future__ import annotations

import numpy as np

from dardis.metrics.system import dissimilarity, overutilisation, used_profile
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile


def excess_by_node(schedule: Schedule, desired: DesiredProfile) -> int:
    """Core-seconds by which nodes exceed their own share of the desired profile (thesis 5.5 with eq. 5.1)."""
    kind, placed = schedule.kinds.index(CORES), schedule.placed
    job_of = placed.job_of
    cores = placed.units * schedule.request[job_of, kind]
    ran = schedule.ran[job_of]
    total = 0
    for node in np.unique(placed.nodes[ran]).tolist():
        there = ran & (placed.nodes == node)
        job = job_of[there]
        used = StepFunction.from_spans(schedule.start[job], schedule.finish[job], cores[there])
        total += overutilisation(used, desired.of_node(node, kind))
    return total


def planned_makespan(schedule: Schedule, windows: int) -> int:
    """Makespan, s, without jobs that found no start in their first `windows` windows (thesis 5.3.6)."""
    planned = schedule.ran & (schedule.attempts <= windows)
    return int(schedule.finish[planned].max() - schedule.submit.min())


def dissimilarity_of_all_work(schedule: Schedule, desired: DesiredProfile) -> float:
    """Dissimilarity (thesis 5.5) from time 0 to the last deadline in which use after it counts, too."""
    kind = schedule.kinds.index(CORES)
    wished = desired.total(kind)
    squared = StepFunction(wished.times, wished.values**2)
    end, last = int(schedule.finish[schedule.ran].max()), int(schedule.latest.max())
    found = dissimilarity(used_profile(schedule, CORES), wished, 0, end)
    assert found is not None, "some cores are desired"
    return 1 - (1 - found) * squared.integral(0, end) / squared.integral(0, last)
