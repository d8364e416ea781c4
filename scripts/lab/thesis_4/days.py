"""What became of the jobs of each day: figures 4.14 and 4.15."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from dardis.metrics.jobs_csv import read_jobs
from dardis.model.resources import CORES
from scripts.lab.thesis_4 import paper

DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class Day:
    """A day from the first submission on: jobs submitted, their mean wait over the queue's longest, cores in use."""

    jobs: int
    weighted_wait: float
    cores: float


def days_of(path: Path) -> list[Day]:
    """By day, up to the last on which somebody was submitted."""
    schedule = read_jobs(path)
    ran = schedule.ran
    first = int(schedule.submit.min())
    longest = np.array([paper.LONGEST_WAITS_S.get(queue, paper.OTHERS_S) for queue in schedule.queue])[ran]
    submit, start, finish = schedule.submit[ran] - first, schedule.start[ran] - first, schedule.finish[ran] - first
    cores = (schedule.units * schedule.request[:, schedule.kinds.index(CORES)])[ran]
    weighted = (start - submit) / longest
    found = []
    for day in range(int(submit.max()) // DAY_S + 1):
        begin, end = day * DAY_S, (day + 1) * DAY_S
        inside = (submit >= begin) & (submit < end)
        runs = np.maximum(np.minimum(finish, end) - np.maximum(start, begin), 0)
        wait = float(weighted[inside].mean()) if inside.any() else 0.0
        found.append(Day(int(inside.sum()), wait, float((runs * cores).sum()) / DAY_S))
    return found
