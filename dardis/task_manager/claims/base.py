"""What a task manager asks of its claims: how soon, how long to wait, and what becomes of what is claimed."""

from __future__ import annotations

from typing import Protocol

from dardis.model.addresses import HostId, JobId
from dardis.model.job import Job
from dardis.task_manager.rounds import JobState
from dardis.wire import messages as say
from dardis.wire.effects import Effect

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
