"""Turns that overlap: rounds of many jobs under way together, and of those that have picked, who may claim.

Up to some jobs are in flight, the first in (submit, number) order that are not placed. In a *wave* each of them asks
and is answered, all of the same state; then those that have picked claim, and every host takes the claims in the order
of jobs. Who is refused anywhere gives back what he holds and asks anew in the next wave. The first in order is never
refused, and its search ends: nothing starves; and nobody waits for anybody, so nothing deadlocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dardis.model.addresses import JobId
from dardis.model.job import Job
from dardis.task_manager import PlannedManager
from dardis.turns.turn import manager_of
from dardis.wire.effects import Effect, Placed, Rejected, Send, SendAll, ToHosts, Waiting
from dardis.wire.messages import Ask, Ended, Message


@dataclass(slots=True)
class InFlight:
    """A job that is not placed yet: what it does next, what it asks and claims in this wave, why it never can run."""

    number: JobId
    manager: PlannedManager
    effects: list[Effect]
    asks: list[ToHosts] = field(default_factory=list)
    claim: Placed | None = None
    rejected: str | None = None
    refused: bool = False

    def say(self) -> list[ToHosts]:
        """Do what comes next: note what is asked or claimed, or that it can't run; what is said."""
        effects, self.effects, self.asks = self.effects, [], []
        for effect in effects:
            match effect:
                case Send(message=Ask()) | SendAll(message=Ask()):
                    self.asks.append(effect)
                case Placed():
                    self.claim = effect
                case Rejected(reason=reason) | Waiting(reason=reason):
                    self.rejected = reason
        return [effect for effect in effects if isinstance(effect, (Send, SendAll))]


class OverlappedTurns:
    """The jobs of some task managers that are in flight, by place in the order of all jobs."""

    def __init__(self, managers: Sequence[PlannedManager], overlap: int) -> None:
        """Job i is manager i mod M's. Nothing is in flight yet; so many jobs of all may be at once."""
        self._managers = managers
        self._overlap = overlap
        self._flying: dict[int, InFlight] = {}
        self.refusals = 0
        """Claims that were refused."""

    def manager_of(self, place: int) -> int:
        """Which task manager the `place`-th of all jobs is served by."""
        return manager_of(place, len(self._managers))

    def may_fly(self, settled: int) -> int:
        """Jobs up to this place may be in flight once so many are placed or rejected."""
        return settled + self._overlap

    def oldest(self, default: int) -> int:
        """The first in the order of all jobs that is in flight; the default where none is."""
        return min(self._flying, default=default)

    def submitted(self, job: Job, place: int, now: int) -> None:
        """A job may ask from the next wave on."""
        manager = self._managers[self.manager_of(place)]
        self._flying[place] = InFlight(job.number, manager, manager.submit(job, now))

    def ended(self, job: JobId, place: int) -> list[Send]:
        """A job has ended that was placed: its nodes are told."""
        manager = self._managers[self.manager_of(place)]
        hosts = manager.hosts(job)
        manager.forget(job)
        return [Send(host, Ended(job, 0)) for host in hosts]

    def begin(self) -> list[ToHosts]:
        """What all in flight say as a wave begins: questions, and what gives back what they hold."""
        return [send for flying in self._flying.values() for send in flying.say()]

    def answered(self, answers: Mapping[int, Sequence[Message]], now: int) -> None:
        """Let jobs take what they have been answered, by place.

        In the order of jobs, not of who answered: what one reserves is a hint to the next one's sample.
        """
        for place in sorted(answers):
            flying = self._flying[place]
            for answer in answers[place]:
                flying.effects += flying.manager.handle(answer, now)

    def asks(self) -> Iterator[tuple[int, list[ToHosts]]]:
        """What each in flight has asked in this wave, by place."""
        for place, flying in self._flying.items():
            yield place, flying.asks

    def claims(self) -> Iterator[list[ToHosts]]:
        """What those say, one after the other, whose round has come to a decision; others ask on in the next wave."""
        for flying in self._flying.values():
            if any(isinstance(effect, Placed | Rejected | Waiting) for effect in flying.effects):
                yield flying.say()

    def refused(self, place: int) -> None:
        """A host has refused what this job claims."""
        self._flying[place].refused = True

    def settle(self, now: int) -> dict[int, InFlight]:
        """End a wave: who has claimed is placed, or gives back what he holds and will ask anew; who is out of it."""
        settled = {}
        for place, flying in list(self._flying.items()):
            if flying.claim is not None and flying.refused:
                self.refusals += 1
                manager = flying.manager
                self._flying[place] = InFlight(flying.number, manager, manager.refused(flying.number, now))
            elif flying.claim is not None or flying.rejected is not None:
                settled[place] = self._flying.pop(place)
        return settled
