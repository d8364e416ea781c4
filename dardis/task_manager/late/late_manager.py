"""Late binding in lock-step, in turns.

Each task manager holds its waiting jobs and a view of published profiles. The job aged longest goes first. Only the
first job that cannot start reserves. A job blocked only by sleeping nodes is bound from when these can be up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import replace
from heapq import heapify, heappop, heappush

import numpy as np

from dardis.kernels import job_queue as columns
from dardis.kernels import late_order as kernel
from dardis.kernels import passes
from dardis.kernels.placer import Placer
from dardis.kernels.rows import make_rows
from dardis.model.addresses import FIRST_HOST, ONLY_MANAGER, HostId, JobId, ManagerAddress
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.model.local_queries import BindResponse, LocalNodes
from dardis.task_manager.claims import FinalClaims
from dardis.task_manager.late.backlog import Backlog
from dardis.task_manager.late.local_turns import NO_JOB, LocalTurns, picks
from dardis.task_manager.late.order import Key, Order, ProfileView
from dardis.task_manager.late.shared_limit import SharedLimit
from dardis.task_manager.layout import Layout
from dardis.task_manager.negotiation import Negotiation
from dardis.task_manager.rounds import JobState, Pick, Round
from dardis.task_manager.search_windows import Search, in_hours, open_window
from dardis.task_manager.setups import EVERY_HOST, LateSetUp, Reach
from dardis.wire import messages as say
from dardis.wire.effects import Effect, Placed, Rejected, SendAll, ToHosts

_NO_LIMIT = make_rows(0, 1, 0, np.int64)
_FEW = 64
Old = tuple[int, int, JobId]
"""(time of aging, submission, number): the least goes first."""


class LockstepLateManager:
    """Agent of late jobs, with turns in the order of keys."""

    def __init__(
        self,
        setup: LateSetUp,
        layout: Layout,
        seed: int,
        reach: Reach = EVERY_HOST,
        address: ManagerAddress = ONLY_MANAGER,
        *,
        pool: LocalNodes | None = None,
        limit: SharedLimit | None = None,
    ) -> None:
        """Start without jobs.

        `address`: for answers of a host tree, below 0. `pool`: all nodes, if local and of the only task manager.
        `limit`: of all task managers; not with a pool.
        """
        self._negotiation = Negotiation(setup.search, layout, seed, reach, address, FinalClaims(), self._conclude)
        self._rules = self._negotiation.rules
        self._order = Order(layout)
        self._backlog = Backlog(layout, address, setup)
        self._old_at: dict[JobId, int] = {}
        self._ageing: list[Old] = []
        """Heap of aging jobs; stale entries drop at the head."""
        self._undated: list[Job] = []
        self._oldest: JobId | None = None
        self._view = view = ProfileView(setup, self._rules, layout, seed)
        self._placer = Placer(view, view.rules, len(layout.kinds), view.waiting.slots)
        self._alone = None if pool is None else LocalTurns(setup, self._rules, view, pool)
        self._limit = limit
        self._need: Ints = np.zeros((0, 0), dtype=np.int64)
        self._later: list[tuple[int, JobId, Job]] = []
        """Next turn of jobs without turns now."""
        self._delayed: set[JobId] = set()
        self._waking: set[JobId] = set()
        self._heads: dict[JobId, Ints] = {}
        self._count = 0
        """Jobs with turns in this wake-up, first in the list."""
        self._fresh = 0
        """Place of the first new job."""
        self._opened_at = NO_TIME

    @property
    def has_local_pool(self) -> bool:
        """Whether the pool gives turns."""
        return self._alone is not None

    @property
    def messages(self) -> int:
        """Messages with node managers, counted per node."""
        return self._negotiation.messages

    @property
    def renegotiations(self) -> int:
        """See `Negotiation.renegotiations`."""
        return self._negotiation.renegotiations

    def hosts(self, number: JobId) -> tuple[HostId, ...]:
        """Reservation's hosts."""
        return self._negotiation.states[number].hosts

    def message_to_all(self, message: say.Message) -> ToHosts:
        """Message that all hosts answer."""
        return self._negotiation.message_to_all(message)

    def submit(self, job: Job, now: int) -> list[Effect]:
        """Add a new waiting job."""
        if rejected := self._negotiation.reject_too_large(self._negotiation.add(job)):
            return rejected
        self._backlog.add_waiting(job, now)
        self._undated.append(job)
        opens = self._rules.starts_of(job).opens(max(job.earliest, now))
        if opens > now:
            heappush(self._later, (opens, job.number, job))
        else:
            self._enlist(job)
        return []

    def adopt(self, job: Job, nodes: Ints, now: int) -> list[Effect]:
        """Add a running job with a unit on each node."""
        state = self._negotiation.add(job)
        state.round_count = 1  # names the claim
        self._backlog.add_waiting(job, now)
        self._backlog.record_start(job.number, now)
        if self._limit is not None:
            self._limit.take(job, now)
        return self._negotiation.claim_nodes(state, defaultdict(int), Pick(0, now, nodes, np.ones_like(nodes)), now)

    def _enlist(self, job: Job) -> None:
        slot, waiting = self._view.add(job), self._view.waiting
        self._age(job)
        self._placer.ensure_slots(waiting.slots)
        if self._limit is not None:
            if len(self._need) < waiting.slots:
                self._need = np.resize(self._need, (waiting.slots, self._limit.rows.value.shape[1]))
            self._need[slot] = self._limit.need_of(job)
        waiting.queue.lists[columns.RULE, waiting.queue.size[columns.RULE]] = slot
        waiting.queue.size[columns.RULE] += 1

    def on_job_end(self, number: JobId, now: int) -> None:
        """Drop a finished job."""
        self._backlog.record_end(number, now)
        self.forget(number, now)

    def forget(self, number: JobId, now: int = NO_TIME) -> None:
        """Drop a job's records, and its part of the limit from now on."""
        if self._limit is not None:
            self._limit.drop(number, now)
        self._negotiation.forget(number)
        self._backlog.drop_waiting(number)
        self._old_at.pop(number, None)
        if self._undated:
            self._undated = [job for job in self._undated if job.number != number]

    def withdraw(self, number: JobId) -> list[Effect]:
        """Remove an unbound job with its reservation."""
        if number in self._view.slots:
            queue = self._view.waiting.queue
            slots = queue.lists[columns.RULE, : queue.size[columns.RULE]]
            kept = slots[slots != self._view.slots[number]]
            queue.lists[columns.RULE, : len(kept)] = kept
            queue.size[columns.RULE] = len(kept)
            self._bind(number)
        self._later = [later for later in self._later if later[1] != number]
        heapify(self._later)
        effects = self._negotiation.states[number].release()
        self.forget(number)
        return effects + self._withdraw_announcement(number)

    def _withdraw_announcement(self, number: JobId) -> list[Effect]:
        head = self._heads.get(number)
        return [] if head is None else self._announce(head, standing=False)

    def _announce(self, head: Ints, *, standing: bool) -> list[Effect]:
        if self._alone is None:
            return [SendAll(say.Announce(head, standing))]
        if standing:
            self._heads[JobId(int(head[0]))] = head
        else:
            del self._heads[JobId(int(head[0]))]
        return []

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Handle a message."""
        if not isinstance(message, say.Published):
            return self._negotiation.handle(message, now)
        self._view.store_profiles(message)
        self._backlog.store_reports(message.backlogs, now)
        # Nodes drop a reservation after its start. A manager that was not woken still holds the reservation.
        held = {number: head for number, head in self._heads.items() if self._holds(number)}
        published = {JobId(int(row[0])): row for row in message.heads}
        self._heads = published | {number: head for number, head in held.items() if number not in published}
        self._negotiation.messages += len(message.node)
        return []

    # ------------------------------------------------------------------------------------------------------------------
    # Turns.

    @property
    def has_undated(self) -> bool:
        """Whether jobs lack a time of aging."""
        return len(self._undated) > 0

    def report_backlog(self, now: int) -> list[Effect]:
        """Report the backlog."""
        return [self._backlog.make_report(now)]

    def record_use(self, asked: int, used: int) -> None:
        """Record core seconds that jobs of earlier managers requested, and used."""
        self._backlog.record_use(asked, used)

    def set_aging_times(self, now: int) -> None:
        """Set new jobs' time of aging."""
        for job in self._undated:
            self._old_at[job.number] = job.submit + self._backlog.old_after(job, now)
            self._age(job)
        self._undated = []

    def _age(self, job: Job) -> None:
        if job.number in self._old_at:
            heappush(self._ageing, (self._old_at[job.number], job.submit, job.number))
            if len(self._ageing) > 2 * len(self._view.slots) + _FEW:  # long waits at the head keep stale entries behind
                self._ageing = [one for one in self._ageing if self._counts(one)]
                heapify(self._ageing)

    def admit(self, now: int) -> None:
        """Give turns to jobs that may start."""
        while self._later and self._later[0][0] <= now:
            self._enlist(heappop(self._later)[2])

    def admit_delayed(self) -> None:
        """Give the next turns to jobs that the limit delays, after changes of others' use or of nodes."""
        self._later = [(NO_TIME if number in self._delayed else at, number, job) for at, number, job in self._later]
        heapify(self._later)
        self._delayed.clear()

    def oldest(self, now: int) -> Old | None:
        """Oldest aged job that may start."""
        ageing, slots = self._ageing, self._view.slots
        while ageing and not self._counts(ageing[0]):
            heappop(ageing)
        if not self._rules.hours:
            return ageing[0] if ageing and ageing[0][0] < now else None
        old = [one for one in ageing if one[0] < now and self._counts(one) and not self._is_closed(slots[one[-1]], now)]
        return min(old, default=None)

    def _counts(self, one: Old) -> bool:
        return one[-1] in self._view.slots and self._old_at.get(one[-1]) == one[0]

    def begin_wake_up(self, now: int, *, whole: bool, oldest: JobId | None) -> None:
        """Begin a wake-up: sort waiting jobs, `oldest` first. `whole`: try all, not only new jobs."""
        queue, state = self._view.waiting.queue, self._placer.room.state
        count = int(queue.size[0])
        self._opened_at, self._oldest = now, oldest
        state[columns.PLACE] = state[columns.LOOKED_AT] = 0
        state[columns.WHOLE] = whole
        if self._rules.hours:  # closed jobs get no turn, and release reservations with the others
            slots = queue.lists[columns.RULE, :count]
            closed = np.array([self._is_closed(slot, now) for slot in slots.tolist()], dtype=np.bool_)
            slots[:] = np.concatenate([slots[~closed], slots[closed]])
            count -= int(closed.sum())
        self._count = self._fresh = count
        if count:
            self._fresh = self._order.sort(queue, count, now, oldest)

    def _is_closed(self, slot: int, now: int) -> bool:
        return self._rules.starts_of(self._view.waiting.jobs[slot]).opens(now) > now

    def give_all_turns(self) -> None:
        """Try all jobs in this wake-up."""
        state = self._placer.room.state
        state[columns.WHOLE] = True
        state[columns.LOOKED_AT] = 0

    def has_stale_profiles(self, now: int) -> bool:
        """Whether profiles have changed with time since publication."""
        return any(change <= now for change in self._view.next_change.values())

    def has_overtaking_job(self, now: int) -> bool:
        """Whether a new job precedes a reserved one."""
        if not self._heads or self._fresh >= self._count:
            return False
        heads = self._heads.items()
        worst = max(self._order.key(head, now, aged=number == self._oldest) for number, head in heads)
        return self._key_at(self._fresh) < worst

    def _key_at(self, place: int) -> Key:
        return self._order.key_at(self._view.waiting.queue, place, self._oldest)

    def is_unbound(self, number: JobId) -> bool:
        """Whether the job is unbound and may release its reservation."""
        return number in self._view.slots

    @property
    def has_unbound_jobs(self) -> bool:
        """Whether any job is unbound."""
        return len(self._view.slots) > 0

    def next_key(self) -> Key | None:
        """Key of the next job in turn."""
        return self._key_at(int(self._placer.room.state[columns.PLACE])) if self.has_turns else None

    @property
    def has_turns(self) -> bool:
        """Whether turns remain."""
        return bool(self._placer.room.state[columns.PLACE] < self._count)

    def run_turns(self, until: Key | None, now: int) -> list[Effect]:
        """Start jobs with keys before `until`. Stop at a job that reserves or wakes nodes."""
        stop = self._count if until is None else bisect_left(range(self._count), until, key=self._key_at)
        reserving = 0 if self._heads else stop
        state, waiting = self._placer.room.state, self._view.waiting
        passes.count_free(self._view.profiles, self._placer.room.free, now)
        state[columns.STARTED] = 0
        somebody_reserves = self._pass(now, stop, reserving)
        effects: list[Effect] = []
        for slot in self._placer.room.started[: state[columns.STARTED]].tolist():
            effects += self._start(waiting.jobs[slot].number, slot, now)
        if somebody_reserves:
            job = waiting.jobs[int(waiting.queue.lists[columns.RULE, state[columns.PLACE]])]
            state[columns.PLACE] += 1
            effects += self._reserve(self._negotiation.states[job.number], now)
        return effects

    def _pass(self, now: int, stop: int, reserving: int) -> bool:
        view, placer = self._view, self._placer
        state = placer.room.state
        awake, delay = view.awake(now)
        while True:
            rows = _NO_LIMIT if self._limit is None else self._limit.rows
            answer = placer.run(kernel.take_turn, view.waiting.queue, rows, self._need, awake, now, stop, reserving)
            if answer == kernel.LIMIT_FULL and self._limit is not None:
                self._limit.grow()
            elif answer == kernel.ASLEEP and not self._wakes(now, delay):
                if state[columns.PLACE] < reserving:
                    return True
                state[columns.PLACE] += 1
            else:
                return answer in (kernel.BLOCKED, kernel.ASLEEP)

    def _wakes(self, now: int, delay: int) -> bool:
        waiting = self._view.waiting
        slot = int(waiting.queue.lists[columns.RULE, self._placer.room.state[columns.PLACE]])
        number = waiting.jobs[slot].number
        state = self._negotiation.states[number]
        state.start_if_all_up = min(state.start_if_all_up, now)
        opens = self._rules.starts_of(state.job).opens(now + delay)
        permitted = self._limit is None or self._limit.earliest(state.job, now, delay + state.job.walltime) == now
        if opens == now + delay and permitted and self._view.fits(number, now, delay):
            self._waking.add(number)
        return number in self._waking

    def _start(self, number: JobId, slot: int, now: int) -> list[Effect]:
        nodes, units = self._view.waiting.nodes_of(slot)
        state = self._negotiation.states[number]
        state.round_count += 1  # names the claim
        state.search = None
        effects = self._negotiation.claim_nodes(state, self._view.incarnations, Pick(0, now, nodes, units), now)
        if self._limit is not None:
            self._limit.note(state.job, now)
        self._bind(number)
        self._backlog.record_start(number, now)
        return effects

    def _bind(self, number: JobId) -> None:
        self._view.remove(number)
        self._waking.discard(number)

    # ------------------------------------------------------------------------------------------------------------------
    # Turns of a lone task manager.

    def bind(self, now: int, *, drop: bool) -> list[Effect]:
        """Let the pool give all remaining turns. `drop`: first release the reservation."""
        assert self._alone is not None
        dropped = self._drop() if drop else NO_JOB
        state = self._placer.room.state
        place, whole = int(state[columns.PLACE]), bool(state[columns.WHOLE])
        bound = self._alone.bind(place, self._count, dropped, now, whole=whole, reserves=not self._heads)
        return self._apply_bound(self._alone, bound, now)

    def _drop(self) -> JobId:
        for number in self._heads:
            state = self._negotiation.states[number]
            if state.nodes is not None:
                state.release()
                self._heads = {}
                return number
        return NO_JOB

    def _apply_bound(self, alone: LocalTurns, bound: BindResponse, now: int) -> list[Effect]:
        negotiation = self._negotiation
        negotiation.messages += bound.notices
        self._view.next_change[FIRST_HOST] = bound.next_change
        effects: list[Effect] = []
        for number, pick in picks(bound):
            state = negotiation.states[number]
            if pick.start > now:
                negotiation.count_rounds(state, bound.rounds, bound.rounds * negotiation.nodes)
                negotiation.record_reservation(state, pick)
                self._note_reserved(state.job, pick.start)
            else:
                state.round_count += 1  # names the claim
                negotiation.record_reservation(state, pick)
                self._bind(number)
                self._backlog.record_start(number, now)
                effects.append(Placed(number, now, pick.nodes, pick.units))
        at = self._placer.room.state
        if bound.blocked < 0:
            at[columns.PLACE] = self._count
            return effects
        place = alone.place_of(bound.blocked)
        at[columns.PLACE] = place + 1
        waiting = self._view.waiting
        job = waiting.jobs[int(waiting.queue.lists[columns.RULE, place])]
        return effects + self._reserve(negotiation.states[job.number], now)

    def _note_reserved(self, job: Job, start: int) -> None:
        self._heads[job.number] = self._order.head(job, start)
        self._view.waiting.queue.table[self._view.slots[job.number], columns.START] = start

    # ------------------------------------------------------------------------------------------------------------------

    def end_wake_up(self) -> None:
        """End a wake-up."""
        queue = self._view.waiting.queue
        if count := int(queue.size[columns.RULE]):
            queue.size[columns.RULE] = kernel.end_turns(queue.table, queue.lists[columns.RULE, :count])
        self._count = 0

    def wake(self) -> int:
        """Next turn without an event (FOREVER: none)."""
        soonest = self._later[0][0] if self._later else FOREVER
        queue = self._view.waiting.queue
        if not queue.size[0]:
            return soonest
        # If the queues of all waiting jobs are closed, nodes publish no next change.
        for change in self._view.next_change.values():
            if self._opened_at < change < soonest:
                soonest = change
        for starts in self._rules.hours.values():
            soonest = min(soonest, starts.changes(self._opened_at))
        soonest = min(soonest, self._view.next_up(self._opened_at))
        if self._limit is not None:
            soonest = min(soonest, self._limit.next_step(self._opened_at))
        for number in self._heads:
            state = self._negotiation.states.get(number)
            if state is not None and state.nodes is not None:
                soonest = min(soonest, state.start)
        if self._rules.desired_binds and self._rules.soft:
            latest = queue.table[queue.lists[columns.RULE, : queue.size[0]], columns.LATEST]
            soonest = min(soonest, int(latest[latest > self._opened_at].min(initial=FOREVER)))
        return soonest

    # ------------------------------------------------------------------------------------------------------------------
    # Reservations.

    def _reserve(self, state: JobState, now: int) -> list[Effect]:
        search = Search(0, now, None, now, now, self._rules.binds_at(state.job, now), quota=False)
        search = open_window(search, state.job, self._rules, now)
        if state.claims and state.start > now:
            search = in_hours(replace(search, last=state.start), state.job, self._rules) or search
        return self._negotiation.query_window(state, search, now)

    def _conclude(self, this: Round, now: int) -> list[Effect]:
        state, search = this.states[0], this.searches[0]
        job, chosen = state.job, next(self._negotiation.found_picks(this), None)
        if chosen is None:
            return self._negotiation.query_next_window(this, now) or self._wait_for_change(this, now)
        start = chosen.start
        if self._limit is not None and search.desired_binds:
            start = self._limit.earliest(job, chosen.start, job.walltime)
            if start == FOREVER and (self._rules.hard or (job.latest is None and not self._limit.is_beyond(job))):
                return self._wait_for_change(this, now)
        exceeds = start == FOREVER or (job.latest is not None and start > job.latest)
        if exceeds and self._rules.soft and search.desired_binds:
            # A deadline outranks a soft profile.
            free = open_window(replace(search, earliest=now, desired_binds=False), job, self._rules, now)
            return self._negotiation.query_window(state, free, now)
        if start > chosen.start:
            later = open_window(replace(search, earliest=start), job, self._rules, now)
            return self._negotiation.query_window(state, later, now)
        if self._limit is not None:
            self._limit.take(job, start)
        effects = self._negotiation.claim(this, chosen, now)
        if chosen.start == now or job.number in self._waking:
            self._bind(job.number)
            self._backlog.record_start(job.number, chosen.start)
            return effects
        self._heads[job.number] = self._order.head(job, chosen.start)
        return [*effects, *self._announce(self._heads[job.number], standing=True)]

    def _wait_for_change(self, this: Round, now: int) -> list[Effect]:
        waiting = self._negotiation.on_no_start(this, now)
        job = self._view.remove(this.states[0].job.number)
        change = min(self._view.next_change.values())
        if self._limit is not None:
            change = min(change, self._limit.next_step(now))
        if change == FOREVER:
            return [Rejected(job.number, self._negotiation.outside_desired)]
        if self._limit is not None:
            self._delayed.add(job.number)
        heappush(self._later, (change, job.number, job))
        return waiting

    def drop_reservations(self) -> list[Effect]:
        """Release reservations before a whole wake-up."""
        effects: list[Effect] = []
        for number in [*self._heads]:
            if self._holds(number):
                effects += [*self._negotiation.states[number].release(), *self._withdraw_announcement(number)]
                if self._limit is not None:
                    self._limit.drop(number)
        return effects

    def _holds(self, number: JobId) -> bool:
        state = self._negotiation.states.get(number)
        return state is not None and state.nodes is not None and self.is_unbound(number)
