"""The task-manager machine: (state, message, now) to effects. Decides when and where its jobs run.

It serves any number of jobs. Where messages can't be lost or overtake each other a confirmation is final at once;
elsewhere it is agreed in two phases (`agreement`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dardis.model.capacity import could_hold, never_wished, too_large
from dardis.model.choices import ProfileRule, UnitsPerNode
from dardis.model.errors import ProtocolError
from dardis.model.host_tree import levels_below
from dardis.model.job import Job
from dardis.task_manager.agreement import OFFERS, SILENT, Agreement, Pace
from dardis.task_manager.asking import Asking
from dardis.task_manager.layout import Layout
from dardis.task_manager.moving import Moving
from dardis.task_manager.rounds import (
    ALL_NODES,
    JobState,
    Pick,
    Round,
    ask_for_candidates,
    confirms_of,
    make_ask,
    note_whether_full,
    picks,
    picks_of_candidates,
    quota_of,
    starts_of,
)  # fmt: skip
from dardis.task_manager.sampling import Sampling, only
from dardis.task_manager.search import Search, SearchRules, advance, begin, first_search
from dardis.task_manager.setups import EVERY_HOST, BackfillScope, Reach, SetUp
from dardis.wire import messages as say
from dardis.wire.effects import Effect, Placed, Rejected, Send, Waiting

Ints = NDArray[np.int64]


class TaskManager:
    """The agents of some jobs. Events come in by `submit`, `ask_again`, `retry` and `handle`; effects go out."""

    def __init__(
        self, setup: SetUp, layout: Layout, seed: int, pace: Pace | None = None, reach: Reach = EVERY_HOST,
        address: int = -1,
    ) -> None:  # fmt: skip
        """With a `pace`, messages may be lost, late or out of order, and claims are agreed in two phases.

        `address` is where hosts of a tree send their answers, less than 0.
        """
        self._setup = setup
        self._reach = reach
        self._layout = layout
        self._seed = seed
        respect = setup.profile is not ProfileRule.OFF and layout.has_desired
        self._rules = SearchRules(setup.drawn, respect, setup.profile is ProfileRule.SOFT, setup.grain)
        levels = levels_below(len(layout.bounds) - 1, reach.arity) if reach.arity else 0
        questions = 2 if reach.arity else 1  # sums, then candidates
        self._agreement = Agreement(pace, seed, levels, questions) if pace else None
        self._measures = not setup.drawn and pace is None
        """Whether it asks what start a job would have had, had all nodes been up (a drawn one says nothing)."""
        gone = self._agreement.gone if self._agreement else set()
        self._asking = Asking(layout, reach.arity, levels, address, pace.resend if pace else 0, gone)
        self._states: dict[int, JobState] = {}
        self._rounds: dict[int, Round] = {}
        self._next_round = 0
        self._sampling = Sampling(layout, reach.sample, seed) if reach.sample else None
        self._moving = Moving(setup.backfill_scope, self._rules, self._sampling)
        self.messages = 0
        """Messages between its jobs and node managers, one for each node, less those that only measure."""
        self.renegotiations = 0
        """Asks and claims after the first, over its jobs."""

    def submit(self, job: Job, now: int) -> list[Effect]:
        """Take a new job and ask for it."""
        self._states[job.number] = JobState(job)
        return self.retry(job.number, now)

    def retry(self, number: int, now: int) -> list[Effect]:
        """Search anew for a job that has no reservation."""
        state, sample = self._states[number], 0
        if self._sampling is not None:
            self._sampling.drop(number)
            sample = self._sampling.first(state.job)
        return self._ask_for(state, self._first_search(state, sample, now), now)

    def _first_search(self, state: JobState, sample: int, now: int) -> Search:
        return first_search(state.job, self._soonest(state.job, now), now, self._rules, sample, state.asks)

    def ask_again(self, numbers: Iterable[int], now: int, freed_until: int = 0) -> list[Effect]:
        """Let jobs ask again, in this order, after something was freed; those that gain by it move.

        All of them have reservations, and ask for starts in `[now, start)`, or, of all nodes, also for their own start
        on other nodes; or none has, and they ask for starts in `[now, freed_until)`: only a run that begins before then
        can use what was freed.
        """
        self._moving.add((self._states[number] for number in numbers), freed_until)
        return self._ask_batch(now)

    def refused(self, number: int, now: int) -> list[Effect]:
        """Give back what hosts hold of a claim that another has refused, and search anew."""
        state = self._states[number]
        drops: list[Effect] = [Send(host, say.Release(number, state.claim)) for host in state.hosts]
        state.nodes, state.units, state.hosts = None, None, ()
        return drops + self.retry(number, now)

    def forget(self, number: int) -> None:
        """Drop a job that has ended."""
        del self._states[number]
        if self._agreement is not None:
            self._agreement.forget(number)
        if self._sampling is not None:
            self._sampling.drop(number)

    def attempts(self, number: int) -> int:
        """Windows that the job has tried (thesis 5.3.6), the first included."""
        search = self._states[number].search
        return 1 if search is None else search.attempt + 1

    def hosts(self, number: int) -> tuple[int, ...]:
        """The hosts of its reservation, ascending; none without one."""
        return self._states[number].hosts

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Take a message at time `now`; return what is to be done."""
        if isinstance(message, say.Offers):
            self._is_alive(message.host, message.incarnation)
            this = self._rounds.get(message.round)
            if this is None:
                return []
            this.offers[message.host] = message
            return [] if self._asking.awaits(this) else self._decide(this, now)
        if isinstance(message, say.Gathered):
            self._is_alive(message.first, message.incarnation)
            return [effect for answer in message.answers for effect in self.handle(answer, now)]
        if isinstance(message, say.Sums | say.Candidates):
            this = self._rounds.get(message.round)
            if this is None:
                return []
            if isinstance(message, say.Sums):
                this.sums = message
            else:
                this.candidates = message
            return self._decide(this, now)
        if isinstance(message, say.Timer) and message.token in {OFFERS, SILENT}:
            late = self._rounds.get(message.attempt)
            if late is None:
                return []
            return self._decide(late, now) if message.token == OFFERS else self._ask_the_silent(late, message, now)
        if self._agreement is None:
            raise ProtocolError(f"job: a node manager said {type(message).__name__} out of turn")
        effects = self._agreement.handle(message, now)
        if isinstance(message, say.Timer) and self._agreement.wants_retry(message):
            effects += self.retry(message.job, now)
        return effects

    def _is_alive(self, host: int, incarnation: int) -> None:
        if self._agreement is not None:
            self._agreement.hear(host, incarnation)

    def _ask_for(self, state: JobState, search: Search, now: int) -> list[Effect]:
        nodes = search.sample or self._layout.asked(state.job.groups)
        quota = quota_of(search, state.job.units, nodes, self._setup.grain)
        return self._ask([state], [search], [quota], now)

    def _ask(
        self, states: list[JobState], searches: list[Search], quotas: list[int], now: int, *, moving: bool = False
    ) -> list[Effect]:
        for state, search in zip(states, searches, strict=True):
            self.renegotiations += state.asks > 0
            state.asks += 1
            if not moving:
                state.search = search
        same_nodes = self._setup.backfill_scope is BackfillScope.SAME_NODES
        held_only = moving and same_nodes and states[0].nodes is not None
        for state in states if held_only else ():
            note_whether_full(state, self._layout, self._setup)
        sample, want = ALL_NODES, say.SUMS if self._reach.arity and not held_only else say.ROWS
        if self._sampling is not None and searches[0].sample:
            sample, want = self._sampling.nodes_of(states, searches, moving=moving), say.ROWS
        ask = make_ask(
            self._next_round, self._setup, states, searches, quotas, moving=moving, held_only=held_only, want=want,
            sample=sample,
        )  # fmt: skip
        return self._send(Round(ask.round, states, searches, ask, self._asking.whom(ask, states), moving), ask, now)

    def _send(self, this: Round, ask: say.Ask, now: int) -> list[Effect]:
        """Send a round's message, and remember that answers to it are the round's."""
        this.number, this.sent, this.relay, this.passed_over = ask.round, ask, None, 0
        self._rounds[ask.round] = this
        self._next_round += 1
        if this.measures is None:
            asked = this.nodes_asked
            self.messages += 2 * (len(ask.job) * self._layout.bounds[-1] if asked is None else asked)
        if self._agreement is not None:
            this.expires = self._agreement.round_ends(this.states[0].job.number, now)
        effects: list[Effect] = list(self._asking.first(this, self._patience(this)))
        if self._agreement is not None:
            effects += self._agreement.watch(this.states[0].job, ask.round, now)
        return effects

    def to_all(self, message: say.Message) -> Send:
        """A message that all hosts answer, where none is lost."""
        return self._asking.all_hosts(message)

    def _patience(self, this: Round) -> int:
        """How long hosts wait for each level of the tree below them, in s; 0: for ever."""
        return self._agreement.patience(this.states[0].job.number) if self._agreement is not None else 0

    def _ask_the_silent(self, this: Round, timer: say.Timer, now: int) -> list[Effect]:
        """Ask those again that have not answered: the ask or the answer may be lost."""
        assert self._agreement is not None
        sends = self._asking.again(this, self._patience(this))
        return [*sends, self._agreement.again(timer, now)]

    def _ask_batch(self, now: int) -> list[Effect]:
        """Let the next jobs ask again, in one message."""
        batch, searches = self._moving.next_batch(now)
        return self._ask(batch, searches, [-1] * len(batch), now, moving=True) if batch else []

    def _decide(self, this: Round, now: int) -> list[Effect]:
        """Go on with what was answered: sums that hold a start are followed by an ask for candidates."""
        del self._rounds[this.number]
        if this.sums is not None and not this.starts:
            this.starts = starts_of(this, self._seed)
            if this.starts and this.measures is None:
                return self._send(this, ask_for_candidates(self._next_round, this), now)
        return self._conclude(this, now)

    def _conclude(self, this: Round, now: int) -> list[Effect]:
        if this.measures is not None:
            return self._measured(this, now)
        found: Iterator[Pick] = iter(())
        if this.offers:
            found = picks(this, self._seed)
        elif this.candidates is not None:
            found = picks_of_candidates(this)
        if this.moving:
            return self._move(
                this, next((pick for pick in found if not this.states[pick.place].holds(pick)), None), now
            )
        chosen = next(found, None)
        state, search = this.states[0], this.searches[0]
        if self._agreement is not None and (not this.answered or (this.starts and chosen is None)):
            return self._agreement.later(state, now, slow=self._asking.lacks_answers(this))
        if chosen is not None:
            return self._take(this, chosen, now)
        following = self._following(state, search, this, now)
        if following is not None:
            # Where answers take time, a window gets old.
            first = max(following.first, self._soonest(state.job, now))
            following = replace(following, first=first, last=max(following.last, first))
            return self._ask_for(state, following, now)
        return self._without_a_start(state, this, now)

    def _following(self, state: JobState, search: Search, this: Round, now: int) -> Search | None:
        """What a job asks after a round without a start: a sample that does not hold it is widened, up to all nodes."""
        if search.hears:
            window = begin(state.job, self._soonest(state.job, now), self._rules, this.horizon)
            return replace(window, sample=search.sample, draw=search.draw)
        if self._sampling is None or not search.sample or search.quota:
            return advance(search, state.job, self._rules, this.horizon, this.last_end)
        wider = self._sampling.wider(state.job, search.sample)
        return replace(search, sample=wider, quota=self._rules.drawn) if wider else self._first_search(state, 0, now)

    def _without_a_start(self, state: JobState, this: Round, now: int) -> list[Effect]:
        """What a job does that has found no start anywhere."""
        distinct = self._setup.units_per_node is UnitsPerNode.DISTINCT
        could = could_hold(state.job, self._layout.group_counts, self._layout.group_capacity, distinct=distinct)
        if could < state.job.units:
            reason = too_large(state.job, self._layout.kinds, could)
            return [Rejected(state.job.number, reason, self.attempts(state.job.number))]
        if self._agreement is not None:
            waiting = Waiting(state.job.number, "no start on the nodes that answered")
            return [waiting, *self._ask_later(state, now, slow=self._asking.lacks_answers(this))]
        if self._rules.soft or not self._rules.respect:
            raise ProtocolError(f"job {state.job.number}: the empty machine could hold it, yet it found no start")
        return self._wait_for_change(state)

    def _wait_for_change(self, state: JobState) -> list[Effect]:
        """What a job does that finds no start at any time within a hard profile."""
        return [Waiting(state.job.number, never_wished(self._setup.profile_split))]

    def _ask_later(self, state: JobState, now: int, *, slow: bool) -> list[Effect]:
        """Where messages may be lost: what a job does that found no start; `slow`: not everybody has answered."""
        assert self._agreement is not None
        return self._agreement.later(state, now, slow=slow)

    def _soonest(self, job: Job, now: int) -> int:
        """The first start that can still be agreed on."""
        return now if self._agreement is None else now + self._agreement.lead(job)

    def _move(self, this: Round, chosen: Pick | None, now: int) -> list[Effect]:
        if chosen is None:
            self._moving.nobody_moved()
            return self._ask_batch(now)
        self._moving.moved(this.states[chosen.place + 1 :])
        return self._take(this, chosen, now)

    def _take(self, this: Round, chosen: Pick, now: int) -> list[Effect]:
        """Claim what was chosen; where nodes that are down held offers back, ask first what it would have been."""
        state, respect = this.states[chosen.place], this.searches[chosen.place].respect
        first, last = max(now, state.job.earliest), min(chosen.start, this.down_until) - 1
        if not self._measures or last < first:
            return self._settle(this, chosen, now)
        search = Search(0, first, last, first, last, respect, quota=False)
        ask = make_ask(
            self._next_round, self._setup, [state], [search], [-1], moving=this.moving, held_only=this.ask.held_only,
            as_if_up=True, want=this.ask.want, sample=only(this.ask, chosen.place),
        )  # fmt: skip
        hosts = self._asking.whom(ask, [state])
        return self._send(
            Round(ask.round, [state], [search], ask, hosts, this.moving, measures=(this, chosen)), ask, now
        )

    def _measured(self, this: Round, now: int) -> list[Effect]:
        assert this.measures is not None
        state = this.states[0]
        first = next(picks(this, self._seed), None) if this.offers else None
        earlier = [first.start] if first is not None else [start for _, start in this.starts]
        state.if_all_were_up = min([state.if_all_were_up, *earlier])
        return self._settle(*this.measures, now)

    def _settle(self, this: Round, chosen: Pick, now: int) -> list[Effect]:
        effects = self._claim(this.states[chosen.place], this.incarnations(self._layout.host_of), chosen, now)
        return effects + self._ask_batch(now) if this.moving else effects

    def _claim(self, state: JobState, incarnations: Mapping[int, int], chosen: Pick, now: int) -> list[Effect]:
        self.renegotiations += state.claims > 0
        state.claims += 1
        confirms = confirms_of(
            state, incarnations, chosen, self._layout.host_of(chosen.nodes), tentative=self._agreement is not None
        )
        old_hosts = state.hosts
        state.start, state.nodes, state.units = chosen.start, chosen.nodes, chosen.units
        state.fills = None
        if self._sampling is not None:
            self._sampling.place(state)
        self.messages += len(chosen.nodes)
        if self._agreement is not None:
            state.hosts = tuple(confirms)
            state.claim = state.asks
            return self._agreement.propose(state, confirms, now)
        effects: list[Effect] = [
            Send(host, say.Release(state.job.number, state.claim)) for host in old_hosts if host not in confirms
        ]
        effects += [Send(host, confirm) for host, confirm in confirms.items()]
        state.hosts, state.claim = tuple(confirms), state.asks
        delay = max(chosen.start - state.if_all_were_up, 0)
        attempts = self.attempts(state.job.number)
        return [*effects, Placed(state.job.number, chosen.start, chosen.nodes, chosen.units, delay, attempts)]
