"""Writes a run as Batsim's `PREFIX_jobs.csv` and `PREFIX_schedule.csv`.

Resources: cores of `dardis.metrics.cores`. Unknown: -1 (job's energy), 0 (machine's), empty (simulation time).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis import __version__
from dardis.metrics.cores import core_sets
from dardis.model.csv_table import REAL, TEXT, WHOLE, WORD, Column, CsvTable
from dardis.model.errors import InputError
from dardis.model.job import Status
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.model.schedule import Downtime, Schedule
from dardis.report.run_files import RunFiles, read_run

_FORM: Final = ".6f"
JOBS: Final = CsvTable(
    "_jobs.csv",
    Column("job_id", WHOLE, "number of the job"),
    Column("workload_name", TEXT, "name of the trace"),
    Column("profile", WORD, "`delay-` and the runtime"),
    Column("submission_time", REAL, "submission", "s", _FORM),
    Column("requested_number_of_resources", WHOLE, "cores"),
    Column("requested_time", REAL, "walltime", "s", _FORM),
    Column("success", WHOLE, "1 completed, 0 killed or rejected"),
    Column("final_state", WORD, "`COMPLETED_SUCCESSFULLY`, `COMPLETED_WALLTIME_REACHED` (killed at its walltime), "
           "`COMPLETED_KILLED` (before) or `REJECTED`"),
    Column("starting_time", REAL, "start", "s", _FORM),
    Column("execution_time", REAL, "runtime", "s", _FORM),
    Column("finish_time", REAL, "end", "s", _FORM),
    Column("waiting_time", REAL, "start less submission", "s", _FORM),
    Column("turnaround_time", REAL, "end less submission", "s", _FORM),
    Column("stretch", REAL, "turnaround time over runtime", "", _FORM),
    Column("allocated_resources", WORD, "cores as an interval set"),
    Column("consumed_energy", REAL, "-1 for unknown", "J", _FORM),
    Column("metadata", WORD, "empty"),
)  # fmt: skip
SCHEDULE: Final = CsvTable(
    "_schedule.csv",
    Column("batsim_version", WORD, "`dardis` and its version"),
    Column("consumed_joules", REAL, "energy of IT; 0 if unknown", "J", _FORM),
    Column("makespan", REAL, "time of the last end", "s", _FORM),
    *(Column(f"{what}_{name}", REAL, meaning, unit, _FORM)
      for what, meaning in (("max", "maximum over all jobs"), ("mean", "sum over those that ran, over all jobs"))
      for name, unit in (("slowdown", ""), ("turnaround_time", "s"), ("waiting_time", "s"))),
    Column("nb_computing_machines", WHOLE, "cores of the machine"),
    Column("nb_grouped_switches", WHOLE, "number of times at which nodes are switched"),
    Column("nb_jobs", WHOLE, "jobs"),
    Column("nb_jobs_finished", WHOLE, "jobs that ran"),
    Column("nb_jobs_killed", WHOLE, "jobs that were killed"),
    Column("nb_jobs_rejected", WHOLE, "jobs that were rejected"),
    Column("nb_jobs_success", WHOLE, "jobs that completed"),
    Column("nb_machine_switches", WHOLE, "number of node switches"),
    Column("scheduling_time", REAL, "CPU time of decisions", "s", _FORM),
    Column("simulation_time", WORD, "empty"),
    Column("success_rate", REAL, "completed jobs over all", "", _FORM),
    *(Column(f"time_{name}", REAL, meaning, "core-seconds", _FORM) for name, meaning in (
        ("computing", "used by jobs"),
        ("idle", "neither used by jobs nor off, from the first submission to the last end"),
        ("sleeping", "down nodes"),
        ("switching_off", "0, since `time_sleeping` includes it"),
        ("switching_on", "0, since `time_sleeping` includes it"),
        ("unavailable", "0"),
    )),
)  # fmt: skip
_JOULES_PER_KWH: Final = 3.6e6


def write_batsim_files(folder: Path, prefix: Path) -> tuple[Path, Path]:
    """Write both files; return their paths. Raises InputError and OSError."""
    run = read_run(folder)
    if not prefix.name:
        raise InputError("--batsim", f"{prefix} names no file", "PREFIX in a folder that exists")
    jobs, figures = (prefix.with_name(f"{prefix.name}_{what}.csv") for what in ("jobs", "schedule"))
    if not prefix.parent.is_dir():
        raise InputError("--batsim", f"{prefix.parent} is not a folder", "PREFIX in a folder that exists")
    _write_jobs(jobs, run)
    told = schedule_figures(run.schedule, run.platform, run.metrics, run.downtime)
    SCHEDULE.write(figures, [[told[name] for name in SCHEDULE.names]])
    return jobs, figures


def _write_jobs(path: Path, run: RunFiles) -> None:
    schedule = run.schedule
    try:
        sets = core_sets(schedule, run.platform)
    except ValueError as error:
        raise InputError("jobs.csv", f"an illegal schedule ({error})", "one that passes dardis audit") from None
    workload = Path(run.run.trace).name if run.run.trace else ""
    columns = (
        schedule.number, schedule.submit, schedule.requested_total(CORES), schedule.walltime, schedule.status,
        schedule.start,
        schedule.finish,
    )  # fmt: skip

    def rows() -> Iterator[list[Any]]:
        for (number, submit, cores, walltime, status, start, finish), cores_had in zip(
            zip(*(column.tolist() for column in columns), strict=True), sets, strict=True
        ):
            ran = status != Status.REJECTED
            length = finish - start
            stretch = (finish - submit) / length if ran and length else None
            times = (start, length, finish, start - submit, finish - submit, stretch) if ran else (None,) * 6
            yield [
                number, workload, f"delay-{length}" if ran else "", submit, cores, walltime,
                int(status == Status.COMPLETED), _state(status, length >= walltime), *times, cores_had,
                -1 if ran else None, "",
            ]  # fmt: skip

    JOBS.write(path, rows())


def _state(status: int, reached: bool) -> str:
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
    """Columns of `_schedule.csv` (s, cores); means divide by all jobs, as in Batsim.

    Core times count from first submission to last end.
    """
    ran, count = schedule.ran, len(schedule.number)
    submit, start, finish = schedule.submit[ran], schedule.start[ran], schedule.finish[ran]
    length, turnaround, wait = finish - start, finish - submit, start - submit
    slowdown = turnaround / np.maximum(length, 1)
    begin, end = int(schedule.submit.min(initial=0 if not count else 1 << 60)), int(finish.max(initial=0))
    computing = float((schedule.requested_total(CORES)[ran] * length).sum())
    down = downtime or Downtime.none()
    cores = platform.capacity[down.node, platform.kinds.index(CORES)]
    sleeping = float((np.maximum(np.minimum(down.up, end) - np.maximum(down.down, begin), 0) * cores).sum())
    switches = np.concatenate([down.down, down.up[down.up <= end]])
    success = int((schedule.status == Status.COMPLETED).sum())
    energy = metrics.get("energy_kwh")
    spans = {"waiting_time": wait, "turnaround_time": turnaround, "slowdown": slowdown}
    return {
        "batsim_version": f"dardis {__version__}",
        "consumed_joules": (energy or 0) * _JOULES_PER_KWH,
        "makespan": end,
        **{f"max_{name}": values.max(initial=0) for name, values in spans.items()},
        **{f"mean_{name}": values.sum() / max(count, 1) for name, values in spans.items()},
        "nb_computing_machines": platform.cores,
        "nb_grouped_switches": len(np.unique(switches)),
        "nb_jobs": count,
        "nb_jobs_finished": int(ran.sum()),
        "nb_jobs_killed": int(ran.sum()) - success,
        "nb_jobs_rejected": count - int(ran.sum()),
        "nb_jobs_success": success,
        "nb_machine_switches": len(switches),
        "scheduling_time": metrics.get("decision_cpu_s") or 0,
        "simulation_time": "",
        "success_rate": success / max(count, 1),
        "time_computing": computing,
        "time_idle": max(platform.cores * max(end - begin, 0) - computing - sleeping, 0),
        "time_sleeping": sleeping,
        "time_switching_off": 0,
        "time_switching_on": 0,
        "time_unavailable": 0,
    }
