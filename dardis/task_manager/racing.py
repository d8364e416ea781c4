"""The late set-up where messages are late or lost and claims race: the same order, kept by delays and patience.

A waiting job tries to start when nodes publish that it may fit, the sooner the better its key, and asks anyway now and
then, since what is published may be lost. Claims are agreed in two phases, so races end in refusals, never in too much
on a node. The best job that this task manager knows of reserves, and calls its reservation off for a better one; one
that has waited too long reserves for good, so nobody starves.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log2

from dardis.kernels import search
from dardis.kernels.rows import Ints
from dardis.model.job import Job
from dardis.task_manager.agreement import RETRY, Pace
from dardis.task_manager.late import HEAD, Key, LateManager
from dardis.task_manager.layout import Layout
from dardis.task_manager.rounds import JobState, Pick, Round
from dardis.task_manager.search import Search
from dardis.task_manager.setups import EVERY_HOST, LateSetUp, Reach
from dardis.wire import messages as say
from dardis.wire.effects import ALL_HOSTS, Effect, Send, SetTimer

TURN, RENEW = 100, 101
"""Tokens of timers: for a job's turn after nodes have published; for a head to look again, and to announce itself."""
LEASE = 3
"""Times between two renewals that an announcement lasts: one that is lost, or not taken back, does no harm for long."""
BEST_KEY, BUCKETS, WIDTH = 16, 6, 4
"""A key of 2^BEST_KEY speaks at once, each factor of 2^WIDTH less a step later, up to BUCKETS - 1 steps."""
POLLS_APART = 4
"""Resend times between two polls of a job that waits."""


