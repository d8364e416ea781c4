"""How messages go between machines of one process: no effect is lost, what waits goes along, time is counted once."""

from __future__ import annotations

import numpy as np
import pytest

from dardis.model.errors import ProtocolError
from dardis.transport.base import Outbox
from dardis.transport.local_transport import NO_SERVICES, Interpreter
from dardis.wire.effects import Kill, Launch, Placed, SetTimer
from dardis.wire.messages import FinishedAck, PublishRequest, Relay, Timer

NONE = np.zeros(0, dtype=np.int64)


class Silent:
    """A network that nobody speaks through."""

    def send(self, who, said, now):  # noqa: ARG002
        raise AssertionError

    send_to_managers = send


def test_unknown_effect_is_refused():
    with pytest.raises(ProtocolError, match="Timer is no effect"):
        Interpreter(Silent()).perform(0, [Timer(1, 1, 0)], 5)


def test_without_timers_and_executor_hosts_only_run_jobs():
    interpreter = Interpreter(Silent(), NO_SERVICES, NO_SERVICES)
    interpreter.perform(0, [Launch(1, 1, NONE, NONE, 5, 9), Kill(1, 1)], 5)
    with pytest.raises(ProtocolError, match="sets a timer, but no message is late"):
        interpreter.perform(0, [SetTimer(9, Timer(1, 1, 0))], 5)
    with pytest.raises(ProtocolError, match="sent Placed, but hosts only run jobs"):
        interpreter.perform(0, [Placed(1, 5, NONE, NONE)], 5)


def test_one_way_messages_are_delivered_once_in_order_or_with_a_broadcast():
    outbox = Outbox(3)
    for host, note, at in ((2, FinishedAck(1, 1), 5), (1, FinishedAck(2, 1), 5), (2, FinishedAck(3, 1), 7)):
        outbox.put(host, note, at)
    assert outbox.take(2) == [(5, FinishedAck(1, 1)), (7, FinishedAck(3, 1))]
    assert outbox.take(2) == outbox.take(0) == []
    outbox.put(2, FinishedAck(4, 1), 8)
    question = Relay(1, -1, -1, 0, 3, 2, 0, 0, 0, NONE, [], PublishRequest())
    assert outbox.load(question).parcels == [(1, 5, FinishedAck(2, 1)), (2, 8, FinishedAck(4, 1))]
    assert outbox.load(question).parcels == []
