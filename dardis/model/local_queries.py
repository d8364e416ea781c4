"""Queries of a task manager to the only pool in its process.

Calls replace messages. Times are s; arrays are int64.
"""

from __future__ import annotations

from typing import Protocol

from dardis.model.addresses import JobId
from dardis.model.arrays import Ints, value

BIND_COLUMNS = 7


@value(frozen=True, slots=True)
class SeekQuery:
    """Find and reserve a job's earliest start.

    Replaces a claim and queries over doubling windows, first of `span` starts from `first`.
    """

    job: JobId
    attempt: int
    """Number of attempts; keys the draws."""
    first: int
    span: int
    walltime: int
    units: int
    groups: int
    request: Ints
    choice: int
    distinct: bool


@value(frozen=True, slots=True)
class SeekResponse:
    """Reservation from `start` on; without nodes if no start exists."""

    start: int
    nodes: Ints
    units: Ints
    rounds: int
    """Number of replaced queries."""


@value(frozen=True, slots=True)
class ImproveQuery:
    """Move jobs to earlier starts, in turn. Arrays have (jobs,), `request` (jobs, kinds)."""

    job: Ints
    attempt: Ints
    """Claim number, later than all before."""
    first: Ints
    """First and last desired start; `first` also keys the draws."""
    last: Ints
    units: Ints
    groups: Ints
    request: Ints
    choice: int
    distinct: bool


@value(frozen=True, slots=True)
class ImproveResponse:
    """Moved jobs by index in the query, with new holdings."""

    place: Ints
    start: Ints
    offset: Ints
    """Job `place[i]` holds `nodes[offset[i] : offset[i + 1]]`."""
    nodes: Ints
    units: Ints


@value(frozen=True, slots=True)
class BindQuery:
    """Start these jobs now, in order, if possible. Only for the sole task manager.

    The first blocked job may reserve its earliest start.
    """

    jobs: Ints
    """Rows (number, submission, walltime, units, groups, deadline, last reserved start, unit request…)."""
    dropped: JobId
    """Job that first releases its reservation; negative: none."""
    reserves: int
    """Code of the reserving side (`dardis.model.offer_rows`)."""
    has_more_waiting: bool
    choice: int
    distinct: bool
    binds: bool
    """The desired profile binds, and (`soft`) yields to deadlines."""
    soft: bool


@value(frozen=True, slots=True)
class BindResponse:
    """Jobs that started or reserved."""

    jobs: Ints
    """Rows (index in the query, number, start, end by walltime, number of nodes)."""
    nodes: Ints
    units: Ints
    rounds: int
    """Number of replaced queries."""
    blocked: int
    """Index of the blocked job if the task manager must reserve, or negative."""
    notices: int
    next_change: int


class LocalNodes(Protocol):
    """All nodes of a machine. Calls act at time `now`."""

    def seek(self, seek: SeekQuery, now: int) -> SeekResponse:
        """Reserve the earliest start of a job."""

    def improve(self, improve: ImproveQuery, now: int) -> ImproveResponse:
        """Move jobs to earlier starts."""

    def bind(self, bind: BindQuery, now: int) -> BindResponse:
        """Give late-binding jobs their turns."""
