"""Two-phase agreement on a claim where messages may be lost, doubled, late or out of order, and hosts may die.

Claim everywhere (tentative), commit once all have reserved; at the first refusal or silence release everything, wait a
drawn time and ask anew. Nobody waits for another job, so there is no deadlock; the drawn time grows, so that two jobs
that keep refusing each other part. What must arrive is sent again until it is answered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from dardis.model.randomness import stream
from dardis.task_manager.rounds import JobState
from dardis.wire import messages as say
from dardis.wire.effects import Done, Effect, Placed, Send, SetTimer

RESEND, RETRY = 1, 2
"""Tokens of timers: send again what was not answered; ask anew."""
LONGEST_BACKOFF = 6
"""The drawn wait doubles with each failure, this often at most."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to wait, in s: for offers; before sending again; and how far ahead of now starts must lie."""

    patience: int
    resend: int
    lead: int


class Phase(Enum):
    """Where a claim stands."""

    CLAIMING = "claiming"
    COMMITTING = "committing"
    RUNNING = "running"


@dataclass(slots=True)
class Proposal:
    """A claim that is being agreed on or runs: who has not answered in this phase, who has finished."""

    state: JobState
    attempt: int
    confirms: dict[int, say.Confirm]
    missing: set[int]
    phase: Phase = Phase.CLAIMING
    finished: set[int] = field(default_factory=set)


class Agreement:
    """The claims of a task manager's jobs, at most one a job, and the releases that are not answered yet."""

    def __init__(self, pace: Pace, seed: int) -> None:
        """Begin with no claims."""
        self._pace = pace
        self._seed = seed
        self._open: dict[int, Proposal] = {}
        self._releasing: dict[tuple[int, int], set[int]] = {}
        self._failures: dict[int, int] = {}

    def propose(self, state: JobState, confirms: dict[int, say.Confirm], now: int) -> list[Effect]:
        """Claim the chosen nodes."""
        job = state.job.number
        self._open[job] = Proposal(state, state.asks, confirms, set(confirms))
        return self._say_again(job, state.asks, now)

    def later(self, state: JobState, now: int) -> list[Effect]:
        """Ask anew after a drawn time."""
        job = state.job.number
        failures = self._failures[job] = self._failures.get(job, 0) + 1
        longest = self._pace.resend << min(failures, LONGEST_BACKOFF)
        wait = 1 + int(stream(self._seed, "backoff", job, state.asks).integers(longest))
        return [SetTimer(now + wait, say.Timer(job, state.asks, RETRY))]

    def wants_retry(self, timer: say.Timer) -> bool:
        """Whether this timer means that its job is to ask anew."""
        return timer.token == RETRY

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Take an answer, a timer or the news of a death; return what is to be done."""
        match message:
            case say.Timer(job=job, attempt=attempt, token=token):
                return self._say_again(job, attempt, now) if token == RESEND else []
            case say.Released(job=job, attempt=attempt, host=host):
                self._discharge(job, attempt, host)
                return []
            case say.HostDown(host=host, incarnation=incarnation):
                return self._host_down(host, incarnation, now)
            case say.Finished(job=job, attempt=attempt, host=host):
                return [Send(host, say.Noted(job, attempt)), *self._finish(job, attempt, host)]
        if not isinstance(message, say.Reserved | say.Committed | say.Refused):
            return []
        proposal = self._open.get(message.job)
        if proposal is None or proposal.attempt != message.attempt or message.host in proposal.finished:
            return []
        if isinstance(message, say.Refused):
            return self._abort(proposal, now)
        expected = Phase.CLAIMING if isinstance(message, say.Reserved) else Phase.COMMITTING
        return self._answered(proposal, message.host, now) if proposal.phase is expected else []

    def _answered(self, proposal: Proposal, host: int, now: int) -> list[Effect]:
        proposal.missing.discard(host)
        if proposal.missing:
            return []
        state = proposal.state
        if proposal.phase is Phase.CLAIMING:
            proposal.phase = Phase.COMMITTING
            proposal.missing = set(proposal.confirms)
            return self._say_again(state.job.number, proposal.attempt, now)
        proposal.phase = Phase.RUNNING
        assert state.nodes is not None and state.units is not None
        return [Placed(state.job.number, state.start, state.nodes, state.units)]

    def _finish(self, job: int, attempt: int, host: int) -> list[Effect]:
        proposal = self._open.get(job)
        if proposal is None or proposal.attempt != attempt:
            return []
        proposal.finished.add(host)
        proposal.missing.discard(host)
        if proposal.finished != set(proposal.confirms):
            return []
        del self._open[job]
        return [Done(job)]

    def _say_again(self, job: int, attempt: int, now: int) -> list[Effect]:
        """Send what is not answered yet (again), or give the claim up when it is too late for it."""
        effects: list[Effect] = [
            Send(host, say.Release(job, attempt)) for host in sorted(self._releasing.get((job, attempt), ()))
        ]
        proposal = self._open.get(job)
        if proposal is not None and proposal.attempt == attempt and proposal.missing:
            grace = 0 if proposal.phase is Phase.CLAIMING else self._pace.patience
            if now > proposal.state.start + grace:
                return effects + self._abort(proposal, now)
            claiming = proposal.phase is Phase.CLAIMING
            effects += [
                Send(host, proposal.confirms[host] if claiming else say.Commit(job, attempt))
                for host in sorted(proposal.missing)
            ]
        if effects:
            effects.append(SetTimer(now + self._pace.resend, say.Timer(job, attempt, RESEND)))
        return effects

    def _abort(self, proposal: Proposal, now: int) -> list[Effect]:
        job = proposal.state.job.number
        del self._open[job]
        proposal.state.hosts, proposal.state.nodes, proposal.state.units = (), None, None
        self._releasing[job, proposal.attempt] = set(proposal.confirms)
        return self._say_again(job, proposal.attempt, now) + self.later(proposal.state, now)

    def _discharge(self, job: int, attempt: int, host: int) -> None:
        hosts = self._releasing.get((job, attempt))
        if hosts is not None:
            hosts.discard(host)
            if not hosts:
                del self._releasing[job, attempt]

    def _host_down(self, host: int, incarnation: int, now: int) -> list[Effect]:
        for job, attempt in list(self._releasing):
            self._discharge(job, attempt, host)
        hit = [
            proposal
            for proposal in self._open.values()
            if host in proposal.confirms
            and proposal.confirms[host].incarnation <= incarnation
            and host not in proposal.finished
        ]
        effects: list[Effect] = []
        for proposal in hit:
            effects += self._abort(proposal, now)
        return effects
