"""Turns of a central dispatcher: it is asked when an instant is over, or after every event, and when it wants to be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dardis.dispatch.base import Decider
from dardis.model.addresses import JobId
from dardis.model.changes import Change, Withdrawn
from dardis.model.choices import EventOrder
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, Job
from dardis.turns.turn import Turn
from dardis.wire.effects import Placed, Rejected, Solved


class CentralTurns:
    """The turns of one dispatcher of all jobs. It sends no messages and switches no nodes."""

    by_instant = True
    messages = renegotiations = 0

    def __init__(self, event_order: EventOrder, dispatcher: Decider) -> None:
        """With batched events it is asked once an instant, else after every event, too."""
        self.batched = event_order is EventOrder.BATCHED
        self._dispatcher = dispatcher
        self._waiting: set[int] = set()
        """The numbers of jobs that are neither placed nor rejected."""

    def wake(self) -> int:
        """The next time at which it wants to be asked (FOREVER: never)."""
        return self._dispatcher.wake()

    def woken(self, now: int) -> None:
        """It is asked when the instant is over."""

    def submitted(self, job: Job, place: int, now: int) -> Iterable[Turn]:  # noqa: ARG002 (all jobs are its own)
        """It takes the job."""
        self._waiting.add(job.number)
        rejected = self._dispatcher.submit(job, now)
        turns = () if rejected is None else self._say([rejected], now)
        return turns if self.batched else (*turns, *self._decide(now))

    def ended(self, jobs: Sequence[JobId], now: int) -> Iterable[Turn]:
        """It is told."""
        for job in jobs:
            self._dispatcher.ended(job, now)
        return () if self.batched else self._decide(now)

    def changed(self, change: Change, now: int) -> Iterable[Turn]:
        """It is told."""
        if isinstance(change, Withdrawn):
            self._waiting.difference_update(change.jobs)
        self._dispatcher.changed(change, now)
        return () if self.batched else self._decide(now)

    def over(self, now: int, *, last: bool) -> Iterable[Turn]:  # noqa: ARG002 (who waits for a change has told when)
        """It decides."""
        turns = self._decide(now)
        if (wake := self._dispatcher.wake()) <= now:
            raise ProtocolError(f"asked at {now} s, the dispatcher wants to be asked again at {wake} s")
        return turns

    def _decide(self, now: int) -> tuple[Turn, ...]:
        return self._say(self._dispatcher.decide(now), now)

    def _say(self, effects: object, now: int) -> tuple[Turn, ...]:
        """A turn to say this, if it is about jobs that wait, and no start is past. Raises ProtocolError."""
        if not isinstance(effects, (list, tuple)):
            raise ProtocolError(f"at {now} s it decides {type(effects).__name__}, which is no list")
        for effect in effects:
            if isinstance(effect, Solved):
                continue
            if isinstance(effect, Placed):
                what = "placed"
                if effect.start < now:
                    raise ProtocolError(f"at {now} s job {effect.job} is placed at {effect.start} s, which is past")
            elif isinstance(effect, Rejected):
                what = "rejected"
            else:
                raise ProtocolError(f"at {now} s it decides {type(effect).__name__}, not Placed, Rejected or Solved")
            if effect.job not in self._waiting:
                raise ProtocolError(f"at {now} s job {effect.job} is {what}, which does not wait")
            self._waiting.discard(effect.job)
        return (Turn((*effects,)),) if effects else ()

    def switches(self) -> int:
        """It switches none."""
        return FOREVER

    def switch(self, now: int) -> Iterable[Turn]:  # noqa: ARG002
        """It switches none."""
        return ()
