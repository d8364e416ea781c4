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
from dardis.node_manager import NodePool
from dardis.task_manager import PlannedManager
from dardis.turns.turn import manager_of
from dardis.wire.effects import Effect, Placed, Rejected, Send, SendAll, Tell, ToHosts, Waiting
from dardis.wire.messages import Ask, Confirm, Ended, Message, Refused


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

    def __init__(self, managers: Sequence[PlannedManager]) -> None:
        """Job i is manager i mod M's. Nothing is in flight yet."""
        self._managers = managers
        self.flying: dict[int, InFlight] = {}
        self.refusals = 0
        """Claims that were refused."""

    def manager_of(self, place: int) -> int:
        """Which task manager the `place`-th of all jobs is served by."""
        return manager_of(place, len(self._managers))

    def submitted(self, job: Job, place: int, now: int) -> None:
        """A job may ask from the next wave on."""
        manager = self._managers[self.manager_of(place)]
        self.flying[place] = InFlight(job.number, manager, manager.submit(job, now))

    def ended(self, job: JobId, place: int) -> list[Send]:
        """A job has ended that was placed: its nodes are told."""
        manager = self._managers[self.manager_of(place)]
        hosts = manager.hosts(job)
        manager.forget(job)
        return [Send(host, Ended(job, 0)) for host in hosts]

    def begin(self) -> list[ToHosts]:
        """What all in flight say as a wave begins: questions, and what gives back what they hold."""
        return [send for flying in self.flying.values() for send in flying.say()]

    def answered(self, answers: Mapping[int, Sequence[Message]], now: int) -> None:
        """Let jobs take what they have been answered, by place.

        In the order of jobs, not of who answered: what one reserves is a hint to the next one's sample.
        """
        for place in sorted(answers):
            flying = self.flying[place]
            for answer in answers[place]:
                flying.effects += flying.manager.handle(answer, now)

    def decided(self) -> Iterator[InFlight]:
        """Those whose round has come to a decision; others ask on in the next wave."""
        for flying in self.flying.values():
            if any(isinstance(effect, Placed | Rejected | Waiting) for effect in flying.effects):
                yield flying

    def settle(self, now: int) -> dict[int, InFlight]:
        """End a wave: who has claimed is placed, or gives back what he holds and will ask anew; who is out of it."""
        settled = {}
        for place, flying in list(self.flying.items()):
            if flying.claim is not None and flying.refused:
                self.refusals += 1
                manager = flying.manager
                self.flying[place] = InFlight(flying.number, manager, manager.refused(flying.number, now))
            elif flying.claim is not None or flying.rejected is not None:
                settled[place] = self.flying.pop(place)
        return settled


def take_claims(pool: NodePool, claims: Sequence[Message], now: int) -> Iterator[list[Effect]]:
    """Let a host's nodes take claims, which are in the order of jobs, one a node; what it says to each.

    A node that a job before has claimed is refused even if that one is refused elsewhere: so what is decided does not
    depend on who holds which nodes.
    """
    claimed: set[int] = set()
    for claim in claims:
        assert isinstance(claim, Confirm)
        nodes = claim.nodes.tolist()
        if claimed.isdisjoint(nodes):
            yield pool.handle(claim, now)
        else:
            yield [Tell(claim.job, Refused(claim.job, claim.attempt, pool.host))]
        claimed.update(nodes)
