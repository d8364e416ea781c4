"""What nobody answers waits for the next question, and comes before it."""

from __future__ import annotations

import numpy as np

from dardis.transport.base import Outbox
from dardis.wire.messages import Look, Message, Noted, Relay


def question(parcels: list[tuple[int, int, Message]]) -> Relay:
    return Relay(1, -1, -1, 0, 3, 2, 0, 0, 0, np.zeros(0, dtype=np.int64), parcels, Look())


def full() -> Outbox:
    outbox = Outbox(3)
    outbox.put(2, Noted(1, 1), 5)
    outbox.put(1, Noted(2, 1), 5)
    outbox.put(2, Noted(3, 1), 7)
    return outbox


def test_what_waits_for_a_host_is_taken_once_and_in_order():
    outbox = full()
    assert outbox.take(2) == [(5, Noted(1, 1)), (7, Noted(3, 1))]
    assert outbox.take(2) == outbox.take(0) == []
    assert outbox.take(1) == [(5, Noted(2, 1))]


def test_all_that_waits_travels_with_a_question_to_all_hosts():
    outbox = full()
    loaded = outbox.load(question([]))
    assert loaded.parcels == [(1, 5, Noted(2, 1)), (2, 5, Noted(1, 1)), (2, 7, Noted(3, 1))]
    assert outbox.load(question([])).parcels == []
