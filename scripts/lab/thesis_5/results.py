"""Reads the figures of a comparison's runs, those that have ended well, whether or not it ever came to its end."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from offline.site.calendar import DAY_S
from scripts.lab.kit.claims import DECISION

YEAR_S: Final = 365 * DAY_S
WINDOWS: Final = 5
"""Of a job: its own, three longer ones, and what is behind the last reservation."""
_OURS: Final = {
    "makespan": ("makespan_s", DAY_S),
    "wait": ("total_wait_s", YEAR_S),
    "tardiness": ("tardiness_s", YEAR_S),
    "late": ("late_jobs", 1),
    "over": ("overutilisation_core_s", 3600),
    "diss": ("dissimilarity_from_first_submission", 1),
    DECISION: ("decision_mean_s", 1),
}
"""Of each figure of the thesis the key of metrics.json, and by what it is divided."""


@dataclass(frozen=True)
class Outcome:
    """A dispatcher's runs with their seeds: the means of the figures that all have.

    `metrics` and `folder` are those of the first of the runs.
    """

    figures: Mapping[str, float]
    metrics: Mapping[str, Any]
    folder: Path


def outcome_of(folders: list[Path]) -> Outcome:
    """What came of a dispatcher's runs."""
    metrics = [json.loads((folder / "metrics.json").read_text(encoding="utf-8")) for folder in folders]
    figures = {}
    for name, (key, unit) in _OURS.items():
        values = [one[key] for one in metrics]
        if None not in values:
            figures[name] = fmean(values) / unit
    return Outcome(figures, metrics[0], folders[0])


def decision_spread(folder: Path) -> float | None:
    """Standard deviation of a run's decision times, s, from the bins of decisions.csv: each at its bin's middle.

    A bin's edges are a factor of 1.26 apart, so each time is known within 12 %.
    """
    with (folder / "decisions.csv").open(encoding="utf-8", newline="") as file:
        bins = [tuple(map(float, row)) for row in list(csv.reader(file))[1:]]
    count = sum(number for _, _, number in bins)
    if not count:
        return None
    middles = [((low + high) / 2, number) for low, high, number in bins]
    mean = sum(middle * number for middle, number in middles) / count
    return math.sqrt(sum(number * (middle - mean) ** 2 for middle, number in middles) / count)


@dataclass(frozen=True)
class JobsOf:
    """What a run's jobs.csv tells beyond its metrics.

    `last_resort` jobs found no start in any window (thesis 5.3.6): they have `their_wait` of the total wait.
    """

    span_d: float
    last_resort: int
    their_wait: float


def jobs_of(folder: Path) -> JobsOf:
    """Read a run's jobs.csv."""
    with (folder / "jobs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    submitted = [float(row["submission_time"]) for row in rows]
    ran = [row for row in rows if row["waiting_time"]]
    late = [float(row["waiting_time"]) for row in ran if int(row["attempts"]) == WINDOWS]
    total = sum(float(row["waiting_time"]) for row in ran)
    return JobsOf((max(submitted) - min(submitted)) / DAY_S, len(late), sum(late) / total if total else 0.0)
