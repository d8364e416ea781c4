"""Slurm's jobs, from the queue (`squeue --json`) and from accounting (sacct's text or JSON)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from dardis.model.errors import InputError
from dardis.model.resources import CORES
from dardis.model.slurm_json import number_of, slurm_records
from dardis.workload import slurm_texts as slurm
from dardis.workload.recorded_nodes import NO_NODES, NODE_LIST
from dardis.workload.slurm_cells import REQUIRED, TEXTS, Cells, first_cell, slurm_lines, squeue_cells
from dardis.workload.slurm_texts import JobPhase, OtherClockError, SlurmClock

Found = TypeVar("Found")
HELD_REASONS = frozenset(
    {"JobHeldUser", "JobHeldAdmin", "Dependency", "DependencyNeverSatisfied", "BeginTime", "JobArrayTaskLimit"}
)
"""Reasons of waiting for something else than nodes."""


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """A job of the queue, or the waiting tasks of an array that Slurm shows together. Times are Unix s."""

    number: int
    job: str
    """As users know it: `123`, `123_7`, `123_[8-9]`."""
    tasks: int
    """Number of jobs: waiting tasks of an array, or 1."""
    user: str
    partition: str
    qos: str
    phase: JobPhase
    state: str
    reason: str
    priority: int
    submit: int
    eligible: int | None
    start: int | None
    """Of started jobs."""
    end: int | None
    """Of ended jobs."""
    slurm_start: int | None
    limit_s: int | None
    nodes: int
    amounts: Mapping[str, int]
    """Resources of the whole job, by kind; of waiting jobs as requested."""
    asked: Mapping[str, int]
    """Resources as requested."""
    restarts: int
    """How often the job was queued again."""
    has_run: bool
    """Whether the job got nodes: Slurm states a start of jobs cancelled in the queue, too."""
    cells: Mapping[str, str]
    """By the columns of sacct."""

    @property
    def is_running(self) -> bool:
        """Whether the job has started and not ended."""
        return self.start is not None and self.phase is not JobPhase.ENDED

    @property
    def is_held(self) -> bool:
        """Whether a waiting job waits for something else than nodes."""
        return self.phase is JobPhase.WAITS and (self.priority == 0 or self.reason in HELD_REASONS)


def squeue_jobs(place: str, text: str) -> tuple[list[SlurmJob], list[str]]:
    """Jobs, and a reason for each malformed one; `place` is for messages. Raises InputError."""
    return read_squeue(place, text, slurm_job)


def read_squeue(place: str, text: str, read: Callable[[Mapping[str, Any]], Found]) -> tuple[list[Found], list[str]]:
    """As `squeue_jobs`, with another reader of records. It raises ValueError."""
    found: list[Found] = []
    malformed: list[str] = []
    for record in slurm_records(Path(place), text, "jobs"):
        if record.kind == "jobs":
            try:
                found.append(read(record.content))
            except ValueError as error:
                malformed.append(f"line {record.line}: {error}")
    return found, malformed


class RecordedJobs(NamedTuple):
    """Jobs of a record, and the number of lines that are not understood."""

    jobs: list[SlurmJob]
    ignored: int


def recorded_jobs(path: Path, text: str) -> RecordedJobs:
    """Jobs of sacct's text or JSON; `path` is for messages. Merged. Raises InputError."""
    found: list[SlurmJob] = []
    clock, ignored = SlurmClock(), 0
    for line, cells_of in slurm_lines(path, text).lines:
        try:
            cells = cells_of()
            name = slurm.job_name(first_cell(cells, REQUIRED[0]))
            if name.is_step:
                continue
            job = job_of_cells(_unix_cells(cells, clock), slurm.state(cells["State"]))
        except ValueError:
            ignored += 1
            continue
        except OtherClockError as error:
            raise InputError(f"{path}:{line}", str(error), "one clock in one file (SLURM_TIME_FORMAT=%s)") from None
        if job.phase is not JobPhase.ENDED or job.has_run:
            found.append(job)
    return merged_records([RecordedJobs(found, ignored)])


