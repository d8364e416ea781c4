"""Reads Slurm's jobs: sacct's text or JSON, and squeue's JSON. Rules: docs/formats.md.

Running jobs without end: see `build_trace`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.errors import InputError
from dardis.model.numbers import whole_number
from dardis.model.resources import CORES, MEMORY
from dardis.workload import slurm_texts as slurm
from dardis.workload.csv_trace import expand_arrays, processors
from dardis.workload.slurm_cells import REQUIRED, TEXTS, first_cell, read_cell, slurm_lines
from dardis.workload.slurm_texts import UNSTATED, JobPhase, OtherClockError, SlurmClock, Tres
from dardis.workload.trace import LARGEST, UNKNOWN, Skipped, Trace, build_trace

STEP = "a step of a job (sacct -X leaves them out)"
_ALLOCATED = ("AllocTRES", "AllocCPUS", "NCPUS", "AllocNodes", "NNodes", "ReqTRES", "ReqCPUS", "ReqNodes")
_REQUESTED = ("ReqTRES", "ReqCPUS", "ReqNodes", "NNodes", "NCPUS", "AllocTRES", "AllocCPUS", "AllocNodes")
"""Sources of cores and nodes, by precedence."""


class _SacctRow(NamedTuple):
    line: int
    key: str
    """Common to a job's lines."""
    number: int
    """`UNKNOWN` for array tasks without own number."""
    members: int
    submit: int
    wait: int
    runtime: int
    walltime: int
    est: int
    nodes: int
    amounts: Mapping[str, int]
    """Of the whole job."""
    texts: tuple[str, ...]
    phase: JobPhase
    is_part: bool
    never_ran: str
    """Reason, or empty."""
    is_held: bool
    """Pending, but not for resources."""
    outgrown: bool


def parse_sacct(path: Path, text: str, *, strict: bool) -> Trace:
    """Read sacct's or squeue's jobs. Invalid lines are skipped."""
    table = slurm_lines(path, text)
    clock = SlurmClock()
    rows: list[_SacctRow] = []
    problems: list[Skipped] = []
    for line, cells in table.lines:
        try:
            rows.append(_row(line, cells(), clock))
        except _StepError:
            problems.append(Skipped(line, STEP, malformed=False))
        except ValueError as error:
            problems.append(Skipped(line, str(error), malformed=True))
        except OtherClockError as error:
            raise InputError(f"{path}:{line}", str(error), "one clock in one file (SLURM_TIME_FORMAT=%s)") from None
    rows = _last_runs(rows, problems)
    problems += [Skipped(row.line, row.never_ran, malformed=False) for row in rows if row.never_ran]
    rows = [row for row in rows if not row.never_ran]
    return _built(path, rows, problems, clock, strict=strict, has_nodes=table.has_nodes)


class _StepError(Exception):
    """The line is a job step."""


def _row(line: int, cells: Mapping[str, str], clock: SlurmClock) -> _SacctRow:
    shown = [read_cell(cells, name, slurm.job_name) for name in REQUIRED[0] if name in cells]
    if any(name.is_step for name in shown):
        raise _StepError
    number = shown[0].number
    state = read_cell(cells, "State", slurm.state)
    phase = slurm.PHASE_OF[state]
    submit, start = (read_cell(cells, name, clock.seconds) for name in ("Submit", "Start"))
    end, eligible = (read_cell(cells, name, clock.seconds) if name in cells else None for name in ("End", "Eligible"))
    if outgrown := state == slurm.RESIZING and end is not None:
        phase = JobPhase.ENDED
    if submit is None:
        raise ValueError(f"Submit: {cells['Submit']!r} is not a time")
    if phase is JobPhase.WAITS:
        start = None  # a planned start, if any
    elif phase is not JobPhase.ENDED and start is None:
        raise ValueError(f"Start: {cells['Start']!r} is not a time, but the job is {state}")
    never_ran, runtime = _run(cells, state, start, end) if phase is JobPhase.ENDED else ("", UNKNOWN)
    has = _job_resources(cells, _REQUESTED if start is None else _ALLOCATED)
    pending = next((name.pending for name in shown if name.pending is not None), None)
    return _SacctRow(
        line=line,
        key=first_cell(cells, REQUIRED[0]) if number is None else str(number),
        number=UNKNOWN if number is None else number,
        members=1 if pending is None or phase is not JobPhase.WAITS else slurm.pending_members(pending),
        submit=submit,
        wait=UNKNOWN if start is None else max(start - submit, 0),
        runtime=runtime,
        walltime=_walltime(cells),
        est=submit if eligible is None else max(eligible, submit),
        nodes=has.nodes,
        amounts=has.amounts,
        texts=tuple(first_cell(cells, names) for names in TEXTS.values()),
        phase=phase,
        is_part=any(name.is_part for name in shown),
        never_ran=never_ran,
        is_held=phase is JobPhase.WAITS and "Eligible" in cells and eligible is None,
        outgrown=outgrown,
    )


def _run(cells: Mapping[str, str], state: str, start: int | None, end: int | None) -> tuple[str, int]:
    elapsed = _elapsed(cells)
    if elapsed is None and start is not None:
        if end is None:
            raise ValueError(f"{'End' if 'End' in cells else 'Elapsed'}: not stated, but the job is {state}")
        if end < start:
            raise ValueError("End: before Start")
        elapsed = end - start
    if not elapsed and (start is None or state == "CANCELLED"):
        return f"{state} before it ran", UNKNOWN
    return "", elapsed or 0


