"""What `import dardis` costs, and a run of ten jobs in a process that has run before, in CPU seconds."""

from __future__ import annotations

import sys
from functools import partial

import dardis
from scripts.lab.bench.measure import Row, cpu_of, output_of
from scripts.lab.kit.spread import Spread

JOBS = 10
IMPORTS = {"import dardis": "<= 0.2 s", "import dardis; dardis.simulate": ""}
"""What is run in a fresh process, and its goal; the second brings along all that a run needs."""
DISPATCHERS = ("dardis-late", "easy")


def from_python(repeats: int) -> list[Row]:
    """Measure both, so many times each."""
    rows = []
    for statement, goal in IMPORTS.items():
        code = f"import time; begun = time.process_time(); {statement}; print(time.process_time() - begun)"
        costs = [float(output_of([sys.executable, "-c", code])) for _ in range(repeats)]
        rows.append(Row("python", statement, 0, Spread.of(costs), goal=goal))
    trace = dardis.Trace(
        {"job_id": range(1, JOBS + 1), "submit_s": range(JOBS), "runtime_s": [60] * JOBS, "walltime_s": [90] * JOBS,
         "units": [1, 2, 3, 4, 5] * 2, "req_cores": [4] * JOBS},
    )  # fmt: skip
    platform = dardis.Platform(dardis.nodes(8, cores=8))
    for dispatcher in DISPATCHERS:
        dardis.simulate(trace, platform, dispatcher)
        costs = [cpu_of(partial(dardis.simulate, trace, platform, dispatcher))[1] for _ in range(repeats)]
        rows.append(Row("python", f"simulate, {dispatcher}", JOBS, Spread.of(costs), goal="< 0.05 s"))
    return rows