def merged_records(records: Iterable[RecordedJobs]) -> RecordedJobs:
    """Jobs of several records; of equal runs, one that ended counts, then the later one."""
    found: dict[tuple[int, int | None], SlurmJob] = {}
    ignored = 0
    for record in records:
        ignored += record.ignored
        for job in record.jobs:
            key = job.number, job.start
            if key not in found or job.phase is JobPhase.ENDED or found[key].phase is not JobPhase.ENDED:
                found[key] = job
    started = {number for number, start in found if start is not None}
    jobs = [job for (number, start), job in found.items() if start is not None or number not in started]
    return RecordedJobs(jobs, ignored)


def _unix_cells(cells: Cells, clock: SlurmClock) -> Cells:
    unix = {name: clock.seconds(cells[name]) for name in ("Submit", "Eligible", "Start", "End") if name in cells}
    start, elapsed = unix.get("Start"), cells.get("ElapsedRaw", "")
    if unix.get("End") is None and start is not None and elapsed.isdecimal():
        unix["End"] = start + int(elapsed)
    raw = cells.get("JobIDRaw") or cells["JobID"].partition("_")[0]
    times = {name: "" if moment is None else str(moment) for name, moment in unix.items()}
    return {**cells, "JobIDRaw": raw, "JobID": cells.get("JobID") or raw, **times}


def slurm_job(job: Mapping[str, Any]) -> SlurmJob:
    """Job of a record of squeue. Raises ValueError."""
    priority, restarts = number_of(job.get("priority")), number_of(job.get("restart_cnt"))
    cells = squeue_cells(job)
    level = 0 if priority is None else _HIGHEST if priority == math.inf else int(priority)
    return job_of_cells(
        cells, slurm.state(cells["State"]), str(job.get("state_reason") or ""), level, int(restarts or 0)
    )


_HIGHEST = 0xFFFFFFFF


def job_of_cells(cells: Cells, state: str, reason: str = "", priority: int = 1, restarts: int = 0) -> SlurmJob:
    """Job of cells by the columns of sacct. Raises ValueError."""
    phase = slurm.PHASE_OF[state]
    name, submit = slurm.job_name(cells["JobID"]), _time(cells["Submit"])
    waits = phase is JobPhase.WAITS
    asked, used = slurm.tres(cells.get("ReqTRES", "")), slurm.tres(cells.get("AllocTRES", ""))
    if waits or not used.amounts:
        used = asked
    if submit is None:
        raise ValueError("no submit_time")
    cores, nodes = int(cells.get("NCPUS") or 0), int(cells.get("NNodes") or 0)
    start, end = None if waits else _time(cells["Start"]), _time(cells["End"]) if phase is JobPhase.ENDED else None
    return SlurmJob(
        number=int(cells["JobIDRaw"]),
        job=cells["JobID"],
        tasks=_waiting_tasks(name.pending) if waits else 1,
        user=first_cell(cells, TEXTS["user"]),
        partition=cells.get("Partition", ""),
        qos=cells.get("QOS", ""),
        phase=phase,
        state=state,
        reason=reason,
        priority=priority,
        submit=submit,
        eligible=_time(cells.get("Eligible", "")),
        start=start,
        end=end,
        slurm_start=_time(cells["Start"]) if waits else None,
        limit_s=None if (limit := slurm.raw_limit(cells.get("TimelimitRaw", ""))) < 0 else limit,
        nodes=max(used.nodes, nodes) if waits else used.nodes or nodes,
        amounts={**used.amounts, CORES: used.amounts.get(CORES) or cores},
        asked={**asked.amounts, CORES: asked.amounts.get(CORES) or cores},
        restarts=restarts,
        has_run=start is not None and ((end or start + 1) > start or cells.get(NODE_LIST, "") not in NO_NODES),
        cells=cells,
    )


def _waiting_tasks(pending: str | None) -> int:
    """Number of waiting tasks; of a list that Slurm cut (`1,3,...`), at least the listed ones."""
    if pending is None:
        return 1
    return slurm.pending_members(re.sub(r"[,-]?[^,]*\.\.\.$", "", pending) or "0")


def _time(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
