"""Input and output of a scheduling decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf
from typing import Any, ClassVar, Protocol

from dardis.config.platform_record import FORMAT, VERSION
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, Job, Part, Request
from dardis.model.platform import Platform, platform_to_dict
from dardis.model.queues import ALWAYS, PermittedStarts
from dardis.solver.result import Result


@dataclass(frozen=True, slots=True)
class RunningJobPart:
    """Running job with `units[i]` units on `nodes[i]` until `end`, in s, not before now; an entry per part."""

    job: Job
    end: int
    foreseen: int
    """End expected at first, possibly past."""
    nodes: Ints
    units: Ints
    positions: Ints | None = None
    """(kinds, units), for PCP'20; −1 without demand."""
    part: int = 0


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """Waiting job, to hold nodes for `duration` s."""

    job: Job
    duration: int
    """Longest of all requests."""
    orders: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """Feasible requests by place, with orders of parts."""

    @property
    def requests(self) -> tuple[tuple[int, Request], ...]:
        """Feasible requests, by place; plain units form a single part."""
        if self.job.requests:
            return tuple((place, self.job.requests[place]) for place in self.orders)
        part = Part(self.job.units, self.job.request, self.job.groups)
        return ((0, Request((part,), self.duration)),)

    @property
    def amounts(self) -> tuple[int, ...]:
        """Demand of the first request, by kind."""
        return self.job.requests[next(iter(self.orders))].amounts if self.job.requests else self.job.amounts

    @property
    def least_amounts(self) -> tuple[int, ...]:
        """Minimum demand over requests, by kind."""
        if len(self.orders) < 2:
            return self.amounts
        return tuple(map(min, *(request.amounts for _, request in self.requests)))

    @property
    def least_duration(self) -> int:
        """Minimum duration over requests."""
        return min(request.walltime for _, request in self.requests) if len(self.orders) > 1 else self.duration

    @property
    def arrival(self) -> tuple[int, int]:
        """Sort key by arrival."""
        return self.job.submit, self.job.number

    def priority(self, now: int) -> tuple[float, int, int]:
        """Sort key: highest slowdown first (002, section 4)."""
        return -(now - self.job.submit + self.duration) / self.duration, *self.arrival


@dataclass(frozen=True, slots=True)
class BlockedCapacity:
    """Amounts closed or outside the desired profile during `[start, end)`, by kind."""

    node: int
    start: int
    end: int
    amounts: tuple[int, ...]


@dataclass(frozen=True)
class DecisionProblem:
    """Decision to make. Times: s of the trace's clock; no job begins before `now`."""

    platform: Platform
    now: int
    running: tuple[RunningJobPart, ...]
    waiting: tuple[WaitingJob, ...]
    blocked: tuple[BlockedCapacity, ...] = ()
    distinct: bool = False
    """Whether units of a job are on different nodes."""
    keeps_hours: bool = False
    """Whether closing times of queues count."""

    @property
    def horizon(self) -> int:
        """Time by which all jobs can run in sequence (002, 2.2).

        No optimal answer starts a job later.
        """
        running = max((job.end for job in self.running), default=self.now)
        closed = sum(self.starts_of(waiting.job).longest_closed(self.now) for waiting in self.waiting)
        return max(running, self.blocked_until, self.now) + sum(job.duration for job in self.waiting) + closed

    @property
    def blocked_until(self) -> int:
        """Last end of what is blocked, but not for ever."""
        return max((block.end for block in self.blocked if block.end < FOREVER), default=self.now)

    def cut(self, horizon: int) -> DecisionProblem:
        """Without what is blocked from `horizon` on."""
        blocked = tuple(
            block if block.end <= horizon else replace(block, end=horizon)
            for block in self.blocked
            if block.start < horizon
        )
        return replace(self, blocked=blocked)

    def starts_of(self, job: Job) -> PermittedStarts:
        """When the job's queue permits starts."""
        return self.platform.starts_of(job.queue) if self.keeps_hours else ALWAYS

    def groups_of(self, job: Job | Part) -> int:
        """Node groups able to hold a unit, as bits."""
        return self.platform.sets.able(job.groups, job.request)

    def units_on(self, job: Job | Part, node: int) -> int:
        """Maximum units on an empty node (T equation 3.6)."""
        if not self.platform.sets.nodes(job.groups)[node]:
            return 0
        capacity: list[int] = self.platform.capacity[node].tolist()
        fits = [have // need for have, need in zip(capacity, job.request, strict=True) if need]
        return min(1 if self.distinct else job.units, *fits)

    def plain(self) -> dict[str, Any]:
        """Problem as plain data (docs/formats.md)."""
        running = [
            {
                "job": _plain(one.job, self.platform),
                "end": one.end,
                "foreseen": one.foreseen,
                "nodes": one.nodes.tolist(),
                "units": one.units.tolist(),
                "positions": None if one.positions is None else one.positions.tolist(),
            }
            | ({"part": one.part} if one.part else {})
            for one in self.running
        ]
        return {
            "format": FORMAT,
            "version": VERSION,
            "now": self.now,
            "distinct": self.distinct,
            "keeps_hours": self.keeps_hours,
            "waiting": [{"job": _plain(one.job, self.platform), "duration": one.duration} for one in self.waiting],
            "running": running,
            "blocked": [asdict(one) | ({"end": None} if one.end == FOREVER else {}) for one in self.blocked],
            "platform": platform_to_dict(self.platform),
        }


def _plain(job: Job, platform: Platform) -> dict[str, Any]:
    names = ("number", "submit", "earliest", "latest", "walltime", "prediction", "units", "queue")
    told = {name: getattr(job, name) for name in names} | _request_data(job, platform)
    requests = [
        {
            "walltime": request.walltime,
            "contiguous": request.contiguous,
            "parts": [
                {"units": part.units, "nodes": part.nodes} | _request_data(part, platform) for part in request.parts
            ],
        }
        for request in job.requests
    ]
    return told | ({"requests": requests} if requests else {})


def _request_data(one: Job | Part, platform: Platform) -> dict[str, Any]:
    return {"request": list(one.request), "groups": platform.sets.groups(one.groups).tolist()}


Placement = tuple[int, tuple[tuple[Ints, Ints], ...]]
"""Placement: request, and nodes, ascending, with units for each part."""


@dataclass(frozen=True)
class Decision:
    """Planned starts by place in `waiting`; others are postponed."""

    starts: dict[int, int]
    """In s of the trace's clock, in order of allocation."""
    objective: float
    """Infinity without an answer."""
    bound: float = -inf
    where: dict[int, Placement] | None = None
    """Placements of starts now; None: the dispatcher chooses nodes."""
    positions: dict[int, Ints] | None = None
    """Positions of starts now, as in `RunningJobPart`."""
    result: Result | None = None
    deterministic_s: float = 0.0
    """Of all solver runs."""
    solver_cpu_s: float = 0.0
    check_cpu_s: float = 0.0
    """CPU time of feasibility checks."""
    build_cpu_s: float = 0.0
    variables: int = 0
    """Decision variables, counted as in the model's paper."""
    too_large: bool = False
    """The size limit prevented a model."""


class DecisionModel(Protocol):
    """Pure decision model: equal problem and seed give an equal answer."""

    knows_shapes: ClassVar[bool]
    """Whether the model handles shapes; else such jobs start before, if possible."""

    def decide(self, problem: DecisionProblem, seed: int) -> Decision:
        """Planned starts."""
        ...
