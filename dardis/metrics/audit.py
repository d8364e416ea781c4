"""Is a schedule legal on a platform? Judges the result alone, with nothing of what made it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dardis.metrics.capacities import Capacities, Tell
from dardis.metrics.cores import first_cores
from dardis.metrics.job_rules import Found, JobRules, Violation, contradictions, exist, in_order, of_jobs
from dardis.metrics.jobs_csv import read_blocks
from dardis.metrics.requested_jobs import AskedJobs
from dardis.metrics.system import counted_jobs
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, Status
from dardis.model.node_layout import lay_out
from dardis.model.platform import Platform
from dardis.model.queues import Reservation
from dardis.model.schedule import Downtime, Schedule, boot_and_shutdown


def audit(
    schedule: Schedule, platform: Platform, *, reserved: bool = True, expected: Collection[int] | None = None,
    downtime: Downtime | None = None, asked: AskedJobs | None = None,
) -> list[Violation]:  # fmt: skip
    """Everything that makes `schedule` illegal on `platform`, in the order of `Audit`; empty when it is legal.

    `expected` are the numbers of all jobs that were handed in, each to be there once; `asked` is what they asked for.
    """
    with closing(Audit(platform, reserved=reserved, downtime=downtime, asked=asked)) as judge:
        return [*judge.jobs(schedule), *judge.rest(expected)]


class Audit:
    """Judges a schedule block by block: its jobs in their order, then what they make together.

    Told are first the faults of each job, in the order of the jobs and whatever the blocks; then numbers that are there
    twice or not at all; then by node where it holds too much; then wrong times down.

    `reserved` says that jobs were placed for their whole walltime, so that none may start on a node whose maintenance
    begins before its walltime ends; otherwise only the time it really ran counts. `downtime` says when nodes were down,
    `asked` which jobs there are to be, and what of.

    Memory does not grow with placements: it is that of one block (of `table.BLOCK_CHARACTERS`, or of one row that is
    longer), of `placements.BLOCK` placements (or of one node that has more), and some integers a job, node, time down
    and node in maintenance. Placements wait in a temporary file (`dardis.metrics.capacities`).
    """

    def __init__(
        self, platform: Platform, *, reserved: bool = True, downtime: Downtime | None = None,
        asked: AskedJobs | None = None,
    ) -> None:  # fmt: skip
        self._reservations = platform.reservations
        self._reserved = reserved
        self._own = platform
        self._laid_out = lay_out(platform)
        self._platform = platform = self._laid_out.machine
        self._downtime = downtime if downtime is not None else Downtime.none()
        known = exist(self._downtime.node, platform)
        self._possible = Downtime(*(x[known] for x in (self._downtime.node, self._downtime.down, self._downtime.up)))
        self._rules = JobRules(platform, reserved=reserved, downtime=self._possible)
        self._capacities = Capacities(platform)
        self._asked = asked
        self._numbers: list[Ints] = []
        self._submits: list[Ints] = []
        self._statuses: list[NDArray[np.int8]] = []

    @property
    def job_count(self) -> int:
        """Jobs that were judged."""
        return sum(map(len, self._numbers))

    def close(self) -> None:
        """Give up the temporary file."""
        self._capacities.close()

    def jobs(self, block: Schedule, others: Iterable[Found] = ()) -> Iterator[Violation]:
        """What is wrong with the next jobs alone, and what others found in them, by job; to be taken to its end."""
        self._numbers.append(block.number)
        self._submits.append(block.submit)
        self._statuses.append(block.status)
        laid_out = self._laid_out.on_stand_ins(block)
        self._capacities.add(laid_out)
        asked = self._asked.broken(laid_out, self._platform.sets) if self._asked is not None else ()
        rules = [
            *self._rules.broken(laid_out),
            *_within_reservations(self._reservations, block, reserved=self._reserved),
        ]
        return map(self._on_own_node, in_order([*rules, *asked, others]))

    def _on_own_node(self, violation: Violation) -> Violation:
        """The same, with the machine's own node where it is about one that stands for what is reserved."""
        node, own = violation.node, self._laid_out.node
        return replace(violation, node=int(own[node])) if node is not None and 0 <= node < len(own) else violation

    def file(self, path: Path, tell: Tell | None = None, *, by_core: bool = False) -> Iterator[Violation]:
        """What is wrong with the jobs of a `jobs.csv`, contradictions too; `tell` is told of MB. Raises InputError.

        `by_core` says that its `allocated_resources` are cores, not nodes.
        """
        first_core = first_cores(self._own) if by_core else None
        for block in read_blocks(path, tell):
            yield from self.jobs(block.schedule, contradictions(block, first_core))

    def miscounts(self, metrics: Mapping[str, Any], trim: tuple[int, int] | None) -> Iterator[Violation]:
        """Where the counts of a metrics.json, made with `trim`, are not those of the jobs judged so far."""
        status = _joined(self._statuses, np.int8)[counted_jobs(_joined(self._submits, np.int64), trim)[0]]
        of_status = {state.name.lower(): int(np.count_nonzero(status == state)) for state in Status}
        for key, count in ({"jobs": len(status)} | of_status).items():
            if (told := metrics.get(key, "no")) != count:
                yield Violation(None, None, None, f"metrics.json counts {told} {key}, jobs.csv has {count}")

    def rest(self, expected: Collection[int] | None = None, tell: Tell | None = None) -> Iterator[Violation]:
        """What is wrong with all jobs together and with the times down; `tell` is told of nodes."""
        if expected is None and self._asked is not None:
            expected = self._asked.number.tolist()
        yield from _identities(_joined(self._numbers, np.int64), expected)
        yield from map(self._on_own_node, self._capacities.exceeded(tell))
        yield from self._times_down()

    def _times_down(self) -> Iterator[Violation]:
        """Nodes go down and come up as they can, one time after the other."""
        every, there = self._downtime, self._possible
        for place in np.flatnonzero(~exist(every.node, self._platform)).tolist():
            yield Violation(None, int(every.node[place]), int(every.down[place]), "is down, and does not exist")
        node, down, up = there.node, there.down, there.up
        groups = self._platform.groups
        always_on = np.array([group.always_on for group in groups])[self._platform.group_of_node[node]]
        least = np.sum(boot_and_shutdown(self._platform), axis=0)[node]
        again = np.zeros(len(node), dtype=np.bool_)
        again[1:] = (node[1:] == node[:-1]) & (down[1:] < up[:-1])
        rules = (
            (always_on, "is down, and always on"),
            (up - down < np.maximum(least, 1), "is up again sooner than it can shut down and boot"),
            (again, "is shut down while it is down"),
        )
        for broken, text in rules:
            for place in np.flatnonzero(broken).tolist():
                yield Violation(None, int(node[place]), int(down[place]), text)


