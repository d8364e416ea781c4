"""Hosts that are far answer as if all were here, whatever happens, and whichever of them are here."""

import random

import numpy as np
import pytest
from kit.remote_hosts import Chance, Site

from dardis.model.errors import ProtocolError
from dardis.transport.base import HostDownError
from dardis.wire.effects import Send, SendAll
from dardis.wire.messages import Published, PublishRequest, Relay


class InProcess:
    """A switchboard to hosts in this process; those in `away` take what they are sent, and their answers are lost."""

    def __init__(self, site):
        self.hosts = [site.far_host() for _ in range(site.hosts)]
        self.away, self.asked = set(), 0

    def request(self, payloads, patience_s):  # noqa: ARG002
        self.asked += 1
        assert all(type(payload) is bytes for payload in payloads.values())
        answers = {host: self.hosts[host].answer(payload) for host, payload in reversed(payloads.items())}
        if down := sorted(self.away & answers.keys()):
            raise HostDownError(down)
        return answers


class Watched:
    """Hosts that may be asked, each time of all, with one round of questions at most."""

    def __init__(self, hosts, switchboard):
        self.hosts, self.switchboard = hosts, switchboard

    def exchange(self, sends, now):
        before = self.switchboard.asked
        answers = self.hosts.exchange(sends, now)
        assert self.switchboard.asked <= before + 1
        return answers


def some_here(rng, site):
    return [host for host in range(site.hosts) if rng.random() < 0.4]


@pytest.mark.parametrize("seed", range(16))
def test_remote_hosts_start_the_same_jobs_as_local_hosts(seed):
    rng = random.Random(seed)  # noqa: S311
    site = Site(1 + seed % 4)
    switchboard = InProcess(site)
    chance = Chance(site, seed)
    local = site.decider(site.local())
    far = site.decider(Watched(site.far(switchboard, some_here(rng, site)), switchboard))
    begun = 0
    for _ in range(40):
        happened = chance.happens()
        expected = local.decide(happened)
        assert far.decide(happened) == expected
        assert far.wake() == local.wake()
        chance.started(*expected)
        begun += len(expected[0])
    assert begun


@pytest.mark.parametrize("seed", range(4))
def test_new_session_resets_state_and_ends_the_previous_session(seed):
    rng = random.Random(seed)  # noqa: S311
    site = Site(4)
    switchboard = InProcess(site)
    hosts = site.far(switchboard, [0])
    chance, decider = Chance(site, seed), site.decider(hosts)
    for _ in range(5):
        chance.started(*decider.decide(chance.happens()))
    switchboard.away = {rng.randrange(1, 4), rng.randrange(1, 4)}
    with pytest.raises(HostDownError) as down:
        hosts.exchange([SendAll(PublishRequest())], chance.now)
    assert down.value.hosts == tuple(sorted(switchboard.away))
    silent = [0, *switchboard.away]
    switchboard.away = set()
    chance = Chance(site, seed)
    local, far = site.decider(site.local()), site.decider(site.far(switchboard, silent, session=2))
    for _ in range(10):
        happened = chance.happens()
        expected = local.decide(happened)
        assert far.decide(happened) == expected
        chance.started(*expected)
    with pytest.raises(HostDownError) as down:
        hosts.exchange([SendAll(PublishRequest())], chance.now)
    assert down.value.hosts == tuple(host for host in range(4) if host not in silent), "they hold another session's"


def test_responses_are_ordered_by_host_and_only_queried_hosts_are_awaited():
    site = Site(4)
    switchboard = InProcess(site)
    hosts = site.far(switchboard, [2])
    answers, _ = hosts.exchange([Send(3, PublishRequest()), Send(2, PublishRequest()), Send(0, PublishRequest())], 1000)
    assert [answer.host for answer in answers if isinstance(answer, Published)] == [0, 2, 3]
    switchboard.away = {0, 1}
    assert len(hosts.exchange([Send(3, PublishRequest())], 1000)[0]) == 1
    assert hosts.message_bytes


def test_request_through_a_tree_is_refused():
    relay = Relay(1, -1, -1, 0, 2, 2, 0, 0, 0, np.zeros(0, dtype=np.int64), [], PublishRequest())
    site = Site(2)
    with pytest.raises(ProtocolError, match="can't be queried through a tree"):
        site.far(InProcess(site)).exchange([Send(0, relay)], 1000)
