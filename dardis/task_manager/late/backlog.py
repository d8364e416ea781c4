"""Backlog of jobs, and the time of aging.

Aging depends on the present and the largest backlog: waiting and running work, by the used share of requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from dardis.model.addresses import JobId, ManagerAddress
from dardis.model.arrays import Ints
from dardis.model.job import NO_TIME, Job
from dardis.task_manager.layout import Layout
from dardis.task_manager.setups import LateSetUp
from dardis.wire import messages as say
from dardis.wire.effects import SendAll

_DIGIT = 1 << 62
PEAK_LASTS = 10
"""The largest backlog falls by 1 s in so many seconds."""
MOST_S = 864_000
"""Most seconds of a backlog that count: 10 days."""
TURN_SHARE = 0.25
"""Part of the longest wait that an old job still needs to get its turn."""
MOST_OF_OTHERS = 3
"""A job's own work counts up to a backlog of so many times that of the others."""
LASTING_SHARE = 24
"""The largest backlog counts jobs after a 24th of `aged_after_s`: those withdrawn sooner have no later effect."""


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
    lasting: int = 0
    """Part of `waits` of jobs that have waited for a while."""

    @classmethod
    def of(cls, rows: Iterable[Iterable[int]]) -> Totals:
        """Sum."""
        return cls(*map(sum, zip(*rows, strict=True)))

    def run_out(self, now: int) -> Totals:
        """Totals if all running jobs end by `now`, as a silent manager reports no ends."""
        return self._replace(ends=max(self.ends, now * self.cores))

    def seconds(self, now: int, cores: int) -> tuple[int, int]:
        """Seconds in which `cores` finish the backlog, and its lasting part, by past use of requests."""
        used, asked = (self.used, self.asked) if self.asked else (1, 1)
        running = max(self.ends - now * self.cores, 0)
        whole, lasting = ((waits + running) * used // (cores * asked) for waits in (self.waits, self.lasting))
        return min(whole, MOST_S), min(lasting, MOST_S)


class Backlog:
    """Backlog of one task manager."""

    def __init__(self, layout: Layout, address: ManagerAddress, setup: LateSetUp) -> None:
        self._cores = layout.cores_of
        self._machine, self._after = layout.cores, setup.aged_after_s
        self._factor = setup.longest_wait - TURN_SHARE
        self._address, self._told = address, 0
        self._peak = NO_TIME
        """Largest known value of `PEAK_LASTS` times the backlog in s, plus the time: so later values compare."""
        self._others: dict[int, tuple[int, Totals, int]] = {}
        """By manager: report number, totals, receipt."""
        self._jobs: dict[JobId, tuple[Job, int | None]] = {}
        self._new: list[tuple[int, JobId]] = []
        """Heap of waiting jobs that do not last yet, by the time from which they do."""
        self._lasting: set[JobId] = set()
        self._waits = self._waits_lasting = self._ends = self._cores_bound = self._asked = self._used = 0

    def totals(self, now: int) -> Totals:
        """Own totals."""
        while self._new and self._new[0][0] <= now:
            job, start = self._jobs.get(heappop(self._new)[1], (None, None))
            if job is not None and start is None and job.number not in self._lasting:
                self._lasting.add(job.number)
                self._waits_lasting += self._cores(job) * job.walltime
        return Totals(self._waits, self._ends, self._cores_bound, self._asked, self._used, self._waits_lasting)

    def add_waiting(self, job: Job, now: int) -> None:
        """Add a waiting job."""
        self._jobs[job.number] = job, None
        self._count(job, None, 1)
        heappush(self._new, (max(job.submit + self._after // LASTING_SHARE, now), job.number))

    def record_start(self, number: JobId, start: int | None) -> None:
        """Record a start (None: waiting)."""
        job, before = self._jobs[number]
        if start == before:
            return
        self._count(job, before, -1)
        self._jobs[number] = job, start
        self._count(job, start, 1)
        if start is None:
            heappush(self._new, (job.submit, number))

    def _count(self, job: Job, start: int | None, sign: int) -> None:
        cores = sign * self._cores(job)
        if start is not None:
            self._ends += cores * (start + job.walltime)
            self._cores_bound += cores
            return
        self._waits += cores * job.walltime
        if sign < 0 and job.number in self._lasting:
            self._lasting.discard(job.number)
            self._waits_lasting += cores * job.walltime

    def record_end(self, number: JobId, now: int) -> None:
        """Record a job's end."""
        job, start = self._jobs.pop(number)
        self._count(job, start, -1)
        if start is not None:
            self.record_use(self._cores(job) * job.walltime, self._cores(job) * min(max(now - start, 0), job.walltime))

    def record_use(self, asked: int, used: int) -> None:
        """Record core seconds that ended jobs requested, and used."""
        self._asked += asked
        self._used += used

    def make_report(self, now: int) -> SendAll:
        """Report to all nodes, and so to all managers."""
        self._told += 1
        digits = [digit for value in (*self.totals(now), self._peak) for digit in divmod(value, _DIGIT)]
        return SendAll(say.BacklogReport(self._address, self._told, np.array(digits, dtype=np.int64)))

    def store_reports(self, backlogs: Ints, now: int) -> None:
        """Store reports of other managers."""
        for manager, number, *digits in backlogs.tolist():
            if manager == self._address or (manager in self._others and self._others[manager][0] >= number):
                continue
            *totals, peak = (high * _DIGIT + low for high, low in zip(digits[::2], digits[1::2], strict=True))
            self._others[manager] = number, Totals(*totals), now
            self._peak = max(self._peak, peak)

    def known(self, now: int) -> Totals:
        """Totals over all known jobs."""
        told = (totals if at == now else totals.run_out(now) for _, totals, at in self._others.values())
        return Totals.of((self.totals(now), *told))

    def old_after(self, job: Job, now: int) -> int:
        """Seconds from submission to aging of a job that waits from `now` on."""
        known = self.known(now)
        whole, lasting = known.seconds(now, self._machine)
        others, _ = known._replace(waits=known.waits - self._cores(job) * job.walltime).seconds(now, self._machine)
        self._peak = max(self._peak, PEAK_LASTS * lasting + now)
        # On an almost free machine wide jobs start soon under EASY.
        larger = max((self._peak - now) / PEAK_LASTS, min(whole, MOST_OF_OTHERS * others))
        return int(min(self._after, larger) + self._factor * larger)

    def drop_waiting(self, number: JobId) -> None:
        """Drop a waiting job, if known."""
        job, start = self._jobs.get(number, (None, None))
        if job is not None and start is None:
            del self._jobs[number]
            self._count(job, None, -1)
