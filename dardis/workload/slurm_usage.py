"""Reads what jobs used from Slurm's accounting: cores, devices, CPU time and energy. Rules: docs/energy.md.

Each run counts: of requeued jobs (`sacct -D`), resized jobs and running jobs (so far). Without stated energy, a job has
the greatest energy of its steps: steps share its nodes, so energies overlap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from dardis.model.errors import InputError
from dardis.model.files import read_text
from dardis.model.hostlist import names_of
from dardis.model.numbers import decimal_number, whole_number
from dardis.model.resources import CORES
from dardis.workload import slurm_texts as slurm
from dardis.workload.recorded_nodes import NO_NODES, NODE_LIST
from dardis.workload.slurm_cells import (
    REQUIRED,
    TEXTS,
    Cells,
    SlurmLines,
    first_cell,
    is_job_table,
    read_cell,
    slurm_lines,
)
from dardis.workload.slurm_texts import UNSTATED, JobPhase, OtherClockError, SlurmClock
from dardis.workload.trace import LARGEST

ENERGY: Final = "ConsumedEnergyRaw"
CPU_TIME: Final = "TotalCPU"
_WAY = (
    "SLURM_TIME_FORMAT=%s sacct --parsable2 -a -o JobIDRaw,JobID,User,Account,Partition,Submit,Start,End,ElapsedRaw,"
    "NNodes,NCPUS,AllocTRES,ConsumedEnergyRaw,TotalCPU,NodeList,State, or sacct --json"
)
_WHOLE: Final = partial(whole_number, least=0, most=1 << 64)
_UNSET_JOULES: Final = 1 << 62
"""Slurm writes 2^64 - 2 for unknown energy."""


@dataclass(frozen=True, slots=True)
class UsedSpan:
    """Run of a job in `[start, end)`, Unix s."""

    line: int
    job: str
    """As users know it: `123`, `123_7`."""
    user: str
    account: str
    partition: str
    start: int
    end: int
    nodes: int
    """0 if unstated."""
    amounts: Mapping[str, int]
    """Allocated resources of the whole job, by kind."""
    places: tuple[str, ...]
    """Names of nodes, if stated."""
    joules: float | None
    """Measured energy; None if none was measured."""
    cpu_s: float | None
    is_running: bool

    @property
    def core_s(self) -> int:
        """Allocated core-seconds."""
        return self.amounts.get(CORES, 0) * (self.end - self.start)


@dataclass(frozen=True)
class SlurmUsage:
    """Runs in file order, and notes for users."""

    spans: tuple[UsedSpan, ...]
    notes: tuple[str, ...] = ()


def read_usage(path: Path) -> SlurmUsage:
    """Read sacct's text or JSON. Raises InputError for other files, and if no job ran."""
    text = read_text(path)
    if not is_job_table(text):
        raise InputError(path, "is no accounting of Slurm", _WAY)
    return _Usage(path).read(slurm_lines(path, text))


class _Usage:
    def __init__(self, path: Path) -> None:
        self._path, self._clock = path, SlurmClock()
        self._runs: dict[tuple[str, int], UsedSpan] = {}
        self._latest: dict[str, tuple[str, int]] = {}
        self._by_steps: set[tuple[str, int]] = set()
        self._malformed: list[str] = []
        self._never_ran = 0

    def read(self, table: SlurmLines) -> SlurmUsage:
        for line, cells_of in table.lines:
            try:
                self._take(line, cells_of())
            except ValueError as error:
                self._malformed.append(f"line {line}: {error}")
            except OtherClockError as error:
                raise InputError(f"{self._path}:{line}", str(error), "one clock in one file") from None
        if not self._runs:
            found = f"no job that ran ({self._malformed[0]})" if self._malformed else "no job that ran"
            raise InputError(self._path, found, _WAY)
        return SlurmUsage(tuple(self._runs.values()), self._notes())

    def _take(self, line: int, cells: Cells) -> None:
        raw = first_cell(cells, REQUIRED[0])
        name = slurm.job_name(raw)
        if name.is_step:
            self._take_step(raw.partition(".")[0], cells)
            return
        run = _run_of(line, cells, self._clock)
        if run is None:
            self._never_ran += 1
            return
        key = raw, run.start
        self._runs[key] = run
        self._latest[raw] = key

    def _take_step(self, job: str, cells: Cells) -> None:
        key, joules = self._latest.get(job), _joules(cells)
        if key is None or joules is None:
            return
        run = self._runs[key]
        if run.joules is None or (key in self._by_steps and joules > run.joules):
            self._by_steps.add(key)
            self._runs[key] = replace(run, joules=joules)

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self._clock.lacks_zone:
            notes.append("times have no zone and count as UTC (SLURM_TIME_FORMAT=%s avoids this)")
        if running := sum(run.is_running for run in self._runs.values()):
            notes.append(f"{running:,} jobs still run, and count until now")
        if self._never_ran:
            notes.append(f"{self._never_ran:,} jobs never ran")
        if self._malformed:
            notes.append(f"{len(self._malformed):,} malformed lines are left out; {self._malformed[0]}")
        return tuple(notes)


