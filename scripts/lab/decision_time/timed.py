"""Counts the CPU time of deciding: node managers (the thesis's scheduling) apart from task managers (its dispatching).

Promises to change nothing of what is decided, and to end a run where its time is over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from dardis.dispatch.base import Decider
from dardis.engine.clock import cpu_ns
from dardis.model.addresses import JobId
from dardis.model.events import Change
from dardis.model.job import Job
from dardis.task_manager import PlannedManager
from dardis.transport.local_transport import LocalHosts
from dardis.wire.effects import Effect, Placed, Rejected, Solved, ToHosts
from dardis.wire.messages import Ended, Message


class WindowOver(Exception):  # noqa: N818 (nothing is wrong)
    """The time that is counted is over."""


class Why(Enum):
    """What a decision was made for."""

    SUBMIT = auto()
    """A job came, and everything until it has its place. Of a central dispatcher, every cycle is of this kind."""
    REPAIR = auto()
    """Jobs ask again after an early end, or after waiting."""
    END = auto()
    """Nodes hear of an end and tell who may gain by it."""


@dataclass
class Decision:
    """One decision, ns: what node managers took, and what task managers or a central dispatcher did."""

    why: Why
    scheduling: int = 0
    dispatching: int = 0


@dataclass
class Ledger:
    """The decisions of `[since, until)`, the first `most` of them."""

    since: int
    until: int
    most: int | None = None
    decisions: list[Decision] = field(default_factory=list)
    last: Decision = field(default_factory=lambda: Decision(Why.SUBMIT))
    """The decision that began last, counted or not."""

    def begin(self, why: Why, now: int) -> None:
        """A decision begins. Raises WindowOver when it is not to be counted any more."""
        if now >= self.until or len(self.decisions) == self.most:
            raise WindowOver
        self.last = Decision(why)
        if now >= self.since:
            self.decisions.append(self.last)

    def total(self, part: str, *whys: Why) -> float:
        """Seconds of `scheduling` or `dispatching` over the decisions made for these reasons (none: for all)."""
        spent: int = sum(getattr(one, part) for one in self.decisions if not whys or one.why in whys)
        return spent / 1e9

    def deviation(self, part: str) -> float:
        """Standard deviation, s, of `scheduling` or `dispatching` over the decisions for a job that came."""
        times = [getattr(one, part) for one in self.decisions if one.why is Why.SUBMIT]
        mean = sum(times) / len(times)
        return math.sqrt(sum((time - mean) ** 2 for time in times) / len(times)) / 1e9


class TimedTaskManager(PlannedManager):
    """A task manager whose turns are counted."""

    ledger: Ledger

    def submit(self, job: Job, now: int) -> list[Effect]:
        """Take a new job and ask for it."""
        self.ledger.begin(Why.SUBMIT, now)
        begun = cpu_ns()
        effects = super().submit(job, now)
        self.ledger.last.dispatching += cpu_ns() - begun
        return effects

    def ask_again(self, numbers: Iterable[JobId], now: int, freed_until: int = 0) -> list[Effect]:
        """Let jobs ask again."""
        self.ledger.begin(Why.REPAIR, now)
        begun = cpu_ns()
        effects = super().ask_again(numbers, now, freed_until)
        self.ledger.last.dispatching += cpu_ns() - begun
        return effects

    def handle(self, message: Message, now: int) -> list[Effect]:
        """Take a message; it belongs to the decision that began last."""
        begun = cpu_ns()
        effects = super().handle(message, now)
        self.ledger.last.dispatching += cpu_ns() - begun
        return effects


class TimedHosts(LocalHosts):
    """Node managers whose answers are counted."""

    ledger: Ledger

    def deliver(self, sends: Sequence[ToHosts], now: int) -> list[Message]:
        """Deliver at once."""
        if sends and isinstance(sends[0].message, Ended):
            self.ledger.begin(Why.END, now)
        begun = cpu_ns()
        answers = super().deliver(sends, now)
        self.ledger.last.scheduling += cpu_ns() - begun
        return answers


@dataclass
class TimedDispatcher:
    """A central dispatcher whose cycles are counted: one an instant, with what it was told before."""

    inner: Decider
    ledger: Ledger
    told_ns: int = 0

    def submit(self, job: Job, now: int) -> Rejected | None:
        """Take a new job."""
        begun = cpu_ns()
        answer = self.inner.submit(job, now)
        self.told_ns += cpu_ns() - begun
        return answer

    def ended(self, number: JobId, now: int) -> None:
        """A job has ended."""
        begun = cpu_ns()
        self.inner.ended(number, now)
        self.told_ns += cpu_ns() - begun

    def changed(self, change: Change, now: int) -> None:
        """Something else is no more as it was."""
        begun = cpu_ns()
        self.inner.changed(change, now)
        self.told_ns += cpu_ns() - begun

    def decide(self, now: int) -> Sequence[Placed | Rejected | Solved]:
        """Say which jobs start."""
        self.ledger.begin(Why.SUBMIT, now)
        begun = cpu_ns()
        effects = self.inner.decide(now)
        self.ledger.last.dispatching += self.told_ns + cpu_ns() - begun
        self.told_ns = 0
        return effects

    def wake(self) -> int:
        """When it wants to be asked."""
        return self.inner.wake()
