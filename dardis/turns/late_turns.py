"""Turns of late-binding task managers, in order of job keys.

Emulates message delays: a better key speaks earlier and is seen by later ones. After an instant with events, nodes
publish capacity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.choices import EventOrder
from dardis.model.errors import ProtocolError
from dardis.model.events import Change, LayoutChanged
from dardis.model.job import Job
from dardis.node_manager.switching import Switcher
from dardis.task_manager import LockstepLateManager
from dardis.task_manager.late.shared_limit import SharedLimit
from dardis.turns.turn import HostSwitching, Turn, manager_of, run_dialogue, send_closures
from dardis.wire.effects import Dialogue, Effect, Placed, Rejected, Send, SendAll
from dardis.wire.messages import Published, PublishRequest, Release, UnitsEnded


class LateTurns:
    """Turns of late-binding task managers; manager i mod M serves job i."""

    by_instant = True

    def __init__(
        self, event_order: EventOrder, managers: Sequence[LockstepLateManager], bounds: Sequence[int],
        switcher: Switcher | None = None, limit: SharedLimit | None = None,
    ) -> None:  # fmt: skip
        self._limit = limit
        self.batched = event_order is EventOrder.BATCHED
        self._managers = managers
        self._switches = HostSwitching(switcher, np.array(bounds))
        self._homes: dict[JobId, LockstepLateManager] = {}
        """Task manager of each job."""
        self._ends: list[Effect] = []
        """Ends not yet sent to nodes."""
        self._news = True
        self._whole = self._is_woken = False
        """Whether all waiting jobs get turns; whether a wake-up is due."""

    @property
    def messages(self) -> int:
        """See `Turns.messages`."""
        return sum(manager.messages for manager in self._managers)

    @property
    def renegotiations(self) -> int:
        """See `Turns.renegotiations`."""
        return sum(manager.renegotiations for manager in self._managers)

    def wake(self) -> int:
        """See `Turns.wake`."""
        return min(manager.wake() for manager in self._managers)

    def set_others(self, amounts: Sequence[int]) -> None:
        """State what others than jobs take of the shared limit; all waiting jobs get turns."""
        if self._limit is not None:
            self._limit.set_others(amounts)
            self._wake_all()

    def withhold(self, amounts: Sequence[int], start: int, end: int) -> None:
        """Take amounts of the shared limit from jobs during `[start, end)`; all waiting jobs get turns."""
        if self._limit is not None:
            self._limit.withhold(amounts, start, end)
            self._wake_all()

    def record_use(self, asked: int, used: int) -> None:
        """Record core seconds that jobs of earlier turns requested, and used."""
        self._managers[0].record_use(asked, used)

    def _wake_all(self) -> None:
        for manager in self._managers:
            manager.admit_delayed()
        self._whole = self._is_woken = self._news = True

    def on_wake(self, now: int) -> None:  # noqa: ARG002 (turns follow at the end of the instant)
        """Give all waiting jobs turns."""
        self._whole = self._is_woken = self._news = True

    def on_submit(self, job: Job, place: int, now: int) -> Iterable[Turn]:
        """Queue the job for a turn."""
        manager = self._homes[job.number] = self._managers[manager_of(place, len(self._managers))]
        if effects := manager.submit(job, now):
            yield Turn(run_dialogue(manager, effects, self._apply_effects, now))
        if not self.batched:
            yield from self._turns_of_all(now, whole=True)

    def on_adopt(self, job: Job, nodes: Ints, now: int) -> Iterable[Turn]:
        """Adopt a running job, a unit on each node, for its walltime.

        Drops reservations.
        """
        self._whole = self._news = True
        yield from self._send_ends()
        yield from self._drop_reservations(now)
        manager = self._homes[job.number] = self._managers[0]
        yield Turn(run_dialogue(manager, manager.adopt(job, nodes, now), self._apply_effects, now))

    def _drop_reservations(self, now: int) -> Iterator[Turn]:
        for manager in self._managers:
            if effects := manager.drop_reservations():
                yield Turn(run_dialogue(manager, effects, self._apply_effects, now))

    def on_job_ends(self, jobs: Sequence[JobId], now: int) -> Iterable[Turn]:
        """Record ends, and give all waiting jobs turns."""
        for job in jobs:
            self._free(job, now)
        self._whole = True
        return () if self.batched else self._turns_of_all(now, whole=True)

    def _free(self, job: JobId, now: int) -> None:
        self._switches.on_job_end(job, now)
        manager = self._homes.pop(job)
        self._ends += [Send(host, UnitsEnded(job, 0)) for host in manager.hosts(job)]
        manager.on_job_end(job, now)
        self._news = True

    def _send_ends(self) -> Iterator[Turn]:
        if self._ends:
            yield Turn(self._all_ends())

    def _all_ends(self) -> Dialogue:
        ends, self._ends = self._ends, []
        yield ends

    def on_change(self, change: Change, now: int) -> Iterable[Turn]:
        """Withdraw jobs or adopt a layout."""
        self._whole = self._news = True
        yield from self._send_ends()
        if isinstance(change, LayoutChanged):
            yield from self._drop_reservations(now)
            for manager in self._managers:
                manager.admit_delayed()
            yield send_closures(change.machine)
            return
        for job in change.jobs:
            manager = self._homes[job]
            if manager.hosts(job) and not manager.is_unbound(job):
                self._free(job, now)
            else:
                del self._homes[job]
                yield Turn(run_dialogue(manager, manager.withdraw(job), self._apply_effects, now))
        if not self.batched:
            yield from self._turns_of_all(now, whole=True)

    def on_instant_end(self, now: int, *, last: bool) -> Iterable[Turn]:  # noqa: ARG002 (`wake` covers waiting jobs)
        """Give turns, and switch nodes."""
        whole, is_woken = self._whole, self._is_woken
        self._whole = self._is_woken = False
        if self.batched or is_woken:
            yield from self._turns_of_all(now, whole=whole)
        yield from self._send_ends()
        if self._switches.is_due(now):
            yield from self.switch(now)

    def _turns_of_all(self, now: int, *, whole: bool) -> Iterator[Turn]:
        if self._managers[0].has_local_pool:
            return self._bind(self._managers[0], now, whole=whole)
        return self._take_turns(now, whole=whole)

    def _bind(self, manager: LockstepLateManager, now: int, *, whole: bool) -> Iterator[Turn]:
        manager.admit(now)
        manager.set_aging_times(now)
        oldest = manager.oldest(now)
        manager.begin_wake_up(now, whole=whole, oldest=None if oldest is None else oldest[-1])
        drop = whole or manager.has_overtaking_job(now)
        if drop:
            manager.give_all_turns()
        while manager.has_turns:
            yield from self._send_ends()
            yield Turn(run_dialogue(manager, manager.bind(now, drop=drop), self._apply_effects, now))
            drop = False
        manager.end_wake_up()

    def _take_turns(self, now: int, *, whole: bool) -> Iterator[Turn]:
        managers = self._managers
        yield from self._send_ends()
        for manager in managers:
            manager.admit(now)
        yield from self._date(now)
        # Old jobs speak at once, and younger jobs yield to the oldest.
        oldest = min((old for manager in managers if (old := manager.oldest(now))), default=None)
        first = None if oldest is None else oldest[-1]
        for manager in managers:
            manager.begin_wake_up(now, whole=whole, oldest=first)
        yield from self._take_turns_by_key(now, whole=whole)
        for manager in managers:
            manager.end_wake_up()

    def _take_turns_by_key(self, now: int, *, whole: bool) -> Iterator[Turn]:
        managers = self._managers
        self._news |= any(manager.has_stale_profiles(now) for manager in managers)
        if self._news and any(manager.has_turns for manager in managers):
            yield Turn(self._publish(now))
        if not whole and any(manager.has_overtaking_job(now) for manager in managers):
            whole = True
            for manager in managers:
                manager.give_all_turns()
        if whole and any(manager.has_turns for manager in managers):
            for manager in managers:
                yield Turn(run_dialogue(manager, manager.drop_reservations(), self._apply_effects, now))
        while True:
            keys = sorted((key, m) for m, manager in enumerate(managers) if (key := manager.next_key()))
            if not keys:
                return
            if self._news:
                yield Turn(self._publish(now))
            until = keys[1][0] if len(keys) > 1 else None
            best = managers[keys[0][1]]
            yield Turn(run_dialogue(best, best.run_turns(until, now), self._apply_effects, now))

    def _date(self, now: int) -> Iterator[Turn]:
        managers = self._managers
        if not any(manager.has_undated for manager in managers):
            return
        if len(managers) > 1:
            for manager in managers:
                yield Turn(run_dialogue(manager, manager.report_backlog(now), self._apply_effects, now))
            yield Turn(self._publish(now))
        for manager in managers:
            manager.set_aging_times(now)

    def _publish(self, now: int) -> Dialogue:
        self._news = False
        for answer in (yield [self._managers[0].message_to_all(PublishRequest())]):
            if not isinstance(answer, Published):
                raise ProtocolError(f"PublishRequest was answered by {type(answer).__name__}")
            for manager in self._managers:
                manager.handle(answer, now)

    def _apply_effects(self, effects: list[Effect]) -> list[Effect]:
        for effect in effects:
            if isinstance(effect, (Send, SendAll)):
                self._news = True
                if isinstance(effect.message, Release):
                    self._switches.drop_job(effect.message.job)
        return [effect for effect in effects if self._is_final(effect)]

    def _is_final(self, effect: Effect) -> bool:
        match effect:
            case Placed(job=job, start=start, nodes=nodes):
                self._switches.record_reservation(job, start, nodes)
                return not self._homes[job].is_unbound(job)
            case Rejected(job=job):
                self._homes.pop(job).forget(job)
        return True

    def next_switch(self) -> int:
        """See `Turns.next_switch`."""
        return self._switches.wake()

    def switch(self, now: int) -> Iterable[Turn]:
        """Switch nodes, and publish."""
        switched = yield from self._switches.switch(now)
        if switched:
            self._news = True
            if any(manager.has_unbound_jobs for manager in self._managers):
                yield Turn(self._publish(now))
