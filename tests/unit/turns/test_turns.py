"""Turns without a simulation: who speaks after what, told by hand as a live service would tell it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dardis.config.settings import AnySetUp
from dardis.model.choices import EventOrder
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, Job
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.target import DesiredProfile, Switching
from dardis.node_manager import NodePool, RelayingHost
from dardis.registry import BUILT_IN_DISPATCHERS, Central, Cluster, Dispatcher
from dardis.transport.local_transport import LocalHosts, Lockstep
from dardis.wire.effects import Placed, Rejected, Switched

POWER = NodePower(idle_w=100.0, boot_s=10, shutdown_s=5)
TWO = Platform("two", (NodeGroup("n", 2, {"cores": 4}, power=POWER),))


def job(number: int, submit: int, walltime: int, units: int = 2, cores: int = 4) -> Job:
    return Job(number, submit, submit, None, walltime, units, (cores,), 1)


class Told:
    """Turns on two nodes, each a host, and what has been said of jobs and nodes, in order."""

    def __init__(self, dispatcher: Dispatcher, managers: int = 1, desired: DesiredProfile | None = None,
                 switching: Switching | None = None) -> None:  # fmt: skip
        hosts = [RelayingHost(NodePool(TWO, host, host + 1, host=host, desired=desired)) for host in range(2)]
        self.turns = dispatcher.turns(Cluster(TWO, (0, 1, 2), 1, desired, switching, task_managers=managers))
        self.lockstep = Lockstep(LocalHosts(hosts, encoded=True), self)
        self.said: list[object] = []
        self.count = 0

    def execute(self, who, deed, now):  # noqa: ARG002
        self.said.append(deed)

    def take(self, turns, now: int) -> list[object]:
        """What is said in these turns."""
        self.said = []
        for turn in turns:
            self.lockstep.run_turn(turn.dialogue, now)
            self.count += not turn.upkeep
        return [
            (deed.job, deed.start)
            if isinstance(deed, Placed)
            else (deed.job, deed.reason)
            if isinstance(deed, Rejected)
            else ("up" if deed.up else "down", deed.nodes.tolist(), deed.moments.tolist())
            for deed in self.said
            if isinstance(deed, Placed | Rejected | Switched)
        ]

    def submitted(self, *jobs: Job, first: int = 0) -> list[object]:
        return [
            said
            for place, one in enumerate(jobs, start=first)
            for said in self.take(self.turns.on_submit(one, place, one.submit), one.submit)
        ]

    def ended(self, now: int, *jobs: int) -> list[object]:
        return self.take(self.turns.on_job_ends(jobs, now), now)

    def over(self, now: int, *, last: bool = False) -> list[object]:
        return self.take(self.turns.on_instant_end(now, last=last), now)


def set_to(name: str, **settings: object) -> Dispatcher:
    return BUILT_IN_DISPATCHERS[name].with_setup(replace(BUILT_IN_DISPATCHERS[name].setup, **settings))  # type: ignore[arg-type]


def test_late_binding_jobs_start_by_key_after_all_events_of_the_instant():
    told = Told(BUILT_IN_DISPATCHERS["dardis-late"], managers=2)
    assert told.submitted(job(1, 0, 5000), job(2, 0, 10)) == []
    assert told.over(0) == [(2, 0)], "the shorter goes first; the other reserves, which is not final"
    assert told.turns.wake() == 10
    assert told.ended(4, 2) == []
    assert told.over(4) == [(1, 4)]
    assert told.turns.wake() == FOREVER


def test_central_dispatcher_decides_per_instant_or_per_event():
    told = Told(set_to("easy"))
    assert told.submitted(job(1, 0, 100), job(2, 0, 100), job(9, 0, 10, units=9)) == [
        (9, "requests 9 units of (4 cores); the machine fits 2")
    ]
    assert told.over(0) == [(1, 0)]
    assert told.ended(40, 1) == []
    assert told.over(40) == [(2, 40)]
    at_once = Told(set_to("easy", event_order=EventOrder.PER_EVENT))
    assert at_once.submitted(job(1, 0, 100), job(2, 0, 100)) == [(1, 0)]
    assert at_once.ended(40, 1) == [(2, 40)]


class Saying:
    """A dispatcher that decides what it is told to decide."""

    def __init__(self, *said: object) -> None:
        self.said = list(said)

    def submit(self, *_):
        return None

    def ended(self, *_):
        return None

    def decide(self, _):
        return self.said.pop(0)

    def wake(self):
        return FOREVER


def placed(number: int, start: int) -> Placed:
    return Placed(number, start, np.array([0, 1]), np.array([1, 1]))


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ([None], "at 5 s the dispatcher returns NoneType, not a list"),
        ([[placed(7, 5)]], "at 5 s job 7 is placed but does not wait"),
        ([[placed(1, 5), placed(1, 5)]], "at 5 s job 1 is placed but does not wait"),
        ([[placed(1, 4)]], "at 5 s job 1 is placed in the past, at 4 s"),
        ([[1]], "at 5 s a decision is int, not Placed, Rejected or Solved"),
        ([[placed(1, 6)], []], None),
    ],
)
@pytest.mark.parametrize("order", EventOrder)
def test_a_central_decision_is_about_jobs_that_wait(said, wrong, order):
    dispatcher = Dispatcher("saying", AnySetUp(event_order=order), Central(lambda *_: Saying(*said, [])))
    told = Told(dispatcher)

    def play() -> None:
        told.submitted(job(1, 5, 100))
        told.over(5)
        told.over(5)

    if wrong is None:
        play()
    else:
        with pytest.raises(ProtocolError, match=f"^{wrong}$"):
            play()
