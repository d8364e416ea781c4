"""Turns of planning task managers, in (submit, job number) order.

After a release, waiting jobs query again, then jobs that may move earlier, by backfill scope and depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

import numpy as np

from dardis.model.addresses import JobId
from dardis.model.choices import EventOrder, OnOff
from dardis.model.errors import ProtocolError
from dardis.model.events import Change, LayoutChanged
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.node_manager.switching import Switcher
from dardis.task_manager import PlannedManager, SetUp
from dardis.task_manager.setups import BackfillScope
from dardis.turns.turn import HostSwitching, Turn, manager_of, run_dialogue, send_closures
from dardis.wire.effects import Dialogue, Effect, Placed, PlacementDeferred, Rejected, Send
from dardis.wire.messages import CapacityFreed, UnitsEnded


@dataclass(slots=True)
class _Agent:
    manager: PlannedManager
    submit: int
    walltime: int
    start: int = NO_TIME


class PlannedTurns:
    """Turns of task managers that reserve at submission; manager i mod M serves job i."""

    by_instant = False

    def __init__(
        self, setup: SetUp, managers: Sequence[PlannedManager], bounds: Sequence[int], switcher: Switcher | None = None
    ) -> None:
        self.batched = setup.event_order is EventOrder.BATCHED
        self._managers = managers
        self._switches = HostSwitching(switcher, np.array(bounds))
        self._backfills = setup.backfill is OnOff.ON
        self._of_all_nodes = setup.backfill_scope is BackfillScope.ALL_NODES
        self._depth = setup.backfill_depth
        self._agents: dict[JobId, _Agent] = {}
        self._ahead: set[JobId] = set()
        """Jobs not begun, for scope of all nodes only."""
        self._waiting: dict[JobId, str] = {}
        """Reasons of jobs without a start."""
        self._moved_until = 0
        """End of reservations that moved jobs have left."""
        self._notices = 0

    @property
    def messages(self) -> int:
        """See `Turns.messages`."""
        return sum(manager.messages for manager in self._managers) + self._notices

    @property
    def renegotiations(self) -> int:
        """See `Turns.renegotiations`."""
        return sum(manager.renegotiations for manager in self._managers)

    def wake(self) -> int:
        """Never."""
        return FOREVER

    def on_wake(self, now: int) -> None:
        """Do nothing."""

    def on_submit(self, job: Job, place: int, now: int) -> Iterable[Turn]:
        """Query for the job."""
        manager = self._managers[manager_of(place, len(self._managers))]
        self._agents[job.number] = _Agent(manager, job.submit, job.walltime)
        yield Turn(run_dialogue(manager, manager.submit(job, now), self._apply_effects, now))

    def on_job_ends(self, jobs: Sequence[JobId], now: int) -> Iterable[Turn]:
        """Report ends, and repair reservations."""
        later: set[JobId] = set()
        freed_until = NO_TIME
        for job in jobs:
            agent = self._agents.pop(job)
            reserved_until = agent.start + agent.walltime
            freed_until = max(freed_until, reserved_until)
            yield Turn(self._free(job, agent, reserved_until, later, now), upkeep=True)
        later = {job for job in later if job in self._agents}  # an intersection would visit all agents
        # Earlier jobs use capacity left by a moved job only at the next end, even a punctual end.
        if freed_until >= (now if self._of_all_nodes else now + 1):
            yield from self._repair(later, freed_until, now)

    def on_change(self, change: Change, now: int) -> Iterable[Turn]:
        """Withdraw jobs, as after early ends."""
        if isinstance(change, LayoutChanged):
            yield send_closures(change.machine)
            return
        for job in change.jobs:
            if self._waiting.pop(job, None) is not None:
                self._agents.pop(job).manager.forget(job)
        yield from self.on_job_ends([job for job in change.jobs if job in self._agents], now)

    def _free(self, job: JobId, agent: _Agent, reserved_until: int, later: set[JobId], now: int) -> Dialogue:
        self._switches.on_job_end(job, now)
        self._ahead.discard(job)
        tells = now < reserved_until and self._backfills and not self._of_all_nodes
        message = UnitsEnded(job, (self._depth or -1) if tells else 0)
        hosts = agent.manager.hosts(job)
        agent.manager.forget(job)
        for answer in (yield [Send(host, message) for host in hosts]):
            if not isinstance(answer, CapacityFreed):
                raise ProtocolError(f"job {job}: its end was answered by {type(answer).__name__}")
            self._notices += answer.notice_count
            later.update(answer.jobs.tolist())

    def _repair(self, later: set[JobId], freed_until: int, now: int) -> Iterator[Turn]:
        if self._waiting:
            yield from self._renegotiate(self._waiting, freed_until, now)
        if not self._backfills:
            return
        if self._of_all_nodes:
            later = self._ahead = {job for job in self._ahead if self._agents[job].start > now}
        self._moved_until = 0
        if later:
            yield from self._renegotiate(later, 0, now, self._depth if self._of_all_nodes else 0)
        if self._waiting and self._moved_until > now:
            yield from self._renegotiate(self._waiting, self._moved_until, now)

    def _renegotiate(self, jobs: Iterable[JobId], freed_until: int, now: int, most: int = 0) -> Iterator[Turn]:
        """Query again by submission, for the first `most` jobs (0: all)."""
        order = sorted(jobs, key=self._place_in_order)[: most or None]
        for _, group in groupby(order, key=lambda job: id(self._agents[job].manager)):
            mine = list(group)
            manager = self._agents[mine[0]].manager
            yield Turn(run_dialogue(manager, manager.renegotiate(mine, now, freed_until), self._apply_effects, now))

    def _place_in_order(self, job: JobId) -> tuple[int, JobId]:
        return self._agents[job].submit, job

    def _apply_effects(self, effects: list[Effect]) -> list[Effect]:
        for effect in effects:
            self._note(effect)
        return effects

    def _note(self, effect: Effect) -> None:
        match effect:
            case Placed(job=job, start=start, nodes=nodes):
                agent = self._agents[job]
                if self._waiting.pop(job, None) is None and agent.start != NO_TIME:
                    self._moved_until = max(self._moved_until, agent.start + agent.walltime)
                agent.start = start
                self._switches.record_reservation(job, start, nodes)
                if self._of_all_nodes and self._backfills:
                    self._ahead.add(job)
            case Rejected(job=job):
                self._agents.pop(job).manager.forget(job)
            case PlacementDeferred(job=job, reason=reason):
                self._waiting[job] = reason

    def on_instant_end(self, now: int, *, last: bool) -> Iterable[Turn]:
        """Reject waiting jobs if no change will follow, and switch nodes."""
        if last and self._waiting:
            return chain([Turn(self._reject_waiting(), upkeep=True)], self._switches.switch(now))
        return self._switches.switch(now) if self._switches.is_due(now) else ()

    def _reject_waiting(self) -> Dialogue:
        rejected = []
        for job in sorted(self._waiting, key=self._place_in_order):
            rejected.append(Rejected(job, self._waiting[job], self._agents[job].manager.attempts(job)))
            self._note(rejected[-1])
        self._waiting.clear()
        yield rejected

    def next_switch(self) -> int:
        """See `Turns.next_switch`."""
        return self._switches.wake()

    def switch(self, now: int) -> Iterable[Turn]:
        """Switch nodes."""
        return self._switches.switch(now)
