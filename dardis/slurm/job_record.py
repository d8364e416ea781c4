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
    """Changes between two views."""

    started: tuple[SlurmJob, ...]
    ended: tuple[tuple[SlurmJob, int], ...]
    """Jobs that ran, with their ends, Unix s."""
    left: tuple[SlurmJob, ...]
    """Waiting jobs, or arrays, of which no task waits any more."""


class SlurmJobRecord:
    """Jobs of the last view, by number."""

    def __init__(self, ended: Iterable[SlurmJob] = ()) -> None:
        self._jobs: dict[int, SlurmJob] = {}
        self._ended = {(job.number, job.start) for job in ended}

    @property
    def jobs(self) -> list[SlurmJob]:
        """Running and waiting jobs of the last view."""
        return [*self._jobs.values()]

    def observe(self, view: Sequence[SlurmJob], now: int, *, is_complete: bool = True) -> QueueChanges:
        """Take a view of `now`, Unix s.

        A running job no longer shown ended at `now`, or at its time limit if earlier; in an incomplete view it still
        runs.
        """
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
                    if job.has_run:
                        ended.append((job, _end_of(job, now)))
                    if was is None or was.start is None:
                        (started if job.has_run else left).append(job)
                continue
            self._jobs[job.number] = job
            if was is not None and was.start is not None and _is_another_run(was, job):
                ended.append((was, _end_of(was, now)))
            if job.start is not None and (was is None or was.start is None or _is_another_run(was, job)):
                started.append(job)
        names = {job.number for job in view}
        for number, was in before.items():
            if number in names:
                continue
            if not is_complete:
                self._jobs[number] = was
            elif was.start is None:
                left.append(was)
            else:
                ended.append((was, _end_of(was, now)))
        self._ended = shown
        return QueueChanges(tuple(started), tuple(ended), tuple(left))


def _is_another_run(was: SlurmJob, job: SlurmJob) -> bool:
    """Whether a job that ran was queued again. While a node boots, Slurm moves the start of a run."""
    return job.start is None or (job.restarts > was.restarts and job.start != was.start)


def _end_of(job: SlurmJob, now: int) -> int:
    assert job.start is not None
    if job.phase is JobPhase.ENDED:
        return max(job.end or now, job.start)
    return max(now if job.limit_s is None else min(now, job.start + job.limit_s), job.start)


def ended_cells(job: SlurmJob, end: int) -> Mapping[str, str]:
    """Cells of a job that ran, for its record."""
    state = job.state if job.phase is JobPhase.ENDED else "COMPLETED"
    return {**job.cells, "State": state, "End": str(end), "ElapsedRaw": str(end - (job.start or end))}
