"""What `dardis compare` costs beside the CPU of its runs alone and one start-up for each process that does them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from dardis.comparison.planned_runs import plan
from dardis.config.comparison_spec import load_comparison
from dardis.runs.run import run
from scripts.lab.bench.measure import Row, cpu_of, in_turns, row_of
from scripts.lab.kit.compared import Comparison
from scripts.lab.kit.spread import Spread

DISPATCHERS = ("easy", "easy order=sjbf", "conservative", "rules-fcfs", "dardis-throughput", "dardis-late")
JOBS, MOST = 500, 1.2
"""Jobs of each trace; and times as much CPU as its runs that a comparison may take."""


def comparisons(folder: Path, workloads: Sequence[tuple[Path, Path]], one_job: Sequence[str], repeats: int) -> Row:
    """All dispatchers on workloads (trace, machine) without a report; `one_job` is the command of a run of one job."""
    spec, out = folder / "compare.toml", folder / "compare"
    traces = [{"trace": trace, "platform": machine} for trace, machine in workloads]
    spec.write_text(Comparison(out, traces, {one: one.split() for one in DISPATCHERS}).spec(), encoding="utf-8")
    command = [sys.executable, "-m", "scripts.lab.bench.without_report", str(spec)]
    costs = in_turns({"compare": command, "one job": one_job}, repeats)
    requests = [planned.request() for planned in plan(load_comparison(spec), out)]
    own = [cpu_of(lambda: list(map(run, requests)))[1] for _ in range(repeats + 1)][1:]  # the first loads kernels
    workers = min(len(os.sched_getaffinity(0)), len(requests))
    start_up = Spread.of([cost.cpu_s for cost in costs["one job"]]).median
    alone = Spread.of(own).median
    times = [cost.cpu_s / (alone + workers * start_up) for cost in costs["compare"]]
    return row_of(
        "compare", f"{len(DISPATCHERS)} dispatchers x {len(workloads)} traces", len(requests) * JOBS, costs["compare"],
        Spread.of(times), f"CPU time / its runs' and {workers} start-ups", f"<= {MOST}",
        {"runs_cpu_s": round(alone, 2), "start_up_cpu_s": round(start_up, 2)},
    )  # fmt: skip
