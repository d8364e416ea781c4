"""A run in which a machine forgets a job is no result."""

import numpy as np
import pytest
from kit.actual import actual
from kit.central import dispatch, setup_of
from kit.late import run_late
from kit.run import simulate

from dardis.dispatch import CentralDispatcher
from dardis.model.choices import EventOrder
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER
from dardis.model.platform import NodeGroup, Platform
from dardis.sim import simulation
from dardis.task_manager import SETUPS, LateByTurns, LateSetUp, PlannedManager
from dardis.turns import CentralTurns
from dardis.wire.effects import Placed

FOUR = Platform("four", (NodeGroup("n", 1, {"cores": 4}),))
RUNS = {
    "central": (CentralDispatcher, None, lambda jobs: dispatch(FOUR, jobs, setup_of("easy"))),
    "late": (LateByTurns, [], lambda jobs: run_late(FOUR, jobs, LateSetUp())),
    "distributed": (PlannedManager, [], lambda jobs: simulate(FOUR, jobs, SETUPS["dardis-balance"])),
}
"""The machine that is told of jobs, what it says to one that it forgets, and how to run jobs on it."""


@pytest.mark.parametrize("name", RUNS)
def test_who_neither_runs_nor_is_rejected_is_found_out(name, monkeypatch):
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


def test_who_is_woken_for_ever_is_found_out(monkeypatch):
    monkeypatch.setattr(simulation, "MOST_WAKES", 100)
    jobs = [actual(1, 0, 0, None, 10, 1, (2,), 1, runtime=10)]
    for start in (99, 100, 101):
        world = simulation.Simulation(jobs, CentralTurns(EventOrder.BATCHED, Wakeful(start)))
        if start < 101:
            world.run()
            assert world.recorder.settled == 1
        else:
            with pytest.raises(ProtocolError, match="1 jobs wait at 101 s: nothing has happened at the last 100 wakes"):
                world.run()
