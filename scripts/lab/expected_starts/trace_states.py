"""Replays a trace's recorded starts and ends to an estimator of starts, and asks it at random instants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.predict.queue_state import QueuedJob, QueueState, RunningRequests, WaitingRequests
from dardis.predict.start_estimator import StartEstimates, StartEstimator
from dardis.workload.trace import Texts, Trace

TICK = 600
"""Seconds between states shown to the estimator."""


class RecordedJobs(NamedTuple):
    """Ended jobs with known waits, by submit; times in s of the trace."""

    cores: Ints
    submit: Ints
    start: Ints
    end: Ints
    walltime: Ints
    """0 if not stated."""
    user: Ints
    queue: Ints


class Answer(NamedTuple):
    """Estimates at one instant, and the truth, by waiting job (s)."""

    truth: Ints
    by_walltime: Floats
    """Waits by simulating EASY with walltimes."""
    by_recent: Floats
    """The same with runtimes of the user's last two jobs."""
    estimates: StartEstimates


def recorded_jobs(trace: Trace) -> RecordedJobs:
    """Select the jobs that ran, and whose wait is recorded; a lone queue gives way to partitions."""
    ran = trace.take(np.flatnonzero((trace.wait >= 0) & (trace.runtime > 0) & (trace.procs > 0)))
    start = ran.submit + ran.wait
    queue = ran.queue if len({*ran.queue.tolist()}) > 1 else ran.partition
    walltime = np.maximum(ran.stated_walltime, 0)
    return RecordedJobs(ran.procs, ran.submit, start, start + ran.runtime, walltime, _codes(ran.user), _codes(queue))


def _codes(texts: Texts) -> Ints:
    known: dict[str, int] = {}
    return np.array([known.setdefault(text, len(known)) for text in texts.tolist()], dtype=np.int64)


def draw_instants(jobs: RecordedJobs, begin: int, count: int, draws: np.random.Generator) -> list[int]:
    """Instants (s) from `begin` to the last submit, uniform in the time in which a job waits."""
    waited = jobs.start > jobs.submit
    times = np.concatenate([jobs.submit[waited], jobs.start[waited]])
    changes = np.repeat([1, -1], waited.sum())
    order = np.lexsort((changes, times))
    times, waiting = times[order], np.cumsum(changes[order])
    first = np.maximum(times[:-1], begin)
    spans = np.where(waiting[:-1] > 0, np.minimum(times[1:], jobs.submit.max()) - first, 0)
    ends = np.cumsum(np.maximum(spans, 0))
    drawn = np.sort(draws.uniform(0, ends[-1], count))
    place = np.searchsorted(ends, drawn, side="right")
    until = np.minimum(times[place + 1], jobs.submit.max())
    return [int(at) for at in until - (ends[place] - drawn)]


class Replay:
    """A machine of `capacity` cores, at the trace's time."""

    def __init__(self, jobs: RecordedJobs, capacity: int, estimator: StartEstimator) -> None:
        self._jobs, self._capacity, self._estimator = jobs, capacity, estimator
        self._waiting: set[int] = set()
        self._running: set[int] = set()
        times = np.concatenate([jobs.submit, jobs.start, jobs.end])
        kinds = np.repeat([0, 1, 2], len(jobs.cores))
        order = np.lexsort((kinds, times))
        self._events = list(
            zip(times[order].tolist(), kinds[order].tolist(), (order % len(jobs.cores)).tolist(), strict=True)
        )
        self._next = 0

    def advance(self, now: int) -> QueueState:
        """Report all events up to `now`; return the state."""
        jobs = self._jobs
        while self._next < len(self._events) and self._events[self._next][0] <= now:
            time, kind, job = self._events[self._next]
            self._next += 1
            if kind == 0:
                self._waiting.add(job)
                continue
            fields = (jobs.submit, jobs.cores, jobs.walltime, jobs.user, jobs.queue)
            request = QueuedJob._make([job, *(int(of[job]) for of in fields)])
            if kind == 1:
                self._waiting.discard(job)
                self._running.add(job)
                self._estimator.on_start(request, time)
            else:
                self._running.discard(job)
                self._estimator.on_end(request, time - int(jobs.start[job]))
        wait, run = (np.array(sorted(some), dtype=np.int64) for some in (self._waiting, self._running))
        running = RunningRequests(jobs.cores[run], jobs.start[run], jobs.walltime[run], jobs.user[run])
        waiting = WaitingRequests(
            wait, jobs.submit[wait], jobs.cores[wait], jobs.walltime[wait], jobs.user[wait], jobs.queue[wait]
        )
        return QueueState(now, self._capacity, running, waiting)

    def answers(self, begin: int, instants: list[int]) -> Iterator[Answer]:
        """Show a state each `TICK` s from `begin`, and ask at the instants."""
        now = begin
        for instant in instants:
            while now < instant:
                self._estimator.observe(self.advance(now))
                now += TICK
            state = self.advance(instant)
            by_walltime, by_recent = self._estimator.simulated_waits(state)
            truth = self._jobs.start[state.waiting.number] - instant
            yield Answer(truth, by_walltime, by_recent, self._estimator.estimate(state))
