"""What a central dispatcher is: events in, effects out, and the next time at which it wants to be asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dardis.model.addresses import JobId
from dardis.model.events import Change
from dardis.model.job import Job
from dardis.wire.effects import Placed, Rejected, Solved


class Decider(Protocol):
    """Decides when and where all jobs run. It knows no runtimes and reads no clock."""

    def submit(self, job: Job, now: int) -> Rejected | None:
        """Take a new job; say if it can never run."""
        ...

    def ended(self, number: JobId, now: int) -> None:
        """A job has ended, at its walltime or before."""
        ...

    def changed(self, change: Change, now: int) -> None:
        """Something else is no more as it was; what of that matters is told in `dardis.model.events`."""
        ...

    def decide(self, now: int) -> Sequence[Placed | Rejected | Solved]:
        """Say which waiting jobs start now, and where, which will never start any more, and how that was found out."""
        ...

    def wake(self) -> int:
        """The next time at which something changes without an event (FOREVER: never), so that it is asked then."""
        ...
