"""What AUCSCHED printed: tables 5 to 8, as `paper.csv` has them, a row a workload version.

The slowdown of 3.00 of V.2 in table 8 stands there, though waits are as V.1's.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

from scripts.lab.aucsched.figures import Figures

AUCSCHED, BACKFILLING = "AUCSCHED", "SLURM/BF"
SEEDS: Final = 7
"""Workloads of each version (6.1)."""


def _tables() -> dict[str, dict[str, dict[str, Figures]]]:
    tables: dict[str, dict[str, dict[str, Figures]]] = {}
    with Path(__file__).with_name("paper.csv").open(encoding="utf-8", newline="") as file:
        for table, case, *cells in list(csv.reader(file))[1:]:
            theoretical, *figures = map(float, cells)
            half = len(figures) // 2
            tables.setdefault(table, {})[case] = {
                AUCSCHED: Figures(theoretical, *figures[:half]), BACKFILLING: Figures(theoretical, *figures[half:])
            }  # fmt: skip
    return tables


TABLES: Final = _tables()
"""By number, workload version, and who."""
