"""The runs behind `scripts/lab/run late --loads`, and what is asked of them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis.config.platform_file import load_platform
from scripts.lab.kit.cache import Metrics, Run
from scripts.lab.late.cases import SOURCES, Case

Asked = tuple[str, ...]
"""A dispatcher, and what is set."""
TO_BEAT: Final[Asked] = ("easy", "order=sjbf")
PATIENT: Final[Asked] = ("easy",)
LEAST_WIDE: Final = 30
"""Of fewer wide jobs no mean is looked at."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """Of a dispatcher in a case: waits and slowdowns over those of the one to beat, the longest wait over EASY's."""

    load: float
    wait: float
    slowdown: float
    longest: float
    wide: float | None
    """Mean wait of jobs wider than a quarter of the machine; None: there are too few, or they do not wait."""
    others: float | None
    """Mean wait of all others."""


def run_of(case: Case, asked: Asked, traces: Path, out: Path) -> Run:
    """A dispatcher in a case."""
    return Run(asked, case.trace(traces, out), SOURCES[case.source].platform(out))


def waits_by_width(one: Run, out: Path) -> dict[str, Any]:
    """Count and mean wait (s) of a run's jobs that ask for more than a quarter of the machine, and of the others."""
    cores = load_platform(one.platform).cores
    with (one.folder(out) / "jobs.csv").open(newline="", encoding="utf-8") as file:
        rows = [
            (4 * int(row["requested_number_of_resources"]) > cores, float(row["waiting_time"]))
            for row in csv.DictReader(file)
            if row["starting_time"] not in {"", "-1"}
        ]
    found: dict[str, Any] = {}
    for name, wide in (("wide", True), ("others", False)):
        waits = [wait for is_wide, wait in rows if is_wide == wide]
        found[name] = (len(waits), float(np.mean(waits)) if waits else 0.0)
    return found


def ratios(case_load: float, mine: Metrics, best: Metrics, patient: Metrics) -> Ratios:
    """A dispatcher's figures, with waits by width, over those of the ones to beat."""
    by_width = {}
    for name, least in (("wide", LEAST_WIDE), ("others", 1)):
        (count, wait), (_, base) = mine[name], best[name]
        by_width[name] = wait / base if count >= least and base > 0 else None
    return Ratios(
        case_load,
        mine["mean_wait_s"] / best["mean_wait_s"],
        mine["mean_bounded_slowdown"] / best["mean_bounded_slowdown"],
        mine["max_wait_s"] / patient["max_wait_s"],
        by_width["wide"],
        by_width["others"],
    )
