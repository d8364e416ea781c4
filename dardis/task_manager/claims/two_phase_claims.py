"""Two-phase agreement on a claim where messages may be lost, doubled, late or out of order, and hosts may die.

Claim everywhere (tentative), commit once all have reserved; at the first refusal release everything, wait a drawn time
and ask anew. Nobody waits for another job, so there is no deadlock; the drawn time grows, so that two jobs that keep
refusing each other part. What must arrive is sent again until it is answered or the host is known to be dead.

Two rules keep a job from running twice. Once commits are out only a refusal or a death calls a claim off, never
silence: a host that has not committed by the start refuses for ever, so the answers settle it. And a job asks anew only
when its last claim is released everywhere, so no two of its attempts are ever held at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

from dardis.model.addresses import HostId, JobId
from dardis.model.job import Job
from dardis.model.randomness import stream
from dardis.task_manager.claims.base import OFFERS, RESEND, RETRY, SILENT
from dardis.task_manager.rounds import JobState
from dardis.wire import messages as say
from dardis.wire.effects import Done, Effect, Placed, Send, SetTimer, Waiting

LONGEST_BACKOFF = 6
"""All waits of a job grow with each of its failures, this often at most. Where somebody was too slow they go on
growing, until each single wait of a round is `resend << LONGEST_BACKOFF` longer."""
SLOWEST = 20
"""How many resend times a message may take: the longest wait has room for three such messages, one after the other."""
NO_START = "no start on the nodes that answered"
"""Why a job waits."""
Retry = Callable[[JobId, int], list[Effect]]
"""Called with a job that is to ask anew, and the time; says what is to be done."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to wait at first, in s: for offers; before sending again; and how far ahead of now starts must lie."""

    patience: int
    resend: int
    lead: int


class Phase(Enum):
    """Where a claim stands."""

    CLAIMING = "claiming"
    COMMITTING = "committing"
    RUNNING = "running"
    RELEASING = "releasing"


ANSWERS: dict[Phase, type[say.Reserved | say.Committed | say.Released]] = {
    Phase.CLAIMING: say.Reserved, Phase.COMMITTING: say.Committed, Phase.RELEASING: say.Released,
}  # fmt: skip
"""What ends a phase once every host has said it."""


@dataclass(slots=True)
class Proposal:
    """A claim that is being agreed on, runs or is called off: who has not answered in this phase, who has finished."""

    state: JobState
    attempt: int
    confirms: dict[HostId, say.Confirm]
    missing: set[HostId]
    first_expires: int
    """When what was said first has expired: from then on somebody may refuse for being told too late."""
    phase: Phase = Phase.CLAIMING
    finished: set[HostId] = field(default_factory=set)
    expires: int = 0
    """When what was said to claim it has expired everywhere."""
    reminded: bool = False
    """Whether a timer is set for sending again."""

    def demand(self, host: HostId) -> say.Message:
        """What the host has to answer in this phase."""
        match self.phase:
            case Phase.CLAIMING:
                return replace(self.confirms[host], expires=self.expires)
            case Phase.COMMITTING:
                return say.Commit(self.state.job.number, self.attempt)
            case _:
                return say.Release(self.state.job.number, self.attempt, self.expires)


