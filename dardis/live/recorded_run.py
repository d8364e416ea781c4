"""Live service's history as a folder of `dardis simulate`, with a trace for plans."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis import __version__
from dardis.config.platform_record import platform_from_dict
from dardis.engine.clock import utc_now
from dardis.live.client import is_over
from dardis.live.job_option_texts import UNLIMITED_S
from dardis.live.machine import GPU, MEMORY, SLOTS
from dardis.metrics.job_metrics import write_metrics_by
from dardis.metrics.jobs_csv import write_jobs
from dardis.metrics.system import schedule_metrics, write_profile
from dardis.model.arrays import Ints
from dardis.model.errors import InputError
from dardis.model.files import sha256_of, write_json
from dardis.model.job import NO_TIME, Status
from dardis.model.out_folder import HISTORY_FOLDER, RECORDED_FILE
from dardis.model.placements import Placements, offsets_of
from dardis.model.platform import Platform, platform_to_dict
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.runs.outputs import RUN_FILE
from dardis.workload.csv_trace import table_of

_DAY_S: Final = 86_400
_UNKNOWN_FIGURES: Final = (
    "decision_cpu_s", "decisions", "decision_mean_s", "decision_p99_s", "ranks", "nodes_on_largest_rank", "messages",
    "message_bytes", "renegotiations", "overhead_share",
)  # fmt: skip

Job = Mapping[str, Any]


@dataclass(frozen=True)
class RecordedRun:
    """Ended jobs on the run's clock, and all jobs as rows of a trace."""

    schedule: Schedule
    platform: Platform
    unix_start: int
    """Second 0: midnight (UTC) before the first submission."""
    trace: list[dict[str, object]]
    notes: tuple[str, ...]


def platform_of_jobs(told: Mapping[str, Any]) -> Platform:
    """Service's platform, without additions for its own use."""
    platform = platform_from_dict(told["platform"])
    groups = tuple(
        replace(group, resources={kind: count for kind, count in group.resources.items() if kind != SLOTS})
        for group in platform.groups
    )
    return replace(platform, groups=groups, queues=())


def recorded_run(jobs: Iterable[Job], platform: Platform, names: Sequence[str]) -> RecordedRun:
    """Run of a service's jobs. `names`: nodes of the platform, in order.

    A job that reached its walltime ends there. Raises InputError without jobs.
    """
    nodes = {name: node for node, name in enumerate(names)}
    told = sorted(jobs, key=lambda job: int(job["id"]))
    if not told:
        raise InputError("dardis history --out", "there are no jobs", "a service that has run some")
    start = min(int(job["submitted_ms"]) for job in told) // 1000 // _DAY_S * _DAY_S
    rows = [_Row(job, nodes, platform, start) for job in told if job["started_ms"] is not None or not is_over(job)]
    ended = [row for row in rows if row.has_run and row.run]
    left_out = (
        (len(told) - len(rows), "ended before they began"),
        (sum(row.is_lost for row in rows), "have an unknown end, or ran on nodes that are gone"),
        (sum(row.run == 0 for row in rows), "began and ended in the same second"),
    )
    several = sum(row.has_run and row.job["attempt"] > 1 for row in rows)
    notes = tuple(f"jobs left out, since they {why}: {count}" for count, why in left_out if count)
    if several:
        notes += (f"jobs that ran several times, of which only the last run counts: {several}",)
    if not ended:
        raise InputError("dardis history --out", "no job has run to its end", "a service that has run some")
    trace = [row.trace_row() for row in rows if not row.is_lost and row.run != 0]
    return RecordedRun(_schedule(ended, platform), platform, start, trace, notes)


