"""What happens to jobs, whoever decides: they arrive, follow each other and end, in one order of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from dardis.engine.queue import EventQueue
from dardis.model.errors import ProtocolError
from dardis.model.job import Job
from dardis.sim.recorder import Recorder

Progress = Callable[[int, int], None]
"""What is called with (jobs settled, jobs in all)."""


class World:
    """The jobs of a run, in (submit, number) order, their events and the record. Subclasses carry out decisions.

    At one instant ends come first, then arrivals (`batched`); or arrivals, then each end by itself.
    """

    def __init__(self, jobs: Sequence[Job], *, batched: bool) -> None:
        """Fill the queue of events with the arrivals of all jobs that follow no other."""
        self.jobs = list(jobs)
        self.recorder = Recorder(len(self.jobs))
        self._batched = batched
        self._arrival, self._ending = (1, 0) if batched else (0, 1)
        self._events = EventQueue()
        self._place = {job.number: place for place, job in enumerate(self.jobs)}
        self._followers: dict[int, list[int]] = {}
        first = []
        for place, job in enumerate(self.jobs):
            leader = None if job.after is None else self._place.get(job.after)
            if leader is not None and leader < place:
                self._followers.setdefault(leader, []).append(place)
            else:
                first.append((job.submit, self._arrival, job.number, place))
        self._events.fill(first)

    def _arriving(self, place: int, now: int) -> Job:
        """The job that arrives, with its own times if it arrives later than its trace says."""
        job = self.jobs[place]
        if now > job.submit:
            # A job that follows another is submitted when its user has seen the result.
            late = None if job.latest is None else job.latest + now - job.submit
            job = self.jobs[place] = replace(job, submit=now, earliest=max(job.earliest, now), latest=late)
        return job

    def _submit_followers(self, place: int, now: int) -> None:
        for follower in self._followers.pop(place, ()):
            job = self.jobs[follower]
            self._events.put(max(job.submit, now + job.think), self._arrival, job.number, follower)

    def _reject(self, place: int, reason: str, now: int) -> None:
        """A job will never run; who follows it is submitted."""
        self.recorder.rejected(place, reason)
        self._submit_followers(place, now)

    def _check_settled(self) -> None:
        """Every job has ended or been rejected, or a machine has forgotten one: a defect, not a result."""
        if self.recorder.settled != len(self.jobs):
            raise ProtocolError(f"{len(self.jobs) - self.recorder.settled} jobs neither ran nor were rejected")