class RacingManager(LateManager):
    """The agents of some jobs that bind late, on a network with faults."""

    def __init__(
        self, setup: LateSetUp, layout: Layout, seed: int, pace: Pace, reach: Reach = EVERY_HOST, address: int = -1
    ) -> None:
        """Hold no jobs."""
        super().__init__(setup, layout, seed, pace, reach, address)
        self._pace = pace
        self._idle: set[int] = set()
        """Jobs that wait with nothing under way but timers."""
        self._mine: dict[int, int] = {}
        """Start of what its jobs have reserved as heads, by number."""
        self._peeking: set[int] = set()
        """Heads that have asked whether they could start earlier, and have no answer yet."""
        self._others: dict[tuple[int, int], dict[int, Ints]] = {}
        """Heads by job, as each host and incarnation last told."""
        self._seen: dict[tuple[int, int], int] = {}
        """When each host and incarnation last published."""
        self._turns: set[int] = set()
        """Jobs whose turn is to come."""
        self._dead: dict[int, int] = {}
        """The last incarnation of each host that is known to be dead."""

    def submit(self, job: Job, now: int) -> list[Effect]:
        """Take a new job, and see whether it can start."""
        rejected = super().submit(job, now)
        return rejected or self.retry(job.number, now)

    def _enlist(self, job: Job) -> None:
        self._slot[job.number] = self._waiting.add(job)  # turns come by timers here, not down a list

    def forget(self, number: int) -> None:
        """Drop a job that has ended."""
        super().forget(number)
        self._mine.pop(number, None)
        self._idle.discard(number)
        self._peeking.discard(number)
        self._turns.discard(number)
        slot = self._slot.pop(number, None)
        if slot is not None:
            self._waiting.remove(slot)

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Take a message at time `now`; return what is to be done."""
        if isinstance(message, say.Published):
            return self._hear(message, now)
        if isinstance(message, say.Timer) and message.token in {TURN, RENEW, RETRY}:
            state = self._states.get(message.job)
            if message.token == TURN:
                self._turns.discard(message.job)
                waits = state is not None and message.job in self._idle and self._may_fit(state.job, now)
                return self.retry(message.job, now) if waits else []
            if state is None or message.attempt != (state.claims if message.token == RENEW else state.asks):
                return []
            if message.token == RENEW:
                return self._renew(state, now)
        if isinstance(message, say.HostDown):
            self._dead[message.host] = max(message.incarnation, self._dead.get(message.host, -1))
            self._others = {source: heads for source, heads in self._others.items() if not self._is_dead(*source)}
            self._seen = {source: at for source, at in self._seen.items() if not self._is_dead(*source)}
            alive = {host: number for host, number in self._incarnations.items() if not self._is_dead(host, number)}
            self._incarnations = alive
        return super().handle(message, now)

    def retry(self, number: int, now: int) -> list[Effect]:
        """Ask whether a waiting job can start at once; one that may reserve asks for its earliest start."""
        state = self._states[number]
        self._idle.discard(number)
        self._mine.pop(number, None)
        hosts = range(len(self._layout.bounds) - 1)
        effects: list[Effect] = [Send(host, say.Look()) for host in hosts if host not in self._incarnations]
        if self._is_aged(state.job, now) or self._is_best(state.job, now):
            return effects + super().retry(number, now)
        soonest, rules = max(self._soonest(state.job, now), state.job.earliest), self._rules
        respect = rules.respect and not (rules.soft and state.job.latest is not None and now >= state.job.latest)
        search = Search(0, soonest, soonest, soonest, soonest, respect, quota=False, once=True)
        return effects + self._ask_for(state, search, now)

    def _is_dead(self, host: int, incarnation: int) -> bool:
        return incarnation <= self._dead.get(host, -1)

    def _ask_later(self, state: JobState, now: int, *, slow: bool) -> list[Effect]:
        """Wait for nodes to publish, and ask anyway after a while."""
        number = state.job.number
        if slow:
            assert self._agreement is not None
            self._agreement.failed(number, slow=True)
        self._idle.add(number)
        return [SetTimer(now + POLLS_APART * self._pace.resend, say.Timer(number, state.asks, RETRY))]

    def _hear(self, published: say.Published, now: int) -> list[Effect]:
        """Take what a host publishes: those that wait get their turns; a head gives way to a better one, or moves."""
        source = (published.host, published.incarnation)
        if self._is_dead(*source) or published.at < self._seen.get(source, published.at):
            return []
        self._seen[source] = published.at
        self._see(published)
        self._others[source] = {
            int(row[1]): row[1:] for row in published.heads if row[0] == HEAD and int(row[1]) not in self._states
        }
        effects = [effect for number in list(self._mine) for effect in self._look_again(number, now)]
        for number in sorted(self._idle - self._turns):
            self._turns.add(number)
            state = self._states[number]
            effects.append(SetTimer(now + self._delay(state.job, now), say.Timer(number, state.asks, TURN)))
        return effects

    def _look_again(self, number: int, now: int) -> list[Effect]:
        """Let a head whose start is far off give way to a better one, or look for an earlier start."""
        assert self._agreement is not None
        if not self._agreement.stands(number):
            del self._mine[number]
            return []
        start = self._mine[number]
        if start - now <= 2 * (self._pace.lead + self._pace.resend):
            return []
        job = self._states[number].job
        if self._is_outranked(job, now):
            gone = say.Announce(HEAD, self._row_of_head(job, now), standing=False)
            return [*self._give_up(number, now), Send(ALL_HOSTS, gone)]
        return [] if number in self._peeking else self._peek(self._states[number], start, now)

    def _renew(self, state: JobState, now: int) -> list[Effect]:
        """Look again though nobody has published, since that may be lost; announce a head for another while."""
        number = state.job.number
        if number not in self._mine:
            return []
        self._peeking.discard(number)
        effects = self._look_again(number, now)
        return effects + self._announce(state, now) if number in self._mine else effects

    def _announce(self, state: JobState, now: int) -> list[Effect]:
        """Tell all nodes that a job is a head, for a while."""
        period = POLLS_APART * self._pace.resend
        head = self._row_of_head(state.job, now + LEASE * period)
        renew = SetTimer(now + period, say.Timer(state.job.number, state.claims, RENEW))
        return [Send(ALL_HOSTS, say.Announce(HEAD, head, standing=True)), renew]

    def _peek(self, state: JobState, start: int, now: int) -> list[Effect]:
        """Ask whether a head could start earlier than it has reserved."""
        first = max(self._soonest(state.job, now), state.job.earliest)
        if first >= start:
            return []
        self._peeking.add(state.job.number)
        search = Search(0, first, start - 1, first, start - 1, self._rules.respect, quota=False)
        return self._ask([state], [search], [-1], now, moving=True)

    def _move(self, this: Round, chosen: Pick | None, now: int) -> list[Effect]:
        """Let a head that could start earlier reserve anew; its announcement stands, so that nobody worse does."""
        number = this.states[0].job.number
        self._peeking.discard(number)
        gains = chosen is not None and chosen.start < self._mine.get(number, chosen.start)
        assert self._agreement is not None
        return self._give_up(number, now) if gains and self._agreement.stands(number) else []

    def _give_up(self, number: int, now: int) -> list[Effect]:
        assert self._agreement is not None
        del self._mine[number]
        return self._agreement.call_off(number, now)

    def _delay(self, job: Job, now: int) -> int:
        """How much later a job speaks for its key: by its bucket of the key's logarithm."""
        key = -self._key(job, now)[1]
        bucket = 0 if self._is_aged(job, now) else min(max(int((BEST_KEY - log2(key)) / WIDTH), 0), BUCKETS - 1)
        return 1 + bucket * max(self._pace.resend // BUCKETS, 1)

    def _may_fit(self, job: Job, now: int) -> bool:
        """Whether what nodes have published lets it start at once."""
        soonest = self._soonest(job, now)
        if job.earliest > soonest:
            return False
        table = self._waiting.queue.table
        return bool(
            search.fits_now(self._view, self._group, table, self._slot[job.number], self._rules_of_pass, soonest, 0)
        )

    def _key(self, job: Job, now: int) -> Key:
        return self._key_of_head(self._row_of_head(job, 0), now)

    def _is_aged(self, job: Job, now: int) -> bool:
        return now - job.submit > self._aged_after

    def _is_outranked(self, job: Job, now: int) -> bool:
        """Whether another task manager has announced a better head."""
        key = self._key(job, now)
        rows = [row for heads in self._others.values() for row in heads.values() if row[-1] >= now]
        return any(self._key_of_head(row, now) < key for row in rows)

    def _is_best(self, job: Job, now: int) -> bool:
        """Whether it goes before all that wait here, and no better one is known to hold a reservation."""
        key = self._key(job, now)
        waiting = self._idle | set(self._mine)
        return not self._is_outranked(job, now) and all(
            key <= self._key(self._states[number].job, now) for number in waiting
        )

    def _claim(self, state: JobState, incarnations: Mapping[int, int], chosen: Pick, now: int) -> list[Effect]:
        effects = super(LateManager, self)._claim(state, incarnations, chosen, now)
        job, search = state.job, state.search
        if search is None or search.once:
            return effects
        if self._is_aged(job, now):
            return effects  # it keeps what it has reserved, whoever is a head
        self._mine[job.number] = chosen.start
        return effects + self._announce(state, now)
