"""Record of a cluster's jobs from successive views of its queue, in sacct's form. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dardis.slurm.slurm_job import SlurmJob
from dardis.workload.slurm_texts import JobPhase

COLUMNS: Final = (
    "JobIDRaw", "JobID", "User", "Account", "Partition", "QOS", "JobName", "Submit", "Eligible", "Start", "End",
    "ElapsedRaw", "TimelimitRaw", "NNodes", "NCPUS", "ReqTRES", "AllocTRES", "State", "NodeList",
)  # fmt: skip
HEADER: Final = "|".join(COLUMNS)


def record_line(cells: Mapping[str, str]) -> str:
    """Line of a record, as of `sacct --parsable2`."""
    return "|".join(cells.get(name, "").replace("|", "_").replace("\n", " ") for name in COLUMNS)


@dataclass(frozen=True)
class QueueChanges:
    """Changes between two views. An array's waiting tasks count as submitted once."""

    submitted: tuple[SlurmJob, ...]
    started: tuple[SlurmJob, ...]
    ended: tuple[Mapping[str, str], ...]
    """Cells of jobs that ran."""
    ended_jobs: tuple[tuple[SlurmJob, int], ...]
    """The same jobs with their runtimes, s."""
    left: tuple[SlurmJob, ...]
    """Waiting jobs that were cancelled."""


class SlurmJobRecord:
    """Jobs of the last view, by number."""

    def __init__(self, ended: Iterable[SlurmJob] = ()) -> None:
        """Start with jobs that are recorded as ended."""
        self._jobs: dict[int, SlurmJob] = {}
        self._ended = {(job.number, job.start) for job in ended}

    @property
    def jobs(self) -> list[SlurmJob]:
        """Running and waiting jobs of the last view."""
        return [*self._jobs.values()]

    def observe(self, view: Sequence[SlurmJob], now: int) -> QueueChanges:
        """Take a view of `now`, Unix s.

        A running job that is no longer shown ended at `now`, or at its time limit if that was earlier.
        """
        submitted: list[SlurmJob] = []
        started: list[SlurmJob] = []
        left: list[SlurmJob] = []
        ended: list[tuple[SlurmJob, int]] = []
        before, self._jobs = self._jobs, {}
        shown = set()
        for job in view:
            was, key = before.get(job.number), (job.number, job.start)
            if job.phase is JobPhase.ENDED:
                shown.add(key)
                if key not in self._ended:
                    if job.start is not None:
                        ended.append((job, _end_of(job, now)))
                    if was is None or was.start is None:
                        (left if job.start is None else started).append(job)
                continue
            self._jobs[job.number] = job
            if was is None or (was.start is not None and job.start is None):
                submitted.append(job)
            if was is not None and was.start not in {None, job.start}:  # requeued
                ended.append((was, _end_of(was, now)))
            if job.start is not None and (was is None or was.start != job.start):
                started.append(job)
        names = {job.number for job in view}
        for number, was in before.items():
            if number not in names and was.start is not None:
                ended.append((was, _end_of(was, now)))
            elif number not in names and was.tasks == 1:
                left.append(was)
        self._ended = shown
        ran = tuple((job, end - (job.start or end)) for job, end in ended)
        cells = tuple(_ended_cells(job, end) for job, end in ended)
        return QueueChanges(tuple(submitted), tuple(started), cells, ran, tuple(left))


def _end_of(job: SlurmJob, now: int) -> int:
    """End of a job that ran: as stated, or `now`, at most its time limit."""
    assert job.start is not None
    if job.phase is JobPhase.ENDED:
        return max(job.end or now, job.start)
    return max(now if job.limit_s is None else min(now, job.start + job.limit_s), job.start)


def _ended_cells(job: SlurmJob, end: int) -> Mapping[str, str]:
    state = job.state if job.phase is JobPhase.ENDED else "COMPLETED"
    return {**job.cells, "State": state, "End": str(end), "ElapsedRaw": str(end - (job.start or end))}
