"""What the gateway has to be done: orders to keepers, and what is to be in the journal before they are given."""

from __future__ import annotations

from dataclasses import dataclass

from dardis.live.jobs import LiveJob
from dardis.live.journal import Batch


@dataclass(frozen=True, slots=True)
class StartRun:
    """Keepers are to start the job's run."""

    job: LiveJob


@dataclass(frozen=True, slots=True)
class EndRun:
    """Keepers are to end a run, if it is not over."""

    run: str


@dataclass(frozen=True, slots=True)
class ForgetRun:
    """What was told of a run is in the journal."""

    run: str


Order = StartRun | EndRun | ForgetRun


@dataclass(frozen=True, slots=True)
class Taken:
    """What is to be written, what is to be ordered once it is, and the jobs that are over by it."""

    batch: Batch
    orders: list[Order]
    jobs: list[LiveJob]
