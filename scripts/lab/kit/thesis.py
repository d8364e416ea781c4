"""What several of the thesis's experiments have in common: trace, machine, day, seasons, and tables 5.1 and 5.2."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi
from typing import Final

TRACE: Final = "CEA-Curie-2012-slice36k.swf.gz"
PARTITION: Final = "4"
"""The partition whose jobs fit the machine."""
NODES, CORES_A_NODE, UNIT_CORES = 300, 32, 8
DAY_H: Final = (8, 20)
"""The hours between which less than all cores is desired."""
FLAT_PRICE: Final = 0.13
"""EUR a kWh."""


@dataclass(frozen=True)
class Season:
    """A time of the year: the Monday on which the real days begin, and the assumed day (°C)."""

    name: str
    start: str
    mean_c: float
    swing_c: float

    def assumed_c(self, hour: int) -> float:
        """Temperature of an hour of the assumed day: a sine with its maximum at 15 o'clock."""
        return self.mean_c + self.swing_c * cos(2 * pi * (hour - 15) / 24)


SUMMER: Final = Season("summer", "2023-07-03T00:00Z", 24.5, 6.5)
WINTER: Final = Season("winter", "2023-01-02T00:00Z", 3.5, 3.5)

TABLE_5_1: Final = {
    "dardis-throughput": (11.69, 79.85, 79.58, 14722, 781886, 0.990),
    "dardis-balance": (178.05, 661.75, 611.38, 12725, 1227779, 0.981),
    "dardis-profile": (200.44, 759.96, 759.46, 13141, 785639, 0.974),
    "rules-fcfs": (19.70, 158.33, 158.70, 29102, 257856, 0.976),
    "rules-df": (19.97, 129.44, 128.47, 30098, 368234, 0.980),
    "rules-wt": (19.93, 116.50, 115.34, 27908, 395657, 0.998),
}
TABLE_5_2: Final = {
    "DARDIS scheduling": (0.018, 0.129),
    "DARDIS dispatching": (0.006, 0.025),
    "rule-based, a whole cycle": (5.356, 5.077),
}
"""Mean and standard deviation, s."""
