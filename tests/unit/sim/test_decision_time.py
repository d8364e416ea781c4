"""What a dispatcher does to find who is next is a part of that turn; what it does after the last one is not lost."""

from __future__ import annotations

import time

import numpy as np
import pytest
from kit.actual import actual

from dardis.model.job import FOREVER
from dardis.sim.simulation import Simulation
from dardis.turns import Turn
from dardis.wire.effects import Placed

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

    switches = wake

    def submitted(self, job, place, now):  # noqa: ARG002
        yield Turn(iter_of([]), upkeep=True)
        think()
        yield Turn(iter_of([Placed(job.number, now, np.array([0]), np.array([1]))]))
        think()

    def ended(self, jobs, now):  # noqa: ARG002
        yield from ()

    def over(self, now, *, last):  # noqa: ARG002
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
