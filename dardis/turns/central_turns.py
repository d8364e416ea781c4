"""Turns of a central dispatcher.

The dispatcher ignores nodes down. All jobs get longer by the maximum boot time, so reservations stay valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from dardis.dispatch.base import Decider
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.choices import EventOrder
from dardis.model.errors import ProtocolError
from dardis.model.events import Change, Withdrawn
from dardis.model.job import Job
from dardis.node_manager.switching import Switcher
from dardis.turns.turn import HostSwitching, Turn
from dardis.wire.effects import Placed, Rejected, Solved

_NO_HOSTS: Ints = np.zeros(1, dtype=np.int64)


class CentralTurns:
    """Turns of a single dispatcher, without messages."""

    by_instant = True
    messages = renegotiations = 0

    def __init__(self, event_order: EventOrder, dispatcher: Decider, switcher: Switcher | None = None) -> None:
        self.batched = event_order is EventOrder.BATCHED
        self._dispatcher = dispatcher
        self._switches = HostSwitching(switcher, _NO_HOSTS)
        self._waiting: set[int] = set()

    def wake(self) -> int:
        """Dispatcher's next request (FOREVER: never)."""
        return self._dispatcher.wake()

    def on_wake(self, now: int) -> None:
        """Decide at the instant's end."""

    def on_submit(self, job: Job, place: int, now: int) -> Iterable[Turn]:  # noqa: ARG002 (a single dispatcher)
        """Submit the job."""
        self._waiting.add(job.number)
        rejected = self._dispatcher.submit(_extended_job(job, self._switches.longest_s), now)
        turns = () if rejected is None else self._turns_of([rejected], now)
        return turns if self.batched else (*turns, *self._decide(now))

    def on_job_ends(self, jobs: Sequence[JobId], now: int) -> Iterable[Turn]:
        """Report ends."""
        for job in jobs:
            self._switches.on_job_end(job, now)
            self._dispatcher.ended(job, now)
        return () if self.batched else self._decide(now)

    def on_change(self, change: Change, now: int) -> Iterable[Turn]:
        """Report a change."""
        if isinstance(change, Withdrawn):
            self._waiting.difference_update(change.jobs)
            for job in change.jobs:
                self._switches.drop_job(job)
        self._dispatcher.changed(change, now)
        return () if self.batched else self._decide(now)

    def on_instant_end(self, now: int, *, last: bool) -> Iterable[Turn]:  # noqa: ARG002 (`wake` covers waiting jobs)
        """Decide, and switch nodes."""
        turns = self._decide(now)
        if (wake := self._dispatcher.wake()) <= now:
            raise ProtocolError(f"at {now} s the dispatcher requests its next decision at {wake} s")
        return (*turns, *self._switches.switch(now)) if self._switches.is_due(now) else turns

    def _decide(self, now: int) -> tuple[Turn, ...]:
        return self._turns_of(self._dispatcher.decide(now), now)

    def _turns_of(self, effects: object, now: int) -> tuple[Turn, ...]:
        if not isinstance(effects, (list, tuple)):
            raise ProtocolError(f"at {now} s the dispatcher returns {type(effects).__name__}, not a list")
        said: list[Placed | Rejected | Solved] = []
        for effect in effects:
            if isinstance(effect, Solved):
                said.append(effect)
                continue
            if isinstance(effect, Placed):
                what = "placed"
                if effect.start < now:
                    raise ProtocolError(f"at {now} s job {effect.job} is placed in the past, at {effect.start} s")
            elif isinstance(effect, Rejected):
                what = "rejected"
            else:
                raise ProtocolError(f"at {now} s a decision is {type(effect).__name__}, not Placed, Rejected or Solved")
            if effect.job not in self._waiting:
                raise ProtocolError(f"at {now} s job {effect.job} is {what} but does not wait")
            self._waiting.discard(effect.job)
            said.append(self._delayed_by_boot(effect) if isinstance(effect, Placed) else effect)
        return (Turn((*said,)),) if said else ()

    def _delayed_by_boot(self, placed: Placed) -> Placed:
        start = self._switches.up_from(placed.start, placed.nodes)
        self._switches.record_reservation(placed.job, start, placed.nodes)
        return placed if start == placed.start else replace(placed, start=start, boot_delay=start - placed.start)

    def next_switch(self) -> int:
        """See `Turns.next_switch`."""
        return self._switches.wake()

    def switch(self, now: int) -> Iterable[Turn]:
        """Switch nodes."""
        return self._switches.switch(now)


def _extended_job(job: Job, seconds: int) -> Job:
    if not seconds:
        return job
    requests = tuple(replace(request, walltime=request.walltime + seconds) for request in job.requests)
    prediction = None if job.prediction is None else job.prediction + seconds
    return replace(job, walltime=job.walltime + seconds, prediction=prediction, requests=requests)
