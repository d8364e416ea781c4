"""Trace's recorded starts as a row of the comparison.

Jobs are placed by best fit in start order. More jobs than cores: another machine's trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from dardis.comparison.planned_runs import PlannedRun
from dardis.config.comparison_spec import RECORDED, ComparisonRequest, TraceSpec
from dardis.metrics.audit import audit
from dardis.metrics.comparison_rows import RunResult
from dardis.metrics.job_metrics import job_metrics
from dardis.metrics.jobs_csv import write_jobs
from dardis.metrics.system import core_utilisation, trimmed
from dardis.model.arrays import Ints
from dardis.model.capacity import could_hold
from dardis.model.files import InputFiles
from dardis.model.job import NO_TIME, ActualJob, Status
from dardis.model.node_sets import units_in
from dardis.model.placements import Placements, offsets_of
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.runs.inputs import Inputs, load_inputs
from dardis.workload.trace import UNKNOWN

FOLDER: Final = "recorded"
_FIGURES: Final = (
    "jobs", "completed", "killed", "makespan_s", "total_wait_s", "mean_wait_s", "median_wait_s",
    "p95_wait_s", "p99_wait_s", "max_wait_s", "sd_wait_s", "mean_slowdown", "mean_bounded_slowdown",
    "median_bounded_slowdown", "p99_bounded_slowdown", "mean_user_bounded_slowdown",
)  # fmt: skip

_MOST_WITHOUT: Final = 0.01
NO_PLACES: Final[Mapping[int, Sequence[int]]] = MappingProxyType({})


@dataclass(frozen=True)
class RecordedResult:
    """Result row and a note on its validity."""

    result: RunResult
    note: str


def recorded_result(
    comparison: ComparisonRequest, workload: TraceSpec, out: Path, files: InputFiles
) -> RecordedResult | None:
    """Recorded starts; None if too many fitting jobs lack a wait.

    Writes `out/recorded/TRACE/jobs.csv`.
    """
    who = comparison.contenders[0]  # any contender: the jobs are equal
    inputs = load_inputs(PlannedRun(workload, who, comparison.options.seeds[0], out).request(), files)
    part = inputs.selection.select_from(inputs.sources.trace)
    waits = dict(zip(part.number.tolist(), part.wait.tolist(), strict=True))
    runtimes = dict(zip(part.number.tolist(), part.runtime.tolist(), strict=True))
    machine = inputs.platform
    fit = [job for job in inputs.jobs if _fits(job, machine)]
    jobs = [job for job in fit if waits.get(job.number, UNKNOWN) != UNKNOWN]
    if not jobs or len(fit) - len(jobs) > _MOST_WITHOUT * len(fit):
        return None
    start = np.array([job.submit + waits[job.number] for job in jobs], dtype=np.int64)
    run = np.array([runtimes[job.number] for job in jobs], dtype=np.int64)
    schedule, without = recorded_schedule(jobs, start, run, machine)
    counted, window = trimmed(schedule, inputs.trim)
    metrics = {key: value for key, value in job_metrics(schedule, counted).items() if key in _FIGURES}
    stated = dict(zip(part.number.tolist(), part.procs.tolist(), strict=True)) if part.counts_processors else {}
    cores = np.array([stated.get(job.number, job.units * job.request[0]) for job in jobs], dtype=np.int64)
    held = replace(schedule, units=cores, request=np.eye(1, len(machine.kinds), dtype=np.int64).repeat(len(jobs), 0))
    metrics["utilisation"] = core_utilisation(held, machine, window)
    folder = out / FOLDER / workload.name
    folder.mkdir(parents=True, exist_ok=True)
    write_jobs(schedule, folder / "jobs.csv", workload.trace.name)
    result = RunResult(workload.name, RECORDED, RECORDED, (), 0, folder, metrics, central=True, seeded=False)
    verdict = _overload_text(workload, schedule, cores, machine) or _verdict(workload, schedule, without, machine)
    return RecordedResult(result, f"{verdict}{_deviation_note(inputs, jobs, run)}.")


def _fits(job: ActualJob, machine: Platform) -> bool:
    """Whether the empty machine holds a job; False for unequal units."""
    if job.job.requests:
        return False
    return could_hold(job.job, machine.sets, distinct=False) >= job.units


Places = Mapping[int, Sequence[int]]


def recorded_schedule(
    jobs: Sequence[ActualJob], start: Ints, run: Ints, machine: Platform, places: Places = NO_PLACES
) -> tuple[Schedule, list[int]]:
    """Schedule of jobs with recorded starts and runtimes, s, and indices of jobs without a place.

    `places`: nodes by job number, one unit on each.
    """
    placed, without = _place_jobs(jobs, start, start + run, machine, places)
    return _schedule(jobs, start, run, placed, machine), without


def _place_jobs(
    jobs: Sequence[ActualJob], start: Ints, end: Ints, machine: Platform, places: Places
) -> tuple[Placements, list[int]]:
    free = machine.capacity.copy()
    running: list[tuple[int, int, Ints, Ints]] = []
    found: list[tuple[Ints, Ints]] = [(np.empty(0, dtype=np.int64),) * 2] * len(jobs)
    without = []
    for place in np.lexsort((np.array([job.number for job in jobs]), start)).tolist():
        job = jobs[place]
        while running and running[0][0] <= start[place]:
            _, gone, nodes, units = heappop(running)
            free[nodes] += units[:, None] * np.array(jobs[gone].request)
        if len(known := places.get(job.number, ())) == job.units:
            nodes, units = np.sort(np.array(known, dtype=np.int64)), np.ones(job.units, dtype=np.int64)
            free[nodes] -= np.array(job.request)
            heappush(running, (int(end[place]), place, nodes, units))
            found[place] = nodes, units
            continue
        rooms = np.where(machine.sets.nodes(job.job.groups), np.maximum(units_in(free, job.request), 0), 0)
        some = np.flatnonzero(rooms > 0)
        if int(rooms[some].sum()) < job.units:
            without.append(place)
            continue
        some = some[np.lexsort((some, free[some, 0]))]
        before = np.cumsum(rooms[some]) - rooms[some]
        units = np.minimum(rooms[some], job.units - before)
        nodes, units = some[units > 0], units[units > 0]
        order = np.argsort(nodes)
        nodes, units = nodes[order], units[order]
        free[nodes] -= units[:, None] * np.array(job.request)
        heappush(running, (int(end[place]), place, nodes, units))
        found[place] = nodes, units
    offsets = offsets_of(np.array([len(nodes) for nodes, _ in found], dtype=np.int64))
    nodes, units = (np.concatenate(column) for column in zip(*found, strict=True))
    return Placements(offsets, nodes, units), without


def _schedule(jobs: Sequence[ActualJob], start: Ints, run: Ints, placed: Placements, machine: Platform) -> Schedule:
    submit = np.array([job.submit for job in jobs], dtype=np.int64)
    return Schedule(
        kinds=machine.kinds,
        number=np.array([job.number for job in jobs], dtype=np.int64),
        submit=submit,
        earliest=submit,
        latest=np.full(len(jobs), NO_TIME, dtype=np.int64),
        walltime=np.maximum(run, [job.walltime for job in jobs]),
        units=np.array([job.units for job in jobs], dtype=np.int64),
        request=np.array([job.request for job in jobs], dtype=np.int64),
        status=np.full(len(jobs), Status.COMPLETED, dtype=np.int8),
        start=start,
        finish=start + run,
        attempts=np.ones(len(jobs), dtype=np.int64),
        placed=placed,
        queue=[job.job.queue for job in jobs],
        user=[job.job.user for job in jobs],
    )


def _overload_text(workload: TraceSpec, schedule: Schedule, cores: Ints, machine: Platform) -> str:
    ran = schedule.finish > schedule.start
    times = np.concatenate([schedule.start[ran], schedule.finish[ran]])
    steps = np.concatenate([cores[ran], -cores[ran]])
    order = np.lexsort((steps, times))
    held = np.cumsum(steps[order])
    over = np.flatnonzero(held > machine.cores)
    if not len(over):
        return ""
    when = times[order][over[0]]
    return (
        f"The recorded starts of {workload.name} do not pass the audit on this platform: their jobs use up to "
        f"{held.max():,} of its {machine.cores:,} cores, too many first at {when} s"
    )


def _verdict(workload: TraceSpec, schedule: Schedule, without: list[int], machine: Platform) -> str:
    who = f"The recorded starts of {workload.name}"
    if without:
        first = f"job {schedule.number[without[0]]} at {schedule.start[without[0]]} s"
        return (
            f"{who}: best fit found no place for {len(without):,} of {len(schedule.number):,} on this platform, the "
            f"first of them {first}; another placement may"
        )
    if found := audit(schedule, machine, reserved=False):
        return f"{who} do not pass the audit on this platform ({len(found):,} findings): {found[0]}"
    return f"{who}, put on nodes by best fit, pass the audit on this platform"


def _deviation_note(inputs: Inputs, jobs: list[ActualJob], run: Ints) -> str:
    left = len(inputs.jobs) - len(jobs)
    longer = int(np.count_nonzero(run > np.array([job.walltime for job in jobs])))
    told = []
    if left:
        told.append(f"{_jobs(left)} left out, since they do not fit this machine or their waits are unknown")
    if longer:
        told.append(f"{_jobs(longer)} ran beyond their walltimes, at which dispatchers kill them")
    if inputs.rounding.cores:
        told.append(f"equal units need {inputs.rounding.cores:,} more cores than requested, which do not count as used")
    return f" ({'; '.join(told)})" if told else ""


def _jobs(count: int) -> str:
    return f"{count:,} job{'s' * (count != 1)}"
