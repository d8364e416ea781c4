"""Site events besides job arrivals and ends (thesis 4.3)."""

from __future__ import annotations

from dataclasses import dataclass

from dardis.model.addresses import JobId
from dardis.model.platform import Platform


@dataclass(frozen=True, slots=True)
class QueueStopped:
    """Jobs of the queue stop starting."""

    at: int
    queue: str


@dataclass(frozen=True, slots=True)
class QueueStarted:
    """Jobs of the queue may start again."""

    at: int
    queue: str


@dataclass(frozen=True, slots=True)
class JobChanged:
    """New walltime or queue of a waiting job; None: unchanged."""

    at: int
    job: JobId
    walltime: int | None = None
    queue: str | None = None
    groups: int = 0
    """Node groups permitted in the new queue."""


@dataclass(frozen=True, slots=True)
class NodesDown:
    """Nodes fail and kill their jobs."""

    at: int
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NodesUp:
    """Failed nodes are back."""

    at: int
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReservationMade:
    """Reservation."""

    at: int
    name: str


SiteEvent = QueueStopped | QueueStarted | JobChanged | NodesDown | NodesUp | ReservationMade


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Waiting jobs leave and release all holdings."""

    jobs: tuple[JobId, ...]


@dataclass(frozen=True, slots=True)
class LayoutChanged:
    """Nodes changed closing times or reservations, while no jobs wait.

    Late-binding jobs without a desired profile may wait, and release holdings first.
    """

    machine: Platform


Change = Withdrawn | LayoutChanged
