"""The rows of jobs in a queue's table, and the room for their nodes: given, taken back, enlarged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dardis.kernels.queue import GONE, HELD, HOLD, Queue, make_queue, wider_queue
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.model.queues import Starts

FIRST_SLOTS = 256


class JobTable:
    """Jobs by slot. The lists of `queue`, and who is on them, are the caller's to keep."""

    def __init__(self, kinds: int, nodes: int, hours: Sequence[Starts] = ()) -> None:
        """Hold no job yet; jobs may take up to `nodes` nodes. `hours` are when they may start, by their own number."""
        edges = [[], *(one.edges for one in hours)]
        offsets = np.cumsum([0, *map(len, edges)])
        self.queue: Queue = make_queue(FIRST_SLOTS, kinds)._replace(
            edges=np.array([edge for one in edges for edge in one], dtype=np.int64), edges_at=offsets.astype(np.int64)
        )
        self.jobs: dict[int, Job] = {}
        self._nodes = nodes
        self._unused = list(range(FIRST_SLOTS - 1, -1, -1))
        self._held = 0
        """How much of the room for nodes is given away."""

    @property
    def slots(self) -> int:
        """Jobs that there is room for."""
        return len(self.queue.table)

    def add(self, job: Job, span: int, level: int = 0, hours: int = 0) -> int:
        """Write the row of a job that no pass has seen, and that is to hold its nodes for `span` s; return its slot.

        `level` is that of its priority; `hours` says which are its own, from 1 on (0: it may start at any time).
        """
        if not self._unused:
            slots = self.slots
            self.queue = wider_queue(self.queue, 2 * slots)
            self._unused = list(range(2 * slots - 1, slots - 1, -1))
        most = min(job.units, self._nodes)
        if self._held + most > len(self.queue.hold_node):
            self._pack(most)
        slot = self._unused.pop()
        latest = FOREVER if job.latest is None else job.latest
        self.queue.table[slot] = (
            job.number, job.submit, span, job.units, job.groups, latest, level, hours, 0, 1, NO_TIME, self._held, 0, 0,
            *job.request,
        )  # fmt: skip
        self._held += most
        self.jobs[slot] = job
        return slot

    def remove(self, slot: int) -> Job:
        """Take a job's row back."""
        self.queue.table[slot, GONE] = 1
        self._unused.append(slot)
        job = self.jobs.pop(slot)
        if not self.jobs:
            self._held = 0
        return job

    def nodes_of(self, slot: int) -> tuple[Ints, Ints]:
        """The nodes and units that were found for a job."""
        low = int(self.queue.table[slot, HOLD])
        high = low + int(self.queue.table[slot, HELD])
        return self.queue.hold_node[low:high].copy(), self.queue.hold_units[low:high].copy()

    def _pack(self, more: int) -> None:
        """Make room for the nodes of a job of at most `more`, and drop that of the jobs that have gone."""
        old, table = self.queue, self.queue.table
        sizes = {
            slot: int(table[slot, HELD]) if table[slot, GONE] else min(job.units, self._nodes)
            for slot, job in self.jobs.items()
        }
        total = max(len(old.hold_node), 2 * (sum(sizes.values()) + more))
        node, units = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
        self._held = 0
        for slot, size in sizes.items():
            low = int(table[slot, HOLD])
            node[self._held : self._held + size] = old.hold_node[low : low + size]
            units[self._held : self._held + size] = old.hold_units[low : low + size]
            table[slot, HOLD] = self._held
            self._held += size
        self.queue = old._replace(hold_node=node, hold_units=units)
