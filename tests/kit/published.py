"""Published fingerprints of textbook policies on pools of equal cores: sums of all start times, by trace."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kit.pool_reference import PoolJobs, prepare


class Row(NamedTuple):
    """A trace's file, the cores of the pool, how many jobs, and `sum_start` by policy of the pool reference."""

    file: str
    processors: int
    jobs: int
    sums: dict[str, int]

    def prepared(self, shared: Path) -> PoolJobs:
        return prepare(shared / "traces" / f"{self.file}.swf.gz", self.processors, self.jobs)


PUBLISHED = {
    "hpc2n-5k": Row("HPC2N-2002-2.2-cln", 240, 5000, {
        "fcfs": 19906846485, "sjf": 19881205028, "easy": 19874829737, "easy-event": 19874763132,
        "conservative-event": 19875818048,
    }),
    "blue-5k": Row("SDSC-BLUE-2000-4.2-cln", 1152, 5000, {
        "fcfs": 3933176968, "sjf": 3787348171, "easy": 3770718403, "easy-event": 3770718202,
        "conservative-event": 3768372387,
    }),
    "kth-5k": Row("KTH-SP2-1996", 100, 5000, {
        "fcfs": 17982060081, "sjf": 17022079249, "easy": 16975604069, "easy-event": 16975509127,
        "conservative-event": 16974632189,
    }),
    "curie-5k": Row("CEA-Curie-2011-derived295k", 93312, 5000, {
        "fcfs": 4332493105, "easy": 4332489232, "easy-event": 4332489232,
    }),
    "kth-all": Row("KTH-SP2-1996", 100, 28481, {
        "fcfs": 443899757382, "easy": 432995299820, "easy-event": 432995292592, "conservative-event": 433009252274,
    }),
    "wagap": Row("MetaCentrum-Wagap-2013", 2176, 17898, {
        "fcfs": 86597959764, "sjf": 86593588536, "easy": 86597892185, "easy-event": 86597892185,
    }),
}  # fmt: skip
"""From the reference figures beside the traces."""
SHORT = [name for name, row in PUBLISHED.items() if row.jobs == 5000]
LONG = [name for name in PUBLISHED if name not in SHORT]