def _within_reservations(
    reservations: Iterable[Reservation], s: Schedule, *, reserved: bool
) -> Iterator[Iterator[Found]]:  # fmt: skip
    """Who ran in a reservation's queue is one of its users, and ran within one of its spans."""
    end = s.start + s.walltime if reserved else s.finish
    for reservation in reservations:
        ran = s.ran & (np.asarray(s.queue) == reservation.queue)
        if reservation.users is not None:
            strange = ran & ~np.isin(s.user, reservation.users)
            yield of_jobs(s, strange, f"is of nobody who may use reservation {reservation.name}")
        begins, ends = np.array(reservation.spans if reservation.stands else [(FOREVER, FOREVER)], dtype=np.int64).T
        place = np.searchsorted(begins, s.start, side="right") - 1
        outside = ran & ((place < 0) | (end > ends[place]))
        yield of_jobs(s, outside, f"is not within reservation {reservation.name}", s.start)


def _joined(parts: list[NDArray[Any]], kind: DTypeLike) -> NDArray[Any]:
    """The parts, of which there may be none, as one."""
    return np.concatenate([np.empty(0, dtype=kind), *parts])


def _identities(numbers: Ints, expected: Collection[int] | None) -> Iterator[Violation]:
    """Every job is there, and once."""
    numbers, counts = np.unique(numbers, return_counts=True)
    for number, count in zip(numbers[counts > 1].tolist(), counts[counts > 1].tolist(), strict=True):
        yield Violation(number, None, None, f"is there {count} times")
    if expected is not None:
        asked = np.fromiter(expected, dtype=np.int64, count=len(expected))
        for number in np.setdiff1d(asked, numbers).tolist():
            yield Violation(number, None, None, "was submitted and is not there")
        for number in np.setdiff1d(numbers, asked).tolist():
            yield Violation(number, None, None, "was never submitted")
