"""Node managers that break a rule, for tests that show that this is found out."""

from __future__ import annotations

from dardis.node_manager import NodePool
from dardis.node_manager.pool import FORGET
from dardis.wire import messages as say
from dardis.wire.effects import Effect, Kill


class NoFitTest(NodePool):
    """Takes every claim, whether it fits or not."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.state.reserve = lambda *_: True
        self.state.release = lambda *_: None


class NoKill(NodePool):
    """Gives reservations back, yet lets their units run on."""

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        return [effect for effect in super().handle(message, now) if not isinstance(effect, Kill)]


class NeverForgets(NodePool):
    """Remembers what was released for ever."""

    def _timer(self, timer: say.Timer, now: int) -> list[Effect]:
        return [] if timer.token == FORGET else super()._timer(timer, now)
