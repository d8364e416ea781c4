"""Overlapping turns: concurrent rounds of many jobs.

The first unplaced jobs in (submit, number) order are in flight. In each *wave* all query the same state, then decided
jobs claim in order. A refused job releases everything and retries. The first is never refused and none waits for
another: no starvation, no deadlock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dardis.model.addresses import JobId
from dardis.model.job import Job
from dardis.task_manager import PlannedManager
from dardis.turns.turn import manager_of
from dardis.wire.effects import Effect, Placed, PlacementDeferred, Rejected, Send, SendAll, ToHosts
from dardis.wire.messages import Message, OfferQuery, UnitsEnded


@dataclass(slots=True)
class JobInFlight:
    """Unplaced job, with effects, queries and claim of the wave."""

    number: JobId
    manager: PlannedManager
    effects: list[Effect]
    queries: list[ToHosts] = field(default_factory=list)
    claim: Placed | None = None
    rejected: str | None = None
    refused: bool = False

    def apply_effects(self) -> list[ToHosts]:
        """Apply the next effects; return messages."""
        effects, self.effects, self.queries = self.effects, [], []
        for effect in effects:
            match effect:
                case Send(message=OfferQuery()) | SendAll(message=OfferQuery()):
                    self.queries.append(effect)
                case Placed():
                    self.claim = effect
                case Rejected(reason=reason) | PlacementDeferred(reason=reason):
                    self.rejected = reason
        return [effect for effect in effects if isinstance(effect, (Send, SendAll))]


class OverlappedTurns:
    """Jobs in flight, by place in the order of all jobs."""

    def __init__(self, managers: Sequence[PlannedManager], overlap: int) -> None:
        """Manager i mod M serves job i, with up to `overlap` jobs in flight."""
        self._managers = managers
        self._overlap = overlap
        self._flying: dict[int, JobInFlight] = {}
        self.refusals = 0

    def manager_of(self, place: int) -> int:
        """Task manager of the `place`-th job."""
        return manager_of(place, len(self._managers))

    def last_in_flight(self, settled: int) -> int:
        """Last place allowed in flight."""
        return settled + self._overlap

    def oldest(self, default: int) -> int:
        """First place in flight, or the default."""
        return min(self._flying, default=default)

    def on_submit(self, job: Job, place: int, now: int) -> None:
        """Let a job query from the next wave on."""
        manager = self._managers[self.manager_of(place)]
        self._flying[place] = JobInFlight(job.number, manager, manager.submit(job, now))

    def on_job_end(self, job: JobId, place: int) -> list[Send]:
        """End a placed job; return messages to nodes."""
        manager = self._managers[self.manager_of(place)]
        hosts = manager.hosts(job)
        manager.forget(job)
        return [Send(host, UnitsEnded(job, 0)) for host in hosts]

    def begin(self) -> list[ToHosts]:
        """Begin a wave; return queries and releases."""
        return [send for flying in self._flying.values() for send in flying.apply_effects()]

    def deliver_answers(self, answers: Mapping[int, Sequence[Message]], now: int) -> None:
        """Deliver answers, in job order.

        A reservation is a hint for the next job's sample.
        """
        for place in sorted(answers):
            flying = self._flying[place]
            for answer in answers[place]:
                flying.effects += flying.manager.handle(answer, now)

    def queries(self) -> Iterator[tuple[int, list[ToHosts]]]:
        """Yield queries of this wave, by place."""
        for place, flying in self._flying.items():
            yield place, flying.queries

    def claims(self) -> Iterator[list[ToHosts]]:
        """Yield claims of decided jobs in turn; others query again."""
        for flying in self._flying.values():
            if any(isinstance(effect, Placed | Rejected | PlacementDeferred) for effect in flying.effects):
                yield flying.apply_effects()

    def on_refused_claim(self, place: int) -> None:
        """Record a refused claim."""
        self._flying[place].refused = True

    def settle(self, now: int) -> dict[int, JobInFlight]:
        """End a wave; return settled jobs. Refused jobs release and retry."""
        settled = {}
        for place, flying in list(self._flying.items()):
            if flying.claim is not None and flying.refused:
                self.refusals += 1
                manager = flying.manager
                self._flying[place] = JobInFlight(flying.number, manager, manager.on_refused_claim(flying.number, now))
            elif flying.claim is not None or flying.rejected is not None:
                settled[place] = self._flying.pop(place)
        return settled
