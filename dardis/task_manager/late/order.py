"""The order that all late jobs agree on, by a key that everybody works out for himself.

Jobs of queues with higher priority go first, among equals long waits, short walltimes and few cores; whoever has waited
longer than `aged_after_s` goes before all others, oldest first.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels import queue as columns
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.job import Job
from dardis.task_manager.layout import Layout
from dardis.task_manager.setups import LateSetUp

HEAD, AGED = 0, 1
"""Labels of the two reservations that there are at most: of the best job that can't start, of the best aged one."""
HEAD_START_S = 36_000
"""Added to every wait, so that short jobs do not begin with a key of 0."""
Key = tuple[bool, int, float, int, JobId]
"""The least goes first: whether not aged, minus the level of priority, minus the key, submission, number."""


def key_of(wait: Ints, walltime: Ints, cores: Ints) -> np.ndarray:
    """The key of jobs that have waited `wait` s: `(wait + 10 h) / (walltime · √cores)`, the largest goes first."""
    return np.asarray((wait + HEAD_START_S) / (walltime * np.sqrt(np.maximum(cores, 1))))


class Order:
    """Who goes before whom, at any time."""

    def __init__(self, setup: LateSetUp, layout: Layout) -> None:
        """The order is the same for all who have the same set-up."""
        self._aged_after = setup.aged_after_s
        self._cores = layout.kinds.index("cores")
        self._layout = layout

    def is_aged(self, job: Job, now: int) -> bool:
        """Whether a job has waited so long that it goes before all that have not."""
        return now - job.submit > self._aged_after

    def head(self, job: Job, until: int) -> Ints:
        """What is announced of a job that has a reservation: job, submission, walltime, cores, level, until when."""
        cores, level = job.units * job.request[self._cores], self._layout.level_of(job)
        return np.array([job.number, job.submit, job.walltime, cores, level, until], dtype=np.int64)

    def key(self, head: Ints, now: int) -> Key:
        """The key of a job by what is announced of it."""
        number, submit, walltime, cores, level, _ = head.tolist()
        aged = now - submit > self._aged_after
        key = 0.0 if aged else float(-key_of(np.array(now - submit), np.array(walltime), np.array(cores)))
        return (not aged, 0 if aged else -level, key, submit, number)

    def sort(self, table: Ints, now: int) -> tuple[Ints, list[Key], int]:
        """How to put these rows of a queue's table in order, the keys in that order, and how many are aged."""
        cores = table[:, columns.UNITS] * table[:, columns.REQUEST + self._cores]
        wait = now - table[:, columns.SUBMIT]
        key = -key_of(wait, table[:, columns.SPAN], cores)
        aged = wait > self._aged_after
        level = np.where(aged, 0, -table[:, columns.LEVEL])
        key[aged] = 0
        order = np.lexsort((table[:, columns.NUMBER], table[:, columns.SUBMIT], key, level, ~aged))
        placed = table[order]
        numbers, submits = placed[:, columns.NUMBER].tolist(), placed[:, columns.SUBMIT].tolist()
        late, by_level = (~aged[order]).tolist(), level[order].tolist()
        keys = list(zip(late, by_level, key[order].tolist(), submits, numbers, strict=True))
        return order.astype(np.int64), keys, int(np.count_nonzero(aged))
