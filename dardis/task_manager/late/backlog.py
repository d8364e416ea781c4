"""How much work a task manager's jobs are, and from when on a job is old.

That hangs on what waits, what runs, and how much of what was asked for jobs have used. Every figure is a whole number,
so that sums over task managers are the same in any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dardis.model.addresses import JobId, ManagerAddress
from dardis.model.arrays import Ints
from dardis.model.job import Job
from dardis.task_manager.layout import Layout
from dardis.wire import messages as say
from dardis.wire.effects import SendAll


class Sums(NamedTuple):
    """Sums over jobs; core seconds count up to their walltimes."""

    waits: int = 0
    """Core seconds of those that wait."""
    ends: int = 0
    """Of those that are bound to nodes: cores times the second at which their walltimes end."""
    cores: int = 0
    """Their cores."""
    asked: int = 0
    """Core seconds that those that have ended had asked for."""
    used: int = 0
    """And have used."""

    @classmethod
    def of(cls, rows: Iterable[Iterable[int]]) -> Sums:
        """The sum of several."""
        return cls(*map(sum, zip(*rows, strict=True)))

    def seconds(self, now: int, cores: int) -> int:
        """In what time so many cores do all that waits and runs, if it uses as much of what it asks as others did."""
        work = self.waits + max(self.ends - now * self.cores, 0)
        return work * self.used // (cores * self.asked) if self.asked else work // cores


class Backlog:
    """The work that one task manager's jobs are."""

    def __init__(self, layout: Layout, address: ManagerAddress) -> None:
        """No jobs; `address` is the task manager's."""
        self._place = layout.cores_place
        self._machine = layout.cores
        self._address, self._told = address, 0
        self._others: dict[int, list[int]] = {}
        """What others have told last: number and sums."""
        self._jobs: dict[JobId, tuple[Job, int | None]] = {}
        """Jobs, and since when those that are bound are."""
        self.sums = Sums()

    def _add(self, waits: int = 0, ends: int = 0, cores: int = 0, asked: int = 0, used: int = 0) -> None:
        self.sums = Sums.of((self.sums, (waits, ends, cores, asked, used)))

    def _cores(self, job: Job) -> int:
        return job.units * job.request[self._place]

    def waits(self, job: Job) -> None:
        """A job that was not there waits."""
        self._jobs[job.number] = job, None
        self._add(self._cores(job) * job.walltime)

    def bound(self, number: JobId, start: int) -> None:
        """A job runs from `start` on: one that waited, or that lost its nodes and has others."""
        job, before = self._jobs[number]
        self._jobs[number] = job, start
        cores = self._cores(job)
        if before is None:
            self._add(-cores * job.walltime, cores * (start + job.walltime), cores)
        else:
            self._add(0, cores * (start - before))

    def ended(self, number: JobId, now: int) -> None:
        """A job is over."""
        job, start = self._jobs.pop(number)
        if start is None:
            self._add(-self._cores(job) * job.walltime)
            return
        cores = self._cores(job)
        used = min(max(now - start, 0), job.walltime)
        self._add(0, -cores * (start + job.walltime), -cores, cores * job.walltime, cores * used)

    def tell(self) -> SendAll:
        """Tell all nodes, which tell all task managers."""
        self._told += 1
        return SendAll(say.Backlog(self._address, self._told, np.array(self.sums, dtype=np.int64)))

    def hear(self, backlogs: Ints) -> None:
        """Take in what nodes have been told."""
        for manager, *row in backlogs.tolist():
            if manager != self._address and self._others.get(manager, row)[0] <= row[0]:
                self._others[manager] = row

    def seconds(self, now: int) -> int:
        """In what time the machine does all that waits and runs, as far as it is known here."""
        every = Sums.of((self.sums, *(row[1:] for row in self._others.values())))
        return every.seconds(now, self._machine)

    def gone(self, number: JobId) -> None:
        """A job waits no more, and will not run; nothing if it is not there."""
        job, start = self._jobs.get(number, (None, None))
        if job is not None and start is None:
            self.ended(number, 0)
