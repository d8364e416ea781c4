"""Interface of central dispatchers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dardis.model.addresses import JobId
from dardis.model.events import Change
from dardis.model.job import Job
from dardis.wire.effects import Placed, Rejected, Solved


class Decider(Protocol):
    """Decides when and where jobs run, without runtimes or clock."""

    def submit(self, job: Job, now: int) -> Rejected | None:
        """Take a new job; return a rejection if the job can never run."""
        ...

    def ended(self, number: JobId, now: int) -> None:
        """Handle a job's end."""
        ...

    def changed(self, change: Change, now: int) -> None:
        """Handle another change, see `dardis.model.events`."""
        ...

    def decide(self, now: int) -> Sequence[Placed | Rejected | Solved]:
        """Starts, final rejections, and records of decisions."""
        ...

    def wake(self) -> int:
        """Next decision without an event (FOREVER: never)."""
        ...
