"""Audits schedules, independently of the scheduler."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dardis.metrics.capacities import Capacities, ProgressCallback
from dardis.metrics.cores import first_cores
from dardis.metrics.job_rules import (
    JobRules,
    KeyedViolation,
    Violation,
    contradictions,
    existing_nodes,
    job_violations,
    merge_violations,
)
from dardis.metrics.jobs_csv import read_blocks
from dardis.metrics.requested_jobs import RequestedJobs
from dardis.metrics.system import counted_jobs
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, Status
from dardis.model.node_layout import make_layout
from dardis.model.platform import Platform
from dardis.model.queues import Reservation
from dardis.model.schedule import Downtime, Schedule, boot_and_shutdown


def audit(
    schedule: Schedule, platform: Platform, *, reserved: bool = True, expected: Collection[int] | None = None,
    downtime: Downtime | None = None, asked: RequestedJobs | None = None, killed: Collection[int] = (),
) -> list[Violation]:  # fmt: skip
    """Violations of `schedule` on `platform`, as ordered in `Audit`.

    `expected`: numbers of all submitted jobs; `asked`: their requests.
    """
    with closing(Audit(platform, reserved=reserved, downtime=downtime, asked=asked, killed=killed)) as judge:
        return [*judge.check_jobs(schedule), *judge.check_remaining(expected)]


class Audit:
    """Audits a schedule block by block, then as a whole.

    Order of violations: single jobs; duplicate or missing numbers; overloads by node; wrong downtimes. `reserved`: no
    maintenance may overlap a job's walltime, else its runtime. `downtime`: when nodes were down; `asked`: expected
    jobs; `killed`: jobs that a scheduler killed.

    Memory: a block of rows and of placements, and some integers per job, node and downtime.
    """

    def __init__(
        self, platform: Platform, *, reserved: bool = True, downtime: Downtime | None = None,
        asked: RequestedJobs | None = None, killed: Collection[int] = (),
    ) -> None:  # fmt: skip
        self._reservations = platform.reservations
        self._reserved = reserved
        self._own = platform
        self._laid_out = make_layout(platform)
        self._platform = platform = self._laid_out.machine
        self._downtime = downtime if downtime is not None else Downtime.none()
        known = existing_nodes(self._downtime.node, platform)
        self._possible = Downtime(*(x[known] for x in (self._downtime.node, self._downtime.down, self._downtime.up)))
        self._rules = JobRules(platform, reserved=reserved, downtime=self._possible, killed=killed)
        self._capacities = Capacities(platform)
        self._asked = asked
        self._numbers: list[Ints] = []
        self._submits: list[Ints] = []
        self._statuses: list[NDArray[np.int8]] = []

    @property
    def job_count(self) -> int:
        """Number of audited jobs."""
        return sum(map(len, self._numbers))

    def close(self) -> None:
        """Close the temporary file."""
        self._capacities.close()

    def check_jobs(self, block: Schedule, others: Iterable[KeyedViolation] = ()) -> Iterator[Violation]:
        """Violations by the next jobs, merged with `others`; exhaust it."""
        self._numbers.append(block.number)
        self._submits.append(block.submit)
        self._statuses.append(block.status)
        laid_out = self._laid_out.to_reserved_nodes(block)
        self._capacities.add(laid_out)
        asked = self._asked.violations(laid_out, self._platform.sets) if self._asked is not None else ()
        rules = [
            *self._rules.violations(laid_out),
            *_within_reservations(self._reservations, block, reserved=self._reserved),
        ]
        return map(self._with_own_node, merge_violations([*rules, *asked, others]))

    def _with_own_node(self, violation: Violation) -> Violation:
        node, own = violation.node, self._laid_out.node
        return replace(violation, node=int(own[node])) if node is not None and 0 <= node < len(own) else violation

    def check_file(
        self, path: Path, tell: ProgressCallback | None = None, *, by_core: bool = False
    ) -> Iterator[Violation]:
        """Violations in a `check_jobs.csv`. Raises InputError.

        `tell` counts MB. `by_core`: `allocated_resources` lists cores.
        """
        first_core = first_cores(self._own) if by_core else None
        for block in read_blocks(path, tell):
            yield from self.check_jobs(block.schedule, contradictions(block, first_core))

    def miscounts(self, metrics: Mapping[str, Any], trim: tuple[int, int] | None) -> Iterator[Violation]:
        """Counts of metrics.json (made with `trim`) that contradict the jobs."""
        status = _joined(self._statuses, np.int8)[counted_jobs(_joined(self._submits, np.int64), trim)[0]]
        of_status = {state.name.lower(): int(np.count_nonzero(status == state)) for state in Status}
        for key, count in ({"jobs": len(status)} | of_status).items():
            if (found := metrics.get(key, "no")) != count:
                yield Violation(None, None, None, f"metrics.json counts {found} {key}, jobs.csv has {count}")

    def check_remaining(
        self, expected: Collection[int] | None = None, tell: ProgressCallback | None = None
    ) -> Iterator[Violation]:
        """Violations by all jobs together and by downtimes."""
        if expected is None and self._asked is not None:
            expected = self._asked.number.tolist()
        yield from _identities(_joined(self._numbers, np.int64), expected)
        yield from map(self._with_own_node, self._capacities.overloads(tell))
        yield from self._downtime_violations()

    def _downtime_violations(self) -> Iterator[Violation]:
        every, there = self._downtime, self._possible
        for place in np.flatnonzero(~existing_nodes(every.node, self._platform)).tolist():
            yield Violation(None, int(every.node[place]), int(every.down[place]), "is down but does not exist")
        node, down, up = there.node, there.down, there.up
        groups = self._platform.groups
        always_on = np.array([group.always_on for group in groups])[self._platform.group_of_node[node]]
        least = np.sum(boot_and_shutdown(self._platform), axis=0)[node]
        again = np.zeros(len(node), dtype=np.bool_)
        again[1:] = (node[1:] == node[:-1]) & (down[1:] < up[:-1])
        rules = (
            (always_on, "is down but must always be on"),
            (up - down < np.maximum(least, 1), "is down for less time than it needs to shut down and boot"),
            (again, "is shut down while it is already down"),
        )
        for broken, text in rules:
            for place in np.flatnonzero(broken).tolist():
                yield Violation(None, int(node[place]), int(down[place]), text)


def _within_reservations(
    reservations: Iterable[Reservation], s: Schedule, *, reserved: bool
) -> Iterator[Iterator[KeyedViolation]]:  # fmt: skip
    end = s.start + s.walltime if reserved else s.finish
    for reservation in reservations:
        ran = s.ran & (np.asarray(s.queue) == reservation.queue)
        if reservation.users is not None:
            strange = ran & ~np.isin(s.user, reservation.users)
            yield job_violations(s, strange, f"belongs to a user who may not use reservation {reservation.name}")
        begins, ends = np.array(reservation.spans if reservation.stands else [(FOREVER, FOREVER)], dtype=np.int64).T
        place = np.searchsorted(begins, s.start, side="right") - 1
        outside = ran & ((place < 0) | (end > ends[place]))
        yield job_violations(s, outside, f"is not within reservation {reservation.name}", s.start)


def _joined(parts: list[NDArray[Any]], kind: DTypeLike) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=kind), *parts])


def _identities(numbers: Ints, expected: Collection[int] | None) -> Iterator[Violation]:
    numbers, counts = np.unique(numbers, return_counts=True)
    for number, count in zip(numbers[counts > 1].tolist(), counts[counts > 1].tolist(), strict=True):
        yield Violation(number, None, None, f"occurs {count} times")
    if expected is not None:
        asked = np.fromiter(expected, dtype=np.int64, count=len(expected))
        for number in np.setdiff1d(asked, numbers).tolist():
            yield Violation(number, None, None, "was submitted but is missing")
        for number in np.setdiff1d(numbers, asked).tolist():
            yield Violation(number, None, None, "was never submitted")
