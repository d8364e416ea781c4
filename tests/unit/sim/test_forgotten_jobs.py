"""A run in which a machine forgets a job is no result."""

import pytest
from kit.central import dispatch, setup_of
from kit.late import run_late
from kit.run import simulate

from dardis.dispatch import CentralDispatcher
from dardis.model.errors import ProtocolError
from dardis.model.job import Actual
from dardis.model.platform import NodeGroup, Platform
from dardis.task_manager import SETUPS, LateByTurns, LateSetUp, PlannedManager

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

    jobs = [Actual(n, n, n, None, 10, 1, (2,), 1, runtime=10) for n in (1, 2, 3)]
    assert run(jobs).schedule.ran.all()
    monkeypatch.setattr(machine, "submit", forgetful)
    with pytest.raises(ProtocolError, match="1 jobs neither ran nor were rejected"):
        run(jobs)
