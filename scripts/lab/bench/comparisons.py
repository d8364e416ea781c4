"""What `dardis compare` costs beside the CPU of its runs alone and one start-up for each process that does them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dardis.comparison.planned_runs import plan
from dardis.config.comparison_spec import load_comparison
from dardis.config.run_spec import RunSpec
from dardis.runs.run import run
from scripts.lab.bench.measure import in_turns
from scripts.lab.bench.rows import Row, row_of
from scripts.lab.kit.spread import Spread

DISPATCHERS = ("easy", "easy:order=sjbf", "conservative", "rules-fcfs", "dardis-throughput", "dardis-late")
JOBS, MOST = 500, 1.2
"""Jobs of each trace; and times as much CPU as its runs that a comparison may take."""


def comparisons(folder: Path, workloads: Sequence[tuple[Path, Path]], one_job: Sequence[str], repeats: int) -> Row:
    """All dispatchers on workloads (trace, machine) without a report; `one_job` is the command of a run of one job."""
    spec, out = folder / "compare.toml", folder / "compare"
    lines = [f'[[traces]]\ntrace = "{trace}"\nplatform = "{machine}"\n' for trace, machine in workloads]
    for one in DISPATCHERS:
        name, _, setting = one.partition(":")
        lines.append(f'[[dispatchers]]\nname = "{name}"\nlabel = "{one.replace(":", " ")}"\n' + _settings(setting))
    spec.write_text("\n".join(lines))
    command = [sys.executable, "-m", "scripts.lab.bench.without_report", str(spec)]
    costs = in_turns({"compare": command, "one job": one_job}, repeats)
    requests = [planned.request() for planned in plan(load_comparison(spec), out)]
    own = [sum(_cpu_of(request) for request in requests) for _ in range(repeats + 1)][1:]  # the first loads kernels
    workers = min(len(os.sched_getaffinity(0)), len(requests))
    start_up = Spread.of([cost.cpu_s for cost in costs["one job"]]).median
    alone = Spread.of(own).median
    times = [cost.cpu_s / (alone + workers * start_up) for cost in costs["compare"]]
    return row_of(
        "compare", f"{len(DISPATCHERS)} dispatchers x {len(workloads)} traces", len(requests) * JOBS, costs["compare"],
        Spread.of(times), f"CPU time / its runs' and {workers} start-ups", f"<= {MOST}",
        {"runs_cpu_s": round(alone, 2), "start_up_cpu_s": round(start_up, 2)},
    )  # fmt: skip


def _settings(text: str) -> str:
    key, _, value = text.partition("=")
    return f'settings = {{ {key} = "{value}" }}\n' if key else ""


def _cpu_of(request: RunSpec) -> float:
    """CPU seconds of a run in this process."""
    begun = time.process_time()
    run(request)
    return time.process_time() - begun
