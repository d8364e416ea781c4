"""A pure-Python environment in the usual form: lists of jobs, loops over running jobs, EASY backfilling, 128 jobs seen.

As in published environments, a list of cores knows which job holds them, and an observation is filled row by row, also
those without a job. It imports nothing of the project.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

PLACES = 128
LONGEST_S = 86_400 * 7
FEATURES = 5


@dataclass
class QueuedJob:
    """A job; times in s."""

    number: int
    submit: int
    runtime: int
    walltime: int
    cores: int
    start: int = -1
    held: list[Core] = field(default_factory=list)


@dataclass
class Core:
    """A core, and the number of the job on it (-1: none)."""

    job: int = -1


class PythonQueueEnv:
    """An agent picks the next job; the picked job blocks the others, which are backfilled (EASY)."""

    def __init__(self, jobs: list[QueuedJob], cores: int) -> None:
        """Begin with the first arrival; `jobs` in order of submission."""
        self.cores = self.free = cores
        self.pool = [Core() for _ in range(cores)]
        self.jobs = jobs
        self.now = 0
        self.arrived = 0
        self.queue: list[QueuedJob] = []
        self.running: list[QueuedJob] = []
        self.go_on()

    def step(self, place: int) -> tuple[NDArray[np.float32], float, bool]:
        """Pick a job; return observation, reward and whether the episode is over."""
        job = self.queue[place]
        while job.cores > self.free:
            self.backfill(job)
            self.go_on()
        self.begin(job)
        while not self.queue and self.arrived < len(self.jobs):
            self.go_on()
        done = not self.queue
        return self.observation(), -self.slowdown() if done else 0.0, done

    def begin(self, job: QueuedJob) -> None:
        """Start a job now."""
        job.start = self.now
        self.free -= job.cores
        for core in self.pool:
            if len(job.held) == job.cores:
                break
            if core.job < 0:
                core.job = job.number
                job.held.append(core)
        self.queue.remove(job)
        self.running.append(job)

    def go_on(self) -> None:
        """Go on to the next end or arrival."""
        times = [job.start + job.runtime for job in self.running]
        if self.arrived < len(self.jobs):
            times.append(self.jobs[self.arrived].submit)
        self.now = min(times)
        still = []
        for job in self.running:
            if job.start + job.runtime <= self.now:
                self.free += job.cores
                for core in job.held:
                    core.job = -1
                job.held.clear()
            else:
                still.append(job)
        self.running = still
        while self.arrived < len(self.jobs) and self.jobs[self.arrived].submit == self.now:
            self.queue.append(self.jobs[self.arrived])
            self.arrived += 1

    def backfill(self, picked: QueuedJob) -> None:
        """Start jobs that do not delay the picked job."""
        self.running.sort(key=lambda job: (job.start + job.walltime, job.number))
        free, shadow = self.free, self.now
        for job in self.running:
            if free >= picked.cores and job.start + job.walltime > shadow:
                break
            free += job.cores
            shadow = job.start + job.walltime
        extra = free - picked.cores
        for job in sorted(self.queue, key=attrgetter("submit", "number")):
            if job is picked or job.cores > self.free:
                continue
            if self.now + job.walltime > shadow:
                if job.cores > extra:
                    continue
                extra -= job.cores
            self.begin(job)

    def observation(self) -> NDArray[np.float32]:
        """Rows of the first waiting jobs: wait, walltime, cores, whether it fits, whether there is a job."""
        rows = []
        self.queue.sort(key=attrgetter("submit", "number"))
        for place in range(PLACES):
            if place < len(self.queue):
                job = self.queue[place]
                wait = min((self.now - job.submit) / LONGEST_S, 1.0)
                fits = 1.0 if job.cores <= self.free else 0.0
                rows.append([wait, min(job.walltime / LONGEST_S, 1.0), job.cores / self.cores, fits, 1.0])
            else:
                rows.append([0.0] * FEATURES)
        vector = np.zeros(PLACES * FEATURES, dtype=np.float32)
        for place in range(PLACES):
            vector[place * FEATURES : (place + 1) * FEATURES] = rows[place]
        return vector

    def slowdown(self) -> float:
        """Mean bounded slowdown of all jobs."""
        total = 0.0
        for job in self.jobs:
            total += max((job.start - job.submit + job.runtime) / max(job.runtime, 10), 1.0)
        return total / len(self.jobs)
