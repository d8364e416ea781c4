"""Deadlines of waiting jobs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from dardis.live.live_jobs import LiveJob, LiveJobState
from dardis.model.job import FOREVER


class Deadlines:
    """Latest starts of jobs with a deadline."""

    def __init__(self) -> None:
        self._latest: list[tuple[int, int, LiveJob]] = []

    def add(self, jobs: Iterable[LiveJob]) -> None:
        """Add jobs, if they have deadlines."""
        for job in jobs:
            asked = job.submission.request
            if asked.deadline_ms is not None and not job.state.is_over:
                heappush(self._latest, (asked.deadline_ms - asked.walltime_s * 1000, job.number, job))

    def wake(self) -> int:
        """First second after the next latest start, Unix s (FOREVER: none)."""
        return self._latest[0][0] // 1000 + 1 if self._latest else FOREVER

    def take_missed(self, now_ms: int) -> Iterator[LiveJob]:
        """Yield unstarted jobs that can no longer end before their deadline."""
        while self._latest and self._latest[0][0] < now_ms:
            job = heappop(self._latest)[2]
            if job.state in (LiveJobState.WAITING, LiveJobState.HELD):
                yield job
