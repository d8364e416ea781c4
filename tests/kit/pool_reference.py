"""The textbook's schedulers on a pool of equal cores, in plain Python: what a dispatcher must give on one node.

They know a count of cores and nothing else, and import nothing of the project. The trace is prepared, and events of one
instant are ordered, as published figures for these policies have it, so that the sums of start times can be compared.
"""

from __future__ import annotations

import gzip
from bisect import bisect_left, bisect_right, insort
from heapq import heappop, heappush
from pathlib import Path
from typing import NamedTuple

POLICIES = ("fcfs", "sjf", "easy", "easy-event", "conservative", "conservative-event")


class PoolJobs(NamedTuple):
    """Jobs as columns in order of arrival; times in s, the first submit is 1; no job runs longer than its estimate."""

    submit: list[int]
    runtime: list[int]
    estimate: list[int]
    cores: list[int]


def prepare(path: Path, processors: int, jobs: int | None = None) -> PoolJobs:
    """Read the first `jobs` jobs of an SWF trace that fit `processors` cores.

    Cores are the requested ones, else the allocated ones; an estimate is the requested time, and at least the run time.
    Jobs without run time, cores or submit time are left out.
    """
    rows: list[tuple[int, int, int, int]] = []
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for line in lines:
            if not line.strip() or line.startswith(";"):
                continue
            fields = line.split()
            submit, runtime, allocated, requested, estimate = (int(float(fields[at])) for at in (1, 3, 4, 7, 8))
            cores = requested if requested > 0 else allocated
            if runtime > 0 and 0 < cores <= processors and submit >= 0:
                rows.append((submit, runtime, max(estimate, runtime), cores))
    rows.sort(key=lambda row: row[0])
    rows = rows[:jobs]
    first = rows[0][0] - 1
    submits, runtimes, estimates, cores_of = (list(column) for column in zip(*rows, strict=True))
    return PoolJobs([submit - first for submit in submits], runtimes, estimates, cores_of)


def starts(jobs: PoolJobs, processors: int, policy: str) -> list[int]:
    """Return the start time of each job, in the jobs' order, under one of `POLICIES`.

    fcfs and sjf are strict: the queue stops at the first job that does not fit. easy and conservative are textbook
    backfilling. One decision an instant, after its completions and then its arrivals; with `-event` one after each
    event, an instant's arrivals before its completions, both in the jobs' order.
    """
    if policy not in POLICIES:
        raise ValueError(f"{policy}: not one of {', '.join(POLICIES)}")
    per_event = policy.endswith("-event")
    scheduler = _Reservations(jobs, processors) if "conservative" in policy else _Queue(jobs, processors, policy)
    count, arrived = len(jobs.submit), 0
    while arrived < count or scheduler.ends:
        now = min([*jobs.submit[arrived : arrived + 1], *(end for end, _ in scheduler.ends[:1])])
        finished = []
        while scheduler.ends and scheduler.ends[0][0] == now:
            job = heappop(scheduler.ends)[1]
            if scheduler.starts[job] + jobs.runtime[job] == now:
                finished.append(job)
        new = range(arrived, bisect_right(jobs.submit, now, arrived))
        arrived = new.stop
        for job, event in (
            *((job, scheduler.arrive) for job in new if per_event),
            *((job, scheduler.complete) for job in finished),
            *((job, scheduler.arrive) for job in new if not per_event),
        ):
            event(job, now)
            if per_event:
                scheduler.decide(now)
        if not per_event:
            scheduler.decide(now)
    return scheduler.starts


