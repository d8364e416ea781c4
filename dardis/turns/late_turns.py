"""Turns of late-binding task managers, in order of job keys.

Emulates message delays: a better key speaks earlier, and each speaker sees earlier claims. After an instant with
events, nodes publish capacity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.choices import EventOrder
from dardis.model.errors import ProtocolError
from dardis.model.events import Change, LaidOutAnew
from dardis.model.job import Job
from dardis.node_manager.switching import Switcher
from dardis.task_manager import LateByTurns
from dardis.turns.turn import Switches, Turn, lay_out_anew, manager_of, talk
from dardis.wire.effects import Effect, Placed, Rejected, Send, SendAll, Talk
from dardis.wire.messages import Ended, Look, Published, Release


class LateTurns:
    """Turns of late-binding task managers; manager i mod M serves job i."""

    by_instant = True

    def __init__(
        self, event_order: EventOrder, managers: Sequence[LateByTurns], bounds: Sequence[int],
        switcher: Switcher | None = None,
    ) -> None:  # fmt: skip
        self.batched = event_order is EventOrder.BATCHED
        self._managers = managers
        self._switches = Switches(switcher, np.array(bounds))
        self._homes: dict[JobId, LateByTurns] = {}
        """Task manager of each job."""
        self._ends: list[Effect] = []
        """Ends not yet sent to nodes."""
        self._news = True
        self._whole = self._is_woken = False
        """Whether all waiting jobs get turns; whether a wake-up is due."""

    @property
    def messages(self) -> int:
        """Messages between task managers and node managers so far."""
        return sum(manager.messages for manager in self._managers)

    @property
    def renegotiations(self) -> int:
        """Repeated queries and claims so far."""
        return sum(manager.renegotiations for manager in self._managers)

    def wake(self) -> int:
        """Next turn without an event (FOREVER: never)."""
        return min(manager.wake() for manager in self._managers)

    def woken(self, now: int) -> None:  # noqa: ARG002 (turns follow at the end of the instant)
        """Give all waiting jobs turns."""
        self._whole = self._is_woken = self._news = True

    def submitted(self, job: Job, place: int, now: int) -> Iterable[Turn]:
        """Queue the job for a turn."""
        manager = self._homes[job.number] = self._managers[manager_of(place, len(self._managers))]
        if effects := manager.submit(job, now):
            yield Turn(talk(manager, effects, self._heed, now))
        if not self.batched:
            yield from self._turns_of_all(now, whole=True)

    def adopted(self, job: Job, nodes: Ints, now: int) -> Iterable[Turn]:
        """Adopt a running job, a unit on each node, for its walltime.

        Drops reservations.
        """
        self._whole = self._news = True
        yield from self._tell_ends()
        yield from self._drop_reservations(now)
        manager = self._homes[job.number] = self._managers[0]
        yield Turn(talk(manager, manager.adopt(job, nodes, now), self._heed, now))

    def _drop_reservations(self, now: int) -> Iterator[Turn]:
        for manager in self._managers:
            if effects := manager.drop_reservations():
                yield Turn(talk(manager, effects, self._heed, now))

    def ended(self, jobs: Sequence[JobId], now: int) -> Iterable[Turn]:
        """Record ends, and give all waiting jobs turns."""
        for job in jobs:
            self._free(job, now)
        self._whole = True
        return () if self.batched else self._turns_of_all(now, whole=True)

    def _free(self, job: JobId, now: int) -> None:
        self._switches.ended(job, now)
        manager = self._homes.pop(job)
        self._ends += [Send(host, Ended(job, 0)) for host in manager.hosts(job)]
        manager.ended(job, now)
        self._news = True

    def _tell_ends(self) -> Iterator[Turn]:
        if self._ends:
            yield Turn(self._all_ends())

    def _all_ends(self) -> Talk:
        ends, self._ends = self._ends, []
        yield ends

    def changed(self, change: Change, now: int) -> Iterable[Turn]:
        """Withdraw jobs or adopt a layout."""
        self._whole = self._news = True
        yield from self._tell_ends()
        if isinstance(change, LaidOutAnew):
            yield from self._drop_reservations(now)
            yield lay_out_anew(change.machine)
            return
        for job in change.jobs:
            manager = self._homes[job]
            if manager.hosts(job) and not manager.waits(job):
                self._free(job, now)
            else:
                del self._homes[job]
                yield Turn(talk(manager, manager.withdraw(job), self._heed, now))
        if not self.batched:
            yield from self._turns_of_all(now, whole=True)

    def over(self, now: int, *, last: bool) -> Iterable[Turn]:  # noqa: ARG002 (`wake` covers waiting jobs)
        """Give turns, and switch nodes."""
        whole, is_woken = self._whole, self._is_woken
        self._whole = self._is_woken = False
        if self.batched or is_woken:
            yield from self._turns_of_all(now, whole=whole)
        yield from self._tell_ends()
        if self._switches.due(now):
            yield from self.switch(now)

    def _turns_of_all(self, now: int, *, whole: bool) -> Iterator[Turn]:
        if self._managers[0].at_once:
            return self._bind(self._managers[0], now, whole=whole)
        return self._take_turns(now, whole=whole)

    def _bind(self, manager: LateByTurns, now: int, *, whole: bool) -> Iterator[Turn]:
        """Give turns in the local pool of a sole task manager."""
        manager.admit(now)
        oldest = manager.oldest(now)
        manager.open(now, whole=whole, oldest=None if oldest is None else oldest[-1])
        manager.date(now)
        drop = whole or manager.overtakes(now)
        if drop:
            manager.give_all_turns()
        while manager.has_turns:
            yield from self._tell_ends()
            yield Turn(talk(manager, manager.bind(now, drop=drop), self._heed, now))
            drop = False
        manager.close()

    def _take_turns(self, now: int, *, whole: bool) -> Iterator[Turn]:
        """Give turns by key."""
        managers = self._managers
        yield from self._tell_ends()
        for manager in managers:
            manager.admit(now)
        # Old jobs speak at once, and younger jobs yield to the oldest.
        oldest = min((old for manager in managers if (old := manager.oldest(now))), default=None)
        first = None if oldest is None else oldest[-1]
        for manager in managers:
            manager.open(now, whole=whole, oldest=first)
        yield from self._date(now)
        yield from self._take_turns_by_key(now, whole=whole)
        for manager in managers:
            manager.close()

    def _take_turns_by_key(self, now: int, *, whole: bool) -> Iterator[Turn]:
        managers = self._managers
        self._news |= any(manager.knows_old(now) for manager in managers)
        if self._news and any(manager.has_turns for manager in managers):
            yield Turn(self._publish(now))
        if not whole and any(manager.overtakes(now) for manager in managers):
            whole = True
            for manager in managers:
                manager.give_all_turns()
        if whole and any(manager.has_turns for manager in managers):
            for manager in managers:
                yield Turn(talk(manager, manager.drop_reservations(), self._heed, now))
        while True:
            keys = sorted((key, m) for m, manager in enumerate(managers) if (key := manager.next_key()))
            if not keys:
                return
            if self._news:
                yield Turn(self._publish(now))
            until = keys[1][0] if len(keys) > 1 else None
            best = managers[keys[0][1]]
            yield Turn(talk(best, best.turn(until, now), self._heed, now))

    def _date(self, now: int) -> Iterator[Turn]:
        """Date new jobs by the total backlog."""
        managers = self._managers
        if not any(manager.has_undated for manager in managers):
            return
        if len(managers) > 1:
            for manager in managers:
                yield Turn(talk(manager, manager.tell_backlog(), self._heed, now))
            yield Turn(self._publish(now))
        for manager in managers:
            manager.date(now)

    def _publish(self, now: int) -> Talk:
        """Let nodes publish free capacity."""
        self._news = False
        for answer in (yield [self._managers[0].to_all(Look())]):
            if not isinstance(answer, Published):
                raise ProtocolError(f"a look was answered by {type(answer).__name__}")
            for manager in self._managers:
                manager.handle(answer, now)

    def _heed(self, effects: list[Effect]) -> list[Effect]:
        """Record effects; return the final effects, releases first."""
        for effect in effects:
            if isinstance(effect, (Send, SendAll)):
                self._news = True
                if isinstance(effect.message, Release):
                    self._switches.dropped(effect.message.job)
        return [effect for effect in effects if self._is_final(effect)]

    def _is_final(self, effect: Effect) -> bool:
        """Record an effect; return whether final."""
        match effect:
            case Placed(job=job, start=start, nodes=nodes):
                self._switches.reserved(job, start, nodes)
                return not self._homes[job].waits(job)
            case Rejected(job=job):
                self._homes.pop(job).forget(job)
        return True

    def switches(self) -> int:
        """Next possible switch of nodes (FOREVER: never)."""
        return self._switches.wake()

    def switch(self, now: int) -> Iterable[Turn]:
        """Switch nodes, and publish."""
        switched = yield from self._switches.switch(now)
        if switched:
            self._news = True
            if any(manager.anybody_waits for manager in self._managers):
                yield Turn(self._publish(now))