class AgreedClaims:
    """The claims of a task manager's jobs where messages take time, at most one a job."""

    tentative = True

    def __init__(self, pace: Pace, seed: int, retry: Retry, levels: int = 0, questions: int = 1) -> None:
        """Begin with no claims. Asks and offers go through a tree with `levels` below its root.

        A round has up to so many `questions`, one after the other.
        """
        self._pace = pace
        self._retry = retry
        self.resend = pace.resend
        self._waits = levels + 1
        """Waits that a question may cost: its task manager's, and in it one of each level."""
        self._waits_of_round = questions * self._waits
        self._longest_growth = LONGEST_BACKOFF + (self._waits_of_round - 1).bit_length()
        self._seed = seed
        self._open: dict[JobId, Proposal] = {}
        self._dead: dict[HostId, int] = {}
        """The last incarnation of each host that is known to be dead."""
        self._alive: dict[HostId, int] = {}
        """The last incarnation of each host that was heard of."""
        self.gone: set[HostId] = set()
        """Hosts that died and were not heard of since: nobody waits for their answers."""
        self._failures: dict[JobId, int] = {}

    def claim(self, state: JobState, confirms: dict[HostId, say.Confirm], now: int) -> list[Effect]:
        """Claim the chosen nodes everywhere."""
        state.hosts, state.claim = tuple(confirms), state.asks
        if any(self.is_dead(host, confirm.incarnation) for host, confirm in confirms.items()):
            return self.later(state, now, slow=False)
        first_expires = now + self.lead(state.job)
        proposal = self._open[state.job.number] = Proposal(state, state.asks, confirms, set(confirms), first_expires)
        return self._demand(proposal, now)

    def _allowance(self, job: JobId) -> int:
        """What a job's failures add to the waits of a round: whatever made it fail, in time they are long enough."""
        failures = self._failures.get(job, 0)
        return self.resend << failures if failures else 0

    def soonest(self, job: Job, now: int) -> int:
        """The first start that can still be agreed on."""
        return now + self.lead(job)

    def patience(self, job: JobId) -> int:
        """How long the job waits for those who answer at once; for a part of a tree as much more with each level."""
        return self._pace.patience + self._allowance(job) // self._waits_of_round

    def lead(self, job: Job) -> int:
        """How far ahead of now the job's start must lie, so that all can answer and agree before.

        It grows twice as fast as the waits, or a start could be too close whenever patience runs out.
        """
        more_waits = (self._waits_of_round - 1) * self._pace.patience
        return self._pace.lead + more_waits + 2 * self._allowance(job.number)

    def hear(self, host: HostId, incarnation: int) -> None:
        """Take note that a host has answered."""
        self._alive[host] = max(incarnation, self._alive.get(host, -1))
        if not self.is_dead(host, self._alive[host]):
            self.gone.discard(host)

    def is_dead(self, host: HostId, incarnation: int) -> bool:
        """Whether this incarnation of a host is known to be dead."""
        return incarnation <= self._dead.get(host, -1)

    def round_ends(self, job: JobId, now: int) -> int:
        """When a round goes on without those who have not answered."""
        return now + self._waits * self.patience(job)

    def watch(self, job: Job, number: int, now: int) -> list[Effect]:
        """Set the timers of a round, whose number they bear."""
        return [
            SetTimer(self.round_ends(job.number, now), say.Timer(job.number, number, OFFERS)),
            SetTimer(now + self.resend, say.Timer(job.number, number, SILENT)),
        ]

    def failed(self, job: JobId, *, slow: bool) -> None:
        """Take note of a failure; `slow`: longer waits might have helped."""
        failures = self._failures.get(job, 0)
        if failures < (self._longest_growth if slow else LONGEST_BACKOFF):
            self._failures[job] = failures + 1

    def later(self, state: JobState, now: int, *, slow: bool) -> list[Effect]:
        """Ask anew after a drawn time."""
        job = state.job.number
        self.failed(job, slow=slow)
        wait = 1 + int(stream(self._seed, "backoff", job, state.asks).integers(self._allowance(job)))
        return [SetTimer(now + wait, say.Timer(job, state.asks, RETRY))]

    def nowhere(self, state: JobState, never: str, now: int, *, slow: bool) -> list[Effect]:
        """Say so, and ask anew later: those who have not answered may hold it, or others give something back."""
        return [Waiting(state.job.number, NO_START), *self.later(state, now, slow=slow)]

    def forget(self, job: JobId) -> None:
        """Drop what is known of a job that has ended."""
        self._failures.pop(job, None)

    def stands(self, job: JobId) -> bool:
        """Whether the job has a claim that is not called off."""
        proposal = self._open.get(job)
        return proposal is not None and proposal.phase is not Phase.RELEASING

    def call_off(self, job: JobId, now: int) -> list[Effect]:
        """Give up a claim that stands, long before its start, and ask anew later."""
        return self._abort(self._open[job], now, slow=False)

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Take an answer, a timer or the news of a death; return what is to be done."""
        match message:
            case say.HostDown(host=host, incarnation=incarnation):
                return self._host_down(host, incarnation, now)
            case say.Timer(job=job, token=token) if token == RETRY:
                # Not before its last claim is released everywhere.
                return [SetTimer(now + self.resend, message)] if job in self._open else self._retry(job, now)
            case say.Finished(job=job, attempt=attempt, host=host):
                return [Send(host, say.Noted(job, attempt)), *self._finish(job, attempt, host, now)]
        if not isinstance(message, say.Timer | say.Reserved | say.Committed | say.Refused | say.Released):
            return []
        proposal = self._open.get(message.job)
        if proposal is None or proposal.attempt != message.attempt:
            return []
        if isinstance(message, say.Timer):
            proposal.reminded = False
            return self._demand(proposal, now)
        if isinstance(message, ANSWERS.get(proposal.phase, ())):
            return self._answered(proposal, message.host, now)
        called_off = isinstance(message, say.Refused) and proposal.phase in {Phase.CLAIMING, Phase.COMMITTING}
        slow = proposal.phase is Phase.COMMITTING or now >= proposal.first_expires
        return self._abort(proposal, now, slow=slow) if called_off and message.host not in proposal.finished else []

    def _demand(self, proposal: Proposal, now: int) -> list[Effect]:
        """Send what is not answered yet (again), or give a claim up when it is too late for it."""
        if proposal.phase is Phase.CLAIMING:
            if now > proposal.state.start:
                return self._abort(proposal, now, slow=True)
            # Time enough for it to arrive; so long a copy of it is dangerous, and remembered.
            proposal.expires = min(proposal.state.start, now + self.lead(proposal.state.job))
        effects: list[Effect] = [Send(host, proposal.demand(host)) for host in sorted(proposal.missing)]
        if effects and not proposal.reminded:
            proposal.reminded = True
            timer = say.Timer(proposal.state.job.number, proposal.attempt, RESEND)
            effects.append(SetTimer(now + self.resend, timer))
        return effects

    def _answered(self, proposal: Proposal, host: HostId, now: int) -> list[Effect]:
        proposal.missing.discard(host)
        if proposal.missing:
            return []
        state = proposal.state
        match proposal.phase:
            case Phase.CLAIMING:
                proposal.phase = Phase.COMMITTING
                proposal.missing = set(proposal.confirms)
                return self._demand(proposal, now)
            case Phase.COMMITTING:
                proposal.phase = Phase.RUNNING
                self._failures.pop(state.job.number, None)
                assert state.nodes is not None
                assert state.units is not None
                return [Placed(state.job.number, state.start, state.nodes, state.units)]
            case _:
                del self._open[state.job.number]
                return []

    def _finish(self, job: JobId, attempt: int, host: HostId, now: int) -> list[Effect]:
        proposal = self._open.get(job)
        if proposal is None or proposal.attempt != attempt or proposal.phase is Phase.RELEASING:
            return []
        proposal.finished.add(host)
        # What has finished had committed, even if the message that said so is lost or late.
        effects = self._answered(proposal, host, now) if proposal.phase is Phase.COMMITTING else []
        if proposal.finished != set(proposal.confirms):
            return effects
        del self._open[job]
        return [*effects, Done(job)]

    def _abort(self, proposal: Proposal, now: int, *, slow: bool) -> list[Effect]:
        """Release everywhere but where the claim died with its host, and ask anew later."""
        proposal.state.hosts, proposal.state.nodes, proposal.state.units = (), None, None
        proposal.phase = Phase.RELEASING
        proposal.missing = {host for host in proposal.confirms if not self._died(proposal, host)}
        if not proposal.missing:
            del self._open[proposal.state.job.number]
        return self._demand(proposal, now) + self.later(proposal.state, now, slow=slow)

    def _died(self, proposal: Proposal, host: HostId) -> bool:
        return self.is_dead(host, proposal.confirms[host].incarnation)

    def _host_down(self, host: HostId, incarnation: int, now: int) -> list[Effect]:
        self._dead[host] = max(incarnation, self._dead.get(host, -1))
        if self.is_dead(host, self._alive.get(host, -1)):
            self.gone.add(host)
        effects: list[Effect] = []
        for proposal in list(self._open.values()):
            if host not in proposal.confirms or not self._died(proposal, host):
                continue
            if proposal.phase is Phase.RELEASING:
                effects += self._answered(proposal, host, now)
            elif host not in proposal.finished:
                effects += self._abort(proposal, now, slow=False)
        return effects
