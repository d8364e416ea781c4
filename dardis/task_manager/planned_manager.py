"""Planned reservations: each job reserves its best start at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dardis.model.addresses import ONLY_MANAGER, HostId, JobId, ManagerAddress
from dardis.model.job import Job
from dardis.model.local_queries import LocalNodes
from dardis.task_manager.claims import Claims, FinalClaims, Retry
from dardis.task_manager.layout import Layout
from dardis.task_manager.local_rounds import LocalRounds
from dardis.task_manager.negotiation import Negotiation
from dardis.task_manager.questions import RenegotiationQueue
from dardis.task_manager.rounds import Pick, Round
from dardis.task_manager.setups import EVERY_HOST, Reach, SetUp
from dardis.wire import messages as say
from dardis.wire.effects import Effect


class PlannedManager:
    """Agent of jobs with planned reservations."""

    def __init__(
        self, setup: SetUp, layout: Layout, seed: int, reach: Reach = EVERY_HOST,
        address: ManagerAddress = ONLY_MANAGER, make_claims: Callable[[Retry], Claims] = lambda _: FinalClaims(),
        *, pool: LocalNodes | None = None,
    ) -> None:  # fmt: skip
        """Start without jobs.

        `make_claims`: makes claims, given the callback for a new search. `address`: for answers of a host tree, below
        0. `pool`: all nodes, if local, always up and queried together.
        """
        claims = make_claims(self.retry)
        self._negotiation = Negotiation(setup, layout, seed, reach, address, claims, self._conclude)
        self._at_once = None if pool is None else LocalRounds(setup, self._negotiation, layout.sets, pool)
        self._asking_again = RenegotiationQueue(
            setup.backfill_scope, self._negotiation.rules, self._negotiation.sampling
        )
        self._measures = not setup.drawn and not claims.tentative

    @property
    def messages(self) -> int:
        """See `Negotiation.messages`."""
        return self._negotiation.messages

    @property
    def renegotiations(self) -> int:
        """See `Negotiation.renegotiations`."""
        return self._negotiation.renegotiations

    def attempts(self, number: JobId) -> int:
        """Windows tried in the last search (thesis 5.3.6)."""
        return self._negotiation.states[number].window_count

    def hosts(self, number: JobId) -> tuple[HostId, ...]:
        """Reservation's hosts."""
        return self._negotiation.states[number].hosts

    def submit(self, job: Job, now: int) -> list[Effect]:
        """Add a job and search."""
        self._negotiation.add(job)
        return self.retry(job.number, now)

    def retry(self, number: JobId, now: int) -> list[Effect]:
        """Start a new search."""
        state = self._negotiation.states[number]
        if self._at_once is not None and self._at_once.may_seek(state):
            return self._at_once.seek(state, now) or self._negotiation.search(number, now)
        return self._negotiation.search(number, now)

    def renegotiate(self, numbers: Iterable[JobId], now: int, freed_until: int = 0) -> list[Effect]:
        """Let jobs query again, in order, after nodes became free.

        All jobs have reservations, or none. Reserved jobs query `[now, start)`, and with all nodes also their start.
        Others query `[now, freed_until)`.
        """
        states = [self._negotiation.states[number] for number in numbers]
        if self._at_once is not None and self._at_once.may_improve(states):
            return self._at_once.improve(states, now)
        self._asking_again.add(states, freed_until)
        return self._query_batch(now)

    def on_refused_claim(self, number: JobId, now: int) -> list[Effect]:
        """Release a claim, and search again."""
        return self._negotiation.states[number].release() + self.retry(number, now)

    def forget(self, number: JobId) -> None:
        """Drop a finished job."""
        self._negotiation.forget(number)

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Handle a message."""
        return self._negotiation.handle(message, now)

    def _conclude(self, this: Round, now: int) -> list[Effect]:
        if this.measures is not None:
            self._negotiation.note_measured(this)
            return self._claim(*this.measures, now)
        found = self._negotiation.found_picks(this)
        if this.is_renegotiation:
            return self._move(
                this, next((pick for pick in found if not this.states[pick.place].is_reservation(pick)), None), now
            )
        chosen = next(found, None)
        if chosen is not None:
            return self._take(this, chosen, now)
        return (
            self._negotiation.query_next_window(this, now)
            or self._negotiation.reject_too_large(this.states[0])
            or self._negotiation.on_no_start(this, now)
        )

    def _move(self, this: Round, chosen: Pick | None, now: int) -> list[Effect]:
        if chosen is None:
            self._asking_again.on_no_move()
            return self._query_batch(now)
        self._asking_again.on_move(this.states[chosen.place + 1 :])
        return self._take(this, chosen, now)

    def _query_batch(self, now: int) -> list[Effect]:
        batch, searches = self._asking_again.next_batch(now)
        if not batch:
            return []
        return self._negotiation.query_jobs(batch, searches, [-1] * len(batch), now, asks_again=True)

    def _take(self, this: Round, chosen: Pick, now: int) -> list[Effect]:
        asks = self._negotiation.measure(this, chosen, now) if self._measures else []
        return asks or self._claim(this, chosen, now)

    def _claim(self, this: Round, chosen: Pick, now: int) -> list[Effect]:
        effects = self._negotiation.claim(this, chosen, now)
        return effects + self._query_batch(now) if this.is_renegotiation else effects
