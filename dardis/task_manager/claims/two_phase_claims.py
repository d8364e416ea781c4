"""Two-phase agreement on claims over unreliable networks. Rules: the package's README.

Against second runs: after commits only a refusal or a host loss cancels a claim. A job searches again only after all
hosts have released its last claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

from dardis.model.addresses import HostId, JobId
from dardis.model.job import Job
from dardis.model.randomness import stream
from dardis.task_manager.claims.base import OFFERS, REPEAT_QUERY, RESEND, RETRY
from dardis.task_manager.rounds import JobState
from dardis.wire import messages as say
from dardis.wire.effects import Effect, JobFinished, Placed, PlacementDeferred, Send, SetTimer

LONGEST_BACKOFF = 6
"""Most failures that lengthen waits. After slow answers waits grow up to `resend << LONGEST_BACKOFF`."""
SLOWEST = 20
"""Longest message delay in resend times. The longest wait covers three messages."""
NO_START = "no start on the nodes that answered"
Retry = Callable[[JobId, int], list[Effect]]
"""Starts a new search: (job, time) to effects."""


@dataclass(frozen=True, slots=True)
class ClaimTimeouts:
    """First time limits in s: for offers, for resending, and from now to a start."""

    patience: int
    resend: int
    lead: int


class ClaimPhase(Enum):
    """Claim's state."""

    CLAIMING = "claiming"
    COMMITTING = "committing"
    RUNNING = "running"
    RELEASING = "releasing"


ANSWERS: dict[ClaimPhase, type[say.Reserved | say.Committed | say.Released]] = {
    ClaimPhase.CLAIMING: say.Reserved, ClaimPhase.COMMITTING: say.Committed, ClaimPhase.RELEASING: say.Released,
}  # fmt: skip
"""Answer of all hosts that ends a phase."""


@dataclass(slots=True)
class Proposal:
    """Claim in agreement, running or in release. `missing`: hosts yet to answer in this phase."""

    state: JobState
    attempt: int
    confirms: dict[HostId, say.Confirm]
    missing: set[HostId]
    first_expires: int
    """Expiry of the first messages. Later a host may refuse a claim as too late."""
    phase: ClaimPhase = ClaimPhase.CLAIMING
    finished: set[HostId] = field(default_factory=set)
    expires: int = 0
    reminded: bool = False

    def demand(self, host: HostId) -> say.Message:
        """Message that a host must answer."""
        match self.phase:
            case ClaimPhase.CLAIMING:
                return replace(self.confirms[host], expires=self.expires)
            case ClaimPhase.COMMITTING:
                return say.Commit(self.state.job.number, self.attempt)
            case _:
                return say.Release(self.state.job.number, self.attempt, self.expires)


