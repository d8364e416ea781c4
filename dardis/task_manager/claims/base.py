"""Interface of claims, and final claims for reliable networks."""

from __future__ import annotations

from typing import Protocol

from dardis.model.addresses import HostId, JobId
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, Job
from dardis.task_manager.rounds import JobState
from dardis.wire import messages as say
from dardis.wire.effects import Effect, Placed, PlacementDeferred, Send

OFFERS, REPEAT_QUERY, RESEND, RETRY = range(4)
"""Timers: end a round; query silent hosts; resend; search again."""


class Claims(Protocol):
    """Claims of a task manager, at most one a job."""

    @property
    def tentative(self) -> bool:
        """Whether claims need agreement, and answers take time."""

    @property
    def resend(self) -> int:
        """Seconds until a message is sent again; 0: never."""

    @property
    def dead_hosts(self) -> set[HostId]:
        """Dead hosts, for which no round waits."""

    def note_answer(self, host: HostId, incarnation: int) -> None:
        """Record an answer."""

    def soonest(self, job: Job, now: int) -> int:
        """Earliest start on which hosts can agree."""

    def patience(self, job: JobId) -> int:
        """Wait of hosts per tree level, in s; 0: for ever."""

    def round_ends(self, job: JobId, now: int) -> int:
        """Time limit of a round."""

    def watch(self, job: Job, number: int, now: int) -> list[Effect]:
        """Set the timers of round `number`."""

    def claim(self, state: JobState, confirms: dict[HostId, say.Confirm], now: int) -> list[Effect]:
        """Claim the reservation in `state`."""

    def search_later(self, state: JobState, now: int, *, slow: bool) -> list[Effect]:
        """Search again later. `slow`: reachable hosts have not answered."""

    def on_no_start(self, state: JobState, never: str, now: int, *, slow: bool) -> list[Effect]:
        """Handle a job without start. `never`: why the machine may hold none."""

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Handle an answer, a timer or a host loss."""

    def forget(self, job: JobId) -> None:
        """Drop a finished job."""


class FinalClaims:
    """Final claims in lock-step: every failure is a defect."""

    tentative = False
    resend = 0

    def __init__(self) -> None:
        self.dead_hosts: set[HostId] = set()

    def note_answer(self, host: HostId, incarnation: int) -> None:
        """Do nothing."""

    def soonest(self, job: Job, now: int) -> int:
        """`now`."""
        return now

    def patience(self, job: JobId) -> int:
        """Return 0."""
        return 0

    def round_ends(self, job: JobId, now: int) -> int:
        """Return FOREVER."""
        return FOREVER

    def watch(self, job: Job, number: int, now: int) -> list[Effect]:
        """Set no timer."""
        return []

    def claim(self, state: JobState, confirms: dict[HostId, say.Confirm], now: int) -> list[Effect]:
        """Move the reservation to the new nodes."""
        number, left = state.job.number, [host for host in state.hosts if host not in confirms]
        effects: list[Effect] = [Send(host, say.Release(number, state.claim)) for host in left]
        effects += [Send(host, confirm) for host, confirm in confirms.items()]
        state.hosts, state.claim = tuple(confirms), state.round_count
        assert state.nodes is not None
        assert state.units is not None
        delay = max(state.start - state.start_if_all_up, 0)
        return [*effects, Placed(number, state.start, state.nodes, state.units, delay, max(state.window_count, 1))]

    def search_later(self, state: JobState, now: int, *, slow: bool) -> list[Effect]:
        """Raise ProtocolError."""
        raise ProtocolError(f"job {state.job.number}: a request has no answer")

    def on_no_start(self, state: JobState, never: str, now: int, *, slow: bool) -> list[Effect]:
        """Wait if a hard profile forbids all starts; else raise ProtocolError."""
        if not never:
            raise ProtocolError(f"job {state.job.number}: the empty machine could hold it, yet it found no start")
        return [PlacementDeferred(state.job.number, never)]

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Raise ProtocolError."""
        raise ProtocolError(f"job: a node manager sent {type(message).__name__} out of turn")

    def forget(self, job: JobId) -> None:
        """Do nothing."""
