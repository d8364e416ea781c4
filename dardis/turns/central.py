"""Turns of a central dispatcher: it is asked when an instant is over, or after every event, and when it wants to be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dardis.dispatch.base import Decider
from dardis.model.addresses import JobId
from dardis.model.choices import EventOrder
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, Job
from dardis.turns.turn import Turn, said
from dardis.wire.effects import Effect, Placed, Rejected


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
        if (rejected := self._dispatcher.submit(job, now)) is not None:
            yield Turn(said(self._checked([rejected], now)))
        if not self.batched:
            yield from self._decide(now)

    def ended(self, jobs: Sequence[JobId], now: int) -> Iterable[Turn]:
        """It is told."""
        for job in jobs:
            self._dispatcher.ended(job, now)
        if not self.batched:
            yield from self._decide(now)

    def over(self, now: int, *, last: bool) -> Iterable[Turn]:  # noqa: ARG002 (who waits for a change has told when)
        """It decides."""
        yield from self._decide(now)
        if (wake := self._dispatcher.wake()) <= now:
            raise ProtocolError(f"asked at {now} s, the dispatcher wants to be asked again at {wake} s")

    def _decide(self, now: int) -> Iterator[Turn]:
        if effects := self._checked(self._dispatcher.decide(now), now):
            yield Turn(said(effects))

    def _checked(self, effects: object, now: int) -> Sequence[Effect]:
        """What it says, if that is about jobs that wait, and no start is past. Raises ProtocolError."""
        if not isinstance(effects, list | tuple):
            raise ProtocolError(f"at {now} s it decides {type(effects).__name__}, which is no list")
        for effect in effects:
            match effect:
                case Placed(job=job, start=start):
                    what = "placed"
                    if start < now:
                        raise ProtocolError(f"at {now} s job {job} is placed at {start} s, which is past")
                case Rejected(job=job):
                    what = "rejected"
                case _:
                    raise ProtocolError(f"at {now} s it decides {type(effect).__name__}, not Placed or Rejected")
            if job not in self._waiting:
                raise ProtocolError(f"at {now} s job {job} is {what}, which does not wait")
            self._waiting.discard(job)
        return effects

    def switches(self) -> int:
        """It switches none."""
        return FOREVER

    def switch(self, now: int) -> Iterable[Turn]:  # noqa: ARG002
        """It switches none."""
        return iter(())
