"""Backlog of jobs, and the time of aging.

Aging depends on the largest backlog: pending and running work, by the used share of requests.
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
PEAK_LASTS = 10
"""The largest backlog falls by 1 s in so many seconds."""
TURN_SHARE = 0.25
"""Part of the longest wait that an old job still needs to get its turn."""


class Totals(NamedTuple):
    """Totals over jobs. Core seconds count full walltimes."""

    waits: int = 0
    """Core seconds of waiting jobs."""
    ends: int = 0
    """Cores of bound jobs times the second of their walltime's end."""
    cores: int = 0
    """Cores of bound jobs."""
    asked: int = 0
    """Core seconds requested by finished jobs."""
    used: int = 0
    """Core seconds used by finished jobs."""

    @classmethod
    def of(cls, rows: Iterable[Iterable[int]]) -> Totals:
        """Sum."""
        return cls(*map(sum, zip(*rows, strict=True)))

    def run_out(self, now: int) -> Totals:
        """Totals if all running jobs end by `now`, as a silent manager reports no ends."""
        return self._replace(ends=max(self.ends, now * self.cores))

    def seconds(self, now: int, cores: int) -> int:
        """Seconds in which `cores` finish the backlog, by past use of requests."""
        work = self.waits + max(self.ends - now * self.cores, 0)
        return work * self.used // (cores * self.asked) if self.asked else work // cores


class Backlog:
    """Backlog of one task manager."""

    def __init__(self, layout: Layout, address: ManagerAddress, setup: LateSetUp) -> None:
        self._cores = layout.cores_of
        self._machine, self._after = layout.cores, setup.aged_after_s
        self._peaks = setup.longest_wait - TURN_SHARE
        self._address, self._told = address, 0
        self._peak = 0
        """Largest known value of `PEAK_LASTS` times the backlog in s, plus the time: so later values compare."""
        self._others: dict[int, tuple[int, Totals, int]] = {}
        """By manager: report number, totals, receipt."""
        self._jobs: dict[JobId, tuple[Job, int | None]] = {}
        self._waits = self._ends = self._cores_bound = self._asked = self._used = 0

    @property
    def totals(self) -> Totals:
        """Own totals."""
        return Totals(self._waits, self._ends, self._cores_bound, self._asked, self._used)

    def add_waiting(self, job: Job) -> None:
        """Add a waiting job."""
        self._jobs[job.number] = job, None
        self._count(job, None, 1)

    def record_start(self, number: JobId, start: int | None) -> None:
        """Record a start (None: waiting)."""
        job, before = self._jobs[number]
        self._jobs[number] = job, start
        self._count(job, before, -1)
        self._count(job, start, 1)

    def _count(self, job: Job, start: int | None, sign: int) -> None:
        cores = sign * self._cores(job)
        if start is None:
            self._waits += cores * job.walltime
        else:
            self._ends += cores * (start + job.walltime)
            self._cores_bound += cores

    def record_end(self, number: JobId, now: int) -> None:
        """Record a job's end."""
        job, start = self._jobs.pop(number)
        self._count(job, start, -1)
        if start is not None:
            cores, used = self._cores(job), min(max(now - start, 0), job.walltime)
            self._asked += cores * job.walltime
            self._used += cores * used

    def make_report(self) -> SendAll:
        """Report to all nodes, and so to all managers."""
        self._told += 1
        digits = [digit for value in (*self.totals, self._peak) for digit in divmod(value, _DIGIT)]
        return SendAll(say.BacklogReport(self._address, self._told, np.array(digits, dtype=np.int64)))

    def store_reports(self, backlogs: Ints, now: int) -> None:
        """Store reports of other managers."""
        for manager, number, *digits in backlogs.tolist():
            if manager == self._address or (manager in self._others and self._others[manager][0] >= number):
                continue
            *totals, peak = (high * _DIGIT + low for high, low in zip(digits[::2], digits[1::2], strict=True))
            self._others[manager] = number, Totals(*totals), now
            self._peak = max(self._peak, peak)

    def seconds(self, now: int) -> int:
        """Seconds in which the machine finishes the known backlog."""
        if not self._others:
            return self.totals.seconds(now, self._machine)
        told = (totals if at == now else totals.run_out(now) for _, totals, at in self._others.values())
        every = Totals.of((self.totals, *told))
        return every.seconds(now, self._machine)

    def old_after(self, now: int) -> int:
        """Seconds from submission to aging for an arrival at `now`.

        With `longest_wait` up to 10, later arrivals are not old earlier.
        """
        self._peak = max(self._peak, PEAK_LASTS * self.seconds(now) + now)
        return self._after + int(self._peaks * (self._peak - now) / PEAK_LASTS)

    def drop_waiting(self, number: JobId) -> None:
        """Drop a waiting job, if known."""
        job, start = self._jobs.get(number, (None, None))
        if job is not None and start is None:
            del self._jobs[number]
            self._count(job, None, -1)
