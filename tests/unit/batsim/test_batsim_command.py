"""`dardis simulate --batsim` with a scheduler behind ZeroMQ, and with pybatsim."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from pathlib import Path

import pytest
import zmq
from kit.batsim_scheduler import BatsimScheduler, QueueScheduler, call, execute, scripted, served
from kit.few_nodes import swf, write_files

from dardis.cli.main import run


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    write_files(tmp_path)
    return [str(tmp_path / "t.swf"), "--platform", str(tmp_path / "p.toml"), "--no-report"]


def column(folder: Path, name: str = "starting_time") -> list[str]:
    with (folder / "jobs.csv").open() as table:
        return [row[name] for row in csv.DictReader(table)]


@pytest.mark.parametrize(("backfill", "name"), [(False, "rules-fcfs"), (True, "easy")])
def test_folder_is_that_of_the_same_rule(files, tmp_path, backfill, name):
    for out in "ab":
        with served(QueueScheduler(backfill=backfill)) as endpoint:
            assert run(["simulate", "--batsim", endpoint, *files, "--out", str(tmp_path / out)]) == 0
    ours = ["--dispatcher", name, "--set", "unit_cores=1", "--out", str(tmp_path / "o")]
    assert run(["simulate", *files, *ours]) == 0
    assert column(tmp_path / "a") == column(tmp_path / "o")
    digests = {json.loads((tmp_path / out / "metrics.json").read_text())["schedule_digest"] for out in "ab"}
    assert len(digests) == 1
    assert json.loads((tmp_path / "a" / "run.json").read_text())["dispatcher"] == "batsim"
    assert run(["audit", str(tmp_path / "a")]) == 0


def test_killed_rejected_and_registered_jobs_pass_the_audit(files, tmp_path, capsys):
    (tmp_path / "t.swf").write_text(swf(2))
    profile = {"workload_name": "d", "profile_name": "p", "profile": {"type": "delay", "delay": 5}}
    registered = ("REGISTER_JOB", {"job_id": "d!x", "job": {"res": 32, "profile": "p"}})
    scheduler = scripted(
        [execute(1, "0-8"), call(4)], [("REJECT_JOB", {"job_id": "w0!2"})], [("KILL_JOB", {"job_ids": ["w0!1"]})],
        [("REGISTER_PROFILE", profile), registered],
        [execute("d!x", "0-31"), ("NOTIFY", {"type": "registration_finished"})],
    )  # fmt: skip
    out = tmp_path / "o"
    with served(scheduler) as endpoint:
        assert run(["simulate", "--batsim", endpoint, "--batsim-dynamic", *files, "--out", str(out)]) == 0
    assert column(out, "status") == ["killed", "rejected", "completed"]
    assert column(out) == ["1", "", "4"]
    record = json.loads((out / "run.json").read_text())
    assert (record["killed"], record["registered"]) == ([1], [{"job": 3, "id": "d!x"}])
    assert record["rejected"] == [{"job": 2, "reason": "rejected by the scheduler"}]
    assert run(["audit", str(out)]) == 0
    (out / "run.json").write_text(json.dumps(record | {"killed": []}))
    assert run(["audit", str(out)]) == 1
    assert "is killed before its walltime ends" in capsys.readouterr().out


def test_mistakes_are_one_line(files, tmp_path, capsys):
    (tmp_path / "e.toml").write_text("")
    closed = tmp_path / "closed.toml"
    closed.write_text((tmp_path / "p.toml").read_text() + "[[maintenance]]\nnodes = [0]\nstart_s = 5\nend_s = 9\n")
    base, asked = [*files, "--out", str(tmp_path / "o")], ["--batsim", "tcp://127.0.0.1:1"]
    with (
        served(BatsimScheduler(lambda *_: b"{")) as endpoint,
        zmq.Context() as context,
        context.socket(zmq.REP) as silent,
    ):
        silent.bind("tcp://127.0.0.1:*")
        unanswered = ["--batsim", silent.get_string(zmq.LAST_ENDPOINT), "--batsim-timeout", "1"]
        for arguments, line in (
            (["--batsim", endpoint], "--batsim: answer to SIMULATION_BEGINS at 0 s: is not JSON"),
            (
                unanswered,
                f"SIMULATION_BEGINS at 0 s: no answer from {unanswered[1]} within 1 s; expected a scheduler that",
            ),
            ([*asked, "--dispatcher", "easy"], "--dispatcher: stated with --batsim; expected"),
            (["--dispatcher", "easy", "--batsim-dynamic"], "--batsim-dynamic: has no effect without --batsim"),
            ([], "--dispatcher: missing; expected a name of `dardis dispatchers`, or --batsim tcp://HOST:PORT"),
            (["--batsim", "nonsense"], "--batsim nonsense: Invalid argument; expected an endpoint such as tcp://"),
            ([*asked, "--events", str(tmp_path / "e.toml")], "does not work with --batsim"),
            ([*asked, "--platform", str(closed)], "small: has maintenance, unknown to schedulers of Batsim"),
            ([*asked, "--deadlines", "window:60"], "job 1 has a latest start, unknown to Batsim"),
        ):
            assert run(["simulate", *base, *arguments]) == 2
            told = [one for one in capsys.readouterr().err.splitlines() if "warning" not in one]
            assert len(told) == 1
            assert line in told[0]
        assert not (tmp_path / "o" / "jobs.csv").exists()


@pytest.mark.parametrize(
    ("scheduler", "ours"),
    [("schedFcfs", ["rules-fcfs"]), ("schedEasySjfBackfill", ["easy", "--set", "order=sjbf"]), ("easyBackfill", [])],
)
def test_pybatsim_starts_jobs_as_the_own_dispatcher(tmp_path, scheduler, ours):
    """Its schedulers take adjacent resources, and decide after each event of an instant."""
    if (program := os.environ.get("DARDIS_PYBATSIM")) is None:
        pytest.skip("DARDIS_PYBATSIM does not name the program of pybatsim 3.2")
    (tmp_path / "p.toml").write_text('name = "p"\n[[nodes]]\ncount = 9\nprefix = "n"\nresources = { cores = 1 }\n')
    jobs = [
        (n, n * 7919 % 90_011, 500 + n * 3571 % 9001, 600 + n * 3571 % 12_007, 1 + n * 13 % 7) for n in range(1, 81)
    ]  # ends and submissions at different times, since a message has ends first
    rows = ["".join(f"{one}," for one in job[:4]) + f"{job[4]},1" for job in jobs]
    head = "job_id,submit_s,runtime_s,walltime_s,units,req_cores"
    (tmp_path / "t.csv").write_text("\n".join([head, *rows]) + "\n")
    adjacent = [f"{row},{job[4]},1" for row, job in zip(rows, jobs, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join([f"{head},nodes,contiguous", *adjacent]) + "\n")
    with zmq.Context() as context, context.socket(zmq.REP) as free:
        free.bind("tcp://127.0.0.1:*")
        endpoint = free.get_string(zmq.LAST_ENDPOINT)
    more = ["--platform", str(tmp_path / "p.toml"), "--no-report", "--out"]
    command = [program, scheduler, "-t", "0", "-v", "error", "-s", endpoint]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as other:
        assert run(["simulate", "--batsim", endpoint, str(tmp_path / "t.csv"), *more, str(tmp_path / "o")]) == 0
        assert other.wait() == 0
    assert run(["audit", str(tmp_path / "o")]) == 0
    if ours:
        own = ["--set", "event_order=per-event", "--dispatcher", *ours]
        assert run(["simulate", str(tmp_path / "a.csv"), *own, *more, str(tmp_path / "own")]) == 0
        assert column(tmp_path / "o") == column(tmp_path / "own")
