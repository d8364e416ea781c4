"""The files of a run as `dardis simulate` leaves them, of jobs that are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from dardis.metrics.job_metrics import write_metrics_by
from dardis.metrics.jobs_csv import write_jobs
from dardis.metrics.system import schedule_metrics, write_profile
from dardis.model.job import Status
from dardis.model.placements import Placements
from dardis.model.platform import NodeGroup, Platform, platform_to_dict
from dardis.model.schedule import Schedule
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile

SMALL = Platform("small", (NodeGroup("n", 4, {"cores": 4, "memory": 1024}),))


def one_node_jobs(count: int, platform: Platform, queues: int = 3) -> Schedule:
    """Jobs of one unit, one after the other on each node, each waiting a little longer than the one before."""
    index = np.arange(count)
    nodes = platform.node_count
    submit = index // nodes * 50
    start = submit + index % 97
    status = np.where(index % 9 == 8, Status.KILLED, Status.COMPLETED).astype(np.int8)
    return Schedule(
        kinds=platform.kinds, number=index + 1, submit=submit, earliest=submit, latest=submit + 60,
        walltime=np.full(count, 40), units=np.ones(count, np.int64), request=np.tile([2, 100], (count, 1)),
        status=status, start=start, finish=start + 40,
        attempts=np.ones(count, np.int64),
        placed=Placements(np.arange(count + 1), index % nodes, np.ones(count, np.int64)),
        queue=[f"q{i % queues}" for i in index.tolist()],
        user=["<script>alert(1)</script>" if i % 2 else "" for i in index.tolist()],
    )  # fmt: skip


def write_run(folder: Path, schedule: Schedule, platform: Platform, *, wished: bool = True, **run: Any) -> Path:
    """The files of a run."""
    desired = DesiredProfile(platform, {0: StepFunction.from_steps(3, [(40, 9), (200, 5)])}) if wished else None
    everyone = np.arange(len(schedule.number))
    write_jobs(schedule, folder / "jobs.csv", "trace")
    write_profile(folder / "profile.csv", schedule, platform, desired)
    write_metrics_by(folder / "metrics_by.csv", schedule, platform, everyone)
    figures = schedule_metrics(schedule, platform, desired) | {"decision_mean_s": 4.1e-5, "surprise": 7}
    (folder / "metrics.json").write_text(json.dumps(figures | {"schedule_digest": schedule.digest()}))
    told = {
        "dispatcher": "dardis-profile", "trace": "traces/grid.swf.gz", "seed": 1, "settings": {"grain": 60},
        "platform": platform_to_dict(platform), "profile_file": "p.csv" if wished else None, "deadlines": "factor:1",
        "warnings": ["no power figures"], "rejected": [{"job": 7, "reason": "too wide"}] * 30, "skipped": [],
        "command": ["dardis", "simulate"], "ranks": 1,
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(told | run))
    (folder / "decisions.csv").write_text("cpu_s_from,cpu_s_to,decisions\n0,1e-06,3\n1e-06,2e-06,0\n2e-06,4e-06,9\n")
    return folder
