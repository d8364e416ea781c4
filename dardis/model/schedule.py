"""Results of a run: when and where each job ran, and when nodes were down, as structs of arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dardis.model.arrays import Bools, Ints
from dardis.model.job import Status
from dardis.model.placements import Placements
from dardis.model.platform import NodePower, Platform


@dataclass(frozen=True, slots=True)
class PartsOfJobs:
    """Job i has the parts `[offsets[i], offsets[i+1])`, at least one, in the order in which it states them.

    `units` has shape (parts,), `request` (parts, kinds); `placed` says where the units of each part are.
    """

    offsets: Ints
    units: Ints
    request: Ints
    placed: Placements


_BLOCK: Final = 8192
"""Jobs whose nodes are made text at a time, so that they never fill the memory as numbers of Python."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """All jobs of a run, in the order of the trace. Times in s; `NO_TIME` where a rejected job has none.

    Arrays have shape (jobs,), `request` (jobs, kinds): what one unit asks for. `latest` is `NO_TIME` without
    a deadline.
    """

    kinds: tuple[str, ...]
    number: Ints
    submit: Ints
    earliest: Ints
    latest: Ints
    walltime: Ints
    units: Ints
    request: Ints
    status: NDArray[np.int8]
    start: Ints
    finish: Ints
    attempts: Ints
    placed: Placements
    queue: list[str]
    user: list[str]
    parts: PartsOfJobs | None = None
    """Where a job has several parts; of those `units` and `placed` are the sums, and `request` that of the first."""
    taken: Ints | None = None
    """Where a job may run as one of several requests: the place of that which was taken, from 0; -1 without any."""

    @property
    def by_part(self) -> Schedule:
        """The same with an entry a part, as if each were a job; itself where no job has several."""
        if self.parts is None:
            return self
        job = np.repeat(np.arange(len(self.number)), np.diff(self.parts.offsets))
        columns = {
            name: getattr(self, name)[job]
            for name in ("number", "submit", "earliest", "latest", "walltime", "status", "start", "finish", "attempts")
        }
        queue, user = ([texts[i] for i in job.tolist()] for texts in (self.queue, self.user))
        units, request, placed = self.parts.units, self.parts.request, self.parts.placed
        return Schedule(
            kinds=self.kinds, **columns, units=units, request=request, placed=placed, queue=queue, user=user
        )

    def asked_of(self, kind: str) -> Ints:
        """What each whole job asks for of a kind, shape (jobs,)."""
        place = self.kinds.index(kind)
        if self.parts is None:
            return np.asarray(self.units * self.request[:, place])
        sums = np.concatenate([[0], np.cumsum(self.parts.units * self.parts.request[:, place])])
        return np.diff(sums[self.parts.offsets])

    @property
    def ran(self) -> Bools:
        """Which jobs ran (completed or killed)."""
        return np.asarray(self.status != Status.REJECTED)

    def digest(self) -> str:
        """Sha256 over the sorted lines `job_id,starting_time,finish_time,units_by_node` (a line ends in LF)."""
        lines = sorted(chain.from_iterable(map(self._digest_lines, range(0, len(self.number), _BLOCK))))
        digest = hashlib.sha256()
        for first in range(0, len(lines), _BLOCK):
            digest.update("".join(lines[first : first + _BLOCK]).encode())
        return digest.hexdigest()

    def _digest_lines(self, first: int) -> list[str]:
        """The lines of a block of jobs, in their order."""
        span = slice(first, min(first + _BLOCK, len(self.number)))
        columns = (column[span].tolist() for column in (self.number, self.start, self.finish, self.ran))
        return [
            f"{number},{start},{finish},{placed}\n" if ran else f"{number},,,\n"
            for number, start, finish, ran, placed in zip(
                *columns, self.placed.texts(span.start, span.stop), strict=True
            )
        ]


@dataclass(frozen=True, slots=True)
class Downtime:
    """Arrays of shape (times down,): node `node[i]` holds nothing in `[down[i], up[i])`, s of the trace's clock.

    Its shut-down begins at `down`, its boot ends at `up` (`FOREVER`: it is not booted again), one boot time after it
    began. Ascending by (node, down); the spans of a node don't overlap.
    """

    node: Ints
    down: Ints
    up: Ints

    @classmethod
    def none(cls) -> Downtime:
        """All nodes up, always."""
        return cls.of(())

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int, int]]) -> Downtime:
        """Of (node, down, up) in any order."""
        columns = np.array(sorted(rows), dtype=np.int64).reshape(-1, 3)
        return cls(columns[:, 0], columns[:, 1], columns[:, 2])

    @property
    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Each time down as (node, down, up)."""
        return zip(self.node.tolist(), self.down.tolist(), self.up.tolist(), strict=True)


def boot_and_shutdown(platform: Platform) -> tuple[Ints, Ints]:
    """How long each node's boot and shut-down take, in s, shape (nodes,) each; 0 where the platform does not say."""
    powers = [group.power or NodePower() for group in platform.groups]
    times = np.array([[power.boot_s, power.shutdown_s] for power in powers], dtype=np.int64)[platform.group_of_node]
    return times[:, 0], times[:, 1]
