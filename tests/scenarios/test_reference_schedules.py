"""The central dispatchers on one node give, job by job, the schedules of the textbook, and the published sums.

With the real traces beside the checkout, and without them on jobs that are made here.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from kit.central_runs import POLICY_SETUPS, setup_of, starts_on_one_node
from kit.pool_reference import POLICIES, PoolJobs, starts
from kit.published import LONG, PUBLISHED, SHORT

from dardis.cli.main import run
from dardis.workload.generate import generate


def agrees(jobs: PoolJobs, processors: int, policy: str) -> list[int]:
    """See that every job starts when the reference starts it; return the start times."""
    name, settings = POLICY_SETUPS[policy]
    ours = starts_on_one_node(jobs, processors, setup_of(name, *settings))
    textbook = starts(jobs, processors, policy)
    differ = [(place, a, b) for place, (a, b) in enumerate(zip(ours, textbook, strict=True)) if a != b]
    assert differ == [], policy
    return ours


@pytest.mark.parametrize("name", [*SHORT, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)])
def test_real_traces_start_as_published(name: str, shared: Path) -> None:
    row = PUBLISHED[name]
    jobs = row.prepared(shared)
    sums = {policy: sum(agrees(jobs, row.processors, policy)) for policy in POLICIES}
    assert {policy: sums[policy] for policy in row.sums} == row.sums


def made_jobs(kind: str, count: int, load: float, processors: int) -> PoolJobs:
    """Jobs that need `load` times the pool between the first submit and the last; walltimes are bad estimates."""
    rng = np.random.default_rng(17)
    if kind == "lublin":
        trace = generate("lublin", count, 5)
        runtime, estimate = trace.runtime, np.maximum(trace.walltime, trace.runtime)
        cores = np.minimum(trace.procs, processors)
        submit = trace.submit
    else:
        # Few values, so that many things happen at one instant.
        runtime = rng.integers(1, 12, count) * 10
        estimate = runtime + rng.choice([0, 0, 10, 50], count)
        cores = np.minimum(rng.geometric(0.15, count), processors)
        submit = np.cumsum(rng.integers(0, 3, count)) * 10
    shrink = (runtime @ cores) / (load * processors * max(1, int(submit[-1] - submit[0])))
    submit = ((submit - submit[0]) * shrink).astype(np.int64) // 10 * 10 + 1
    columns = (submit, runtime, estimate, cores)
    return PoolJobs(*([int(value) for value in column] for column in columns))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ["lublin", "even"])
def test_synthetic_jobs_start_as_in_the_textbook(kind: str, policy: str) -> None:
    for load in (0.9, 3.0):
        jobs = made_jobs(kind, 600, load, 64)
        ours = agrees(jobs, 64, policy)
        assert sum(a > b for a, b in zip(ours, jobs.submit, strict=True)) > 100


def test_the_command_gives_the_published_figures(shared: Path, tmp_path: Path) -> None:
    jobs = PUBLISHED["hpc2n-5k"].prepared(shared)
    lines = [
        f"{number} {submit} 0 {runtime} {cores} -1 -1 {cores} {estimate} -1 1 1 1 -1 1 1 -1 -1\n"
        for number, (submit, runtime, estimate, cores) in enumerate(zip(*jobs, strict=True), 1)
    ]
    (tmp_path / "t.swf").write_text("; MaxProcs: 240\n" + "".join(lines))
    (tmp_path / "p.toml").write_text('name="pool"\n[[nodes]]\ncount = 1\nprefix = "n"\nresources = { cores = 240 }\n')
    arguments = ["--platform", str(tmp_path / "p.toml"), "--dispatcher", "easy", "--out", str(tmp_path / "out")]
    assert run(["simulate", str(tmp_path / "t.swf"), *arguments, "--no-report"]) == 0
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert round(metrics["mean_wait_s"], 4) == 5705.5402
    assert metrics["max_wait_s"] == 125613
    assert round(metrics["mean_bounded_slowdown"], 4) == 46.6256
    assert round(metrics["utilisation"], 6) == 0.509147
    rows = csv.DictReader((tmp_path / "out" / "jobs.csv").read_text().splitlines())
    assert sum(int(row["starting_time"]) for row in rows) == PUBLISHED["hpc2n-5k"].sums["easy"]
