"""A whole run: schedule, files, record, progress, and what is loaded for it."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from dardis.config.platform_record import platform_from_dict
from dardis.config.run_spec import RunSpec
from dardis.metrics.audit import audit
from dardis.metrics.jobs_csv import read_jobs
from dardis.model.job import NO_TIME, Status
from dardis.registry import BUILT_IN_DISPATCHERS
from dardis.runs import progress_file
from dardis.runs.run import run

PLATFORM = """
name = "two kinds"
[[nodes]]
count = 3
prefix = "a"
resources = { cores = 4, gpu = 1 }
[[nodes]]
count = 2
prefix = "b"
resources = { cores = 8 }
"""
HEADER = "job_id,submit_s,runtime_s,walltime_s,units,req_cores,req_gpu,queue,user,after,think_s\n"
ROWS = [
    "1,100,50,60,3,4,0,long,ann,,",
    "2,100,90,60,1,8,0,short,bob,,",
    "3,110,10,100,2,8,0,long,ann,,",
    "4,110,10,100,1,4,1,short,bob,,",
    "5,120,30,30,5,2,0,short,cyd,1,40",
    "6,400,5,10,1,9,0,short,cyd,,",
    "7,500,5,10,2,2,0,long,bob,,",
]


SMALLER = """
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
FEWER = [
    "1,100,50,60,2,4,0,long,ann,,",
    "2,100,90,60,1,6,0,short,bob,,",
    "3,110,40,40,1,8,0,long,ann,,",
    "4,110,45,45,1,2,0,short,bob,,",
    "5,120,30,30,1,2,0,short,cyd,1,40",
    "6,400,5,10,1,9,0,short,cyd,,",
]
"""For the tests of a queue that one dispatcher decides on."""


def written(folder, platform, rows, dispatcher):
    (folder / "p.toml").write_text(platform)
    (folder / "t.csv").write_text(HEADER + "\n".join(rows) + "\n")
    return RunSpec(
        trace=folder / "t.csv", platform=folder / "p.toml", dispatcher=dispatcher, out=folder / "out", force=True
    )


def changed(request, **fields):
    """The request with other values."""
    return request.model_copy(update=fields)


@pytest.fixture
def request_for(tmp_path):
    return written(tmp_path, PLATFORM, ROWS, "dardis-throughput")


@pytest.fixture
def central(tmp_path):
    return written(tmp_path, SMALLER, FEWER, "easy")


def schedule_of(request):
    """Run, check what every run must satisfy, and return (schedule, metrics, run.json)."""
    outcome = run(request)
    record = json.loads((request.out / "run.json").read_text())
    metrics = json.loads((request.out / "metrics.json").read_text())
    schedule = read_jobs(request.out / "jobs.csv")
    assert metrics == outcome.metrics
    assert schedule.digest() == metrics["schedule_digest"]
    assert audit(schedule, platform_from_dict(record["platform"])) == []
    assert metrics["completed"] + metrics["killed"] + metrics["rejected"] == metrics["jobs"] == len(schedule.number)
    return schedule, metrics, record


def start_of(schedule):
    return dict(zip(schedule.number.tolist(), schedule.start.tolist(), strict=True))


def test_starts_kills_and_rejections(request_for):
    schedule, metrics, record = schedule_of(request_for)
    # Job 1 has the three small nodes, and 2 a large one, where it is killed at 160. Job 3 needs both large ones. Job 4
    # needs a small one: reserved at 160, it moves to 150 when 1 ends early. Job 5 moves from 260 to 160, when 4 ends.
    assert start_of(schedule) == {1: 100, 2: 100, 3: 160, 4: 150, 5: 160, 6: NO_TIME, 7: 500}
    assert schedule.finish[1] == 160
    assert schedule.status.tolist() == [0, Status.KILLED, 0, 0, 0, Status.REJECTED, 0]
    assert record["rejected"] == [{"job": 6, "reason": "requests 1 units of (9 cores); the machine fits 0"}]
    assert metrics["makespan_s"] == 405
    assert metrics["total_wait_s"] == 50 + 40 + 40
    assert metrics["renegotiations"] > 0


def test_every_file_is_written_and_the_profile_sums_up(request_for):
    schedule, metrics, _ = schedule_of(request_for)
    assert {path.name for path in request_for.out.iterdir()} == {
        "jobs.csv", "metrics.json", "metrics_by.csv", "profile.csv", "decisions.csv", "run.json",
    }  # fmt: skip
    rows = list(csv.DictReader((request_for.out / "profile.csv").read_text().splitlines()))
    times = np.array([int(row["time_s"]) for row in rows])
    used = np.array([int(row["cores_used"]) for row in rows])
    ran = schedule.ran
    volume = (schedule.finish - schedule.start)[ran] @ (schedule.units * schedule.request[:, 0])[ran]
    assert np.diff(times) @ used[:-1] == volume
    assert {row["cores_desired"] for row in rows} == {"28"}
    decisions = list(csv.DictReader((request_for.out / "decisions.csv").read_text().splitlines()))
    assert sum(int(row["decisions"]) for row in decisions) == metrics["decisions"] >= 7