def _run_of(line: int, cells: Cells, clock: SlurmClock) -> UsedSpan | None:
    state = read_cell(cells, "State", slurm.state)
    phase = slurm.PHASE_OF[state]
    start = read_cell(cells, "Start", clock.seconds)
    end = None if start is None else _end(cells, start, clock)
    if start is None or (phase is JobPhase.WAITS and (end is None or end == start or state == "PENDING")):
        return None
    if end is None:
        raise ValueError(f"neither ElapsedRaw nor End, but the job is {state}")
    if end <= start:
        return None
    allocated = read_cell(cells, "AllocTRES", slurm.tres) if "AllocTRES" in cells else slurm.Tres()
    cores = allocated.amounts.get(CORES) or _whole(cells, ("AllocCPUS", "NCPUS", "ReqCPUS"))
    cpu_s = _cpu_seconds(cells)
    return UsedSpan(
        line=line,
        job=first_cell(cells, ("JobID", "JobIDRaw")),
        user=first_cell(cells, TEXTS["user"]),
        account=cells.get("Account", ""),
        partition=cells.get("Partition", ""),
        start=start,
        end=end,
        nodes=allocated.nodes or _whole(cells, ("AllocNodes", "NNodes")),
        amounts={**allocated.amounts, CORES: cores},
        places=_places(cells),
        joules=_joules(cells),
        cpu_s=cpu_s,
        is_running=phase in {JobPhase.RUNS, JobPhase.SUSPENDED} and cells.get("End", "") in UNSTATED,
    )


def _end(cells: Cells, start: int, clock: SlurmClock) -> int | None:
    if cells.get("ElapsedRaw", "") not in UNSTATED:
        return start + read_cell(cells, "ElapsedRaw", lambda text: whole_number(text, 0, LARGEST))
    if cells.get("Elapsed", "") not in UNSTATED:
        return start + read_cell(cells, "Elapsed", slurm.span)
    return read_cell(cells, "End", clock.seconds) if "End" in cells else None


def _whole(cells: Cells, names: tuple[str, ...]) -> int:
    return next((read_cell(cells, name, slurm.count) for name in names if cells.get(name, "") not in UNSTATED), 0)


def _places(cells: Cells) -> tuple[str, ...]:
    text = cells.get(NODE_LIST, "")
    return () if text in NO_NODES else read_cell(cells, NODE_LIST, _names)


@lru_cache(maxsize=1 << 14)
def _names(text: str) -> tuple[str, ...]:
    return tuple(names_of(text))


def _joules(cells: Cells) -> float | None:
    """Slurm writes 0 if no sensor exists."""
    of_job = [part[7:] for part in cells.get("AllocTRES", "").split(",") if part.startswith("energy=")]
    for text in (cells.get(ENERGY, ""), *of_job):
        if text not in UNSTATED and 0 < (found := read_cell({ENERGY: text}, ENERGY, _WHOLE)) < _UNSET_JOULES:
            return float(found)
    return None


def _cpu_seconds(cells: Cells) -> float | None:
    """Only steps have CPU time: `sacct -X` writes 0."""
    text = cells.get(CPU_TIME, "")
    if text in UNSTATED:
        return None
    whole, _, part = text.partition(".")
    found = read_cell({CPU_TIME: whole}, CPU_TIME, slurm.span) + (decimal_number(f"0.{part}") if part else 0.0)
    return found or None
