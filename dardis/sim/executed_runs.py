"""What really ran in a fault simulation: the attempts of each job, and all of them as a schedule for the audit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from dardis.model.addresses import JobId
from dardis.model.job import Actual, Job
from dardis.model.schedule import Schedule
from dardis.sim.fault_simulation import Fate, FaultSimulation, UnitRun
from dardis.sim.recorder import Recorder

_PIECES = 1 << 50
"""Numbers of pieces in a schedule begin here."""


class Piece(NamedTuple):
    """Units that took a node in `[start, end)` and are no job of the schedule, with what a unit asked for."""

    node: int
    units: int
    request: tuple[int, ...]
    start: int
    end: int


class Executed:
    """All that the executor started."""

    def __init__(self, simulation: FaultSimulation) -> None:
        """Take a simulation that is over."""
        self._scenario = simulation.scenario
        self.attempts: dict[JobId, dict[int, list[UnitRun]]] = {job.number: {} for job in simulation.scenario.jobs}
        """The units of each job by attempt."""
        for run in simulation.runs:
            self.attempts[run.job].setdefault(run.attempt, []).append(run)

    def full(self, job: Actual) -> list[list[UnitRun]]:
        """The attempts of a job that ran in full: all units, from one start to their end."""
        return [runs for runs in self.attempts[job.number].values() if is_full(job, runs)]

    def overlaps(self, job: JobId) -> bool:
        """Whether an attempt of the job began while an earlier one ran."""
        until = 0
        for _, runs in sorted(self.attempts[job].items()):
            if min(run.start for run in runs) < until:
                return True
            until = max(run.end for run in runs)
        return False

    def schedule(self, ran: Mapping[JobId, list[UnitRun]], others: Iterable[Piece] = ()) -> Schedule:
        """Jobs with the attempt of each that counts; jobs without one are rejected.

        What other attempts took of nodes, and `others`, are pieces: each is a job of its own.
        """
        jobs, pieces = list(self._scenario.jobs), list(others)
        for job in jobs:
            for runs in self.attempts[job.number].values():
                if runs is not ran.get(job.number):
                    pieces += [Piece(run.node, run.units, job.request, run.start, run.end) for run in runs]
        placed = [ran.get(job.number, []) for job in jobs]
        for number, piece in enumerate(pieces, start=_PIECES):
            if piece.end > piece.start:
                walltime = piece.end - piece.start
                asked = Job(JobId(number), piece.start, piece.start, None, walltime, piece.units, piece.request, ~0)
                jobs.append(Actual(asked, walltime))
                placed.append([UnitRun(asked.number, 0, piece.node, piece.units, piece.start, piece.end)])
        recorder = Recorder(len(jobs))
        for place, runs in enumerate(placed):
            if runs:
                nodes, units = np.array(sorted((run.node, run.units) for run in runs), dtype=np.int64).T
                recorder.placed(place, runs[0].start, nodes, units)
                recorder.ended(place, runs[0].end)
            else:
                recorder.rejected(place, "did not run")
        return recorder.schedule(jobs, self._scenario.platform.kinds)


def is_full(job: Actual, runs: list[UnitRun]) -> bool:
    """Whether all units of a job ran from one start to their end."""
    ended = all(run.fate is Fate.ENDED and run.end - run.start == job.duration for run in runs)
    return ended and len({run.start for run in runs}) == 1 and sum(run.units for run in runs) == job.units
