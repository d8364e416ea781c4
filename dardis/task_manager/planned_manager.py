"""Plans ahead: each job looks for the start that its set-up likes best, and reserves it at once.

It serves any number of jobs, and gets out of early ends what can be got by asking again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dardis.model.addresses import ONLY_MANAGER, HostId, JobId, ManagerAddress
from dardis.model.job import Job
from dardis.model.local_queries import LocalNodes
from dardis.task_manager.claims import Claims, FinalClaims, Retry
from dardis.task_manager.layout import Layout
from dardis.task_manager.local_rounds import AtOnce
from dardis.task_manager.negotiation import Negotiation
from dardis.task_manager.questions import AskingAgain
from dardis.task_manager.rounds import Pick, Round
from dardis.task_manager.setups import EVERY_HOST, Reach, SetUp
from dardis.wire import messages as say
from dardis.wire.effects import Effect


class PlannedManager:
    """The agents of some jobs. Events come in by `submit`, `ask_again`, `retry` and `handle`; effects go out."""

    def __init__(
        self, setup: SetUp, layout: Layout, seed: int, reach: Reach = EVERY_HOST,
        address: ManagerAddress = ONLY_MANAGER, make_claims: Callable[[Retry], Claims] = lambda _: FinalClaims(),
        *, pool: LocalNodes | None = None,
    ) -> None:  # fmt: skip
        """`make_claims` says how claims become reservations; it is handed what lets a job search anew.

        `address` is where hosts of a tree send their answers, less than 0. `pool`: all nodes, where they are in this
        process, all are asked and always up, and nobody else speaks before a talk is over: it holds whole rounds.
        """
        claims = make_claims(self.retry)
        self._negotiation = Negotiation(setup, layout, seed, reach, address, claims, self._conclude)
        self._at_once = None if pool is None else AtOnce(setup, self._negotiation, layout.sets, pool)
        self._asking_again = AskingAgain(setup.backfill_scope, self._negotiation.rules, self._negotiation.sampling)
        self._measures = not setup.drawn and not claims.tentative
        """Whether it asks what start a job would have had, had all nodes been up (a drawn one says nothing)."""

    @property
    def messages(self) -> int:
        """Messages between its jobs and node managers, one for each node, less those that only measure."""
        return self._negotiation.messages

    @property
    def renegotiations(self) -> int:
        """Asks and claims after the first, over its jobs."""
        return self._negotiation.renegotiations

    def attempts(self, number: JobId) -> int:
        """Windows that the job has tried in its last search (thesis 5.3.6)."""
        return self._negotiation.states[number].tried

    def hosts(self, number: JobId) -> tuple[HostId, ...]:
        """The hosts of its reservation, ascending; none without one."""
        return self._negotiation.states[number].hosts

    def submit(self, job: Job, now: int) -> list[Effect]:
        """Take a new job and ask for it."""
        self._negotiation.add(job)
        return self.retry(job.number, now)

    def retry(self, number: JobId, now: int) -> list[Effect]:
        """Search anew for a job that has no reservation."""
        state = self._negotiation.states[number]
        if self._at_once is not None and self._at_once.may_seek(state):
            return self._at_once.seek(state, now) or self._negotiation.search(number, now)
        return self._negotiation.search(number, now)

    def ask_again(self, numbers: Iterable[JobId], now: int, freed_until: int = 0) -> list[Effect]:
        """Let jobs ask again, in this order, after something was freed; those that gain by it move.

        All of them have reservations, and ask for starts in `[now, start)`, or, of all nodes, also for their own start
        on other nodes; or none has, and they ask for starts in `[now, freed_until)`: only a run that begins before then
        can use what was freed.
        """
        states = [self._negotiation.states[number] for number in numbers]
        if self._at_once is not None and self._at_once.may_improve(states):
            return self._at_once.improve(states, now)
        self._asking_again.add(states, freed_until)
        return self._ask_batch(now)

    def refused(self, number: JobId, now: int) -> list[Effect]:
        """Give back what hosts hold of a claim that another has refused, and search anew."""
        return self._negotiation.states[number].give_back() + self.retry(number, now)

    def forget(self, number: JobId) -> None:
        """Drop a job that has ended."""
        self._negotiation.forget(number)

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Take a message at time `now`; return what is to be done."""
        return self._negotiation.handle(message, now)

    def _conclude(self, this: Round, now: int) -> list[Effect]:
        """Take what a round has found, or look on."""
        if this.measures is not None:
            self._negotiation.note_measured(this)
            return self._claim(*this.measures, now)
        found = self._negotiation.found(this)
        if this.asks_again:
            return self._move(
                this, next((pick for pick in found if not this.states[pick.place].holds(pick)), None), now
            )
        chosen = next(found, None)
        if chosen is not None:
            return self._take(this, chosen, now)
        return (
            self._negotiation.look_on(this, now)
            or self._negotiation.cannot_hold(this.states[0])
            or self._negotiation.nowhere(this, now)
        )

    def _move(self, this: Round, chosen: Pick | None, now: int) -> list[Effect]:
        """Let the first of those that asked again have what it has found, and the others go on."""
        if chosen is None:
            self._asking_again.nobody_moved()
            return self._ask_batch(now)
        self._asking_again.moved(this.states[chosen.place + 1 :])
        return self._take(this, chosen, now)

    def _ask_batch(self, now: int) -> list[Effect]:
        """Let the next jobs ask again, in one message."""
        batch, searches = self._asking_again.next_batch(now)
        if not batch:
            return []
        return self._negotiation.ask(batch, searches, [-1] * len(batch), now, asks_again=True)

    def _take(self, this: Round, chosen: Pick, now: int) -> list[Effect]:
        """Claim what was chosen; where nodes that are down held offers back, ask first what it would have been."""
        asks = self._negotiation.measure(this, chosen, now) if self._measures else []
        return asks or self._claim(this, chosen, now)

    def _claim(self, this: Round, chosen: Pick, now: int) -> list[Effect]:
        effects = self._negotiation.claim(this, chosen, now)
        return effects + self._ask_batch(now) if this.asks_again else effects
