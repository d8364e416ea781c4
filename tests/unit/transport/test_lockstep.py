"""What a talk takes is seen on the thread's clock, but for what machines elsewhere take."""

from __future__ import annotations

import time

from dardis.model.addresses import FIRST_HOST
from dardis.transport.interpreter import NOTHING
from dardis.transport.local import LocalHosts
from dardis.transport.lockstep import Lockstep
from dardis.wire.effects import Send
from dardis.wire.messages import Noted

WAIT_NS = 5_000_000
TOLD_NS = 1_000_000_000


def work():
    begun = time.thread_time_ns()
    while time.thread_time_ns() - begun < WAIT_NS:
        pass


class Elsewhere:
    message_bytes = 0

    def exchange(self, sends, now):  # noqa: ARG002
        work()
        return [], TOLD_NS

    def close(self):
        return 0


class Working:
    def handle(self, message, now):  # noqa: ARG002
        work()
        return []


def talk():
    yield [Send(FIRST_HOST, Noted(1, 1))]


def test_of_machines_elsewhere_counts_what_they_tell_and_not_what_it_took_to_hear_it():
    assert TOLD_NS - 100 * WAIT_NS < Lockstep(Elsewhere(), NOTHING).hold(talk(), 0) <= TOLD_NS - WAIT_NS


def test_machines_here_add_nothing_to_the_clock_of_their_thread():
    assert Lockstep(LocalHosts([Working()]), NOTHING).hold(talk(), 0) == 0
    answers, spent = LocalHosts([Working()]).exchange([Send(FIRST_HOST, Noted(1, 1))], 0)
    assert not answers
    assert spent >= WAIT_NS
