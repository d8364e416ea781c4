"""Runs of parts of traces told by dates, with other walltimes than stated, on machines that round and that refuse."""

import json

import pytest

from dardis.cli.main import run

PLATFORM = 'name = "p"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 17 }\n'
TRACE = """; UnixStartTime: 1328227200
; MaxProcs: 64
1 0 5 100 33 -1 -1 33 60 -1 1 1 1 -1 -1 -1 -1 -1
2 10 5 100 4 -1 -1 4 -1 -1 1 1 1 -1 -1 -1 -1 -1
3 90000 5 100 4 -1 -1 4 200 -1 1 1 1 -1 -1 -1 -1 -1
"""


@pytest.fixture
def simulate(tmp_path, capsys):
    """Run `dardis simulate` and return its status, what it said, and the folder."""
    (tmp_path / "p.toml").write_text(PLATFORM)
    (tmp_path / "t.swf").write_text(TRACE)

    def call(*more):
        asked = ["--platform", str(tmp_path / "p.toml"), "--dispatcher", "easy", "--out", str(tmp_path / "out")]
        status = run(["simulate", str(tmp_path / "t.swf"), *asked, "--force", "--no-report", *more])
        return status, capsys.readouterr(), tmp_path / "out"

    return call


def record(out, name="run.json"):
    return json.loads((out / name).read_text())


def jobs(out):
    return [line.split(",") for line in (out / "jobs.csv").read_text().splitlines()[1:]]


def test_jobs_are_killed_at_their_walltime_by_default_and_odd_values_are_reported(simulate):
    status, said, out = simulate()
    assert (status, record(out, "metrics.json")["killed"]) == (0, 1)
    assert "1 of 3 jobs state no walltime" in said.err
    assert "--walltime-factor X" in said.err
    assert "its header states MaxProcs 64, but p has 68 cores" in said.err
    assert "cores rounded up       1 more" in said.out
    assert record(out)["rounded_up"] == {"cores": 1, "jobs": 1}
    assert record(out, "metrics.json")["rounded_up_cores"] == 1


def test_walltimes_are_extended_and_estimated(simulate):
    status, said, out = simulate("--overrun", "extend", "--walltime-factor", "2.5")
    assert (status, record(out, "metrics.json")["killed"]) == (0, 0)
    assert [job[4] for job in jobs(out)] == ["100", "250", "200"]
    assert "--overrun extend: 1 of 3 jobs run longer than their walltimes" in said.err
    assert "1 of 3 jobs state no walltime; 2.5 times their runtime is used" in said.err
    assert run(["audit", str(out)]) == 0


@pytest.mark.parametrize(
    ("more", "number", "said"),
    [
        (["--from", "2012-02-04"], "3", (86_400, None)),
        (["--from", "+5s", "--to", "2012-02-04"], "2", (5, 86_400)),
        (["--calendar-start", "2020-01-01T00:00Z", "--from", "2020-01-02"], "3", (86_400, None)),
    ],
)
def test_trace_cuts_are_given_by_dates_and_spans(simulate, more, number, said):
    status, _, out = simulate(*more)
    assert (status, [job[0] for job in jobs(out)]) == (0, [number])
    assert (record(out)["from_s"], record(out)["to_s"]) == said
    assert run(["audit", str(out)]) == 0
