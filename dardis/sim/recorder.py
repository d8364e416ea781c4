"""What happened: a record of starts, ends, refusals and decision times, turned into a schedule at the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dardis.model.job import NO_TIME, Job, Status
from dardis.model.schedule import Schedule

Ints = NDArray[np.int64]


class Recorder:
    """The record of one run, by place of the job in the trace."""

    def __init__(self, count: int) -> None:
        """Expect `count` jobs."""
        self.start = [NO_TIME] * count
        self.finish = [NO_TIME] * count
        self.attempts = [0] * count
        self.nodes: list[Ints | None] = [None] * count
        self.units: list[Ints | None] = [None] * count
        self.reasons: dict[int, str] = {}
        self.decision_ns: list[int] = []
        self.upkeep_ns = 0
        """CPU time inside the machines that belongs to no single decision."""
        self.settled = 0

    def placed(self, place: int, start: int, nodes: Ints, units: Ints) -> None:
        """A job has a reservation, or another than before."""
        self.start[place] = start
        self.nodes[place] = nodes
        self.units[place] = units

    def ended(self, place: int, now: int) -> None:
        """A job's units have ended."""
        self.finish[place] = now
        self.settled += 1

    def rejected(self, place: int, reason: str) -> None:
        """A job will never run, and why."""
        self.reasons[place] = reason
        self.settled += 1

    def schedule(self, jobs: Sequence[Job], kinds: tuple[str, ...]) -> Schedule:
        """The record as a schedule, jobs in the order given. It is asked once, at the end: the nodes move over."""
        for place in self.reasons:
            self.nodes[place] = self.units[place] = None
        sizes = [0 if nodes is None else len(nodes) for nodes in self.nodes]
        status = [
            Status.REJECTED
            if place in self.reasons
            else Status.KILLED
            if job.runtime > job.walltime
            else Status.COMPLETED
            for place, job in enumerate(jobs)
        ]

        def column(values: list[int]) -> Ints:
            return np.array(values, dtype=np.int64)

        def joined(lists: list[Ints | None]) -> Ints:
            kept = [values for values in lists if values is not None]
            lists.clear()
            return np.concatenate(kept) if kept else np.zeros(0, dtype=np.int64)

        return Schedule(
            kinds=kinds,
            number=column([job.number for job in jobs]),
            submit=column([job.submit for job in jobs]),
            earliest=column([job.earliest for job in jobs]),
            latest=column([NO_TIME if job.latest is None else job.latest for job in jobs]),
            walltime=column([job.walltime for job in jobs]),
            units=column([job.units for job in jobs]),
            request=np.array([job.request for job in jobs], dtype=np.int64).reshape(len(jobs), len(kinds)),
            status=np.array(status, dtype=np.int8),
            start=column(self.start),
            finish=column(self.finish),
            attempts=column(self.attempts),
            offsets=column([0, *np.cumsum(sizes).tolist()]),
            nodes=joined(self.nodes),
            node_units=joined(self.units),
            queue=[job.queue for job in jobs],
            user=[job.user for job in jobs],
        )
