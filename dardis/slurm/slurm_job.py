"""Jobs of `squeue --json`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dardis.model.errors import InputError
from dardis.model.hostlist import names_of
from dardis.model.resources import CORES
from dardis.model.slurm_json import number_of, slurm_records, words_of
from dardis.workload import slurm_texts as slurm
from dardis.workload.recorded_nodes import NO_NODES, NODE_LIST
from dardis.workload.slurm_cells import REQUIRED, TEXTS, Cells, first_cell, slurm_lines, squeue_cells
from dardis.workload.slurm_texts import JobPhase, OtherClockError, SlurmClock

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
    account: str
    partition: str
    qos: str
    name: str
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
    """Start that Slurm expects for a waiting job."""
    limit_s: int | None
    nodes: int
    amounts: Mapping[str, int]
    """Resources of the whole job, by kind; of waiting jobs as requested."""
    places: tuple[str, ...]
    cells: Mapping[str, str]
    """By the columns of sacct."""

    @property
    def cores(self) -> int:
        """Cores of the whole job."""
        return self.amounts.get(CORES, 0)

    @property
    def is_running(self) -> bool:
        """Whether the job has started and not ended."""
        return self.start is not None and self.phase is not JobPhase.ENDED

    @property
    def is_held(self) -> bool:
        """Whether a waiting job waits for something else than nodes."""
        return self.phase is JobPhase.WAITS and (self.priority == 0 or self.reason in HELD_REASONS)


def squeue_jobs(place: str, text: str) -> tuple[list[SlurmJob], list[str]]:
    """Jobs, and a reason for each malformed one; `place` is for messages. Raises InputError for other output."""
    found, malformed = [], []
    for record in slurm_records(Path(place), text):
        if record.kind == "jobs":
            try:
                found.append(_slurm_job(record.content))
            except ValueError as error:
                malformed.append(f"line {record.line}: {error}")
    return found, malformed


def recorded_jobs(path: Path, text: str) -> list[SlurmJob]:
    """Started jobs of sacct's text or JSON; `path` is for messages. Malformed lines are ignored. Raises InputError."""
    found, clock = [], SlurmClock()
    for line, cells_of in slurm_lines(path, text).lines:
        try:
            cells = cells_of()
            if slurm.job_name(first_cell(cells, REQUIRED[0])).is_step:
                continue
            times = {name: clock.seconds(cells[name]) for name in _TIMES if name in cells}
            unix = {name: "" if moment is None else str(moment) for name, moment in times.items()}
            job = job_of_cells({"JobID": cells.get("JobIDRaw", ""), **cells, **unix}, slurm.state(cells["State"]))
        except (ValueError, KeyError):
            continue
        except OtherClockError as error:
            raise InputError(f"{path}:{line}", str(error), "one clock in one file (SLURM_TIME_FORMAT=%s)") from None
        found += [job] if job.start is not None else []
    return found


_TIMES = ("Submit", "Eligible", "Start", "End")


def _slurm_job(job: Mapping[str, Any]) -> SlurmJob:
    states, priority = words_of(job.get("job_state")), number_of(job.get("priority"))
    state = slurm.state(states[0] if states else "")
    level = 0 if priority is None or priority == math.inf else int(priority)
    return job_of_cells(squeue_cells(job), state, str(job.get("state_reason") or ""), level)


def job_of_cells(cells: Cells, state: str, reason: str = "", priority: int = 1) -> SlurmJob:
    """Job of cells by the columns of sacct. Raises ValueError."""
    phase = slurm.PHASE_OF[state]
    name = slurm.job_name(cells["JobID"])
    waits = phase is JobPhase.WAITS
    used = slurm.tres(cells["ReqTRES"] if waits or not cells.get("AllocTRES") else cells["AllocTRES"])
    submit = _time(cells["Submit"])
    if submit is None:
        raise ValueError("no submit_time")
    return SlurmJob(
        number=int(cells["JobIDRaw"]),
        job=cells["JobID"],
        tasks=1 if name.pending is None or not waits else slurm.pending_members(name.pending),
        user=first_cell(cells, TEXTS["user"]),
        account=cells.get("Account", ""),
        partition=cells.get("Partition", ""),
        qos=cells.get("QOS", ""),
        name=cells.get("JobName", ""),
        phase=phase,
        state=state,
        reason=reason,
        priority=priority,
        submit=submit,
        eligible=_time(cells.get("Eligible", "")),
        start=None if waits else _time(cells["Start"]),
        end=_time(cells["End"]),
        slurm_start=_time(cells["Start"]) if waits else None,
        limit_s=None if (limit := slurm.raw_limit(cells.get("TimelimitRaw", ""))) < 0 else limit,
        nodes=max(used.nodes, int(cells.get("NNodes") or 0)) if waits else used.nodes or int(cells.get("NNodes") or 0),
        amounts={**used.amounts, CORES: used.amounts.get(CORES) or int(cells.get("NCPUS") or 0)},
        places=() if cells.get(NODE_LIST, "") in NO_NODES else tuple(names_of(cells[NODE_LIST])),
        cells=cells,
    )


def _time(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
