"""How much work a task manager's jobs are, and from when on a job is old.

That hangs on what waits, what runs, and how much of what was asked for jobs have used. Every figure is a whole number,
so that totals over task managers are the same in any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dardis.model.addresses import JobId, ManagerAddress
from dardis.model.arrays import Ints
from dardis.model.job import Job
from dardis.task_manager.layout import Layout
from dardis.task_manager.setups import LateSetUp
from dardis.wire import messages as say
from dardis.wire.effects import SendAll

_DIGIT = 1 << 62
"""Totals of any size are told as two numbers each, as this many of which the second is below."""


class Totals(NamedTuple):
    """Totals over jobs; core seconds count up to their walltimes."""

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
    def of(cls, rows: Iterable[Iterable[int]]) -> Totals:
        """The sum of several."""
        return cls(*map(sum, zip(*rows, strict=True)))

    def run_out(self, now: int) -> Totals:
        """The same where all that ran has ended by `now`, if it has: who tells nothing does not tell of ends either."""
        return self._replace(ends=max(self.ends, now * self.cores))

    def seconds(self, now: int, cores: int) -> int:
        """In what time so many cores do all that waits and runs, if it uses as much of what it asks as others did."""
        work = self.waits + max(self.ends - now * self.cores, 0)
        return work * self.used // (cores * self.asked) if self.asked else work // cores


class Backlog:
    """The work that one task manager's jobs are."""

    def __init__(self, layout: Layout, address: ManagerAddress, setup: LateSetUp) -> None:
        """No jobs; `address` is the task manager's."""
        self._place = layout.cores_place
        self._machine, self._after, self._most = layout.cores, setup.aged_after_s, setup.aged_work_s
        self._address, self._told = address, 0
        self._others: dict[int, tuple[int, Totals, int]] = {}
        """What others have told last: number, totals, and when that was heard."""
        self._jobs: dict[JobId, tuple[Job, int | None]] = {}
        """Jobs, and since when those that are bound are."""
        self._waits = self._ends = self._cores_bound = self._asked = self._used = 0
        """What is in `totals`."""

    @property
    def totals(self) -> Totals:
        """What is told of its jobs."""
        return Totals(self._waits, self._ends, self._cores_bound, self._asked, self._used)

    def _cores(self, job: Job) -> int:
        return job.units * job.request[self._place]

    def waits(self, job: Job) -> None:
        """A job that was not there waits."""
        self._jobs[job.number] = job, None
        self._count(job, None, 1)

    def bound(self, number: JobId, start: int | None) -> None:
        """A job runs from `start` on, or (None) waits: one that waited, that lost its nodes, or that has others."""
        job, before = self._jobs[number]
        self._jobs[number] = job, start
        self._count(job, before, -1)
        self._count(job, start, 1)

    def _count(self, job: Job, start: int | None, sign: int) -> None:
        """Count a job that waits (None) or runs, or (-1) count it no more."""
        cores = sign * self._cores(job)
        if start is None:
            self._waits += cores * job.walltime
        else:
            self._ends += cores * (start + job.walltime)
            self._cores_bound += cores

    def ended(self, number: JobId, now: int) -> None:
        """A job is over."""
        job, start = self._jobs.pop(number)
        self._count(job, start, -1)
        if start is not None:
            cores, used = self._cores(job), min(max(now - start, 0), job.walltime)
            self._asked += cores * job.walltime
            self._used += cores * used

    def tell(self) -> SendAll:
        """Tell all nodes, which tell all task managers."""
        self._told += 1
        digits = [digit for value in self.totals for digit in divmod(value, _DIGIT)]
        return SendAll(say.Backlog(self._address, self._told, np.array(digits, dtype=np.int64)))

    def hear(self, backlogs: Ints, now: int) -> None:
        """Take in what nodes have been told, at time `now`."""
        for manager, number, *digits in backlogs.tolist():
            if manager == self._address or (manager in self._others and self._others[manager][0] >= number):
                continue
            totals = Totals(*(high * _DIGIT + low for high, low in zip(digits[::2], digits[1::2], strict=True)))
            self._others[manager] = number, totals, now

    def seconds(self, now: int) -> int:
        """In what time the machine does all that waits and runs, as far as it is known here."""
        if not self._others:
            return self.totals.seconds(now, self._machine)
        told = (totals if at == now else totals.run_out(now) for _, totals, at in self._others.values())
        every = Totals.of((self.totals, *told))
        return every.seconds(now, self._machine)

    def old_after(self, now: int) -> int:
        """How long after its submission a job is old that comes at `now`, s."""
        return self._after + min(self.seconds(now), self._most)

    def gone(self, number: JobId) -> None:
        """A job waits no more, and will not run; nothing if it is not there."""
        job, start = self._jobs.get(number, (None, None))
        if job is not None and start is None:
            del self._jobs[number]
            self._count(job, None, -1)