class _Queue:
    """Starts jobs by arrival or estimate, perhaps with backfilling. `ends`: heap of (completion, job)."""

    def __init__(self, jobs: PoolJobs, processors: int, policy: str) -> None:
        self.ends: list[tuple[int, int]] = []
        self.starts = [0] * len(jobs.submit)
        self._jobs, self._free = jobs, processors
        self._by_estimate, self._backfills = policy == "sjf", policy.startswith("easy")
        self._queue: list[tuple[int, int]] = []  # (rank, job), ascending
        self._running: list[tuple[int, int]] = []  # (estimated end, job) of those that hold cores, ascending

    def arrive(self, job: int, _now: int) -> None:
        insort(self._queue, (self._jobs.estimate[job] if self._by_estimate else 0, job))

    def complete(self, job: int, _now: int) -> None:
        held = (self.starts[job] + self._jobs.estimate[job], job)
        at = bisect_left(self._running, held)
        if self._running[at : at + 1] == [held]:
            self._release(at)

    def decide(self, now: int) -> None:
        """Start what the policy lets start now; a job whose estimate is over holds no cores any more."""
        while self._running and self._running[0][0] <= now:
            self._release(0)
        while self._queue and self._jobs.cores[self._queue[0][1]] <= self._free:
            self._start(self._queue.pop(0)[1], now)
        if self._backfills and self._queue:
            self._backfill(now)

    def _release(self, at: int) -> None:
        self._free += self._jobs.cores[self._running.pop(at)[1]]

    def _start(self, job: int, now: int) -> None:
        self.starts[job] = now
        self._free -= self._jobs.cores[job]
        insort(self._running, (now + self._jobs.estimate[job], job))
        heappush(self.ends, (now + self._jobs.runtime[job], job))

    def _backfill(self, now: int) -> None:
        """Start, in order of arrival, what ends by the head's reservation or leaves the head enough cores then."""
        estimate, cores = self._jobs.estimate, self._jobs.cores
        needed, shadow, then_free = cores[self._queue[0][1]], now, self._free
        for end, job in self._running:
            if then_free >= needed and end > shadow:
                break
            shadow, then_free = end, then_free + cores[job]
        extra = then_free - needed
        left = self._queue[:1]
        for entry in self._queue[1:]:
            job = entry[1]
            ends_before = now + estimate[job] <= shadow
            if cores[job] > self._free or not (ends_before or cores[job] <= extra):
                left.append(entry)
                continue
            if not ends_before:
                extra -= cores[job]
            self._start(job, now)
        self._queue = left


class _Slots:
    """How many cores are free from when on, reservations included; after the last step all are."""

    def __init__(self, processors: int) -> None:
        self._times, self._free = [0], [processors]

    def take_earliest(self, now: int, length: int, cores: int) -> int:
        """Reserve `cores` for `length` seconds at the earliest instant from `now` on, and return it."""
        at, start = bisect_right(self._times, now) - 1, now
        while True:
            if self._free[at] < cores:
                start = self._times[at + 1]
            elif at + 1 == len(self._times) or self._times[at + 1] >= start + length:
                break
            at += 1
        self.add(start, start + length, -cores)
        return start

    def add(self, start: int, end: int, cores: int) -> None:
        """Add `cores` to what is free in [start, end)."""
        first, last = self._step_at(start), self._step_at(end)
        for at in range(first, last):
            self._free[at] += cores
        for at in (last, first):
            if at and self._free[at] == self._free[at - 1]:
                del self._times[at], self._free[at]

    def forget_before(self, now: int) -> None:
        at = bisect_right(self._times, now) - 1
        del self._times[:at], self._free[:at]

    def _step_at(self, time: int) -> int:
        at = bisect_left(self._times, time)
        if at == len(self._times) or self._times[at] != time:
            self._times.insert(at, time)
            self._free.insert(at, self._free[at - 1])
        return at


class _Reservations:
    """Gives each job the earliest slot when it arrives; reservations hold, and move to earlier slots only.

    A decision after a completion, early or not, first lets each job that has not started (a start at this very instant
    counts as started), in order of arrival, give its slot back and take the earliest one from now on. One round only: a
    job that an others' later move would let move once more waits for the next round. `ends` is a heap of (completion,
    job); what a job leaves there when it moves is out of date.
    """

    def __init__(self, jobs: PoolJobs, processors: int) -> None:
        self.ends: list[tuple[int, int]] = []
        self.starts = [0] * len(jobs.submit)
        self._jobs, self._slots = jobs, _Slots(processors)
        self._waiting: list[int] = []
        self._new: list[int] = []
        self._completed = False

    def arrive(self, job: int, _now: int) -> None:
        self._new.append(job)

    def complete(self, job: int, now: int) -> None:
        self._completed = True
        if now < self.starts[job] + self._jobs.estimate[job]:
            self._slots.add(now, self.starts[job] + self._jobs.estimate[job], self._jobs.cores[job])

    def decide(self, now: int) -> None:
        self._slots.forget_before(now)
        self._waiting = [job for job in self._waiting if self.starts[job] > now]
        if self._completed:
            for job in self._waiting:
                self._slots.add(self.starts[job], self.starts[job] + self._jobs.estimate[job], self._jobs.cores[job])
                self._reserve(job, now)
        for job in self._new:
            self._reserve(job, now)
        self._waiting += self._new
        self._new, self._completed = [], False

    def _reserve(self, job: int, now: int) -> None:
        start = self._slots.take_earliest(now, self._jobs.estimate[job], self._jobs.cores[job])
        if start != self.starts[job]:
            self.starts[job] = start
            heappush(self.ends, (start + self._jobs.runtime[job], job))
