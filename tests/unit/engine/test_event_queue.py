"""The event queue, time between turns, and jobs that a simulation forgets."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual
from kit.central_runs import dispatch, setup_of
from kit.late_runs import run_late
from kit.run import simulate

from dardis.dispatch import CentralDispatcher
from dardis.engine.event_queue import EventQueue
from dardis.model.choices import EventOrder
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER
from dardis.model.platform import NodeGroup, Platform
from dardis.sim import simulation
from dardis.sim.simulation import Simulation
from dardis.task_manager import SETUPS, LateSetUp, LockstepLateManager, PlannedManager
from dardis.turns import CentralTurns, Turn
from dardis.wire.effects import Placed

few = st.integers(0, 3)
events = st.lists(st.tuples(few, few, few, few), max_size=12)


@given(events, events)
def test_events_come_by_time_then_priority_then_order(first, second):
    queue = EventQueue()
    for event in first[:2]:
        queue.put(*event)
    queue.fill(first[2:])
    for event in second:
        queue.put(*event)
    expected = sorted(first + second)
    for place, event in enumerate(expected):
        time, priority = event[:2]
        assert queue.next_time() == time
        assert queue.pop_before((time,)) is None
        assert queue.pop_before((time, priority)) is None
        assert (queue.pop() if place % 2 else queue.pop_before((time, priority + 1))) == event
    assert queue.next_time() is None
    assert queue.pop_before((99,)) is None


WORK_NS = 20_000_000


def think() -> None:
    begun = time.thread_time_ns()
    while time.thread_time_ns() - begun < WORK_NS:
        pass


class Slow:
    """Starts every job at once after some upkeep, and thinks before it starts one, and after that."""

    batched = True
    messages = renegotiations = 0

    def __init__(self, *, by_instant: bool) -> None:
        self.by_instant = by_instant

    def wake(self) -> int:
        return FOREVER

    next_switch = wake

    def on_submit(self, job, place, now):  # noqa: ARG002
        yield Turn(iter_of([]), upkeep=True)
        think()
        yield Turn(iter_of([Placed(job.number, now, np.array([0]), np.array([1]))]))
        think()

    def on_job_ends(self, jobs, now):  # noqa: ARG002
        yield from ()

    def on_instant_end(self, now, *, last):  # noqa: ARG002
        yield from ()


def iter_of(effects):
    yield effects


@pytest.mark.parametrize("by_instant", [True, False])
def test_time_between_turns_is_counted(by_instant):
    simulation = Simulation([actual(1, 0, 0, None, 10, 1, (1,), 1, runtime=5)], Slow(by_instant=by_instant))
    simulation.run()
    recorder = simulation.recorder
    assert max(recorder.decision_ns) >= (2 if by_instant else 1) * WORK_NS
    assert sum(recorder.decision_ns) + recorder.upkeep_ns >= 2 * WORK_NS
    assert recorder.upkeep_ns < (1 if by_instant else 2) * WORK_NS


FOUR = Platform("four", (NodeGroup("n", 1, {"cores": 4}),))
RUNS = {
    "central": (CentralDispatcher, None, lambda jobs: dispatch(FOUR, jobs, setup_of("easy"))),
    "late": (LockstepLateManager, [], lambda jobs: run_late(FOUR, jobs, LateSetUp())),
    "distributed": (PlannedManager, [], lambda jobs: simulate(FOUR, jobs, SETUPS["dardis-balance"])),
}
"""The machine that is told of jobs, what it says to one that it forgets, and how to run jobs on it."""


@pytest.mark.parametrize("name", RUNS)
def test_job_that_neither_runs_nor_is_rejected_is_detected(name, monkeypatch):
    machine, nothing, run = RUNS[name]
    submit = machine.submit

    def forgetful(self, job, now):
        return nothing if job.number == 2 else submit(self, job, now)

    jobs = [actual(n, n, n, None, 10, 1, (2,), 1, runtime=10) for n in (1, 2, 3)]
    assert run(jobs).schedule.ran.all()
    monkeypatch.setattr(machine, "submit", forgetful)
    with pytest.raises(ProtocolError, match="1 jobs neither ran nor were rejected"):
        run(jobs)


class Wakeful:
    """Starts no job before a time, and wants to be asked every second."""

    def __init__(self, start):
        self.start, self.now, self.waiting = start, 0, []

    def submit(self, job, _):
        self.waiting.append(job)

    def ended(self, *_):
        pass

    def decide(self, now):
        self.now = now
        if now < self.start:
            return []
        waiting, self.waiting = self.waiting, []
        return [Placed(job.number, now, np.array([0]), np.array([1])) for job in waiting]

    def wake(self):
        return self.now + 1 if self.waiting else FOREVER


def test_endless_wake_ups_are_detected(monkeypatch):
    monkeypatch.setattr(simulation, "MOST_WAKES", 100)
    jobs = [actual(1, 0, 0, None, 10, 1, (2,), 1, runtime=10)]
    for start in (99, 100, 101):
        world = simulation.Simulation(jobs, CentralTurns(EventOrder.BATCHED, Wakeful(start)))
        if start < 101:
            world.run()
            assert world.recorder.settled == 1
        else:
            with pytest.raises(ProtocolError, match="1 jobs wait at 101 s: the last 100 wake-ups changed nothing"):
                world.run()
