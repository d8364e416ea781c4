"""Turns of a central dispatcher: it is asked when an instant is over, or after every event, and when it wants to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dardis.dispatch.base import Dispatcher
from dardis.model.addresses import JobId
from dardis.model.choices import EventOrder
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, Job
from dardis.turns.turn import Turn
from dardis.wire.effects import Talk


class CentralTurns:
    """The turns of one dispatcher of all jobs. It sends no messages and switches no nodes."""

    by_instant = True
    messages = renegotiations = 0

    def __init__(self, event_order: EventOrder, dispatcher: Dispatcher) -> None:
        """With batched events it is asked once an instant, else after every event, too."""
        self.batched = event_order is EventOrder.BATCHED
        self._dispatcher = dispatcher

    def wake(self) -> int:
        """The next time at which it wants to be asked (FOREVER: never)."""
        return self._dispatcher.wake()

    def woken(self, now: int) -> None:
        """It is asked when the instant is over."""

    def submitted(self, job: Job, place: int, now: int) -> Iterator[Turn]:  # noqa: ARG002 (all jobs are its own)
        """It takes the job."""
        yield Turn(self._submit(job, now))

    def _submit(self, job: Job, now: int) -> Talk:
        rejected = self._dispatcher.submit(job, now)
        if rejected is not None:
            yield [rejected]
        if not self.batched:
            yield self._dispatcher.decide(now)

    def ended(self, jobs: Sequence[JobId], now: int) -> Iterator[Turn]:
        """It is told."""
        yield Turn(self._end(jobs, now))

    def _end(self, jobs: Sequence[JobId], now: int) -> Talk:
        for job in jobs:
            self._dispatcher.ended(job, now)
        if not self.batched:
            yield self._dispatcher.decide(now)

    def over(self, now: int, *, last: bool) -> Iterator[Turn]:  # noqa: ARG002 (who waits for a change has told when)
        """It decides."""
        yield Turn(self._decide(now))

    def _decide(self, now: int) -> Talk:
        yield self._dispatcher.decide(now)
        if (wake := self._dispatcher.wake()) <= now:
            raise ProtocolError(f"asked at {now} s, the dispatcher wants to be asked again at {wake} s")

    def switches(self) -> int:
        """It switches none."""
        return FOREVER

    def switch(self, now: int) -> Iterator[Turn]:  # noqa: ARG002
        """It switches none."""
        return iter(())
