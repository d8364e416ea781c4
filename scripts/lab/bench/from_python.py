"""What `import dardis` costs, and a run of ten jobs in a process that has run before, in CPU seconds."""

from __future__ import annotations

import sys
import time

import dardis
from scripts.lab.bench.measure import output_of
from scripts.lab.bench.rows import Row, own_peak
from scripts.lab.kit.spread import Spread

JOBS = 10
IMPORTS = {"import dardis": "<= 0.2 s", "import dardis; dardis.simulate": ""}
"""What is run in a fresh process, and its goal; the second brings along all that a run needs."""
DISPATCHERS = ("dardis-late", "easy")


def from_python(repeats: int) -> list[Row]:
    """Measure both, so many times each."""
    peak = own_peak()
    rows = []
    for statement, goal in IMPORTS.items():
        code = f"import time; begun = time.process_time(); {statement}; print(time.process_time() - begun)"
        costs = [float(output_of([sys.executable, "-c", code])) for _ in range(repeats)]
        rows.append(Row("python", statement, 0, Spread.of(costs), peak, goal=goal))
    trace = dardis.Trace(
        {"job_id": range(1, JOBS + 1), "submit_s": range(JOBS), "runtime_s": [60] * JOBS, "walltime_s": [90] * JOBS,
         "units": [1, 2, 3, 4, 5] * 2, "req_cores": [4] * JOBS},
    )  # fmt: skip
    platform = dardis.Platform(dardis.nodes(8, cores=8))
    for dispatcher in DISPATCHERS:
        dardis.simulate(trace, platform, dispatcher)
        costs = []
        for _ in range(repeats):
            begun = time.process_time()
            dardis.simulate(trace, platform, dispatcher)
            costs.append(time.process_time() - begun)
        rows.append(Row("python", f"simulate, {dispatcher}", JOBS, Spread.of(costs), peak, goal="< 0.05 s"))
    return rows
