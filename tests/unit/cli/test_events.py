"""Events of a site from the command line: what a run tells of them, what the audit makes of it, and refusals."""

import csv
import json

import pytest

from dardis.cli.main import run

PLATFORM = """name = "p"
[[nodes]]
count = 4
prefix = "a"
resources = { cores = 4 }
[[queues]]
name = "day"
[[queues]]
name = "course"
"""
JOBS = """job_id,submit_s,runtime_s,walltime_s,units,req_cores,queue
1,0,50,60,4,4,day
2,1,50,60,2,4,day
3,5,50,60,1,4,day
4,40,10,20,1,4,course
5,6,50,60,4,4,day
"""
EVENTS = """[[events]]
at_s = 20
job = 3
walltime_s = 40
[[events]]
at_s = 30
reservation = { name = "c", queue = "course", nodes = "3", start_s = 300, end_s = 400 }
[[events]]
at_s = 70
nodes_down = "0"
[[events]]
at_s = 200
stop_queue = "day"
"""


@pytest.fixture
def simulate(tmp_path, capsys):
    for name, text in (("p.toml", PLATFORM), ("j.csv", JOBS), ("e.toml", EVENTS)):
        (tmp_path / name).write_text(text)

    def call(dispatcher, *more):
        asked = ["--platform", str(tmp_path / "p.toml"), "--events", str(tmp_path / "e.toml")]
        out = ["--out", str(tmp_path / "o"), "--force", *more]
        status = run(["simulate", str(tmp_path / "j.csv"), *asked, "--dispatcher", dispatcher, *out])
        return status, capsys.readouterr().err.strip()

    return call


def audited(folder, capsys):
    status = run(["audit", str(folder / "o")])
    return status, capsys.readouterr().out


@pytest.mark.parametrize(
    "dispatcher", ["rules-fcfs", "easy", "conservative", "replan", "dardis-throughput", "dardis-late"]
)
def test_what_happens_is_told_and_audited(simulate, tmp_path, capsys, dispatcher):
    status, said = simulate(dispatcher)
    assert status == 0
    with (tmp_path / "o" / "jobs.csv").open() as file:
        found = {int(row["job_id"]): row for row in csv.DictReader(file)}
    assert int(found[4]["starting_time"]) == 300
    assert int(found[3]["execution_time"]) == 40
    assert found[5]["starting_time"] == ""  # one node is down for ever
    assert "waits in queue day, which is stopped" in said
    record = json.loads((tmp_path / "o" / "run.json").read_text())
    assert record["events_file"] == str(tmp_path / "e.toml")
    changed = {one["job"]: one for one in record["changed"]}
    assert (changed[3]["walltime_s"], changed[3]["ran_s"]) == (40, None)
    status, told = audited(tmp_path, capsys)
    assert (status, "ok" in told) == (0, True), told


@pytest.mark.parametrize(
    ("part", "said"),
    [("changed", "unlike the job of the trace"), ("platform", "maintenance")],
)
def test_the_audit_needs_what_is_told(simulate, tmp_path, capsys, part, said):
    """Without it what events did is illegal."""
    assert simulate("easy")[0] == 0
    path = tmp_path / "o" / "run.json"
    record = json.loads(path.read_text())
    if part == "changed":
        record["changed"] = []
    else:
        record["platform"]["maintenance"] = [{"nodes": [0], "start": 0, "end": 1 << 50, "foreseen": False}]
    path.write_text(json.dumps(record))
    status, told = audited(tmp_path, capsys)
    assert status == 1
    assert said in told


@pytest.mark.parametrize(
    ("dispatcher", "more", "said"),
    [
        ("pcp20", (), ["--events", "does not bear", "one of"]),
        ("easy", ("--profile", "cap.csv"), ["--profile", "reservations"]),
    ],
)
def test_what_does_not_go_together(simulate, tmp_path, dispatcher, more, said):
    (tmp_path / "cap.csv").write_text("time_s,node,kind,value\n0,*,cores,8\n")
    more = tuple(str(tmp_path / word) if word == "cap.csv" else word for word in more)
    status, line = simulate(dispatcher, *more)
    assert status == 2
    assert "\n" not in line
    assert all(part in line for part in said), line
    assert not (tmp_path / "o").exists() or not list((tmp_path / "o").glob("*.csv"))


def test_a_comparison_refuses_before_anything_is_run(simulate, tmp_path, capsys):
    asked = [str(tmp_path / "j.csv"), "--platform", str(tmp_path / "p.toml"), "--events", str(tmp_path / "e.toml")]
    assert run(["compare", *asked, "--dispatchers", "easy,pcp20", "--out", str(tmp_path / "c")]) == 2
    line = capsys.readouterr().err.strip()
    assert "pcp20 does not bear" in line
    assert not list((tmp_path / "c").glob("runs/*"))