def _elapsed(cells: Mapping[str, str]) -> int | None:
    if cells.get("ElapsedRaw", "") not in UNSTATED:
        return read_cell(cells, "ElapsedRaw", lambda text: whole_number(text, 0, LARGEST))
    return None if cells.get("Elapsed", "") in UNSTATED else read_cell(cells, "Elapsed", slurm.span)


def _walltime(cells: Mapping[str, str]) -> int:
    if "TimelimitRaw" in cells:
        return read_cell(cells, "TimelimitRaw", slurm.raw_limit)
    return read_cell(cells, "Timelimit", slurm.limit) if "Timelimit" in cells else UNKNOWN


def _job_resources(cells: Mapping[str, str], sources: Sequence[str]) -> Tres:
    nodes = cores = 0
    amounts: Mapping[str, int] = {}
    for name in sources:
        text = cells.get(name, "")
        if text in UNSTATED:
            continue
        if name.endswith("TRES"):
            found = read_cell(cells, name, slurm.tres)
            amounts = amounts or found.amounts
            nodes, cores = nodes or found.nodes, cores or found.amounts.get(CORES, 0)
        elif name.endswith("odes"):
            stated = read_cell(cells, name, slurm.count)
            # Slurm's request of a job with tasks only names one node, and its estimate the nodes that it needs.
            nodes = max(nodes, stated) if sources is _REQUESTED else nodes or stated
        else:
            cores = cores or read_cell(cells, name, slurm.count)
    # Allocated resources always have a type; only the request shows whether the job needs the type.
    asked = read_cell(cells, "ReqTRES", slurm.typed) if amounts and "ReqTRES" in cells else {}
    types = {of_type: min(amount, amounts[kind]) for of_type, (kind, amount) in asked.items() if kind in amounts}
    return Tres(nodes, {**types, **amounts, CORES: cores})


def _last_runs(rows: list[_SacctRow], problems: list[Skipped]) -> list[_SacctRow]:
    last: dict[str, _SacctRow] = {}
    for row in rows:
        if row.key not in last or _later(row) >= _later(last[row.key]):
            last[row.key] = row
    for row in rows:
        if (counts := last[row.key]) is not row:
            what, since = ("a part", "changed its size") if row.outgrown else ("an earlier run", "was queued again")
            reason = f"{what} of job {row.key}, which {since}; line {counts.line} replaces it"
            problems.append(Skipped(row.line, reason, malformed=False))
    return [row for row in rows if last[row.key] is row]


def _later(row: _SacctRow) -> tuple[int, bool]:
    return row.submit, not row.outgrown


def _built(
    path: Path, rows: list[_SacctRow], problems: list[Skipped], clock: SlurmClock, *, strict: bool, has_nodes: bool
) -> Trace:  # fmt: skip
    sizes = np.array([row.members for row in rows], dtype=np.int64)
    number, first_given = _numbers(rows, sizes)
    columns = expand_arrays(_columns(rows, has_nodes=has_nodes), sizes) | {"number": number}
    suspended = np.repeat([row.phase is JobPhase.SUSPENDED for row in rows], sizes).astype(bool)
    lines = np.repeat([row.line for row in rows], sizes)
    trace = build_trace(path, lines, columns, problems, strict=strict, suspended=suspended)
    notes = []
    if clock.lacks_zone:
        notes.append("times have no zone and count as UTC (SLURM_TIME_FORMAT=%s avoids this)")
    if parts := sum(row.is_part for row in rows):
        notes.append(f"{parts} parts of heterogeneous jobs are separate jobs that may start separately")
    if held := sum(row.members for row in rows if row.is_held):
        notes.append(f"{held} waiting jobs are held or wait for other jobs, but count as startable")
    if given := len(number) - sum(row.number != UNKNOWN for row in rows):
        notes.append(f"{given} array members have numbers from {first_given}, since the file states none")
    return replace(trace, notes=tuple(notes))


def _numbers(rows: list[_SacctRow], sizes: Ints) -> tuple[Ints, int]:
    stated = np.array([row.number for row in rows], dtype=np.int64)
    numbers = np.full(int(sizes.sum()), UNKNOWN, dtype=np.int64)
    numbers[np.cumsum(sizes) - sizes] = stated
    lacking = numbers == UNKNOWN
    first = int(stated[stated <= LARGEST].max(initial=0)) + 1
    numbers[lacking] = first + np.arange(lacking.sum())
    return numbers, first


def _columns(rows: list[_SacctRow], *, has_nodes: bool) -> dict[str, Any]:
    columns: dict[str, Any] = {
        name: np.array([getattr(row, name) for row in rows], dtype=np.int64)
        for name in ("number", "submit", "wait", "runtime", "walltime", "est")
    }
    for place, name in enumerate(TEXTS):
        columns[name] = np.array([row.texts[place] for row in rows], dtype=object)
    cores = np.array([row.amounts[CORES] for row in rows], dtype=np.int64)
    if not has_nodes:
        return columns | {"procs": cores, "request": {}}
    units = np.where(cores > 0, np.array([row.nodes for row in rows], dtype=np.int64), 0)
    request = {}
    for kind in _kinds(rows):
        amounts = np.array([row.amounts.get(kind, 0) for row in rows], dtype=np.int64)
        request[kind] = -(-amounts // np.maximum(units, 1))
    return columns | {"units": units, "request": request, "procs": processors(units, request)}


def _kinds(rows: list[_SacctRow]) -> list[str]:
    found = {kind for row in rows for kind, amount in row.amounts.items() if amount}
    return [CORES, *({MEMORY} & found), *sorted(found - {CORES, MEMORY})]
