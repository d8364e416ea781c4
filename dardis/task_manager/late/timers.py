"""Late binding with late or lost messages: delays and patience replace turns.

A waiting job tries to start when published profiles may fit, sooner with a better key; it also polls, since
publications may be lost. The best known job reserves, and yields to a better job; an aged job reserves for good.
"""

from __future__ import annotations

from math import log2

from dardis.kernels.late_order import HEAD_START_S
from dardis.model.addresses import ONLY_MANAGER, HostId, JobId, ManagerAddress, all_hosts
from dardis.model.arrays import Ints
from dardis.model.job import Job
from dardis.task_manager.claims import ClaimTimeouts, TwoPhaseClaims
from dardis.task_manager.claims.base import RETRY
from dardis.task_manager.claims.two_phase_claims import NO_START
from dardis.task_manager.late.backlog import Backlog
from dardis.task_manager.late.order import Key, Order, ProfileView
from dardis.task_manager.layout import Layout
from dardis.task_manager.negotiation import Negotiation
from dardis.task_manager.rounds import JobState, Pick, Round
from dardis.task_manager.search_windows import Search, in_hours
from dardis.task_manager.setups import EVERY_HOST, LateSetUp, Reach
from dardis.wire import messages as say
from dardis.wire.effects import Effect, JobFinished, Placed, PlacementDeferred, Send, SendAll, SetTimer

TURN, RENEW = 100, 101
"""Timers: turn; renewal of a head."""
LEASE = 3
"""Renewal periods until an announcement expires."""
BEST_KEY, BUCKETS, WIDTH = int(log2(HEAD_START_S)), 6, 4
"""A key of 2^BEST_KEY tries at once; each factor of 2^WIDTH less adds a step, up to BUCKETS - 1."""
RESENDS_PER_POLL = 4


