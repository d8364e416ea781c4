"""Decision times, as figures and as a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from dardis.metrics.job_metrics import Number
from dardis.model.csv_table import REAL, WHOLE, Column, CsvTable

RUN_FILE = "run.json"
DECISIONS: Final = CsvTable(
    "decisions.csv",
    Column("cpu_s_from", REAL, "least CPU time of a decision", "s", ".4g"),
    Column("cpu_s_to", REAL, "most CPU time of a decision", "s", ".4g"),
    Column("decisions", WHOLE, "number of decisions with this CPU time"),
)
Report = Callable[[Path], object]


def decision_figures(decision_ns: Sequence[int], upkeep_ns: int) -> dict[str, Number]:
    """`decision_…` figures of metrics.json. `upkeep_ns`: CPU time outside decisions."""
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
    """Write a histogram of CPU times in s, ten bins per power of ten."""
    times = np.array(decision_ns, dtype=np.float64) / 1e9
    bins = np.floor(10 * np.log10(np.maximum(times, 1e-7))).astype(np.int64)
    counts = zip(*np.unique(bins, return_counts=True), strict=True)
    DECISIONS.write(path, ((10 ** (place / 10), 10 ** ((place + 1) / 10), int(count)) for place, count in counts))
