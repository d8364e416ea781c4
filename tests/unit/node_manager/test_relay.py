"""A host in a tree, message by message: what it hands on, when it asks again, when it answers without its children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from kit.offer_requests import ask_for

from dardis.model.job import FOREVER
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import NodePool, RelayingHost
from dardis.wire import messages as say
from dardis.wire.codec import decode_nested
from dardis.wire.effects import Effect, Launch, Reply, Send, SetTimer

HOSTS, STEP, RESEND = 7, 10, 4
PLATFORM = Platform("seven", (NodeGroup("n", HOSTS, {"cores": 4}),))
MANAGER = -1


def host(number: int, incarnation: int = 0) -> RelayingHost:
    return RelayingHost(NodePool(PLATFORM, number, number + 1, host=number, incarnation=incarnation, report_every=4))


def question(
    message: say.Message, *, first: int = 0, last: int = HOSTS, patience: int = 2 * STEP, gone: Sequence[int] = (),
    parcels: Sequence[tuple[int, int, say.Message]] = (), serial: int = 1, expires: int = FOREVER,
) -> say.Relay:  # fmt: skip
    dead = np.array(gone, dtype=np.int64)
    return say.Relay(
        serial, MANAGER, MANAGER, first, last, 2, patience, STEP, RESEND, dead, list(parcels), message, expires
    )


def ask(units: int = 99, want: int = say.SUMS, **more) -> say.OfferQuery:
    return replace(ask_for(units=units, last=50, walltime=5, **more), want=want)


def take(at: RelayingHost, message: say.Message, now: int) -> list[Effect]:
    """What a host does about a message, and about what it tells itself of it."""
    effects = []
    for effect in at.handle(message, now):
        to_itself = isinstance(effect, Send) and effect.to == at.pool.host
        effects += take(at, effect.message, now) if to_itself else [effect]
    return effects


def forwarded_to(effects: list[Effect]) -> dict[int, tuple[int, int]]:
    """To whom, and for which hosts, a question goes on."""
    found = [effect for effect in effects if isinstance(effect, Send) and isinstance(effect.message, say.Relay)]
    assert len({effect.to for effect in found}) == len(found)
    return {effect.to: (effect.message.first, effect.message.last) for effect in found}


def answers(effects: list[Effect]) -> list[tuple[int, say.GatheredAnswers]]:
    return [
        (e.to, e.message) for e in effects if isinstance(e, Send | Reply) and isinstance(e.message, say.GatheredAnswers)
    ]


def timer(effects: list[Effect]) -> SetTimer:
    (only,) = [effect for effect in effects if isinstance(effect, SetTimer)]
    assert only.timer == say.Reminder(MANAGER, 1)
    return only


def units_offered(gathered: say.GatheredAnswers) -> int:
    """How many units the hosts that are in it offer at the first instant of all."""
    (sums,) = map(decode_nested, gathered.answers)
    assert isinstance(sums, say.Sums)
    return int(sums.rows[0, 1])


class Talk:
    """Hosts in a tree of arity 2: 0 asks 1 and 4, 1 asks 2 and 3, 4 asks 5 and 6. Messages go where they are sent."""

    def __init__(self, dead: Sequence[int] = ()) -> None:
        self.hosts = {number: host(number) for number in range(HOSTS) if number not in dead}
        self.timers: list[tuple[int, int, say.Timer]] = []
        self.said: list[tuple[int, say.GatheredAnswers]] = []
        """When something came to the task manager, and what."""

    def send(self, to: int, message: say.Message, now: int) -> None:
        """Let a message and all that follows from it arrive at once."""
        if to < 0:
            assert isinstance(message, say.GatheredAnswers)
            self.said.append((now, message))
        elif to in self.hosts:
            for effect in self.hosts[to].handle(message, now):
                if isinstance(effect, SetTimer):
                    self.timers.append((effect.at, to, effect.timer))
                else:
                    assert isinstance(effect, Send | Reply)
                    self.send(effect.to, effect.message, now)

    def until(self, end: int) -> None:
        """Let all timers up to then go off."""
        while self.timers and min(self.timers, key=lambda timer: timer[0])[0] <= end:
            first = min(self.timers, key=lambda timer: timer[0])
            self.timers.remove(first)
            self.send(first[1], first[2], first[0])


class TestWhereNothingIsLost:
    def test_relay_sums_over_its_subtree(self):
        talk = Talk()
        talk.send(0, question(ask(), patience=0), 0)
        ((_, gathered),) = talk.said
        assert units_offered(gathered) == 4 * HOSTS
        (sums,) = map(decode_nested, gathered.answers)
        assert sums.hosts == HOSTS
        assert sums.offset.tolist() == [0, 2]
        assert not any(each._open for each in talk.hosts.values())
        assert talk.timers == []

    def test_enclosed_messages_are_handled_before_the_request_with_their_own_time(self):
        one = np.array([1])
        claims = [say.Confirm(job, 1, 0, 20, 30, np.array([4]), np.array([4]), one, tentative=False) for job in (7, 8)]
        parcels = [(4, 2, claims[0]), (4, 3, say.Release(7, 1)), (4, 5, claims[1]), (5, 3, say.FinishedAck(1, 1))]
        inner = host(4)
        effects = take(inner, question(say.PublishRequest(), first=4, parcels=parcels, patience=0), 9)
        carried = [effect.message.parcels for effect in effects if isinstance(effect, Send)]
        assert carried == [[parcels[3]], []]
        assert [effect.job for effect in effects if isinstance(effect, Launch)] == [7, 8]
        assert list(inner.pool._claims) == [8]


class TestWhereMessagesMayBeLost:
    def test_unresponsive_child_is_queried_again_with_shrinking_timeout(self):
        root = host(0)
        effects = take(root, question(ask()), 100)
        assert forwarded_to(effects) == {1: (1, 4), 4: (4, 7)}
        assert {e.message.patience for e in effects if isinstance(e, Send)} == {STEP}
        assert timer(effects).at == 100 + RESEND
        assert take(root, say.GatheredAnswers(1, MANAGER, 4, 0, []), 102) == []
        again = take(root, timer(effects).timer, 104)
        assert forwarded_to(again) == {1: (1, 4)}
        assert {e.message.patience for e in again if isinstance(e, Send)} == {STEP - RESEND}
        assert timer(again).at == 108

    def test_relay_answers_without_late_children_after_its_timeout(self):
        root = host(0)
        effects = take(root, question(ask(), expires=130), 100)
        while timer(effects).at < 120:
            effects = take(root, timer(effects).timer, timer(effects).at)
            assert answers(effects) == []
        assert timer(effects).at == 120
        effects = take(root, timer(effects).timer, 120)
        ((to, gathered),) = answers(effects)
        assert (to, units_offered(gathered)) == (MANAGER, 4)
        assert take(root, say.GatheredAnswers(1, MANAGER, 1, 0, []), 121) == []
        assert timer(effects).at == 130
        assert take(root, timer(effects).timer, 130) == []
        assert not root._open

    def test_late_copy_of_a_request_is_not_forwarded(self):
        late = question(ask(), expires=130)
        root = host(0)
        assert take(root, late, 130) == []
        assert not root._open
        assert len(take(root, late, 129)) > 0

    def test_repeated_request_is_forwarded_once_and_answered_each_time(self):
        inner = host(1)
        twice = question(ask(), first=1, last=4, patience=STEP)
        take(inner, twice, 0)
        assert take(inner, twice, 1) == []
        take(inner, say.GatheredAnswers(1, MANAGER, 2, 0, []), 2)
        ((_, first),) = answers(take(inner, say.GatheredAnswers(1, MANAGER, 3, 0, []), 3))
        assert take(inner, say.GatheredAnswers(1, MANAGER, 3, 0, []), 4) == []
        assert answers(take(inner, twice, 5)) == [(MANAGER, first)]

    def test_lost_hosts_are_bypassed_and_probed(self):
        effects = take(host(0), question(ask(), gone=[1, 2, 5]), 0)
        assert forwarded_to(effects) == {3: (3, 4), 4: (4, 7), 1: (1, 1), 2: (2, 2)}

    def test_returned_host_only_reports_itself_to_the_task_manager(self):
        back = host(2, incarnation=3)
        (effect,) = take(back, question(ask(), first=2, last=2, gone=[2]), 0)
        assert effect == Reply(MANAGER, say.GatheredAnswers(1, MANAGER, 2, 3, []))


class TestAnInnerHostThatDies:
    """Host 4, which stands for 4, 5 and 6, dies after it was asked and before it has answered."""

    @pytest.fixture
    def talk(self) -> Talk:
        talk = Talk(dead=[4])
        talk.send(0, question(ask(), expires=130), 100)
        return talk

    def test_request_that_lists_a_relay_as_lost_reaches_its_children(self, talk):
        talk.send(0, question(ask(), gone=[4], serial=2), 105)
        ((when, gathered),) = talk.said
        assert (when, gathered.serial) == (105, 2)
        assert (units_offered(gathered), decode_nested(gathered.answers[0]).hosts) == (24, 6)

    def test_returned_relay_is_queried_again_and_queries_its_children(self, talk):
        talk.hosts[4] = host(4, incarnation=1)
        talk.until(104)
        assert [(when, units_offered(gathered)) for when, gathered in talk.said] == [(104, 28)]

    def test_response_from_before_the_restart_is_ignored(self, talk):
        talk.until(120)
        talk.send(0, say.GatheredAnswers(1, MANAGER, 4, 0, []), 121)
        assert len(talk.said) == 1
        talk.until(1000)
        assert talk.timers == []
        assert not any(each._open for each in talk.hosts.values())
