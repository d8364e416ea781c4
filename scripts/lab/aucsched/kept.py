"""Keeps the figures of runs, by name, since all of them are days of work; who changes their schedules removes rows."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scripts.lab.kit.cache import Metrics
from scripts.lab.kit.page import write_csv

KEPT: Final = Path(__file__).with_name("kept.csv")
_COUNTS: Final = ("completed", "decisions", "solver_asked", "solver_proven")
_FIGURES: Final = (
    "theoretical_runtime_s", "utilisation", "makespan_s", "mean_wait_s", "sd_wait_s", "mean_fragmentation",
    "sd_fragmentation", "mean_slowdown", "mean_spread", "sd_spread", "decision_cpu_s",
)  # fmt: skip
"""Of metrics.json, as much as the tables are made of."""
_WHOLE: Final = (*_COUNTS, "makespan_s")


def read_kept(path: Path = KEPT) -> dict[str, Metrics]:
    """What is kept; what a dispatcher doesn't count is not there."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {
            row.pop("run"): {name: _read(name, cell) for name, cell in row.items() if cell}
            for row in csv.DictReader(file)
        }


def _read(name: str, cell: str) -> float:
    return int(cell) if name in _WHOLE else float(cell)


def write_kept(kept: Mapping[str, Metrics], path: Path = KEPT) -> None:
    """Write what is to be kept, by name."""
    names = (*_COUNTS, *_FIGURES)
    rows = ([run, *(kept[run].get(name, "") for name in names)] for run in sorted(kept))
    write_csv(path, ("run", *names), rows)
