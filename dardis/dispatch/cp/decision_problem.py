"""What a decision is about: who runs, where and until when, who waits, and what nobody may use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import inf
from typing import Any, ClassVar, Protocol

from dardis.config.platform_record import FORMAT, VERSION
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, Job, Part, Request
from dardis.model.platform import Platform, platform_to_dict
from dardis.model.queues import ALWAYS, Starts
from dardis.solver.result import Result


@dataclass(frozen=True, slots=True)
class Running:
    """A job on its nodes, `units[i]` units on `nodes[i]`, until `end`, in s, as far as is known: never before now.

    One of several parts is as many of these: `job` asks for what the part does.
    """

    job: Job
    end: int
    foreseen: int
    """When it was expected to end at first: that may be past, where it has outrun what was expected."""
    nodes: Ints
    units: Ints
    positions: Ints | None = None
    """Where its units are within the machine, shape (kinds, units), for who cares (PCP'20); −1: it asks for none."""
    part: int = 0
    """Which of its parts this is."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that may start now or later, and for how long its nodes are to be held, in s."""

    job: Job
    duration: int
    """Of several requests, the longest."""
    orders: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """Of a job that has requests: those that the machine holds, by place, and in which order parts look for nodes."""

    @property
    def requests(self) -> tuple[tuple[int, Request], ...]:
        """What it may be run as, by place: one that asks for units on any nodes is a request of one part."""
        if self.job.requests:
            return tuple((place, self.job.requests[place]) for place in self.orders)
        part = Part(self.job.units, self.job.request, self.job.groups)
        return ((0, Request((part,), self.duration)),)

    @property
    def amounts(self) -> tuple[int, ...]:
        """What it asks for as a whole, by kind; of several requests, the first."""
        return self.job.requests[next(iter(self.orders))].amounts if self.job.requests else self.job.amounts

    @property
    def least_amounts(self) -> tuple[int, ...]:
        """What each of its requests asks for as a whole at least, by kind."""
        if len(self.orders) < 2:
            return self.amounts
        return tuple(map(min, *(request.amounts for _, request in self.requests)))

    @property
    def least_duration(self) -> int:
        """Of all its requests."""
        return min(request.walltime for _, request in self.requests) if len(self.orders) > 1 else self.duration

    @property
    def arrival(self) -> tuple[int, int]:
        """Puts jobs in the order in which they came."""
        return self.job.submit, self.job.number

    def priority(self, now: int) -> tuple[float, int, int]:
        """The least goes first: the highest slowdown if it started now (002, section 4)."""
        return -(now - self.job.submit + self.duration) / self.duration, *self.arrival


@dataclass(frozen=True, slots=True)
class Blocked:
    """What nobody may use of a node during `[start, end)`, an amount of each kind: it is closed, or not wished."""

    node: int
    start: int
    end: int
    amounts: tuple[int, ...]


@dataclass(frozen=True)
class Problem:
    """Who starts now? All times in s of the trace's clock; nothing begins before `now`."""

    platform: Platform
    now: int
    running: tuple[Running, ...]
    waiting: tuple[Waiting, ...]
    blocked: tuple[Blocked, ...] = ()
    distinct: bool = False
    """Whether units of a job are on different nodes."""
    keeps_hours: bool = False
    """Whether queues of jobs that wait may be closed at times; else they are open, as far as anybody asks."""

    @property
    def horizon(self) -> int:
        """An instant by which all can have run one after the other (002, 2.2).

        From then on nothing is blocked but what is so for ever. No best answer has a job that starts later: where
        nobody runs, whoever starts next has waited for his queue to open.
        """
        running = max((job.end for job in self.running), default=self.now)
        blocked = max((block.end for block in self.blocked if block.end < FOREVER), default=self.now)
        closed = sum(self.starts_of(waiting.job).longest_closed(self.now) for waiting in self.waiting)
        return max(running, blocked, self.now) + sum(job.duration for job in self.waiting) + closed

    def starts_of(self, job: Job) -> Starts:
        """When the queue of a job lets it start."""
        return self.platform.starts_of(job.queue) if self.keeps_hours else ALWAYS

    def groups_of(self, job: Job | Part) -> int:
        """The node groups that hold a unit of a job, or of a part of one, when empty, as bits."""
        return self.platform.sets.able(job.groups, job.request)

    def units_on(self, job: Job | Part, node: int) -> int:
        """The most units of a job, or of a part of one, that a node holds when empty (T equation 3.6, by node)."""
        if not self.platform.sets.nodes(job.groups)[node]:
            return 0
        capacity: list[int] = self.platform.capacity[node].tolist()
        fits = [have // need for have, need in zip(capacity, job.request, strict=True) if need]
        return min(1 if self.distinct else job.units, *fits)

    def plain(self) -> dict[str, Any]:
        """It as plain data, such as a file holds (docs/formats.md); `read_instance` reads it."""
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
    """What a model may go by."""
    names = ("number", "submit", "earliest", "latest", "walltime", "prediction", "units", "queue")
    told = {name: getattr(job, name) for name in names} | _asked(job, platform)
    requests = [
        {
            "walltime": request.walltime,
            "contiguous": request.contiguous,
            "parts": [{"units": part.units, "nodes": part.nodes} | _asked(part, platform) for part in request.parts],
        }
        for request in job.requests
    ]
    return told | ({"requests": requests} if requests else {})


def _asked(one: Job | Part, platform: Platform) -> dict[str, Any]:
    """What a unit asks for, and the numbers of the groups that may run it."""
    return {"request": list(one.request), "groups": platform.sets.groups(one.groups).tolist()}


Held = tuple[int, tuple[tuple[Ints, Ints], ...]]
"""As which of its requests a job runs, by place, and of each part the nodes, ascending, and units."""


@dataclass(frozen=True)
class Answer:
    """When jobs are to start, by their places in the problem's `waiting`; who is not named is postponed."""

    starts: dict[int, int]
    """In s of the trace's clock, in the order in which jobs get their nodes."""
    objective: float
    """What these starts make of the model's objective, or infinity: there are none."""
    bound: float = -inf
    """No answer of the model has a lower objective."""
    where: dict[int, Held] | None = None
    """The nodes of those who start now; None: the model leaves nodes to whoever places jobs."""
    positions: dict[int, Ints] | None = None
    """Of those who start now, as in `Running`, where the model cares for them."""
    result: Result | None = None
    """What the solver's last run says; None: it was not asked."""
    deterministic_s: float = 0.0
    """Of all the solver's runs."""
    solver_cpu_s: float = 0.0
    """The same in seconds of the processor."""
    check_cpu_s: float = 0.0
    """What it took of the processor to see who could ever start."""
    build_cpu_s: float = 0.0
    """What it took of the processor to build the models."""
    variables: int = 0
    """Decision variables as the model's paper counts them."""
    too_large: bool = False
    """Whether no model was built because it would have been larger than is allowed."""


class Model(Protocol):
    """A way to decide: pure, and the same problem and seed give the same answer, whatever CPU time it took."""

    knows_shapes: ClassVar[bool]
    """Whether it decides on jobs that ask for more than units on any nodes; else whoever of them fits starts before."""

    def answer(self, problem: Problem, seed: int) -> Answer:
        """Say who starts when."""
        ...
