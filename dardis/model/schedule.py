"""Results of a run as arrays."""

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
    """Job i has the parts `[offsets[i], offsets[i+1])`, in request order.

    `units`: (parts,), `request` (parts, kinds).
    """

    offsets: Ints
    units: Ints
    request: Ints
    placed: Placements


_BLOCK: Final = 8192


@dataclass(frozen=True, slots=True)
class Schedule:
    """Jobs of a run in trace order. Times are s; `NO_TIME` if rejected.

    Arrays have (jobs,), `request` of one unit (jobs, kinds). `latest` is `NO_TIME` without a deadline.
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
    """For jobs with several parts. `units` and `placed` are then sums, `request` is of the first."""
    taken: Ints | None = None
    """Index of the chosen request, from 0; -1 without alternatives."""

    @property
    def by_part(self) -> Schedule:
        """Schedule with one entry per part."""
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

    def requested_total(self, kind: str) -> Ints:
        """Total request of a kind per job, (jobs,)."""
        place = self.kinds.index(kind)
        if self.parts is None:
            return np.asarray(self.units * self.request[:, place])
        sums = np.concatenate([[0], np.cumsum(self.parts.units * self.parts.request[:, place])])
        return np.diff(sums[self.parts.offsets])

    @property
    def ran(self) -> Bools:
        """Jobs that were completed or killed."""
        return np.asarray(self.status != Status.REJECTED)

    def digest(self) -> str:
        """Sha256 over sorted lines `job_id,starting_time,finish_time,units_by_node`, each with LF."""
        lines = sorted(chain.from_iterable(map(self._digest_lines, range(0, len(self.number), _BLOCK))))
        digest = hashlib.sha256()
        for first in range(0, len(lines), _BLOCK):
            digest.update("".join(lines[first : first + _BLOCK]).encode())
        return digest.hexdigest()

    def _digest_lines(self, first: int) -> list[str]:
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
    """Node `node[i]` is down in `[down[i], up[i])`, s of the trace's clock; (downtimes,).

    Shut-down begins at `down`; boot ends at `up` (`FOREVER`: no boot). Ascending by (node, down), without overlaps.
    """

    node: Ints
    down: Ints
    up: Ints

    @classmethod
    def none(cls) -> Downtime:
        """No downtimes."""
        return cls.of(())

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int, int]]) -> Downtime:
        """Sort (node, down, up) rows."""
        columns = np.array(sorted(rows), dtype=np.int64).reshape(-1, 3)
        return cls(columns[:, 0], columns[:, 1], columns[:, 2])

    @property
    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Rows (node, down, up)."""
        return zip(self.node.tolist(), self.down.tolist(), self.up.tolist(), strict=True)


def boot_and_shutdown(platform: Platform) -> tuple[Ints, Ints]:
    """Boot and shut-down times in s, (nodes,) each; 0 if unstated."""
    powers = [group.power or NodePower() for group in platform.groups]
    times = np.array([[power.boot_s, power.shutdown_s] for power in powers], dtype=np.int64)[platform.group_of_node]
    return times[:, 0], times[:, 1]
