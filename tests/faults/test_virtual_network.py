from __future__ import annotations

import pytest

from dardis.transport.virtual_network import Faults, VirtualNetwork
from dardis.wire.messages import Commit, Message

Received = list[tuple[int, int, Message]]


def run(faults: Faults) -> tuple[VirtualNetwork, Received]:
    received: Received = []
    net = VirtualNetwork(faults, 1, lambda to, message, now: received.append((now, to, message)))
    for job in range(200):
        net.send(job % 3, Commit(job, 1))
    while net.step():
        pass
    return net, received


def test_messages_arrive_within_the_longest_delay_and_reordered():
    net, received = run(Faults(longest_delay=9))
    assert sorted(message.job for _, _, message in received) == list(range(200))
    assert [message.job for _, _, message in received] != list(range(200))
    assert all(to == message.job % 3 for _, to, message in received)
    assert {now for now, _, _ in received} == set(range(1, 10))
    assert (net.sent, net.lost) == (200, 0)


@pytest.mark.parametrize(("faults", "copies"), [(Faults(5, drop=1.0), 0), (Faults(5, duplicate=1.0), 2)])
def test_messages_are_lost_or_duplicated(faults, copies):
    net, received = run(faults)
    assert len(received) == copies * 200
    assert net.lost == (0 if copies else 200)
