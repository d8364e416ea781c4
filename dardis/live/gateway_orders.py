"""What the gateway has to be done: orders to keepers, and what is to be in the journal before they are given.

Hosts are known by their names.
"""

from __future__ import annotations

from dataclasses import dataclass

from dardis.live.journal import Batch
from dardis.live.live_jobs import LiveJob


@dataclass(frozen=True, slots=True)
class StartRun:
    """The keeper of a host is to start the job's run. What that is may be read from the job when this was taken."""

    job: LiveJob
    host: str
    run: str
    """Its name then: the job may have another one later."""


@dataclass(frozen=True, slots=True)
class EndRun:
    """The keeper of a host is to end a run, if it is not over."""

    run: str
    host: str


@dataclass(frozen=True, slots=True)
class ForgetRun:
    """What the keeper of a host has told of a run is in the journal."""

    run: str
    host: str


Order = StartRun | EndRun | ForgetRun


@dataclass(frozen=True, slots=True)
class Taken:
    """What is to be written, what is to be ordered once it is, the jobs that are over by it."""

    batch: Batch
    orders: list[Order]
    jobs: list[LiveJob]
    parts: set[str]
    """Names of parts of which something has become."""
