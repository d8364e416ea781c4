"""The order that all late jobs agree on, by a key that everybody works out for himself.

Jobs of queues with higher priority go first, among equals long waits, short walltimes and few cores. Who is old, since
a time that is fixed when it arrives, may go before all of them: one, whose time came first (docs/late.md).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from dardis.kernels import queue as columns
from dardis.kernels.late import HEAD_START_S, put_in_order
from dardis.kernels.queue import Queue
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.job import Job
from dardis.task_manager.layout import Layout

Key = tuple[bool, int, float, int, JobId]
"""The least goes first: whether not the oldest, minus the level of priority, minus the key, submission, number."""


def key_of(wait: int, walltime: int, cores: int) -> float:
    """The key of a job that has waited `wait` s: `(wait + 24 h) / (walltime · √cores)`, the largest goes first."""
    return (wait + HEAD_START_S) / (walltime * sqrt(max(cores, 1)))


class Order:
    """Who goes before whom, at any time."""

    def __init__(self, layout: Layout) -> None:
        """The order is the same for all who know the same machine."""
        self._cores = layout.cores_place
        self._layout = layout
        self._spare: Ints = np.zeros(0, dtype=np.int64)

    def head(self, job: Job, until: int) -> Ints:
        """What is announced of a job that has a reservation: job, submission, walltime, cores, level, until when."""
        cores, level = job.units * job.request[self._cores], self._layout.level_of(job)
        return np.array([job.number, job.submit, job.walltime, cores, level, until], dtype=np.int64)

    def key(self, head: Ints, now: int, *, aged: bool) -> Key:
        """The key of a job by what is announced of it, and whether it is the one that goes before all others."""
        number, submit, walltime, cores, level, _ = head.tolist()
        key = 0.0 if aged else -key_of(now - submit, walltime, cores)
        return (not aged, 0 if aged else -level, key, submit, number)

    def sort(self, queue: Queue, count: int, now: int, oldest: JobId | None) -> int:
        """Put the first `count` of those who wait in order, `oldest` first; return the place of the first new one."""
        if len(self._spare) < count:
            self._spare = np.zeros(2 * count, dtype=np.int64)
        first = -1 if oldest is None else oldest
        slots = queue.lists[columns.RULE, :count]
        return put_in_order(queue.table, slots, queue.keys, self._cores, now, first, self._spare)

    def key_at(self, queue: Queue, place: int, oldest: JobId | None) -> Key:
        """The key of the job at a place of the order, by which it was put there."""
        slot = queue.lists[columns.RULE, place]
        number, submit, _, _, _, _, level, *_ = queue.table[slot].tolist()
        aged = number == oldest
        return (not aged, 0 if aged else -level, 0.0 if aged else -float(queue.keys[slot, 0]), submit, number)
