"""What thesis chapter 4 prints: tables 4.13 to 4.16."""

from __future__ import annotations

from typing import Final

FIFO, WALLTIME, MODEL, PORTFOLIO = "pbs-fifo", "pbs-walltime", "cp-eurora", "portfolio"
OPPONENTS: Final = (FIFO, WALLTIME, MODEL)
"""In the order of the thesis's columns: PBSFifo, PBSWalltime, CPModel."""

MEASURES: Final = ("WQT", "AQ", "NL", "TR", "WT", "AO", "MO", "%O")
"""Weighted queue time, mean wait (s), late jobs, tardiness (s), weighted tardiness, mean and longest decision (s), and
the share of the test that decisions take (%).
"""
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
TABLE_4_16: Final = {
    "update jobs, queues and nodes": 4.11 + 3.26,
    "check feasibility": 0.05,
    "select jobs": 0.07,
    "create the model": 2.62,
    "execute the model": 21.91,
    "commit the result": 0.33,
}
"""Mean s a cycle in the simulated test, by phase, reservations left out: they took nothing there."""
PHASES: Final = (
    "solver_update_cpu_s", "solver_check_cpu_s", "solver_first_cpu_s", "solver_build_cpu_s", "solver_cpu_s",
    "solver_commit_cpu_s",
)  # fmt: skip
"""The same phases in metrics.json; what selects jobs here also looks for an answer of ours."""
LONGEST_WAITS_S: Final = {"debug": 3600, "parallel": 18_000, "longpar": 86_400, "np_longpar": 86_400}
"""T section 4.5.1; `longpar` of the trace, which it does not name, as `np_longpar`."""
OTHERS_S: Final = 86_400
"""Of queues that the trace has beside these."""
