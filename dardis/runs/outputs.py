"""The folder of a run: every file in it, whole or absent."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dardis.metrics.jobs import Number, makespan, write_metrics_by
from dardis.metrics.power import PowerReport, power_metrics, write_power
from dardis.metrics.system import schedule_metrics, trimmed, write_profile
from dardis.metrics.table import write_jobs
from dardis.model.files import atomic_text, write_json
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.model.target import DesiredProfile

RUN_FILE = "run.json"
Report = Callable[[Path], object]
"""What draws the report of a folder."""


def decision_figures(decision_ns: Sequence[int], upkeep_ns: int) -> dict[str, Number]:
    """`decision_…` of metrics.json: CPU inside the machines; upkeep is what belongs to no single decision."""
    times = np.array(decision_ns, dtype=np.int64)
    total = int(times.sum()) + upkeep_ns
    return {
        "decision_cpu_s": total / 1e9,
        "decisions": len(times),
        "decision_mean_s": total / 1e9 / len(times) if len(times) else None,
        "decision_p99_s": float(np.percentile(times, 99)) / 1e9 if len(times) else None,
        "decision_max_s": int(times.max()) / 1e9 if len(times) else None,
    }


def write_decisions(path: Path, decision_ns: Sequence[int]) -> None:
    """Write how many decisions took how long: CPU s from, to, decisions; ten bins a power of ten."""
    times = np.array(decision_ns, dtype=np.float64) / 1e9
    bins = np.floor(10 * np.log10(np.maximum(times, 1e-7))).astype(np.int64)
    with atomic_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["cpu_s_from", "cpu_s_to", "decisions"])
        for place, count in zip(*np.unique(bins, return_counts=True), strict=True):
            writer.writerow([f"{10 ** (place / 10):.4g}", f"{10 ** ((place + 1) / 10):.4g}", int(count)])


def write_tables(
    out: Path, schedule: Schedule, platform: Platform, desired: DesiredProfile | None, trim: tuple[int, int] | None,
    workload: str, more: dict[str, Any], power: PowerReport | None,
) -> dict[str, Any]:  # fmt: skip
    """Write the run's tables and metrics.json, and return those metrics.

    They are the schedule's figures, of `power` where the platform says anything of it, and `more`, what the run itself
    knows; among it `decision_cpu_s`.
    """
    write_jobs(schedule, out / "jobs.csv", workload)
    write_profile(out / "profile.csv", schedule, platform, desired)
    counted, _ = trimmed(schedule, trim)
    write_metrics_by(out / "metrics_by.csv", schedule, platform, counted)
    span = makespan(schedule, np.arange(len(schedule.number)))  # of all jobs, as the decisions are
    metrics = schedule_metrics(schedule, platform, desired, trim) | (power_metrics(power) if power else {}) | more
    if power and power.account and power.conditions:
        write_power(out / "power.csv", power.account, power.conditions)
    metrics |= {"overhead_share": more["decision_cpu_s"] / span if span else None, "schedule_digest": schedule.digest()}
    write_json(out / "metrics.json", metrics)
    return metrics