def test_a_soft_profile_gives_way_to_a_deadline_and_a_hard_one_does_not(request_for, tmp_path):
    (tmp_path / "cap.csv").write_text("time_s,node,kind,value\n0,*,cores,0\n1000,*,cores,28\n")
    capped = changed(request_for, profile=tmp_path / "cap.csv", deadlines="window:60", jobs=2)
    soft, metrics, _ = schedule_of(capped)
    assert start_of(soft) == {1: 100, 2: 100}
    assert metrics["overutilisation_core_s"] == 12 * 50 + 8 * 60
    hard, metrics, _ = schedule_of(changed(capped, settings=("profile=hard",)))
    assert min(start_of(hard).values()) >= 1000
    assert metrics["overutilisation_core_s"] == 0
    assert metrics["late_jobs"] == 2
    ignored, metrics, _ = schedule_of(changed(capped, settings=("profile=off",)))
    assert start_of(ignored) == {1: 100, 2: 100}


@pytest.mark.parametrize(
    "asked",
    [
        {
            "dispatcher": "dardis-profile",
            "settings": ("start_grain_s=7", "selection=max-probability"),
            "deadlines": "factor:2",
            "jobs": 6,
        },
        {"dispatcher": "rules-wt", "settings": ("ordering=relaxed", "node_choice=random")},
        {"dispatcher": "easy", "settings": ("order=sjbf", "event_order=per-event")},
    ],
)
def test_the_record_is_enough_to_run_it_again(request_for, tmp_path, asked):
    original = changed(request_for, seed=9, **asked)
    _, metrics, record = schedule_of(original)
    settings = tuple(f"{key}={value}" for key, value in record["settings"].items())
    again = RunSpec(
        trace=record["trace"], platform=record["platform_file"], dispatcher=record["dispatcher"],
        out=tmp_path / "again", seed=record["seed"], jobs=record["jobs"], deadlines=record["deadlines"],
        settings=settings,
    )  # fmt: skip
    assert schedule_of(again)[1]["schedule_digest"] == metrics["schedule_digest"]


@pytest.mark.parametrize("name", BUILT_IN_DISPATCHERS)
def test_every_dispatcher_ends_every_job(central, name):
    deadlines = "factor:2" if BUILT_IN_DISPATCHERS[name].setup.needs_deadlines else None
    starts = start_of(schedule_of(changed(central, dispatcher=name, deadlines=deadlines))[0])
    assert [number for number, start in starts.items() if start == NO_TIME] == [6]


READS_SETTINGS = """from dardis.comparison import comparison_run
from dardis.registry import find_dispatcher
for name in ('easy', 'rules-fcfs', 'dardis-throughput', 'dardis-late'): find_dispatcher(name)"""
SAYS_HELP = "from dardis.cli.main import run\nrun(['--help'])"


@pytest.mark.parametrize(
    ("program", "heavy"),
    [
        (READS_SETTINGS, {"numba"}),  # as `dardis compare`, whose runs are in other processes
        (SAYS_HELP, {"numba", "numpy", "pandas", "matplotlib", "mpi4py", "pydantic"}),
    ],
)
def test_a_command_loads_no_library_that_it_does_not_need(program, heavy):
    program = f"import sys\n{program}\nprint({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


OF_OTHERS = (
    "dardis.config.json_records", "dardis.dispatch.auction", "dardis.dispatch.cp", "dardis.dispatch.replan",
    "dardis.kernels.positions", "dardis.kernels.schedule_or_postpone", "dardis.kernels.neighbourhood_search",
    "dardis.kernels.replan",
    "dardis.metrics.power", "dardis.report", "dardis.scale", "matplotlib", "mpi4py", "offline", "ortools", "pandas",
    "scipy.linalg", "sklearn",
)  # fmt: skip


@pytest.mark.parametrize(
    ("dispatcher", "of_others"),
    [
        ("dardis-throughput", ("dardis.dispatch.central", "dardis.kernels.passes", "dardis.task_manager.late")),
        (
            "dardis-late",
            ("dardis.dispatch.central", "dardis.turns.planned_turns", "dardis.task_manager.planned_manager"),
        ),
        ("easy", ("dardis.kernels.round_kernel", "dardis.node_manager.pool", "dardis.task_manager.planned_manager")),
    ],
)
def test_run_loads_no_modules_of_other_features(request_for, dispatcher, of_others):
    words = [
        "simulate", request_for.trace, "--platform", request_for.platform, "--dispatcher", dispatcher, "--out",
        request_for.out, "--no-report", "--force",
    ]  # fmt: skip
    program = (
        f"import sys\nfrom dardis.cli.main import run\nassert run({[*map(str, words)]}) == 0\n"
        f"print([name for name in {(*OF_OTHERS, *of_others)} if name in sys.modules])"
    )
    loaded = None
    for _ in range(2):  # the first compiles what is missing
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=True)
        loaded = done.stdout.splitlines()[-1]
        if loaded == "[]":
            break
    assert loaded == "[]"


def test_progress_file_round_trips(tmp_path):
    path = tmp_path / "p"
    assert progress_file.read_progress(path) is None
    tell = progress_file.progress_writer(path)
    tell(1, 8)
    tell(2, 8)  # too soon
    assert progress_file.read_progress(path) == (1, 8)
    path.write_text("5")
    assert progress_file.read_progress(path) is None