class TimedLateManager:
    """Agent of late jobs for unreliable networks."""

    def __init__(
        self,
        setup: LateSetUp,
        layout: Layout,
        seed: int,
        pace: ClaimTimeouts,
        reach: Reach = EVERY_HOST,
        address: ManagerAddress = ONLY_MANAGER,
    ) -> None:
        self._claims = TwoPhaseClaims(pace, seed, self.retry, reach.levels(layout.hosts), reach.questions)
        self._negotiation = Negotiation(setup.search, layout, seed, reach, address, self._claims, self._conclude)
        self._rules = self._negotiation.rules
        self._order = Order(layout)
        self._backlog = Backlog(layout, address, setup)
        self._old_at: dict[JobId, int] = {}
        self._view = ProfileView(setup, self._rules, layout, seed)
        self._hosts = all_hosts(layout.hosts)
        self._pace = pace
        self._idle: set[JobId] = set()
        self._mine: dict[JobId, int] = {}
        """Start of each head: a reservation as best job."""
        self._peeking: set[JobId] = set()
        self._others: dict[tuple[HostId, int], dict[JobId, Ints]] = {}
        """Published heads by host incarnation and job."""
        self._seen: dict[tuple[HostId, int], int] = {}
        self._turns: set[JobId] = set()

    @property
    def renegotiations(self) -> int:
        """See `Negotiation.renegotiations`."""
        return self._negotiation.renegotiations

    def submit(self, job: Job, now: int) -> list[Effect]:
        """Add a job and try a start."""
        if rejected := self._negotiation.reject_too_large(self._negotiation.add(job)):
            return rejected
        self._view.add(job)
        self._backlog.add_waiting(job, now)
        for number, state in self._negotiation.states.items():  # claims may have been cancelled or lost
            self._backlog.record_start(number, None if state.nodes is None else state.start)
        self._old_at[job.number] = job.submit + self._backlog.old_after(job, now)
        return [self._backlog.make_report(now), *self.retry(job.number, now)]

    def forget(self, number: JobId) -> None:
        """Drop a finished job."""
        self._negotiation.forget(number)
        self._backlog.drop_waiting(number)
        self._old_at.pop(number, None)
        self._mine.pop(number, None)
        self._idle.discard(number)
        self._peeking.discard(number)
        self._turns.discard(number)
        if number in self._view.slots:
            self._view.remove(number)

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Handle a message."""
        if isinstance(message, say.Published):
            return self._on_published(message, now)
        if isinstance(message, say.Timer) and message.token in {TURN, RENEW, RETRY}:
            return self._wake(message, now)
        effects = self._negotiation.handle(message, now)
        self._count(effects, now)
        if isinstance(message, say.HostDown):
            self._forget_dead_hosts()
        return effects

    def _wake(self, timer: say.Timer, now: int) -> list[Effect]:
        state = self._negotiation.states.get(timer.job)
        if timer.token == TURN:
            self._turns.discard(timer.job)
            waits = state is not None and timer.job in self._idle and self._may_fit(state.job, now)
            return self.retry(timer.job, now) if waits else []
        if state is None or timer.attempt != (state.claims if timer.token == RENEW else state.round_count):
            return []
        return self._renew(state, now) if timer.token == RENEW else self._claims.handle(timer, now)

    def _count(self, effects: list[Effect], now: int) -> None:
        for effect in effects:
            if isinstance(effect, Placed):
                self._backlog.record_start(effect.job, effect.start)
            elif isinstance(effect, JobFinished):
                self._backlog.record_end(effect.job, now)

    def _forget_dead_hosts(self) -> None:
        is_dead, known = self._claims.is_dead, self._view.incarnations
        self._others = {source: heads for source, heads in self._others.items() if not is_dead(*source)}
        self._seen = {source: at for source, at in self._seen.items() if not is_dead(*source)}
        self._view.incarnations = {host: last for host, last in known.items() if not is_dead(host, last)}

    def retry(self, number: JobId, now: int) -> list[Effect]:
        """Try to start; a job that may reserve asks for its earliest start."""
        state = self._negotiation.states[number]
        job = state.job
        self._idle.discard(number)
        self._mine.pop(number, None)
        effects: list[Effect] = [
            Send(host, say.PublishRequest()) for host in self._hosts if host not in self._view.incarnations
        ]
        soonest = max(self._claims.soonest(job, now), job.earliest)
        opens = self._rules.starts_of(job).opens(soonest)
        if opens > soonest:
            self._idle.add(number)
            at_opening = SetTimer(opens - soonest + now, say.Timer(number, state.round_count, RETRY))
            return [*effects, PlacementDeferred(number, NO_START), at_opening]
        if self._is_old(job, now) or self._is_best(job, now):
            return effects + self._negotiation.search(number, now)
        desired_binds = self._rules.binds_at(job, now)
        search = Search(0, soonest, soonest, soonest, soonest, desired_binds, quota=False, is_only_window=True)
        return effects + self._negotiation.query_window(state, search, now)

    def _conclude(self, this: Round, now: int) -> list[Effect]:
        found = self._negotiation.found_picks(this)
        if this.is_renegotiation:
            return self._on_earlier_start(
                this, next((pick for pick in found if not this.states[0].is_reservation(pick)), None), now
            )
        chosen = next(found, None)
        if chosen is not None:
            return self._claim(this, chosen, now)
        return self._negotiation.query_next_window(this, now) or self._retry_later(this, now)

    def _claim(self, this: Round, chosen: Pick, now: int) -> list[Effect]:
        state = this.states[0]
        effects = self._negotiation.claim(this, chosen, now)
        if this.searches[0].is_only_window or self._is_old(state.job, now):
            return effects  # an aged job keeps its reservation
        self._mine[state.job.number] = chosen.start
        return effects + self._announce(state, now)

    def _retry_later(self, this: Round, now: int) -> list[Effect]:
        state = this.states[0]
        number = state.job.number
        if self._negotiation.lacks_answers(this):
            self._claims.note_failure(number, slow=True)
        self._idle.add(number)
        poll = SetTimer(now + RESENDS_PER_POLL * self._pace.resend, say.Timer(number, state.round_count, RETRY))
        return [PlacementDeferred(number, NO_START), poll]

    def _on_published(self, published: say.Published, now: int) -> list[Effect]:
        source = (published.host, published.incarnation)
        if self._claims.is_dead(*source) or published.at < self._seen.get(source, published.at):
            return []
        self._seen[source] = published.at
        self._view.store_profiles(published)
        self._backlog.store_reports(published.backlogs, now)
        self._others[source] = {
            job: row for row in published.heads if (job := JobId(int(row[0]))) not in self._negotiation.states
        }
        effects = [effect for number in list(self._mine) for effect in self._review_head(number, now)]
        for number in sorted(self._idle - self._turns):
            self._turns.add(number)
            state = self._negotiation.states[number]
            effects.append(SetTimer(now + self._delay(state.job, now), say.Timer(number, state.round_count, TURN)))
        return effects

    def _review_head(self, number: JobId, now: int) -> list[Effect]:
        if not self._claims.has_claim(number):
            del self._mine[number]
            return []
        start = self._mine[number]
        if start - now <= 2 * (self._pace.lead + self._pace.resend):
            return []
        state = self._negotiation.states[number]
        if self._is_outranked(state.job, now):
            gone = say.Announce(self._order.head(state.job, now), standing=False)
            return [*self._cancel_head(number, now), SendAll(gone)]
        return [] if number in self._peeking else self._query_earlier(state, start, now)

    def _renew(self, state: JobState, now: int) -> list[Effect]:
        number = state.job.number
        if number not in self._mine:
            return []
        self._peeking.discard(number)
        effects = self._review_head(number, now)
        return effects + self._announce(state, now) if number in self._mine else effects

    def _announce(self, state: JobState, now: int) -> list[Effect]:
        period = RESENDS_PER_POLL * self._pace.resend
        head = self._order.head(state.job, now + LEASE * period)
        renew = SetTimer(now + period, say.Timer(state.job.number, state.claims, RENEW))
        return [SendAll(say.Announce(head, standing=True)), renew]

    def _query_earlier(self, state: JobState, start: int, now: int) -> list[Effect]:
        first = max(self._claims.soonest(state.job, now), state.job.earliest)
        search = Search(0, first, start - 1, first, start - 1, self._rules.desired_binds, quota=False)
        window = in_hours(search, state.job, self._rules)
        if window is None:
            return []
        self._peeking.add(state.job.number)
        return self._negotiation.query_jobs([state], [window], [-1], now, asks_again=True)

    def _on_earlier_start(self, this: Round, chosen: Pick | None, now: int) -> list[Effect]:
        number = this.states[0].job.number
        self._peeking.discard(number)
        gains = chosen is not None and chosen.start < self._mine.get(number, chosen.start)
        return self._cancel_head(number, now) if gains and self._claims.has_claim(number) else []

    def _cancel_head(self, number: JobId, now: int) -> list[Effect]:
        del self._mine[number]
        return self._claims.cancel_claim(number, now)

    def _delay(self, job: Job, now: int) -> int:
        key = -self._key(job, now)[2]
        bucket = 0 if self._is_old(job, now) else min(max(int((BEST_KEY - log2(key)) / WIDTH), 0), BUCKETS - 1)
        return 1 + bucket * max(self._pace.resend // BUCKETS, 1)

    def _may_fit(self, job: Job, now: int) -> bool:
        soonest = self._claims.soonest(job, now)
        may_start = job.earliest <= soonest == self._rules.starts_of(job).opens(soonest)
        return may_start and self._view.fits(job.number, soonest)

    def _is_old(self, job: Job, now: int) -> bool:
        return now > self._old_at[job.number]

    def _key(self, job: Job, now: int) -> Key:
        return self._order.key(self._order.head(job, 0), now, aged=self._is_old(job, now))

    def _is_open(self, number: JobId, now: int) -> bool:
        return self._rules.starts_of(self._negotiation.states[number].job).opens(now) == now

    def _is_outranked(self, job: Job, now: int) -> bool:
        key = self._key(job, now)
        rows = [row for heads in self._others.values() for row in heads.values() if row[-1] >= now]
        return any(self._order.key(row, now, aged=False) < key for row in rows)

    def _is_best(self, job: Job, now: int) -> bool:
        key = self._key(job, now)
        waiting = {number for number in self._idle if self._is_open(number, now)} | set(self._mine)
        return not self._is_outranked(job, now) and all(
            key <= self._key(self._negotiation.states[number].job, now) for number in waiting
        )
