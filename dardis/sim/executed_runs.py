"""Executed attempts of a fault simulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from dardis.model.addresses import JobId
from dardis.model.job import ActualJob, Job
from dardis.model.schedule import Schedule
from dardis.sim.fault_simulation import FaultSimulation, RunOutcome, UnitRun
from dardis.sim.recorder import Recorder

_PIECES = 1 << 50
"""First number of pieces."""


class Piece(NamedTuple):
    """Units on a node in `[start, end)` that belong to no job of the schedule."""

    node: int
    units: int
    request: tuple[int, ...]
    start: int
    end: int


class ExecutedAttempts:
    """All attempts of a simulation."""

    def __init__(self, simulation: FaultSimulation) -> None:
        self._scenario = simulation.scenario
        self.attempts: dict[JobId, dict[int, list[UnitRun]]] = {job.number: {} for job in simulation.scenario.jobs}
        """Runs of each job by attempt."""
        for run in simulation.runs:
            self.attempts[run.job].setdefault(run.attempt, []).append(run)

    def full(self, job: ActualJob) -> list[list[UnitRun]]:
        """Attempts in which all units ran in full."""
        return [runs for runs in self.attempts[job.number].values() if is_full(job, runs)]

    def overlaps(self, job: JobId) -> bool:
        """Whether two attempts of the job ran at once."""
        until = 0
        for _, runs in sorted(self.attempts[job].items()):
            if min(run.start for run in runs) < until:
                return True
            until = max(run.end for run in runs)
        return False

    def schedule(self, ran: Mapping[JobId, list[UnitRun]], others: Iterable[Piece] = ()) -> Schedule:
        """Schedule; jobs without an attempt are rejected.

        Other attempts and `others` become jobs.
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
                jobs.append(ActualJob(asked, walltime))
                placed.append([UnitRun(asked.number, 0, piece.node, piece.units, piece.start, piece.end)])
        recorder = Recorder(len(jobs))
        for place, runs in enumerate(placed):
            if runs:
                nodes, units = np.array(sorted((run.node, run.units) for run in runs), dtype=np.int64).T
                recorder.record_placement(place, runs[0].start, nodes, units)
                recorder.record_end(place, runs[0].end)
            else:
                recorder.record_rejection(place, "did not run")
        return recorder.schedule(jobs, self._scenario.platform.kinds)


def is_full(job: ActualJob, runs: list[UnitRun]) -> bool:
    """Whether all units ran together in full."""
    ended = all(run.outcome is RunOutcome.ENDED and run.end - run.start == job.duration for run in runs)
    return ended and len({run.start for run in runs}) == 1 and sum(run.units for run in runs) == job.units
