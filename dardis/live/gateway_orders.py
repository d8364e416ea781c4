"""Orders of the gateway to job supervisors."""

from __future__ import annotations

from dataclasses import dataclass, field

from dardis.live.journal import Batch
from dardis.live.live_jobs import LiveJob
from dardis.model.addresses import JobId


@dataclass(frozen=True, slots=True)
class StartRun:
    """Start a run."""

    job: LiveJob
    host: str
    run: str


@dataclass(frozen=True, slots=True)
class EndRun:
    """End a run."""

    run: str
    host: str


@dataclass(frozen=True, slots=True)
class ForgetRun:
    """Forget a recorded run."""

    run: str
    host: str


@dataclass(frozen=True, slots=True)
class SwitchNodes:
    """Run the program that switches nodes on or off."""

    names: tuple[str, ...]
    on: bool


Order = StartRun | EndRun | ForgetRun


@dataclass(frozen=True, slots=True)
class GatewayOutput:
    """Batch, the orders after its write, and finished jobs."""

    batch: Batch
    orders: list[Order]
    finished_jobs: list[LiveJob]
    changed_steps: set[str]
    switches: list[SwitchNodes]
    begun: set[JobId] = field(default_factory=set)
