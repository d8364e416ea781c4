"""Effects: requests of a machine to its host."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Protocol

from dardis.model.addresses import HostId, JobId, ManagerAddress
from dardis.model.arrays import Ints, value
from dardis.model.job import ActualJob
from dardis.wire.messages import Message, Reminder, Timer


@value(frozen=True, slots=True)
class Send:
    """Send a message to a host; messages to the sender come next."""

    to: HostId
    message: Message


@value(frozen=True, slots=True)
class SendAll:
    """Send a message to all hosts."""

    message: Message


@value(frozen=True, slots=True)
class SendToManager:
    """Send a message to the job's task manager."""

    job: JobId
    message: Message


@value(frozen=True, slots=True)
class SendToManagers:
    """Send a message to all task managers."""

    message: Message


@value(frozen=True, slots=True)
class Reply:
    """Send a message to the asking task manager."""

    to: ManagerAddress
    message: Message


@value(frozen=True, slots=True)
class SetTimer:
    """Timer at time `at`."""

    at: int
    timer: Timer | Reminder


@value(frozen=True, slots=True)
class Launch:
    """Run units on these nodes from `at` to `until` at most."""

    job: JobId
    attempt: int
    nodes: Ints
    units: Ints
    at: int
    until: int


@value(frozen=True, slots=True)
class Kill:
    """Cancel or kill an attempt on this host."""

    job: JobId
    attempt: int


@value(frozen=True, slots=True)
class Placed:
    """The job has a new reservation."""

    job: JobId
    start: int
    nodes: Ints
    units: Ints
    boot_delay: int = 0
    """Seconds lost to sleeping nodes."""
    attempts: int = 1
    """Windows tried (thesis 5.3.6)."""
    taken: int = 0
    """Index of the granted request."""
    parts: tuple[tuple[Ints, Ints], ...] = ()
    """Nodes and units of each part, if several. `nodes` and `units` then cover all parts."""


@value(frozen=True, slots=True)
class Rejected:
    """The job can never run on this machine. `attempts`: windows tried."""

    job: JobId
    reason: str
    attempts: int = 0


@value(frozen=True, slots=True)
class PlacementDeferred:
    """The job cannot be placed now, and asks again after a change."""

    job: JobId
    reason: str


@value(frozen=True, slots=True)
class JobFinished:
    """The job has finished."""

    job: JobId


@value(frozen=True, slots=True)
class Registered:
    """A scheduler submits a job of its own at once."""

    job: ActualJob


class Plain(Protocol):
    """Convertible to plain data."""

    def plain(self) -> dict[str, Any]:
        """Plain data."""
        ...


@value(frozen=True, slots=True)
class Solved:
    """Model's decision. None: no such figure."""

    waiting: int
    """Problem's jobs; with a planned start; with a start now."""
    planned: int
    started: int
    status: str
    """Solver status; empty: not called."""
    ended: str
    """Why the solver's last run ended."""
    objective: float | None
    bound: float | None
    variables: int
    deterministic_s: float
    first_cpu_s: float
    """CPU time by phase: before the solver (mostly a first answer); model building; solving."""
    build_cpu_s: float
    solver_cpu_s: float
    too_large: bool
    update_cpu_s: float = 0.0
    """CPU time of updates; of feasibility checks; of job starts."""
    check_cpu_s: float = 0.0
    commit_cpu_s: float = 0.0
    problem: Plain | None = None
    """Not recorded."""


@value(frozen=True, slots=True)
class Switched:
    """Nodes shut down at the moments (one per node), or booted to be up at the moments."""

    up: bool
    nodes: Ints
    moments: Ints


ToHosts = Send | SendAll
ToManagers = SendToManager | SendToManagers | Reply
"""Sent only by hosts."""
ExecutorAction = Launch | Kill | Placed | Rejected | PlacementDeferred | JobFinished | Registered | Solved | Switched
"""Effects without messages and timers."""
Effect = ToHosts | ToManagers | SetTimer | ExecutorAction
Dialogue = Generator[Sequence[Effect], Sequence[Message], None]
"""Yields effects and receives answers."""
