"""A job as a scheduler sees it: what it asks for (parts, nodes, alternatives), and when it may start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

from dardis.model.addresses import JobId

NO_TIME = -(1 << 62)
"""Stands where a time is unknown or has no meaning."""
SHORTEST_WINDOW_S = 3600
"""The least that a window of start times spans, in s, however short the job."""
FOREVER = 1 << 62
"""Later than any time that occurs."""


@dataclass(frozen=True, slots=True)
class Job:
    """A rigid parallel job of `units` equal units that start together. Times in s of the trace's clock.

    `request` is what one unit needs, in the order of the platform's kinds; `groups` the bit set of node groups
    that may run it; `latest` its latest start (lst) or None. It is killed at its walltime; `name` is its own or its
    application's. How long it really runs is not in it; `prediction`, in s, is what somebody makes of others alike.

    Where it asks for more than that, `requests` are what it may be run as, one of them: the first one's walltime, units
    of all parts, and request and groups of the first part are then its own.
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

    @property
    def amounts(self) -> tuple[int, ...]:
        """What it asks for as a whole, by kind; of several requests, the first."""
        return self.requests[0].amounts if self.requests else tuple(self.units * amount for amount in self.request)

    @property
    def least_walltime(self) -> int:
        """Of all its requests."""
        return min((request.walltime for request in self.requests), default=self.walltime)

    def taking(self, place: int) -> Job:
        """The job as if it asked for nothing but one of its requests, by place."""
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
        """How long it is expected to run, in s: its walltime where nobody has predicted anything."""
        return self.walltime if self.prediction is None else self.prediction

    def __post_init__(self) -> None:
        """Refuse what no scheduler could make sense of."""
        if self.units < 1 or self.walltime < 1:
            raise ValueError(f"job {self.number}: units and walltime must be at least 1")
        if self.earliest < self.submit:
            raise ValueError(f"job {self.number}: earliest start lies before its submission")
        if min(self.request) < 0 or max(self.request) == 0:
            raise ValueError(f"job {self.number}: a unit must ask for something")
        if self.requests and (self.units, self.walltime) != (self.requests[0].units, self.requests[0].walltime):
            raise ValueError(f"job {self.number}: its units and walltime are not those of its first request")


@dataclass(frozen=True, slots=True)
class Actual:
    """A job as the world knows it: what those see of it who decide, and beside it what is known to none of them.

    `runtime` is what it really runs. `after` is the job it follows (None: none): it is submitted `think` s after that
    one's end, if that is later. It is no `Job`: nobody who decides can be handed one.
    """

    asked: Job
    runtime: int
    after: JobId | None = None
    think: int = 0
    runtimes: tuple[int, ...] = ()
    """What it really runs as each of its requests, where they differ; the first is `runtime`."""

    def __post_init__(self) -> None:
        """Refuse what no scheduler could make sense of."""
        if min((self.runtime, *self.runtimes)) < 1:
            raise ValueError(f"job {self.number}: its runtime must be at least 1")

    def taking(self, place: int) -> Actual:
        """The job as if it had asked for nothing but one of its requests, by place."""
        if len(self.asked.requests) < 2:
            return self
        runtime = self.runtimes[place] if self.runtimes else self.runtime
        return replace(self, asked=self.asked.taking(place), runtime=runtime, runtimes=())

    @property
    def duration(self) -> int:
        """How long it occupies its nodes: its runtime, cut at its walltime."""
        return min(self.runtime, self.asked.walltime)

    @property
    def number(self) -> JobId:
        """As asked."""
        return self.asked.number

    @property
    def submit(self) -> int:
        """As asked."""
        return self.asked.submit

    @property
    def earliest(self) -> int:
        """As asked."""
        return self.asked.earliest

    @property
    def latest(self) -> int | None:
        """As asked."""
        return self.asked.latest

    @property
    def walltime(self) -> int:
        """As asked."""
        return self.asked.walltime

    @property
    def units(self) -> int:
        """As asked."""
        return self.asked.units

    @property
    def request(self) -> tuple[int, ...]:
        """As asked."""
        return self.asked.request

    @property
    def groups(self) -> int:
        """As asked."""
        return self.asked.groups

    @property
    def queue(self) -> str:
        """As asked."""
        return self.asked.queue

    @property
    def user(self) -> str:
        """As asked."""
        return self.asked.user


class Status(IntEnum):
    """How a job ended."""

    COMPLETED = 0
    KILLED = 1
    REJECTED = 2


@dataclass(frozen=True, slots=True)
class Part:
    """Equal units of a job: how many, what one needs by kind, and the bit set of node groups that may run it.

    `nodes`: they are on exactly so many different nodes, at least one on each (0: on any number).
    """

    units: int
    request: tuple[int, ...]
    groups: int
    nodes: int = 0

    def __post_init__(self) -> None:
        """Refuse what no scheduler could make sense of."""
        if self.units < 1 or not 0 <= self.nodes <= self.units:
            raise ValueError("a part has at least one unit, and one on each of its nodes")
        if min(self.request) < 0 or max(self.request) == 0:
            raise ValueError("a unit must ask for something")


@dataclass(frozen=True)
class Request:
    """Parts that start together and hold their nodes for the same time (thesis eq. 4.7), at most `walltime` s.

    Parts may share nodes. `contiguous`: the nodes of each part are neighbours by their numbers, none left out.
    """

    parts: tuple[Part, ...]
    walltime: int
    contiguous: bool = False

    def __post_init__(self) -> None:
        """Refuse what no scheduler could make sense of."""
        if not self.parts or self.walltime < 1:
            raise ValueError("a request has at least one part, and walltime")

    @cached_property
    def units(self) -> int:
        """Of all parts."""
        return sum(part.units for part in self.parts)

    @cached_property
    def amounts(self) -> tuple[int, ...]:
        """What all parts ask for together, by kind."""
        return tuple(
            sum(part.units * part.request[kind] for part in self.parts) for kind in range(len(self.parts[0].request))
        )
