"""Dialogue with node managers: rounds of queries, next windows, and claims.

The owner decides on the result of each round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from dardis.model.addresses import FIRST_HOST, HostId, JobId, ManagerAddress
from dardis.model.capacity import could_hold, outside_profile_reason, too_large
from dardis.model.choices import ProfileRule, UnitsPerNode
from dardis.model.job import Job
from dardis.task_manager.claims import Claims
from dardis.task_manager.claims.base import OFFERS, REPEAT_QUERY
from dardis.task_manager.layout import Layout
from dardis.task_manager.questions import QueryRouter
from dardis.task_manager.rounds import (
    ALL_NODES,
    JobState,
    Pick,
    Round,
    confirms_of,
    make_candidates_query,
    make_query,
    note_fills_nodes,
    picks,
    picks_of_candidates,
    quota_of,
    starts_of,
)  # fmt: skip
from dardis.task_manager.sampling import Sampling, sample_of_job
from dardis.task_manager.search_windows import Search, SearchRules, first_search, first_window, in_hours, next_window
from dardis.task_manager.setups import BackfillScope, Reach, SetUp
from dardis.wire import messages as say
from dardis.wire.codec import decode_nested
from dardis.wire.effects import Effect, Rejected, SetTimer, ToHosts

Conclude = Callable[[Round, int], list[Effect]]
"""With a finished round and the time; returns effects."""


class Negotiation:
    """Rounds and claims of a task manager."""

    def __init__(
        self, setup: SetUp, layout: Layout, seed: int, reach: Reach, address: ManagerAddress, claims: Claims,
        conclude: Conclude,
    ) -> None:  # fmt: skip
        self._setup = setup
        self._reach = reach
        self._layout = layout
        self._seed = seed
        self._claims = claims
        self._conclude = conclude
        desired_binds = setup.profile is not ProfileRule.OFF and (layout.has_desired or layout.is_limited)
        self.rules = SearchRules(
            setup.drawn, desired_binds, setup.profile is ProfileRule.SOFT, setup.grain, layout.hours,
            setup.further_windows,
        )  # fmt: skip
        may_forbid = self.rules.hard or (desired_binds and layout.is_limited)
        self.outside_desired = outside_profile_reason(setup.profile_split) if may_forbid else ""
        """Why a hard or shared profile may forbid all starts."""
        self._asking = QueryRouter(layout, reach, address, claims.resend, claims.dead_hosts)
        self.states: dict[JobId, JobState] = {}
        self._rounds: dict[int, Round] = {}
        self._next_round = 0
        self.sampling = Sampling(layout, reach.sample, seed) if reach.sample else None
        """First samples; None: query all nodes."""
        self.messages = 0
        """Messages with node managers, counted per node, without measurements."""
        self.renegotiations = 0
        """Queries and claims after the first."""

    def add(self, job: Job) -> JobState:
        """Add a job."""
        state = self.states[job.number] = JobState(job)
        return state

    def forget(self, number: JobId) -> None:
        """Drop a finished job."""
        del self.states[number]
        self._claims.forget(number)
        if self.sampling is not None:
            self.sampling.drop(number)

    def reject_too_large(self, state: JobState) -> list[Effect]:
        """Reject a job too large for the machine."""
        job = state.job
        distinct = self._setup.units_per_node is UnitsPerNode.DISTINCT
        could = could_hold(job, self._layout.sets, distinct=distinct)
        if could >= job.units:
            return []
        return [Rejected(job.number, too_large(job, self._layout.kinds, could), state.window_count)]

    def message_to_all(self, message: say.Message) -> ToHosts:
        """Message that all hosts answer."""
        return self._asking.message_to_all(message)

    # ------------------------------------------------------------------------------------------------------------------
    # Queries.

    def search(self, number: JobId, now: int) -> list[Effect]:
        """Start a new search."""
        state, sample = self.states[number], 0
        if self.sampling is not None:
            self.sampling.drop(number)
            sample = self.sampling.first(state.job)
        return self.query_window(state, self._first_search(state, sample, now), now)

    def _first_search(self, state: JobState, sample: int, now: int) -> Search:
        return first_search(state.job, self._claims.soonest(state.job, now), now, self.rules, sample, state.round_count)

    def query_window(self, state: JobState, search: Search, now: int) -> list[Effect]:
        """Query the starts of a job in a window."""
        nodes = search.sample or self._layout.allowed_node_count(state.job.groups)
        quota = quota_of(search, state.job.units, nodes, self._setup.grain)
        return self.query_jobs([state], [search], [quota], now)

    def query_jobs(
        self, states: list[JobState], searches: list[Search], quotas: list[int], now: int, *, asks_again: bool = False
    ) -> list[Effect]:
        """Query several jobs. `asks_again`: keep their own searches."""
        for state, search in zip(states, searches, strict=True):
            self.count_rounds(state, 1, 0)  # nodes are counted when the query is sent
            if not asks_again:
                state.search = search
        same_nodes = self._setup.backfill_scope is BackfillScope.SAME_NODES
        held_only = asks_again and same_nodes and states[0].nodes is not None
        for state in states if held_only else ():
            note_fills_nodes(state, self._layout, self._setup)
        sample, want = ALL_NODES, say.SUMS if self._reach.arity and not held_only else say.ROWS
        if self.sampling is not None and searches[0].sample:
            sample, want = self.sampling.nodes_of(states, searches, asks_again=asks_again), say.ROWS
        ask = make_query(
            self._next_round, self._setup, self._layout.sets, states, searches, quotas, asks_again=asks_again,
            held_only=held_only, want=want, sample=sample,
        )  # fmt: skip
        return self._send(
            Round(ask.round, states, searches, ask, self._asking.queried_hosts(ask, states), asks_again), ask, now
        )

    def measure(self, this: Round, chosen: Pick, now: int) -> list[Effect]:
        """Repeat a query as if all nodes were up, if a sleeping node could hold an earlier start."""
        state, desired_binds = this.states[chosen.place], this.searches[chosen.place].desired_binds
        first, last = max(now, state.job.earliest), min(chosen.start, this.down_until) - 1
        search = in_hours(Search(0, first, last, first, last, desired_binds, quota=False), state.job, self.rules)
        if search is None:
            return []
        ask = make_query(
            self._next_round, self._setup, self._layout.sets, [state], [search], [-1], asks_again=this.is_renegotiation,
            held_only=this.query.held_only, as_if_up=True, want=this.query.want,
            sample=sample_of_job(this.query, chosen.place),
        )  # fmt: skip
        hosts = self._asking.queried_hosts(ask, [state])
        return self._send(
            Round(ask.round, [state], [search], ask, hosts, this.is_renegotiation, measures=(this, chosen)), ask, now
        )

    def note_measured(self, this: Round) -> None:
        """Record a measured start."""
        state = this.states[0]
        first = next(picks(this, self._setup.selection, self._seed), None) if this.offers else None
        earlier = [first.start] if first is not None else [start for _, start in this.starts]
        state.start_if_all_up = min([state.start_if_all_up, *earlier])

    def _send(self, this: Round, ask: say.OfferQuery, now: int) -> list[Effect]:
        job = this.states[0].job
        this.number, this.sent_query, this.relay, this.dead_host_count = ask.round, ask, None, 0
        self._rounds[ask.round] = this
        self._next_round += 1
        if this.measures is None:
            asked = this.queried_nodes
            self.messages += 2 * (len(ask.job) * self._layout.bounds[-1] if asked is None else asked)
        this.expires = self._claims.round_ends(job.number, now)
        effects: list[Effect] = list(self._asking.first_messages(this, self._claims.patience(job.number)))
        return effects + self._claims.watch(job, ask.round, now)

    # ------------------------------------------------------------------------------------------------------------------
    # Answers.

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """See `Claims.handle`."""
        match message:
            case say.Offers():
                self._claims.note_answer(message.host, message.incarnation)
                this = self._rounds.get(message.round)
                if this is None:
                    return []
                this.offers[message.host] = message
                return [] if self._asking.is_incomplete(this) else self._on_round_end(this, now)
            case say.GatheredAnswers():
                self._claims.note_answer(message.first, message.incarnation)
                return [effect for answer in message.answers for effect in self.handle(decode_nested(answer), now)]
            case say.Sums() | say.Candidates():
                this = self._rounds.get(message.round)
                if this is None:
                    return []
                if isinstance(message, say.Sums):
                    this.sums = message
                else:
                    this.candidates = message
                return self._on_round_end(this, now)
            case say.Timer(attempt=number, token=token) if token in {OFFERS, REPEAT_QUERY}:
                this = self._rounds.get(number)
                if this is None:
                    return []
                return self._on_round_end(this, now) if token == OFFERS else self._repeat_query(this, message, now)
        return self._claims.handle(message, now)

    def _repeat_query(self, this: Round, timer: say.Timer, now: int) -> list[Effect]:
        sends = self._asking.repeat_messages(this, self._claims.patience(this.states[0].job.number))
        return [*sends, SetTimer(now + self._claims.resend, timer)]

    def _on_round_end(self, this: Round, now: int) -> list[Effect]:
        del self._rounds[this.number]
        if this.sums is not None and not this.starts:
            this.starts = starts_of(this, self._setup.selection, self._seed)
            if this.starts and this.measures is None:
                return self._send(this, make_candidates_query(self._next_round, this), now)
        return self._conclude(this, now)

    def found_picks(self, this: Round) -> Iterator[Pick]:
        """Picks of a finished round, by query."""
        if this.offers:
            return picks(this, self._setup.selection, self._seed)
        return iter(()) if this.candidates is None else picks_of_candidates(this)

    def lacks_answers(self, this: Round) -> bool:
        """Whether reachable hosts have not answered."""
        return self._asking.lacks_answers(this)

    def query_next_window(self, this: Round, now: int) -> list[Effect]:
        """Query the next window, if any."""
        state, search = this.states[0], this.searches[0]
        if this.starts or not this.is_answered:
            return self._claims.search_later(state, now, slow=self.lacks_answers(this))
        following = self._following(state, search, this, now)
        if following is None:
            return []
        # Answers take time, so the window may begin too early by now.
        first = self.rules.starts_of(state.job).opens(max(following.first, self._claims.soonest(state.job, now)))
        return self.query_window(state, replace(following, first=first, last=max(following.last, first)), now)

    def _following(self, state: JobState, search: Search, this: Round, now: int) -> Search | None:
        if search.is_horizon_query:
            window = first_window(state.job, self._claims.soonest(state.job, now), self.rules, this.horizon)
            return replace(window, sample=search.sample, draw=search.draw)
        if self.sampling is None or not search.sample or search.quota:
            return next_window(search, state.job, self.rules, this.horizon, this.last_end)
        wider = self.sampling.wider(state.job, search.sample)
        return replace(search, sample=wider, quota=self.rules.drawn) if wider else self._first_search(state, 0, now)

    def on_no_start(self, this: Round, now: int) -> list[Effect]:
        """Handle a job without a start."""
        return self._claims.on_no_start(this.states[0], self.outside_desired, now, slow=self.lacks_answers(this))

    # ------------------------------------------------------------------------------------------------------------------
    # Claims.

    def claim(self, this: Round, chosen: Pick, now: int) -> list[Effect]:
        """Claim a pick."""
        return self.claim_nodes(this.states[chosen.place], this.incarnations(self._layout.host_of), chosen, now)

    def claim_nodes(self, state: JobState, incarnations: Mapping[HostId, int], chosen: Pick, now: int) -> list[Effect]:
        """Claim nodes on hosts in these incarnations."""
        self.count_claim(state, len(chosen.nodes))
        confirms = confirms_of(state, incarnations, chosen, self._layout, tentative=self._claims.tentative)
        state.start, state.nodes, state.units = chosen.start, chosen.nodes, chosen.units
        state.fills_nodes = None
        if self.sampling is not None:
            self.sampling.place(state)
        return self._claims.claim(state, confirms, now)

    def record_reservation(self, state: JobState, has: Pick) -> None:
        """Record a reservation by the only host."""
        self.count_claim(state, len(has.nodes))
        state.start, state.nodes, state.units, state.fills_nodes = has.start, has.nodes, has.units, None
        state.hosts, state.claim = (FIRST_HOST,), state.round_count

    # ------------------------------------------------------------------------------------------------------------------
    # Counters.

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self._layout.bounds[-1]

    def count_rounds(self, state: JobState, rounds: int, nodes: int) -> None:
        """Count a job's queries to `nodes` nodes in total, with answers."""
        self.renegotiations += rounds - (state.round_count == 0)
        state.round_count += rounds
        self.messages += 2 * nodes

    def count_round_of(self, states: Sequence[JobState]) -> None:
        """Count a query to each job's own nodes."""
        for state in states:
            assert state.nodes is not None
            self.renegotiations += state.round_count != 0
            state.round_count += 1
            self.messages += 2 * len(state.nodes)

    def count_claim(self, state: JobState, nodes: int) -> None:
        """Count a claim."""
        self.renegotiations += state.claims > 0
        state.claims += 1
        self.messages += nodes