class _Row:
    def __init__(self, job: Job, nodes: Mapping[str, int], platform: Platform, start: int) -> None:
        self.job = job
        self.submit = int(job["submitted_ms"]) // 1000 - start
        self.earliest = max(self.submit, (job["begin_ms"] or 0) // 1000 - start)
        self.nodes = sorted(nodes[name] for name in job["nodes"] if name in nodes)
        self.request = tuple(_amount(job, kind, self.nodes, platform) for kind in platform.kinds)
        self.kinds = platform.kinds
        begun, ended = job["started_ms"], job["ended_ms"]
        self.start = None if begun is None else max(int(begun) // 1000 - start, self.submit)
        is_known = len(self.nodes) == len(job["nodes"]) and job["state"] != "unknown"
        self.is_lost = ended is not None and not (is_known and self.nodes and self.start is not None)
        self.has_run = ended is not None and not self.is_lost
        self.run = max(int(ended) // 1000 - start - (self.start or 0), 0) if self.has_run else None
        self.is_killed = job["state"] == "timeout"
        self.walltime = int(job["walltime_s"])
        if self.run is not None and not self.is_killed:  # it may have used the time until SIGKILL
            self.walltime = max(1, self.run if self.walltime == UNLIMITED_S else max(self.walltime, self.run))
        elif self.run is not None:
            self.run = max(self.run, self.walltime + 1)

    @property
    def duration(self) -> int:
        return min(self.run or 0, self.walltime)

    def trace_row(self) -> dict[str, object]:
        job = self.job
        return {
            "job_id": job["id"], "submit_s": self.submit, "runtime_s": "" if self.run is None else self.run,
            "walltime_s": self.walltime, "units": job["node_count"],
            **{f"req_{kind}": amount for kind, amount in zip(self.kinds, self.request, strict=True)},
            "wait_s": "" if self.start is None else self.start - self.submit, "queue": job["partition"],
            "user": job["user"], "name": job["name"], "est_s": self.earliest,
        }  # fmt: skip


def _amount(job: Job, kind: str, nodes: Sequence[int], platform: Platform) -> int:
    whole = job["exclusive"] if kind != MEMORY else job["memory_mib"] == 0
    if whole and kind in {CORES, GPU, MEMORY}:
        return int(platform.capacity[nodes or slice(None), platform.kinds.index(kind)].min())
    stated = {CORES: job["cpus"], MEMORY: job["memory_mib"] or 0, GPU: job["gpus"]}
    return int(stated.get(kind, 0))


def _schedule(rows: Sequence[_Row], platform: Platform) -> Schedule:
    def column(value: Callable[[_Row], int]) -> Ints:
        return np.array([value(row) for row in rows], dtype=np.int64)

    submit, start = column(lambda row: row.submit), column(lambda row: row.start or 0)
    counts = column(lambda row: len(row.nodes))
    nodes = np.concatenate([np.array(row.nodes, dtype=np.int64) for row in rows])
    return Schedule(
        kinds=platform.kinds, number=column(lambda row: row.job["id"]), submit=submit,
        earliest=np.minimum(column(lambda row: row.earliest), start),
        latest=np.full(len(rows), NO_TIME, dtype=np.int64), walltime=column(lambda row: row.walltime), units=counts,
        request=np.array([row.request for row in rows], dtype=np.int64),
        status=np.array([Status.KILLED if row.is_killed else Status.COMPLETED for row in rows], dtype=np.int8),
        start=start, finish=start + column(lambda row: row.duration), attempts=column(lambda row: row.job["attempt"]),
        placed=Placements(offsets_of(counts), nodes, np.ones(len(nodes), dtype=np.int64)),
        queue=[row.job["partition"] for row in rows], user=[row.job["user"] for row in rows],
    )  # fmt: skip


def write_recorded_run(run: RecordedRun, out: Path, *, force: bool) -> dict[str, Any]:
    """Write a run's folder without report; return metrics. Raises InputError and OSError."""
    schedule, platform = run.schedule, run.platform
    with HISTORY_FOLDER.lock(out, force=force), HISTORY_FOLDER.replace_files(out) as part:
        metrics: dict[str, Any] = schedule_metrics(schedule, platform, None)
        metrics |= {"rounded_up_cores": 0, **dict.fromkeys(_UNKNOWN_FIGURES)}
        warnings = [*run.notes, *_add_power(run, part, metrics)]
        metrics["schedule_digest"] = schedule.digest()
        names = list(dict.fromkeys(name for row in run.trace for name in row))
        table_of(names).write(part / RECORDED_FILE, ([row[name] for name in names] for row in run.trace))
        write_jobs(schedule, part / "jobs.csv", RECORDED_FILE)
        write_profile(part / "profile.csv", schedule, platform, None)
        write_metrics_by(part / "metrics_by.csv", schedule, platform, np.arange(len(schedule.number)))
        write_json(part / "metrics.json", metrics)
        record = {
            "dardis_version": __version__, "command": sys.argv, "dispatcher": "dardis-late",
            "trace": str((out / RECORDED_FILE).absolute()), "trace_sha256": sha256_of(part / RECORDED_FILE),
            "platform": platform_to_dict(platform), "unix_start": run.unix_start, "warnings": warnings,
            "started_utc": utc_now(),
        }  # fmt: skip
        write_json(part / RUN_FILE, record)
    return metrics


def _add_power(run: RecordedRun, part: Path, metrics: dict[str, Any]) -> tuple[str, ...]:
    from dardis.metrics.power import power_metrics, power_report, power_terms, write_power

    submit = run.schedule.submit
    terms = power_terms(run.platform, run.unix_start, int(submit.min()), int(submit.max()))
    if terms is None:
        return ()
    report = power_report(terms, run.schedule)
    metrics |= power_metrics(report)
    if report.account and report.conditions:
        write_power(part / "power.csv", report.account, report.conditions)
    return (*terms.warnings, *report.warnings)