class TwoPhaseClaims:
    """Two-phase claims, at most one a job."""

    tentative = True

    def __init__(self, pace: ClaimTimeouts, seed: int, retry: Retry, levels: int = 0, questions: int = 1) -> None:
        """`levels`: of the host tree below the root. `questions`: most queries of a round."""
        self._pace = pace
        self._retry = retry
        self.resend = pace.resend
        self._waits = levels + 1
        self._waits_of_round = questions * self._waits
        self._longest_growth = LONGEST_BACKOFF + (self._waits_of_round - 1).bit_length()
        self._seed = seed
        self._open: dict[JobId, Proposal] = {}
        self._dead: dict[HostId, int] = {}
        self._alive: dict[HostId, int] = {}
        self.dead_hosts: set[HostId] = set()
        self._failures: dict[JobId, int] = {}

    def claim(self, state: JobState, confirms: dict[HostId, say.Confirm], now: int) -> list[Effect]:
        """Claim the chosen nodes on all hosts."""
        state.hosts, state.claim = tuple(confirms), state.round_count
        if any(self.is_dead(host, confirm.incarnation) for host, confirm in confirms.items()):
            return self.search_later(state, now, slow=False)
        first_expires = now + self.lead(state.job)
        proposal = self._open[state.job.number] = Proposal(
            state, state.round_count, confirms, set(confirms), first_expires
        )
        return self._demand(proposal, now)

    def _allowance(self, job: JobId) -> int:
        failures = self._failures.get(job, 0)
        return self.resend << failures if failures else 0

    def soonest(self, job: Job, now: int) -> int:
        """See `Claims.soonest`."""
        return now + self.lead(job)

    def patience(self, job: JobId) -> int:
        """Wait for direct answers, in s; each tree level adds as much."""
        return self._pace.patience + self._allowance(job) // self._waits_of_round

    def lead(self, job: Job) -> int:
        """Least time to a start, in s.

        It grows twice as fast as waits.
        """
        more_waits = (self._waits_of_round - 1) * self._pace.patience
        return self._pace.lead + more_waits + 2 * self._allowance(job.number)

    def note_answer(self, host: HostId, incarnation: int) -> None:
        """Record an answer."""
        self._alive[host] = max(incarnation, self._alive.get(host, -1))
        if not self.is_dead(host, self._alive[host]):
            self.dead_hosts.discard(host)

    def is_dead(self, host: HostId, incarnation: int) -> bool:
        """Whether this incarnation is known to be dead."""
        return incarnation <= self._dead.get(host, -1)

    def round_ends(self, job: JobId, now: int) -> int:
        """See `Claims.round_ends`."""
        return now + self._waits * self.patience(job)

    def watch(self, job: Job, number: int, now: int) -> list[Effect]:
        """See `Claims.watch`."""
        return [
            SetTimer(self.round_ends(job.number, now), say.Timer(job.number, number, OFFERS)),
            SetTimer(now + self.resend, say.Timer(job.number, number, REPEAT_QUERY)),
        ]

    def note_failure(self, job: JobId, *, slow: bool) -> None:
        """Count a failure. `slow`: longer waits might have helped."""
        failures = self._failures.get(job, 0)
        if failures < (self._longest_growth if slow else LONGEST_BACKOFF):
            self._failures[job] = failures + 1

    def search_later(self, state: JobState, now: int, *, slow: bool) -> list[Effect]:
        """Search again after a random time."""
        job = state.job.number
        self.note_failure(job, slow=slow)
        wait = 1 + int(stream(self._seed, "backoff", job, state.round_count).integers(self._allowance(job)))
        return [SetTimer(now + wait, say.Timer(job, state.round_count, RETRY))]

    def on_no_start(self, state: JobState, never: str, now: int, *, slow: bool) -> list[Effect]:
        """Report the job as waiting, and search again later."""
        return [PlacementDeferred(state.job.number, NO_START), *self.search_later(state, now, slow=slow)]

    def forget(self, job: JobId) -> None:
        """Drop a finished job."""
        self._failures.pop(job, None)

    def has_claim(self, job: JobId) -> bool:
        """Whether the job has an active claim."""
        proposal = self._open.get(job)
        return proposal is not None and proposal.phase is not ClaimPhase.RELEASING

    def cancel_claim(self, job: JobId, now: int) -> list[Effect]:
        """Cancel a claim long before its start, and search again later."""
        return self._abort(self._open[job], now, slow=False)

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """See `Claims.handle`."""
        match message:
            case say.HostDown(host=host, incarnation=incarnation):
                return self._on_host_down(host, incarnation, now)
            case say.Timer(job=job, token=token) if token == RETRY:
                # Wait until the last claim is released on all hosts.
                return [SetTimer(now + self.resend, message)] if job in self._open else self._retry(job, now)
            case say.Finished(job=job, attempt=attempt, host=host):
                return [Send(host, say.FinishedAck(job, attempt)), *self._finish(job, attempt, host, now)]
        if not isinstance(message, say.Timer | say.Reserved | say.Committed | say.Refused | say.Released):
            return []
        proposal = self._open.get(message.job)
        if proposal is None or proposal.attempt != message.attempt:
            return []
        if isinstance(message, say.Timer):
            proposal.reminded = False
            return self._demand(proposal, now)
        if isinstance(message, ANSWERS.get(proposal.phase, ())):
            return self._on_answer(proposal, message.host, now)
        called_off = isinstance(message, say.Refused) and proposal.phase in {ClaimPhase.CLAIMING, ClaimPhase.COMMITTING}
        slow = proposal.phase is ClaimPhase.COMMITTING or now >= proposal.first_expires
        return self._abort(proposal, now, slow=slow) if called_off and message.host not in proposal.finished else []

    def _demand(self, proposal: Proposal, now: int) -> list[Effect]:
        if proposal.phase is ClaimPhase.CLAIMING:
            if now > proposal.state.start:
                return self._abort(proposal, now, slow=True)
            # Long enough to arrive. Until then hosts must remember a release, as a copy could still arrive.
            proposal.expires = min(proposal.state.start, now + self.lead(proposal.state.job))
        effects: list[Effect] = [Send(host, proposal.demand(host)) for host in sorted(proposal.missing)]
        if effects and not proposal.reminded:
            proposal.reminded = True
            timer = say.Timer(proposal.state.job.number, proposal.attempt, RESEND)
            effects.append(SetTimer(now + self.resend, timer))
        return effects

    def _on_answer(self, proposal: Proposal, host: HostId, now: int) -> list[Effect]:
        proposal.missing.discard(host)
        if proposal.missing:
            return []
        state = proposal.state
        match proposal.phase:
            case ClaimPhase.CLAIMING:
                proposal.phase = ClaimPhase.COMMITTING
                proposal.missing = set(proposal.confirms)
                return self._demand(proposal, now)
            case ClaimPhase.COMMITTING:
                proposal.phase = ClaimPhase.RUNNING
                self._failures.pop(state.job.number, None)
                assert state.nodes is not None
                assert state.units is not None
                return [Placed(state.job.number, state.start, state.nodes, state.units)]
            case _:
                del self._open[state.job.number]
                return []

    def _finish(self, job: JobId, attempt: int, host: HostId, now: int) -> list[Effect]:
        proposal = self._open.get(job)
        if proposal is None or proposal.attempt != attempt or proposal.phase is ClaimPhase.RELEASING:
            return []
        proposal.finished.add(host)
        # A finished host had committed, even if its answer is lost or late.
        effects = self._on_answer(proposal, host, now) if proposal.phase is ClaimPhase.COMMITTING else []
        if proposal.finished != set(proposal.confirms):
            return effects
        del self._open[job]
        return [*effects, JobFinished(job)]

    def _abort(self, proposal: Proposal, now: int, *, slow: bool) -> list[Effect]:
        proposal.state.hosts, proposal.state.nodes, proposal.state.units = (), None, None
        proposal.phase = ClaimPhase.RELEASING
        proposal.missing = {host for host in proposal.confirms if not self._on_host_death(proposal, host)}
        if not proposal.missing:
            del self._open[proposal.state.job.number]
        return self._demand(proposal, now) + self.search_later(proposal.state, now, slow=slow)

    def _on_host_death(self, proposal: Proposal, host: HostId) -> bool:
        return self.is_dead(host, proposal.confirms[host].incarnation)

    def _on_host_down(self, host: HostId, incarnation: int, now: int) -> list[Effect]:
        self._dead[host] = max(incarnation, self._dead.get(host, -1))
        if self.is_dead(host, self._alive.get(host, -1)):
            self.dead_hosts.add(host)
        effects: list[Effect] = []
        for proposal in list(self._open.values()):
            if host not in proposal.confirms or not self._on_host_death(proposal, host):
                continue
            if proposal.phase is ClaimPhase.RELEASING:
                effects += self._on_answer(proposal, host, now)
            elif host not in proposal.finished:
                effects += self._abort(proposal, now, slow=False)
        return effects
