"""A finished run as data for the page: against sums over its jobs, and served to a client."""

import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from kit.error_lines import line_of
from kit.page_client import PageClient, Seen
from kit.written_run import SMALL, one_node_jobs, write_run

from dardis.metrics.page_rows import COLUMNS, HOUR_S, energy_by_user
from dardis.metrics.power import SEGMENTS
from dardis.model.job import NO_TIME, Status
from dardis.model.placements import Placements
from dardis.report import finished_run
from dardis.report.finished_run import FinishedRun

ZERO = 1_700_000_000


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path, one_node_jobs(400, SMALL), SMALL, unix_start=ZERO)


def as_jobs(rows):
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def test_rows_are_the_jobs(run):
    schedule, jobs = one_node_jobs(400, SMALL), as_jobs(FinishedRun(run).rows())
    assert [job["id"] for job in jobs] == schedule.number.tolist()
    for place in (0, 8, 399):
        job = jobs[place]
        assert job["state"] == ("killed" if place % 9 == 8 else "completed")
        assert job["started_ms"] == 1000 * (ZERO + int(schedule.start[place]))
        assert job["ended_ms"] - job["started_ms"] == 40_000
        assert (job["cores"], job["nodes"], job["on"]) == (2, 1, [f"n{place % 4}"])
        assert job["watts"] is None
    told = FinishedRun(run).job(9)
    assert told["facts"]["Wait"] == int(schedule.start[8] - schedule.submit[8])
    assert told["on"] == [["n0", 1]]
    assert FinishedRun(run).job(401) is None
    assert FinishedRun(run).jobs_of("n3") == [number for number in range(1, 401) if (number - 1) % 4 == 3]
    assert FinishedRun(run).jobs_of("other") == []


def test_use_and_nodes_are_sums_over_jobs(run):
    schedule, hello = one_node_jobs(400, SMALL), FinishedRun(run).hello()
    times = [sample[0] - ZERO for sample in hello["samples"]]
    running = [int(2 * ((schedule.start <= time) & (time < schedule.finish)).sum()) for time in times]
    assert [sample[2] for sample in hello["samples"]] == running
    waiting = [int(((schedule.submit <= time) & (time < schedule.start)).sum()) for time in times]
    assert all(sample[6] >= now for sample, now in zip(hello["samples"], waiting, strict=True))
    length = int(schedule.finish.max() - schedule.submit.min())
    for node, state in enumerate(hello["node_states"]):
        mine = np.arange(400) % 4 == node
        assert state[1] == pytest.approx(2 * 40 * mine.sum() / length, abs=0.01)
        assert state[2] == mine.sum()
    assert {sample[4] for sample in hello["samples"]} <= {None, 3, 5, 9}
    assert 9 in {sample[4] for sample in hello["samples"]}


def test_long_runs_keep_the_largest_use(run, monkeypatch):
    exact = FinishedRun(run).hello()["samples"]
    monkeypatch.setattr(finished_run, "BINS", 10)
    coarse = FinishedRun(run).hello()["samples"]
    assert len(coarse) <= 11
    assert max(sample[2] for sample in coarse) == max(sample[2] for sample in exact)


def test_hours_have_the_energy_of_the_segments(run):
    starts = np.array([0, 1000, 5000, 9000])
    columns = {name: np.zeros(4) for name in SEGMENTS.names}
    columns |= {
        "time_s": starts, "until_s": np.append(starts[1:], 10_000), "it_w": np.array([100.0, 300.0, 200.0, 50.0])
    }  # fmt: skip
    columns["energy_eur"] = columns["it_w"] * 2
    SEGMENTS.write_blocks(run / "power.csv", [[columns[name].tolist() for name in SEGMENTS.names]])
    hours = FinishedRun(run).energy()["hours"]
    joules = float((columns["it_w"] * (columns["until_s"] - starts)).sum())
    assert sum(hour[3] for hour in hours) == pytest.approx(joules / 3.6e6)
    assert sum(hour[4] for hour in hours) == pytest.approx(float(columns["energy_eur"].sum()))
    for at, mean, most, _, _ in hours:
        begin, end = max(at - ZERO, 0), min(at - ZERO + HOUR_S, 10_000)
        watts = [columns["it_w"][np.searchsorted(starts, second, side="right") - 1] for second in range(begin, end)]
        assert mean == pytest.approx(np.mean(watts))
        assert most == max(watts)


def test_energy_of_users_is_split_at_hours_and_ends():
    row = dict.fromkeys(COLUMNS) | {
        "user": "ann",
        "started_ms": 1800_000,
        "ended_ms": 9000_000,
        "cores": 2,
        "watts": 50,
    }
    other = row | {"user": "bob", "started_ms": 3600_000, "ended_ms": None, "cores": 10}
    waits = row | {"started_ms": None}
    rows = [[one[name] for name in COLUMNS] for one in (row, other, waits)]
    bob, ann = energy_by_user(rows, 3600, 7200, lambda at: 0.5 if at else 0.0)
    assert ann == ("ann", 2.0, pytest.approx(0.05), pytest.approx(0.025))
    assert bob == ("bob", 10.0, pytest.approx(0.05), pytest.approx(0.025))
    assert energy_by_user(rows, 3600, 7200, lambda _: None)[0][3] is None


def test_a_run_in_which_nothing_ran(tmp_path):
    none = np.full(5, NO_TIME)
    schedule = replace(
        one_node_jobs(5, SMALL), status=np.full(5, Status.REJECTED, np.int8), start=none, finish=none,
        placed=Placements.none(5),
    )  # fmt: skip
    data = FinishedRun(write_run(tmp_path, schedule, SMALL))
    assert [job["state"] for job in as_jobs(data.rows())] == ["rejected"] * 5
    assert data.hello()["node_states"][0][1] == 0
    assert data.energy()["users"] == []
    assert data.job(1)["facts"]["Wait"] is None


def test_a_run_is_served_until_interrupted(run):
    words = [sys.executable, "-m", "dardis", "report", run, "--serve"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        page = PageClient(server.stdout.readline().strip())
        seen = Seen(page.events()).ready()
        assert len(seen.jobs) == 400
        assert seen.hello["kind"] == "run"
        assert page.json("/api/jobs/9")["state"] == "killed"
        assert page.json("/api/nodes/n1")["jobs"]
        assert page.get("/api/jobs/999")[0] == 404
        assert page.json("/api/energy")["users"]
        assert PageClient(page.origin, opened=False).get("/events")[0] == 401
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0


@pytest.mark.parametrize("more", [{"charts": "svg"}, {"gantt": "0,10"}])
def test_what_does_not_go_with_serve(run, more):
    from dardis.cli.report_commands import report

    assert "--serve" in line_of(report, run, serve=True, **more)
    assert "--page-port" in line_of(report, run, page_port=1)


def test_only_runs_are_served(tmp_path):
    from dardis.cli.report_commands import report

    (tmp_path / "onoff.csv").touch()
    assert line_of(report, tmp_path, serve=True) == (
        f"--serve: {tmp_path} is the folder of a plan; expected the folder of a run"
    )
