"""No effect is lost without a word."""

from __future__ import annotations

import numpy as np
import pytest

from dardis.model.errors import ProtocolError
from dardis.transport.interpreter import NOTHING, Interpreter
from dardis.wire.effects import Kill, Launch, Placed, SetTimer
from dardis.wire.messages import Timer

NONE = np.zeros(0, dtype=np.int64)


class Silent:
    """A network that nobody speaks through."""

    def send(self, who, said, now):  # noqa: ARG002
        raise AssertionError

    tell = send


def test_what_is_no_effect_is_refused():
    with pytest.raises(ProtocolError, match="Timer is no effect"):
        Interpreter(Silent()).obey(0, [Timer(1, 1, 0)], 5)


def test_without_timers_and_executor_hosts_only_run_jobs():
    interpreter = Interpreter(Silent(), NOTHING, NOTHING)
    interpreter.obey(0, [Launch(1, 1, NONE, NONE, 5, 9), Kill(1, 1)], 5)
    with pytest.raises(ProtocolError, match="sets a timer where nothing is late"):
        interpreter.obey(0, [SetTimer(9, Timer(1, 1, 0))], 5)
    with pytest.raises(ProtocolError, match="says Placed where hosts only run jobs"):
        interpreter.obey(0, [Placed(1, 5, NONE, NONE)], 5)
