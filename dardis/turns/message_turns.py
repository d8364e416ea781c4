"""Turns with message delays: each recipient acts at once."""

from __future__ import annotations

from collections.abc import Sequence

from dardis.model.job import Job
from dardis.task_manager import PlannedManager, TimedLateManager
from dardis.turns.turn import manager_of
from dardis.wire.effects import Effect, JobFinished, Rejected
from dardis.wire.messages import Message


class MessageTurns:
    """Turns of task managers with agreed claims; manager i mod M serves job i."""

    def __init__(self, managers: Sequence[PlannedManager | TimedLateManager]) -> None:
        self.managers = managers

    @property
    def renegotiations(self) -> int:
        """See `Turns.renegotiations`."""
        return sum(manager.renegotiations for manager in self.managers)

    def manager_of(self, place: int) -> int:
        """Task manager of the `place`-th job."""
        return manager_of(place, len(self.managers))

    def on_submit(self, job: Job, place: int, now: int) -> list[Effect]:
        """Submit a job; return effects."""
        manager = self.managers[self.manager_of(place)]
        return self._forgotten(manager, manager.submit(job, now))

    def on_message(self, manager: int, message: Message, now: int) -> list[Effect]:
        """Handle a message or timer; return effects."""
        return self._forgotten(self.managers[manager], self.managers[manager].handle(message, now))

    @staticmethod
    def _forgotten(manager: PlannedManager | TimedLateManager, effects: list[Effect]) -> list[Effect]:
        for effect in effects:
            if isinstance(effect, JobFinished | Rejected):
                manager.forget(effect.job)
        return effects
