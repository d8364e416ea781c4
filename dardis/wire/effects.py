"""What a machine asks of its host: send, set a timer, launch units, kill them, tell what became of a job."""

from __future__ import annotations

from dataclasses import dataclass

from dardis.model.arrays import Ints
from dardis.wire.messages import Message, Timer


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message to a host (a task manager's effect) or to the job's task manager (a node manager's)."""

    to: int
    """A host or `ALL_HOSTS`; from a host, the number of the job or `EVERYBODY`."""
    message: Message


@dataclass(frozen=True, slots=True)
class Forward:
    """Send a message from a host to another host, or, at an address less than 0, to a task manager.

    One to itself it takes next, before anything from outside.
    """

    to: int
    message: Message


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Hand the timer back at time `at`."""

    at: int
    timer: Timer


@dataclass(frozen=True, slots=True)
class Launch:
    """Start the job's units on these nodes at `at`; kill them at `until`."""

    job: int
    attempt: int
    nodes: Ints
    units: Ints
    at: int
    until: int


@dataclass(frozen=True, slots=True)
class Kill:
    """Do not launch, or kill, this attempt's units on this host."""

    job: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Placed:
    """The job has a reservation (or another than before)."""

    job: int
    start: int
    nodes: Ints
    units: Ints
    boot_delay: int = 0
    """How much earlier it could have started, had all nodes been up, as far as its task manager knows."""
    attempts: int = 1
    """Windows that it has tried (thesis 5.3.6), the first included."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The job can never run on this machine, whatever windows (`attempts`) it has tried."""

    job: int
    reason: str
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """The job can't be placed now; it asks again when something has changed."""

    job: int
    reason: str


@dataclass(frozen=True, slots=True)
class Done:
    """The job has finished on all its nodes."""

    job: int


@dataclass(frozen=True, slots=True)
class Switched:
    """These nodes are shut down (begun at the moments, one a node), or booted, to be up at them."""

    up: bool
    nodes: Ints
    moments: Ints


Effect = Send | Forward | SetTimer | Launch | Kill | Placed | Rejected | Waiting | Done | Switched
