"""What thesis chapter 4 prints: tables 4.13 to 4.16, and what the text says of figures 4.14 and 4.15."""

from __future__ import annotations

from typing import Final

FIFO: Final = "easy backfill_depth=10"
WALLTIME: Final = "pbs-walltime backfill_depth=400 backfill_window=unlimited"
"""The thesis calls the 400 of PBSWalltime a backfilling depth, and states the 10 of PBSFifo in the same words: in PBS
that many first jobs must not be delayed.
"""
MODEL, PORTFOLIO = "cp-eurora", "portfolio"
FIFO_READINGS: Final = ("rules-fcfs ordering=relaxed", "pbs-fifo")
"""Other readings of PBSFifo: not strict, without backfilling; backfilling of the first 10 jobs alone."""
READINGS: Final = (*FIFO_READINGS, "pbs-walltime")
"""Beside them PBSWalltime with backfilling of the first 400 jobs alone."""
OPPONENTS: Final = (FIFO, WALLTIME, MODEL)
"""In the order of the thesis's columns, PBSFifo, PBSWalltime, CPModel: a dispatcher and its settings."""

MEASURES: Final = ("WQT", "AQ", "NL", "TR", "WT", "AO", "MO", "%O")
LONGEST_OVERHEAD: Final = 5.26
"""Longest decision over the mean walltime, %, at most (chapter 4, introduction)."""
NAMES: Final = (
    "weighted wait WQT", "mean wait AQ (s)", "late jobs NL", "tardiness TR (s)", "weighted tardiness WT",
    "mean decision AO (s)", "longest decision MO (s)", "overhead %O (%)",
)  # fmt: skip
"""What the measures are."""
TABLES: Final[dict[str, dict[str, tuple[float, ...]]]] = {
    "4.13": {
        FIFO: (347.583, 31011.7, 55, 1954690, 283.219, 0.22, 1, 0.1),
        WALLTIME: (170.686, 35637.6, 52, 2349450, 110.034, 1.21, 4, 0.3),
        MODEL: (168.032, 30025.7, 45, 1832660, 105.985, 3.27, 5, 0.4),
    },
    "4.14": {
        FIFO: (152.94, 10216.7, 65, 1298810, 60.03, 0.47, 3, 0.33),
        WALLTIME: (137.74, 9465.42, 60, 1223690, 55.97, 3.14, 10, 1.61),
        MODEL: (119.77, 8053.09, 46, 1003970, 46.40, 11.45, 19, 6.78),
    },
    "4.15": {
        FIFO: (1034.2, 32066.1, 234, 16798300, 776.405, 1.02, 11, 0.69),
        WALLTIME: (853.681, 27046.2, 200, 13693000, 623.287, 15.47, 57, 8.8),
        MODEL: (2441.3, 34816.3, 376, 16774800, 2013.18, 34.82, 120, 18.95),
    },
}
SECTION_4_4: Final[dict[str, tuple[float | None, ...]]] = {MODEL: (*[None] * 5, 6, None, None)}
"""The same of 1,600 jobs on 65 nodes."""
TABLE_4_16: Final = {
    "update jobs, queues and nodes": (4.11 + 3.26, 3.96 + 0.02 + 1.45),
    "check feasibility": (0.05, 1.21 + 1.02),
    "select jobs": (0.07, 0.02),
    "create the model": (2.62, 0.93),
    "execute the model": (21.91, 2.31),
    "commit the result": (0.33, 2.53),
}
"""Mean s a cycle in the simulated test and on Eurora (totals: 32.35 and 13.45 s), by phase."""
PHASES: Final = (
    "solver_update_cpu_s", "solver_check_cpu_s", "solver_first_cpu_s", "solver_build_cpu_s", "solver_cpu_s",
    "solver_commit_cpu_s",
)  # fmt: skip
"""The same phases in metrics.json; what selects jobs here also looks for an answer of ours."""
WEEKS: Final[dict[str, tuple[str, str, str]]] = {
    FIFO: ("3.93e-6", "very similar", "520 to 599"),
    MODEL: ("2.50e-6", "very similar", "510 to 573"),
}
"""Figures 4.14 and 4.15: mean and standard deviation of a job's weighted wait, and mean
cores in use by week (three weeks, two weeks)."""
LONGEST_WAITS_S: Final = {"debug": 3600, "parallel": 18_000, "longpar": 86_400, "np_longpar": 86_400}
"""T section 4.5.1; `longpar` of the trace, which it does not name, as `np_longpar`."""
OTHERS_S: Final = 86_400
"""Of queues that the trace has beside these."""
