"""What a decision is about: who runs, where and until when, who waits, and what nobody may use."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf
from typing import Any, Protocol

import numpy as np

from dardis.config.instance import FORMAT, VERSION
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, Job
from dardis.model.platform import Platform
from dardis.model.platform_dict import platform_to_dict
from dardis.model.queues import ALWAYS, Starts
from dardis.solver.result import Result


@dataclass(frozen=True, slots=True)
class Running:
    """A job on its nodes, `units[i]` units on `nodes[i]`, until `end`, in s, as far as is known: never before now."""

    job: Job
    end: int
    foreseen: int
    """When it was expected to end at first: that may be past, where it has outrun what was expected."""
    nodes: Ints
    units: Ints
    positions: Ints | None = None
    """Where its units are within the machine, shape (kinds, units), for who cares (PCP'20); −1: it asks for none."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that may start now or later, and for how long its nodes are to be held, in s."""

    job: Job
    duration: int

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

    def groups_of(self, job: Job) -> int:
        """The node groups that hold a unit of a job when empty, as bits."""
        holds = np.all(self.platform.group_capacity >= np.array(job.request), axis=1)
        there = holds & np.array([group.count > 0 for group in self.platform.groups])
        return job.groups & sum(1 << place for place in np.flatnonzero(there).tolist())

    def units_on(self, job: Job, node: int) -> int:
        """The most units of a job that a node holds when empty (T equation 3.6, whose p depends on the node)."""
        if not job.groups >> int(self.platform.group_of_node[node]) & 1:
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
    groups = [group for group in range(len(platform.groups)) if job.groups >> group & 1]
    return {name: getattr(job, name) for name in names} | {"request": list(job.request), "groups": groups}


@dataclass(frozen=True)
class Answer:
    """When jobs are to start, by their places in the problem's `waiting`; who is not named is postponed."""

    starts: dict[int, int]
    """In s of the trace's clock, in the order in which jobs get their nodes."""
    objective: float
    """What these starts make of the model's objective, or infinity: there are none."""
    bound: float = -inf
    """No answer of the model has a lower objective."""
    where: dict[int, tuple[Ints, Ints]] | None = None
    """The nodes, ascending, and units of those who start now; None: the model leaves nodes to whoever places jobs."""
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

    def answer(self, problem: Problem, seed: int) -> Answer:
        """Say who starts when."""
        ...
