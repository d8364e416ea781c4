"""The order that all late jobs agree on, by a key that everybody works out for himself.

Jobs of queues with higher priority go first, among equals long waits, short walltimes and few cores. Who is old, since
a time that is fixed when it arrives, may go before all of them: one, whose time came first (docs/late.md).
"""

from __future__ import annotations

import numpy as np

from dardis.kernels import queue as columns
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.job import Job
from dardis.task_manager.layout import Layout

HEAD_START_S = 86_400
"""Added to every wait, so that short jobs do not begin with a key of 0."""
Key = tuple[bool, int, float, int, JobId]
"""The least goes first: whether not the oldest, minus the level of priority, minus the key, submission, number."""


def key_of(wait: Ints, walltime: Ints, cores: Ints) -> np.ndarray:
    """The key of jobs that have waited `wait` s: `(wait + 24 h) / (walltime · √cores)`, the largest goes first."""
    return np.asarray((wait + HEAD_START_S) / (walltime * np.sqrt(np.maximum(cores, 1))))


class Order:
    """Who goes before whom, at any time."""

    def __init__(self, layout: Layout) -> None:
        """The order is the same for all who know the same machine."""
        self._cores = layout.cores_place
        self._layout = layout

    def head(self, job: Job, until: int) -> Ints:
        """What is announced of a job that has a reservation: job, submission, walltime, cores, level, until when."""
        cores, level = job.units * job.request[self._cores], self._layout.level_of(job)
        return np.array([job.number, job.submit, job.walltime, cores, level, until], dtype=np.int64)

    def key(self, head: Ints, now: int, *, aged: bool) -> Key:
        """The key of a job by what is announced of it, and whether it is the one that goes before all others."""
        number, submit, walltime, cores, level, _ = head.tolist()
        key = 0.0 if aged else float(-key_of(np.array(now - submit), np.array(walltime), np.array(cores)))
        return (not aged, 0 if aged else -level, key, submit, number)

    def sort(self, table: Ints, now: int, oldest: JobId | None) -> tuple[Ints, list[Key]]:
        """How to put these rows of a queue's table in order, `oldest` first if it is among them, and the keys so."""
        cores = table[:, columns.UNITS] * table[:, columns.REQUEST + self._cores]
        key = -key_of(now - table[:, columns.SUBMIT], table[:, columns.SPAN], cores)
        aged = table[:, columns.NUMBER] == (-1 if oldest is None else oldest)
        level = np.where(aged, 0, -table[:, columns.LEVEL])
        key[aged] = 0
        order = np.lexsort((table[:, columns.NUMBER], table[:, columns.SUBMIT], key, level, ~aged))
        placed = table[order]
        numbers, submits = placed[:, columns.NUMBER].tolist(), placed[:, columns.SUBMIT].tolist()
        late, by_level = (~aged[order]).tolist(), level[order].tolist()
        keys = list(zip(late, by_level, key[order].tolist(), submits, numbers, strict=True))
        return order.astype(np.int64), keys
