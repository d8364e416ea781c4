"""What happens at a site beside jobs that arrive and end (thesis 4.3), and what dispatchers are told of it."""

from __future__ import annotations

from dataclasses import dataclass

from dardis.model.addresses import JobId
from dardis.model.platform import Platform


@dataclass(frozen=True, slots=True)
class QueueStopped:
    """From now on no job of the queue starts."""

    at: int
    queue: str


@dataclass(frozen=True, slots=True)
class QueueStarted:
    """Jobs of a queue that was stopped may start again."""

    at: int
    queue: str


@dataclass(frozen=True, slots=True)
class JobChanged:
    """A job that has not begun asks for another walltime, or is moved to another queue; None: as it was."""

    at: int
    job: JobId
    walltime: int | None = None
    queue: str | None = None
    groups: int = 0
    """The node groups that it may use in that queue."""


@dataclass(frozen=True, slots=True)
class NodesDown:
    """Nodes fail, and kill what runs on them."""

    at: int
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NodesUp:
    """Nodes that had failed are there again."""

    at: int
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReservationMade:
    """Somebody asks for one of the machine's reservations that does not stand yet."""

    at: int
    name: str


SiteEvent = QueueStopped | QueueStarted | JobChanged | NodesDown | NodesUp | ReservationMade


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Jobs that have not begun wait no more, and hold nothing; they may be submitted again, as others."""

    jobs: tuple[JobId, ...]


@dataclass(frozen=True, slots=True)
class LaidOutAnew:
    """The same nodes are closed at other times than was known, or keep something; nobody waits just now.

    Who binds late without a wished curve may wait meanwhile: what such jobs hold is given back before.
    """

    machine: Platform


Change = Withdrawn | LaidOutAnew
