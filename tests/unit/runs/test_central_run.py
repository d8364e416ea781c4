"""A run of a central dispatcher from its files to its folder, and how its simulation orders events."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kit.actual import actual
from kit.central import dispatch, setup_of

from dardis.metrics.audit import audit
from dardis.metrics.table import read_jobs
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME
from dardis.model.platform import NodeGroup, Platform
from dardis.model.platform_dict import platform_from_dict
from dardis.registry import OURS, find_dispatcher
from dardis.runs.request import RunRequest
from dardis.runs.run import run

PLATFORM = """
name = "two kinds"
[[nodes]]
count = 2
prefix = "a"
resources = { cores = 4, gpu = 1 }
[[nodes]]
count = 1
prefix = "b"
resources = { cores = 8 }
"""
HEADER = "job_id,submit_s,runtime_s,walltime_s,units,req_cores,req_gpu,queue,user,after,think_s\n"
ROWS = [
    "1,100,50,60,2,4,0,long,ann,,",
    "2,100,90,60,1,6,0,short,bob,,",
    "3,110,40,40,1,8,0,long,ann,,",
    "4,110,45,45,1,2,0,short,bob,,",
    "5,120,30,30,1,2,0,short,cyd,1,40",
    "6,400,5,10,1,9,0,short,cyd,,",
]


@pytest.fixture
def request_for(tmp_path):
    (tmp_path / "p.toml").write_text(PLATFORM)
    (tmp_path / "t.csv").write_text(HEADER + "\n".join(ROWS) + "\n")
    return RunRequest(tmp_path / "t.csv", tmp_path / "p.toml", "easy", tmp_path / "out", force=True)


def starts_of(request):
    """Run, check what every run must satisfy, and return (start by job, metrics, run.json)."""
    outcome = run(request)
    record = json.loads((request.out / "run.json").read_text())
    schedule = read_jobs(request.out / "jobs.csv")
    metrics = json.loads((request.out / "metrics.json").read_text())
    assert metrics == outcome.metrics
    assert schedule.digest() == metrics["schedule_digest"]
    assert audit(schedule, platform_from_dict(record["platform"])) == []
    assert metrics["completed"] + metrics["killed"] + metrics["rejected"] == metrics["jobs"] == len(schedule.number)
    return dict(zip(schedule.number.tolist(), schedule.start.tolist(), strict=True)), metrics, record


def test_starts_kills_rejections_and_followers(request_for):
    """Job 3 is the head, reserved at 160, when the killed job 2 ends; 4 ends by then, on the cores that 2 leaves."""
    starts, metrics, record = starts_of(replace(request_for, think_times=True))
    assert starts == {1: 100, 2: 100, 3: 160, 4: 110, 5: 190, 6: NO_TIME}
    assert (metrics["completed"], metrics["killed"], metrics["rejected"]) == (4, 1, 1)
    assert record["rejected"] == [{"job": 6, "reason": "asks for 1 units of (9 cores); the machine holds 0"}]
    assert metrics["total_wait_s"] == 50
    assert (metrics["ranks"], metrics["nodes_on_largest_rank"]) == (1, 3)
    assert (metrics["messages"], metrics["message_bytes"], metrics["renegotiations"]) == (0, 0, 0)
    assert metrics["decisions"] > 0


def test_a_strict_queue_waits(request_for):
    starts, _, _ = starts_of(replace(request_for, dispatcher="rules-fcfs"))
    assert starts == {1: 100, 2: 100, 3: 160, 4: 160, 5: 160, 6: NO_TIME}


@pytest.mark.parametrize("name", OURS)
def test_every_dispatcher_ends_every_job(request_for, name):
    deadlines = "factor:2" if OURS[name].setup.needs_deadlines else None
    starts, _, _ = starts_of(replace(request_for, dispatcher=name, deadlines=deadlines))
    assert [number for number, start in starts.items() if start == NO_TIME] == [6]


@pytest.mark.parametrize(
    ("name", "settings"),
    [("rules-wt", ("ordering=relaxed", "node_choice=random")), ("easy", ("order=sjbf", "event_order=per-event"))],
)
def test_the_record_is_enough_to_run_it_again(request_for, tmp_path, name, settings):
    original = replace(request_for, dispatcher=name, settings=settings, seed=9)
    _, metrics, record = starts_of(original)
    recorded = tuple(f"{key}={value}" for key, value in record["settings"].items())
    again = RunRequest(
        Path(record["trace"]), Path(record["platform_file"]), record["dispatcher"], tmp_path / "again",
        seed=record["seed"], settings=recorded,
    )  # fmt: skip
    assert starts_of(again)[1]["schedule_digest"] == metrics["schedule_digest"]


def test_a_capped_machine(request_for, tmp_path):
    """8 of 16 cores until 200, in proportion: 2 a small node and 4 the large one."""
    (tmp_path / "cap.csv").write_text("time_s,node,kind,value\n0,*,cores,8\n200,*,cores,16\n")
    capped = replace(request_for, profile=tmp_path / "cap.csv", jobs=4)
    hard, metrics, _ = starts_of(replace(capped, settings=("profile=hard",)))
    assert hard == {1: 200, 2: 200, 3: 260, 4: 110}
    assert metrics["overutilisation_core_s"] == 0
    rules, _, _ = starts_of(replace(capped, dispatcher="rules-fcfs"))
    assert rules == {1: 200, 2: 200, 3: 260, 4: 260}
    ignored, metrics, _ = starts_of(replace(capped, settings=("profile=off",)))
    assert ignored[1] == 100
    assert metrics["overutilisation_core_s"] > 0


def test_an_unknown_dispatcher_lists_the_known():
    with pytest.raises(InputError, match=r"'slurm'.*dardis-throughput.*rules-fcfs.*conservative"):
        find_dispatcher("slurm")


ONE = Platform("one", (NodeGroup("n", 1, {"cores": 4}),))


def test_followers_of_a_rejected_job_still_run():
    jobs = [
        actual(1, 0, 0, None, 5, 1, (9,), 1, runtime=5),
        actual(2, 1, 1, None, 5, 1, (4,), 1, after=1, think=3, runtime=5),
    ]
    schedule = dispatch(ONE, jobs, setup_of("easy")).schedule
    assert schedule.start.tolist() == [NO_TIME, 3]


def test_of_an_instant_batched_sees_ends_first_and_per_event_arrivals():
    """At 6 job 1 ends early and job 3 comes: does job 2 get its cores, or does 3 pass?"""
    rows = [(1, 5, 10, 2), (3, 3, 4, 3), (6, 1, 2, 2)]
    jobs = [
        actual(n, s, s, None, walltime, 1, (c,), 1, runtime=runtime)
        for n, (s, runtime, walltime, c) in enumerate(rows, 1)
    ]
    assert dispatch(ONE, jobs, setup_of("easy")).schedule.start.tolist() == [1, 6, 9]
    assert dispatch(ONE, jobs, setup_of("easy", "event_order=per-event")).schedule.start.tolist() == [1, 7, 6]


def test_no_decision_is_made_when_nothing_has_changed():
    """The dispatcher is asked at arrivals, ends, and when a reservation begins; never in between."""
    asked = []
    jobs = [actual(n, 10 * n, 10 * n, None, 35, 1, (3,), 1, runtime=20) for n in range(1, 4)]
    run_ = dispatch(ONE, jobs, setup_of("easy"), watch=lambda now, *_: asked.append(now))
    assert run_.schedule.start.tolist() == [10, 30, 50]
    assert np.unique(asked).tolist() == [10, 20, 30, 50, 70]
