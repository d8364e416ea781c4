"""What a machine asks of its host: send, set a timer, launch units, kill them, tell what became of a job."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Protocol

from dardis.model.addresses import HostId, JobId, ManagerAddress
from dardis.model.arrays import Ints, value
from dardis.wire.messages import Message, Reminder, Timer


@value(frozen=True, slots=True)
class Send:
    """Send a message to a host. One that a host has for itself it takes next, before anything from outside."""

    to: HostId
    message: Message


@value(frozen=True, slots=True)
class SendAll:
    """Send a message to all hosts."""

    message: Message


@value(frozen=True, slots=True)
class Tell:
    """Send a message to the task manager that serves the job."""

    job: JobId
    message: Message


@value(frozen=True, slots=True)
class TellAll:
    """Send a message to all task managers."""

    message: Message


@value(frozen=True, slots=True)
class Return:
    """Send a message to the task manager at this address, which has asked down the tree of hosts."""

    to: ManagerAddress
    message: Message


@value(frozen=True, slots=True)
class SetTimer:
    """Hand the timer back at time `at`."""

    at: int
    timer: Timer | Reminder


@value(frozen=True, slots=True)
class Launch:
    """Start the job's units on these nodes at `at`; kill them at `until`."""

    job: JobId
    attempt: int
    nodes: Ints
    units: Ints
    at: int
    until: int


@value(frozen=True, slots=True)
class Kill:
    """Do not launch, or kill, this attempt's units on this host."""

    job: JobId
    attempt: int


@value(frozen=True, slots=True)
class Placed:
    """The job has a reservation (or another than before)."""

    job: JobId
    start: int
    nodes: Ints
    units: Ints
    boot_delay: int = 0
    """How much earlier it could have started, had all nodes been up, as far as its task manager knows."""
    attempts: int = 1
    """Windows that it has tried (thesis 5.3.6), the first included."""
    taken: int = 0
    """Which of its requests it is run as, by place."""
    parts: tuple[tuple[Ints, Ints], ...] = ()
    """Nodes and units of each part, where it has several; `nodes` and `units` are then those of all together."""


@value(frozen=True, slots=True)
class Rejected:
    """The job can never run on this machine, whatever windows (`attempts`) it has tried."""

    job: JobId
    reason: str
    attempts: int = 0


@value(frozen=True, slots=True)
class Waiting:
    """The job can't be placed now; it asks again when something has changed."""

    job: JobId
    reason: str


@value(frozen=True, slots=True)
class Done:
    """The job has finished on all its nodes."""

    job: JobId


class Plain(Protocol):
    """Something that can be told as plain data, such as JSON holds."""

    def plain(self) -> dict[str, Any]:
        """Tell it."""
        ...


@value(frozen=True, slots=True)
class Solved:
    """A decision was a model's: what was asked, and how good the answer is. None: there is no such figure."""

    waiting: int
    """Jobs of the problem; and those of them for which there is a start, and that start now."""
    planned: int
    started: int
    status: str
    """Of the solver; empty: it was not asked."""
    ended: str
    """Why its last run ended."""
    objective: float | None
    bound: float | None
    """No answer of the model has a lower objective."""
    variables: int
    deterministic_s: float
    first_cpu_s: float
    """CPU time by phase: of what comes before the solver, mostly an answer of ours; of building models; of solving."""
    build_cpu_s: float
    solver_cpu_s: float
    too_large: bool
    """Whether the model was too large to be built."""
    update_cpu_s: float = 0.0
    """CPU time of more phases: of taking in what has happened; of seeing who could ever start; of starting jobs."""
    check_cpu_s: float = 0.0
    commit_cpu_s: float = 0.0
    asked: Plain | None = None
    """What was to be decided; no record keeps it."""


@value(frozen=True, slots=True)
class Switched:
    """These nodes are shut down (begun at the moments, one a node), or booted, to be up at them."""

    up: bool
    nodes: Ints
    moments: Ints


ToHosts = Send | SendAll
ToManagers = Tell | TellAll | Return
"""What hosts alone say."""
Deed = Launch | Kill | Placed | Rejected | Waiting | Done | Solved | Switched
"""What is neither said nor waited for."""
Effect = ToHosts | ToManagers | SetTimer | Deed
Talk = Generator[Sequence[Effect], Sequence[Message], None]
"""Yields effects, and is sent what hosts have answered to the messages among them, until nothing more is to be said."""
