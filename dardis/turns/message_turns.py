"""Turns where messages take time: whoever gets one has a turn at once, and nobody waits for anybody."""

from __future__ import annotations

from collections.abc import Sequence

from dardis.model.job import Job
from dardis.task_manager import LateByTimers, PlannedManager
from dardis.turns.turn import manager_of
from dardis.wire.effects import Done, Effect, Rejected
from dardis.wire.messages import Message


class TurnsByMessage:
    """The turns of task managers whose claims are agreed on; job i is manager i mod M's."""

    def __init__(self, managers: Sequence[PlannedManager | LateByTimers]) -> None:
        """Nobody has a job."""
        self.managers = managers

    @property
    def renegotiations(self) -> int:
        """Asks and claims after the first so far, over all jobs."""
        return sum(manager.renegotiations for manager in self.managers)

    def manager_of(self, place: int) -> int:
        """Which task manager the `place`-th of all jobs is served by."""
        return manager_of(place, len(self.managers))

    def submitted(self, job: Job, place: int, now: int) -> list[Effect]:
        """The job's task manager takes it, and says what is to be done."""
        manager = self.managers[self.manager_of(place)]
        return self._forgotten(manager, manager.submit(job, now))

    def received(self, manager: int, message: Message, now: int) -> list[Effect]:
        """A task manager takes a message or a timer, and says what is to be done."""
        return self._forgotten(self.managers[manager], self.managers[manager].handle(message, now))

    @staticmethod
    def _forgotten(manager: PlannedManager | LateByTimers, effects: list[Effect]) -> list[Effect]:
        """Nothing is kept of a job that has come to its end."""
        for effect in effects:
            if isinstance(effect, Done | Rejected):
                manager.forget(effect.job)
        return effects
