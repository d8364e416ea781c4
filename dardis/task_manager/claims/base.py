"""The interface of claims, and claims that are final at once, where every message arrives in order."""

from __future__ import annotations

from typing import Protocol

from dardis.model.addresses import HostId, JobId
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, Job
from dardis.task_manager.rounds import JobState
from dardis.wire import messages as say
from dardis.wire.effects import Effect, Placed, Send, Waiting

OFFERS, SILENT, RESEND, RETRY = range(4)
"""Tokens of timers: go on with the offers that are there; ask again who has not answered; send again what was not
answered; ask anew."""


class Claims(Protocol):
    """The claims of a task manager's jobs, at most one a job, and the time that its rounds have."""

    @property
    def tentative(self) -> bool:
        """Whether a claim is a reservation only once it is agreed on, and answers take time."""

    @property
    def resend(self) -> int:
        """After how long who has not answered is asked again, in s; 0: never."""

    @property
    def gone(self) -> set[HostId]:
        """Hosts that died and were not heard of since: nobody waits for their answers."""

    def hear(self, host: HostId, incarnation: int) -> None:
        """Take note that a host has answered."""

    def soonest(self, job: Job, now: int) -> int:
        """The first start that can still be agreed on."""

    def patience(self, job: JobId) -> int:
        """How long hosts wait for each level of the tree below them, in s; 0: for ever."""

    def round_ends(self, job: JobId, now: int) -> int:
        """When a round goes on without those who have not answered."""

    def watch(self, job: Job, number: int, now: int) -> list[Effect]:
        """Set the timers of a round, whose number they bear."""

    def claim(self, state: JobState, confirms: dict[HostId, say.Confirm], now: int) -> list[Effect]:
        """Claim what was chosen, which `state` has as its start, nodes and units, by what hosts are told."""

    def later(self, state: JobState, now: int, *, slow: bool) -> list[Effect]:
        """Let a job ask anew that was not answered; `slow`: not all who live have answered."""

    def nowhere(self, state: JobState, never: str, now: int, *, slow: bool) -> list[Effect]:
        """What a job does that found no start on those who answered; `never`: why the whole machine may hold none."""

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Take an answer to a claim, a timer, or the news of a death; return what is to be done."""

    def forget(self, job: JobId) -> None:
        """Drop what is known of a job that has ended."""


class FinalClaims:
    """Claims in lock-step. Nothing is kept of them, and whatever could go wrong elsewhere is a defect here."""

    tentative = False
    resend = 0

    def __init__(self) -> None:
        """No host is ever gone."""
        self.gone: set[HostId] = set()

    def hear(self, host: HostId, incarnation: int) -> None:
        """All live."""

    def soonest(self, job: Job, now: int) -> int:
        """At once."""
        return now

    def patience(self, job: JobId) -> int:
        """For ever."""
        return 0

    def round_ends(self, job: JobId, now: int) -> int:
        """Never before all have answered."""
        return FOREVER

    def watch(self, job: Job, number: int, now: int) -> list[Effect]:
        """No round needs a timer."""
        return []

    def claim(self, state: JobState, confirms: dict[HostId, say.Confirm], now: int) -> list[Effect]:
        """Leave the hosts where it had something before, and have it."""
        number, left = state.job.number, [host for host in state.hosts if host not in confirms]
        effects: list[Effect] = [Send(host, say.Release(number, state.claim)) for host in left]
        effects += [Send(host, confirm) for host, confirm in confirms.items()]
        state.hosts, state.claim = tuple(confirms), state.asks
        assert state.nodes is not None
        assert state.units is not None
        delay = max(state.start - state.if_all_were_up, 0)
        return [*effects, Placed(number, state.start, state.nodes, state.units, delay, max(state.tried, 1))]

    def later(self, state: JobState, now: int, *, slow: bool) -> list[Effect]:
        """Nobody is ever left without an answer."""
        raise ProtocolError(f"job {state.job.number}: not all that it asked was answered")

    def nowhere(self, state: JobState, never: str, now: int, *, slow: bool) -> list[Effect]:
        """Wait until something has changed, where a hard profile can forbid all starts."""
        if not never:
            raise ProtocolError(f"job {state.job.number}: the empty machine could hold it, yet it found no start")
        return [Waiting(state.job.number, never)]

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Nothing is to be agreed on."""
        raise ProtocolError(f"job: a node manager said {type(message).__name__} out of turn")

    def forget(self, job: JobId) -> None:
        """Nothing is held."""
