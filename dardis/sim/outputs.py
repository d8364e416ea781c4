"""The folder of a run: who may write into it, and every file in it, whole or absent."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dardis.metrics.jobs import Number, write_metrics_by
from dardis.metrics.system import schedule_metrics, trimmed, write_profile
from dardis.metrics.table import write_jobs
from dardis.model.errors import InputError
from dardis.model.files import atomic_text
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.model.target import DesiredProfile

RUN_FILE = "run.json"
FILES = (
    "jobs.csv", "metrics.json", "metrics_by.csv", "profile.csv", "decisions.csv", "report.html", RUN_FILE,
)  # fmt: skip


def claim_folder(out: Path, *, force: bool) -> None:
    """Make the folder, or check that it may be used: empty, or an earlier run and `force`. Raises InputError."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        found = {path.name for path in out.iterdir()}
    except OSError as error:
        raise InputError(f"--out {out}", error.strerror or "can't be made", "a folder that can be written") from None
    if found and not (force and RUN_FILE in found):
        expected = "an empty folder" if RUN_FILE not in found else "an empty folder, or --force to replace the run"
        raise InputError(f"--out {out}", "is not empty", expected)


def clear_folder(out: Path) -> None:
    """Remove an earlier run's files."""
    for name in FILES:
        (out / name).unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """Digest of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write an object, indented; NaN is refused."""
    with atomic_text(path) as file:
        json.dump(value, file, indent=2, allow_nan=False)
        file.write("\n")


def decision_figures(decision_ns: Sequence[int], upkeep_ns: int) -> dict[str, Number]:
    """`decision_…` of metrics.json: CPU inside the machines; upkeep is what belongs to no single decision."""
    times = np.array(decision_ns, dtype=np.int64)
    total = int(times.sum()) + upkeep_ns
    return {
        "decision_cpu_s": total / 1e9,
        "decisions": len(times),
        "decision_mean_s": total / 1e9 / len(times) if len(times) else None,
        "decision_p99_s": float(np.percentile(times, 99)) / 1e9 if len(times) else None,
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
    workload: str, more: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Write the run's tables and metrics.json (the schedule's figures and `more`), and return those metrics."""
    write_jobs(schedule, out / "jobs.csv", workload)
    write_profile(out / "profile.csv", schedule, platform, desired)
    counted, _ = trimmed(schedule, trim)
    write_metrics_by(out / "metrics_by.csv", schedule, platform, counted)
    metrics = schedule_metrics(schedule, platform, desired, trim) | more | {"schedule_digest": schedule.digest()}
    write_json(out / "metrics.json", metrics)
    return metrics
