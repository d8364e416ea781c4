"""Writes a run as Batsim writes its own: `PREFIX_jobs.csv` and `PREFIX_schedule.csv`, with its columns and their order.

A resource is a core, numbered as `dardis.metrics.cores` has it, so that what jobs ask for and what they get agree.
Figures that nobody knows are -1 for a job's energy, 0 for the machine's (as Batsim has them without its energy model),
and empty for the time that simulating took.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis import __version__
from dardis.metrics.cores import core_sets
from dardis.model.cells import as_cell
from dardis.model.downtime import Downtime
from dardis.model.errors import InputError
from dardis.model.files import atomic_text
from dardis.model.job import Status
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.report.run_files import RunFiles, read_run

COLUMNS: Final = (
    "job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources", "requested_time",
    "success", "final_state", "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time",
    "stretch", "allocated_resources", "consumed_energy", "metadata",
)  # fmt: skip
_JOULES_PER_KWH: Final = 3.6e6


def write_batsim_files(folder: Path, prefix: Path) -> tuple[Path, Path]:
    """Write both files of the run in a folder, and return their paths. Raises InputError and OSError."""
    run = read_run(folder)
    jobs, figures = (prefix.with_name(f"{prefix.name}_{what}.csv") for what in ("jobs", "schedule"))
    if not prefix.parent.is_dir():
        raise InputError("--batsim", f"{prefix.parent} is no folder", "PREFIX in a folder that exists")
    _write_jobs(jobs, run)
    told = schedule_figures(run.schedule, run.platform, run.metrics, run.downtime)
    with atomic_text(figures) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([sorted(told), [told[name] for name in sorted(told)]])
    return jobs, figures


def _write_jobs(path: Path, run: RunFiles) -> None:
    """One row a job, in the order of the trace."""
    schedule = run.schedule
    try:
        sets = core_sets(schedule, run.platform)
    except ValueError as error:
        raise InputError("jobs.csv", f"an illegal schedule ({error})", "one that passes dardis audit") from None
    workload = as_cell(Path(run.run.trace).name if run.run.trace else "")
    columns = (
        schedule.number, schedule.submit, schedule.asked_of(CORES), schedule.walltime, schedule.status, schedule.start,
        schedule.finish,
    )  # fmt: skip
    with atomic_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for (number, submit, cores, walltime, status, start, finish), cores_had in zip(
            zip(*(column.tolist() for column in columns), strict=True), sets, strict=True
        ):
            ran = status != Status.REJECTED
            length = finish - start
            stretch = (finish - submit) / length if ran and length else None
            times = (start, length, finish, start - submit, finish - submit, stretch) if ran else (None,) * 6
            writer.writerow(
                [
                    number, workload, f"delay-{length}" if ran else "", _decimal(submit), cores, _decimal(walltime),
                    int(status == Status.COMPLETED), _state(status, length >= walltime), *map(_decimal, times),
                    cores_had, _decimal(-1) if ran else "", "",
                ]
            )  # fmt: skip


def _decimal(value: float | None) -> str:
    """A number as Batsim writes it."""
    return "" if value is None else f"{value:.6f}"


def _state(status: int, reached: bool) -> str:
    """What Batsim calls how a job ended; `reached`: it ran for its whole walltime."""
    match Status(status):
        case Status.COMPLETED:
            return "COMPLETED_SUCCESSFULLY"
        case Status.KILLED:
            return "COMPLETED_WALLTIME_REACHED" if reached else "COMPLETED_KILLED"
        case _:
            return "REJECTED"


def schedule_figures(
    schedule: Schedule, platform: Platform, metrics: dict[str, Any], downtime: Downtime | None
) -> dict[str, object]:
    """The columns of `_schedule.csv` (s; of cores): sums over those that ran over all jobs, as Batsim has its means.

    Times of cores count from the first submission to the last end.
    """
    ran, count = schedule.ran, len(schedule.number)
    submit, start, finish = schedule.submit[ran], schedule.start[ran], schedule.finish[ran]
    length, turnaround, wait = finish - start, finish - submit, start - submit
    slowdown = turnaround / np.maximum(length, 1)
    begin, end = int(schedule.submit.min(initial=0 if not count else 1 << 60)), int(finish.max(initial=0))
    computing = float((schedule.asked_of(CORES)[ran] * length).sum())
    down = downtime or Downtime.none()
    cores = platform.capacity[down.node, platform.kinds.index(CORES)]
    sleeping = float((np.maximum(np.minimum(down.up, end) - np.maximum(down.down, begin), 0) * cores).sum())
    switches = np.concatenate([down.down, down.up[down.up <= end]])
    success = int((schedule.status == Status.COMPLETED).sum())
    energy = metrics.get("energy_kwh")
    spans = {"waiting_time": wait, "turnaround_time": turnaround, "slowdown": slowdown}
    return {
        "batsim_version": f"dardis {__version__}",
        "consumed_joules": _decimal((energy or 0) * _JOULES_PER_KWH),
        "makespan": _decimal(end),
        **{f"max_{name}": _decimal(values.max(initial=0)) for name, values in spans.items()},
        **{f"mean_{name}": _decimal(values.sum() / max(count, 1)) for name, values in spans.items()},
        "nb_computing_machines": platform.cores,
        "nb_grouped_switches": len(np.unique(switches)),
        "nb_jobs": count,
        "nb_jobs_finished": int(ran.sum()),
        "nb_jobs_killed": int(ran.sum()) - success,
        "nb_jobs_rejected": count - int(ran.sum()),
        "nb_jobs_success": success,
        "nb_machine_switches": len(switches),
        "scheduling_time": _decimal(metrics.get("decision_cpu_s") or 0),
        "simulation_time": "",
        "success_rate": _decimal(success / max(count, 1)),
        "time_computing": _decimal(computing),
        "time_idle": _decimal(max(platform.cores * max(end - begin, 0) - computing - sleeping, 0)),
        "time_sleeping": _decimal(sleeping),
        "time_switching_off": _decimal(0),
        "time_switching_on": _decimal(0),
        "time_unavailable": _decimal(0),
    }
