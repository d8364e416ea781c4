"""Jobs: resource requests, alternatives and start windows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

from dardis.model.addresses import JobId

NO_TIME = -(1 << 62)
"""Unknown time."""
SHORTEST_WINDOW_S = 3600
SLOWDOWN_TAU_S = 10
"""Least runtime in the bounded slowdown."""
FOREVER = 1 << 62
"""Later than every time in use."""


@dataclass(frozen=True, slots=True)
class Job:
    """Rigid parallel job of `units` equal units. Times are s on the trace's clock.

    `request`: need of one unit by kind. `groups`: bit set of permitted node groups. `latest`: latest start or None.
    `prediction`: estimated runtime in s.

    With `requests`, the job runs as one of these. The other fields then describe the first: walltime, all units, and
    request and groups of the first part.
    """

    number: JobId
    submit: int
    earliest: int
    latest: int | None
    walltime: int
    units: int
    request: tuple[int, ...]
    groups: int
    queue: str = ""
    user: str = ""
    name: str = ""
    prediction: int | None = None
    requests: tuple[Request, ...] = ()
    takes: tuple[int, ...] | None = None
    """What a unit takes of a shared limit, by kind, and mW; None: request, and the platform's power."""

    @property
    def amounts(self) -> tuple[int, ...]:
        """Total need by kind, of the first request."""
        return self.requests[0].amounts if self.requests else tuple(self.units * amount for amount in self.request)

    @property
    def least_walltime(self) -> int:
        """Shortest walltime of all requests."""
        return min((request.walltime for request in self.requests), default=self.walltime)

    def with_request(self, place: int) -> Job:
        """Job with only one request, by index."""
        if len(self.requests) < 2:
            return self
        taken = self.requests[place]
        first = taken.parts[0]
        return replace(
            self, walltime=taken.walltime, units=taken.units, request=first.request, groups=first.groups,
            requests=(taken,),
        )  # fmt: skip

    @property
    def expected(self) -> int:
        """Expected duration in s: prediction or walltime."""
        return self.walltime if self.prediction is None else self.prediction

    def __post_init__(self) -> None:
        if self.units < 1 or self.walltime < 1:
            raise ValueError(f"job {self.number}: units and walltime must be at least 1")
        if self.earliest < self.submit:
            raise ValueError(f"job {self.number}: the earliest start is before the submission")
        if min(self.request) < 0 or max(self.request) == 0:
            raise ValueError(f"job {self.number}: a unit must request a resource")
        if self.requests and (self.units, self.walltime) != (self.requests[0].units, self.requests[0].walltime):
            raise ValueError(f"job {self.number}: units and walltime differ from its first request")


@dataclass(frozen=True, slots=True)
class ActualJob:
    """Job with its real runtime. Not a `Job`, so no scheduler can receive one.

    Submitted `think` s after the end of job `after`, if later.
    """

    job: Job
    runtime: int
    after: JobId | None = None
    think: int = 0
    runtimes: tuple[int, ...] = ()
    """Real runtimes by request, if different."""

    def __post_init__(self) -> None:
        if min((self.runtime, *self.runtimes)) < 1:
            raise ValueError(f"job {self.number}: the runtime must be at least 1")

    def with_request(self, place: int) -> ActualJob:
        """Job with only one request, by index."""
        if len(self.job.requests) < 2:
            return self
        runtime = self.runtimes[place] if self.runtimes else self.runtime
        return replace(self, job=self.job.with_request(place), runtime=runtime, runtimes=())

    @property
    def duration(self) -> int:
        """Time on nodes: the runtime, at most the walltime."""
        return min(self.runtime, self.job.walltime)

    @property
    def number(self) -> JobId:
        """Job number."""
        return self.job.number

    @property
    def submit(self) -> int:
        """Submission time."""
        return self.job.submit

    @property
    def earliest(self) -> int:
        """Earliest start."""
        return self.job.earliest

    @property
    def latest(self) -> int | None:
        """Latest start."""
        return self.job.latest

    @property
    def walltime(self) -> int:
        """Requested walltime."""
        return self.job.walltime

    @property
    def units(self) -> int:
        """Number of units."""
        return self.job.units

    @property
    def request(self) -> tuple[int, ...]:
        """Request of one unit."""
        return self.job.request

    @property
    def groups(self) -> int:
        """Bit set of node groups."""
        return self.job.groups

    @property
    def queue(self) -> str:
        """Queue."""
        return self.job.queue

    @property
    def user(self) -> str:
        """User."""
        return self.job.user


class Status(IntEnum):
    """Final status of a job."""

    COMPLETED = 0
    KILLED = 1
    REJECTED = 2


@dataclass(frozen=True, slots=True)
class Part:
    """Equal units of a job; `request` is per unit, by kind.

    The units use exactly `nodes` nodes (0: any number) of the bit set `groups`.
    """

    units: int
    request: tuple[int, ...]
    groups: int
    nodes: int = 0

    def __post_init__(self) -> None:
        if self.units < 1 or not 0 <= self.nodes <= self.units:
            raise ValueError("a part needs at least one unit, and one on each of its nodes")
        if min(self.request) < 0 or max(self.request) == 0:
            raise ValueError("a unit must request a resource")


@dataclass(frozen=True)
class Request:
    """Parts that start together and hold nodes for the same time, at most `walltime` s (thesis eq. 4.7).

    Parts may share nodes. If `contiguous`, nodes of each part have consecutive numbers.
    """

    parts: tuple[Part, ...]
    walltime: int
    contiguous: bool = False

    def __post_init__(self) -> None:
        if not self.parts or self.walltime < 1:
            raise ValueError("a request needs at least one part and a walltime")

    @cached_property
    def units(self) -> int:
        """Units of all parts."""
        return sum(part.units for part in self.parts)

    @cached_property
    def amounts(self) -> tuple[int, ...]:
        """Total amounts by kind."""
        return tuple(
            sum(part.units * part.request[kind] for part in self.parts) for kind in range(len(self.parts[0].request))
        )
