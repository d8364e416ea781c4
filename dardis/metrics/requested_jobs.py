"""Checks schedules against requested jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dardis.metrics.job_rules import KeyedViolation, Violation, shape_violations, used_alternative
from dardis.model.arrays import Bools, Ints
from dardis.model.job import ActualJob, Status
from dardis.model.node_sets import NodeSets
from dardis.model.schedule import Schedule


class ChangedJob(NamedTuple):
    """Job after events; `ran`: runtime until node failure, or None."""

    number: int
    walltime: int
    queue: str
    ran: int | None


@dataclass(frozen=True)
class RequestedJobs:
    """Jobs by number; arrays (jobs,), `request` (jobs, kinds) per unit.

    `duration`: runtime cut at walltime; `killed`: cut; `failed`: ran until a node failure. A job that `follows` another
    is submitted at the other's end, but not before `submit`.
    """

    kinds: tuple[str, ...]
    number: Ints
    submit: Ints
    walltime: Ints
    units: Ints
    request: Ints
    duration: Ints
    killed: Bools
    failed: Bools
    follows: Bools
    queue: NDArray[np.object_]
    runtime: Ints
    shaped: Mapping[int, ActualJob] = field(default_factory=dict)
    """Jobs that request more than units on any nodes."""

    @classmethod
    def of(cls, jobs: Sequence[ActualJob], kinds: tuple[str, ...]) -> RequestedJobs:
        """Build from jobs; `kinds` of the machine."""
        jobs = sorted(jobs, key=lambda job: job.number)

        def column(values: Iterator[int]) -> Ints:
            return np.fromiter(values, dtype=np.int64, count=len(jobs))

        return cls(
            kinds,
            column(job.number for job in jobs),
            column(job.submit for job in jobs),
            column(job.walltime for job in jobs),
            column(job.units for job in jobs),
            np.array([job.request for job in jobs], dtype=np.int64).reshape(-1, len(kinds)),
            column(job.duration for job in jobs),
            column(job.runtime > job.walltime for job in jobs).astype(np.bool_),
            np.zeros(len(jobs), dtype=np.bool_),
            column(job.after is not None for job in jobs).astype(np.bool_),
            np.array([job.queue for job in jobs], dtype=object),
            column(job.runtime for job in jobs),
            {job.number: job for job in jobs if job.job.requests},
        )

    def apply_changes(self, jobs: Sequence[ChangedJob]) -> RequestedJobs:
        """Apply events; ignore unknown numbers."""
        walltime, queue, duration, killed, failed = (
            self.walltime.copy(), self.queue.copy(), self.duration.copy(), self.killed.copy(), self.failed.copy()
        )  # fmt: skip
        for one in jobs:
            for place in np.flatnonzero(self.number == one.number).tolist():
                walltime[place], queue[place] = one.walltime, one.queue
                runs = int(self.runtime[place])
                duration[place] = min(runs, one.walltime) if one.ran is None else one.ran
                failed[place] = one.ran is not None
                killed[place] = failed[place] or runs > one.walltime
        return replace(self, walltime=walltime, queue=queue, duration=duration, killed=killed, failed=failed)

    def with_used_requests(self, s: Schedule) -> RequestedJobs:
        """Reduce alternatives to the request used in `s`."""
        several = {number: job for number, job in self.shaped.items() if len(job.job.requests) > 1}
        if not several:
            return self
        walltime, units, request = self.walltime.copy(), self.units.copy(), self.request.copy()
        duration, killed = self.duration.copy(), self.killed.copy()
        for row, number in enumerate(s.number.tolist()):
            taken = used_alternative(s, row)
            if number in several and taken < len(several[number].job.requests):
                job, place = several[number].with_request(taken), np.searchsorted(self.number, number)
                walltime[place], units[place], request[place] = job.walltime, job.units, job.request
                if not self.failed[place]:
                    duration[place], killed[place] = job.duration, job.runtime > job.walltime
        return replace(self, walltime=walltime, units=units, request=request, duration=duration, killed=killed)

    def violations(self, s: Schedule, sets: NodeSets) -> list[Iterator[KeyedViolation]]:
        """Jobs that differ, per property; ignores unknown numbers."""
        return [*self.with_used_requests(s).differences(s), shape_violations(s, self.shaped, self.kinds, sets)]

    def differences(self, s: Schedule) -> list[Iterator[KeyedViolation]]:
        """Jobs that differ in time, units or amounts."""
        place = np.minimum(np.searchsorted(self.number, s.number), max(len(self.number) - 1, 0))
        known = np.flatnonzero(self.number[place] == s.number) if len(self.number) else np.zeros(0, dtype=np.int64)
        place = place[known]
        ran, run = s.ran[known], (s.finish - s.start)[known]
        submit, asked = s.submit[known], self.submit[place]
        wrong = np.where(self.follows[place], submit < asked, submit != asked)
        cut = ran & ((s.status[known] == Status.KILLED) != self.killed[place])

        def found(wrong: Bools, what: Callable[[int], str]) -> Iterator[KeyedViolation]:
            for i in np.flatnonzero(wrong).tolist():
                text = f"{what(i)}, unlike in the trace"
                yield int(known[i]), Violation(int(s.number[known[i]]), None, None, text)

        def differs(
            name: str, of_row: NDArray[Any], of_trace: NDArray[Any], where: Bools | None = None
        ) -> Iterator[KeyedViolation]:
            other = of_row != of_trace
            return found(other if where is None else where & other, lambda i: f"{name} {of_row[i]}, not {of_trace[i]}")

        return [
            found(wrong, lambda i: f"was submitted at {submit[i]}, not {asked[i]}"),
            differs("has walltime", s.walltime[known], self.walltime[place]),
            differs("is in queue", np.array(s.queue, dtype=object)[known], self.queue[place]),
            differs("has units", s.units[known], self.units[place]),
            *(
                differs(f"requests {kind}", s.request[known, s.kinds.index(kind)], self.request[place, at])
                for at, kind in enumerate(self.kinds)
                if kind in s.kinds
            ),
            differs("ran for", run, self.duration[place], ran),
            found(cut, lambda i: f"should {'' if self.killed[place[i]] else 'not '}have been killed"),
        ]
