"""Queues of a site from the command line: what runs when, what is refused, and mistakes."""

import csv
import json

import pytest

from dardis.cli.main import run

PLATFORM = """name = "p"
[[nodes]]
count = 2
prefix = "a"
resources = { cores = 4 }
[[nodes]]
count = 2
prefix = "b"
resources = { cores = 4 }
[prime]
start = "08:00"
end = "18:00"
[[queues]]
name = "day"
max_units = 2
[[queues]]
name = "night"
hours = "non-prime"
groups = ["b"]
[[queues]]
name = "held"
stopped = [{ start_s = 0, end_s = 500 }]
"""
JOBS = """job_id,submit_s,runtime_s,walltime_s,units,req_cores,queue
1,0,50,60,1,4,day
2,0,50,60,3,4,day
3,0,50,60,1,4,night
4,0,50,60,1,4,held
5,0,50,60,1,4,
6,10,50,60,4,4,night
"""
NINE, FIVE = "2023-07-03T09:00Z", "2023-07-03T17:00Z"


@pytest.fixture
def simulate(tmp_path, capsys):
    (tmp_path / "p.toml").write_text(PLATFORM)
    (tmp_path / "j.csv").write_text(JOBS)

    def call(*more):
        out = ["--out", str(tmp_path / "o"), "--force", "--no-report"]
        status = run(["simulate", str(tmp_path / "j.csv"), "--platform", str(tmp_path / "p.toml"), *out, *more])
        return status, capsys.readouterr().err.strip()

    return call


def rows(folder):
    with (folder / "o" / "jobs.csv").open() as file:
        return {int(row["job_id"]): row for row in csv.DictReader(file)}


@pytest.mark.parametrize(
    "dispatcher",
    ["rules-fcfs", "easy", "conservative", "replan", "hcp19", "dardis-throughput", "dardis-balance", "dardis-late"],
)
def test_all_keep_to_what_queues_say(simulate, tmp_path, capsys, dispatcher):
    assert simulate("--dispatcher", dispatcher, "--calendar-start", FIVE)[0] == 0
    found = rows(tmp_path)
    starts = {number: row["starting_time"] and int(row["starting_time"]) for number, row in found.items()}
    assert starts[2] == starts[6] == ""
    assert starts[1] == starts[5] == 0 or dispatcher == "dardis-balance"
    assert starts[3] >= 3600
    assert starts[4] >= 500
    assert found[3]["allocated_resources"] in {"2", "3"}
    reasons = {one["job"]: one["reason"] for one in json.loads((tmp_path / "o" / "run.json").read_text())["rejected"]}
    assert reasons[2] == "asks for 3 units, queue day takes 2 at most"
    assert "the machine holds 2" in reasons[6]
    assert run(["audit", str(tmp_path / "o")]) == 0
    capsys.readouterr()


def test_the_audit_knows_the_hours_and_the_limits(simulate, tmp_path, capsys):
    assert simulate("--dispatcher", "easy", "--calendar-start", NINE)[0] == 0
    record = tmp_path / "o" / "run.json"
    said = json.loads(record.read_text())
    said["platform"]["queues"][0] |= {"max_walltime_s": 59, "stopped": [[0, 1]], "groups": [1]}
    record.write_text(json.dumps(said))
    assert run(["audit", str(tmp_path / "o")]) == 1
    told = capsys.readouterr().out
    assert "starts while queue day is closed" in told
    assert "asks for more than the 59 s of walltime that its queue takes" in told
    assert "is none that queue day may use" in told


def test_hours_need_a_calendar(simulate):
    status, said = simulate("--dispatcher", "easy")
    assert (status, said.count("\n")) == (2, 0)
    assert "--calendar-start" in said
    assert "j.csv" in said


def test_the_platform_may_say_when_the_trace_began(simulate, tmp_path):
    (tmp_path / "p.toml").write_text(f'calendar_start = "{NINE}"\n' + PLATFORM)
    assert simulate("--dispatcher", "easy")[0] == 0
    assert int(rows(tmp_path)[3]["starting_time"]) == 9 * 3600
    assert simulate("--dispatcher", "easy", "--calendar-start", FIVE)[0] == 0
    assert int(rows(tmp_path)[3]["starting_time"]) == 3600


def test_a_queue_that_nobody_declares_is_an_error(simulate, tmp_path):
    (tmp_path / "j.csv").write_text(JOBS + "7,20,5,6,1,1,dya\n")
    status, said = simulate("--dispatcher", "easy", "--calendar-start", NINE)
    assert status == 2
    assert "job 7" in said
    assert "'dya' is not declared; expected one of day, night, held" in said


@pytest.mark.parametrize("moment", ["noon", "1969-01-01T00:00Z"])
def test_a_moment_that_is_none(simulate, moment):
    status, said = simulate("--dispatcher", "easy", "--calendar-start", moment)
    assert status == 2
    assert said.startswith(f"dardis: --calendar-start: {moment!r}")


@pytest.mark.parametrize("dispatcher", ["rules-fcfs", "easy", "conservative", "replan", "dardis-late"])
def test_the_higher_priority_goes_first(simulate, tmp_path, dispatcher):
    lines = [f"{n},{int(n > 1)},50,60,4,4,{'low' if n % 2 else 'high'}" for n in range(1, 6)]
    (tmp_path / "j.csv").write_text("\n".join([JOBS.split("\n", maxsplit=1)[0], *lines, ""]))
    queues = '[[queues]]\nname = "low"\n[[queues]]\nname = "high"\npriority = 2\n'
    (tmp_path / "p.toml").write_text(PLATFORM.split("[prime]", maxsplit=1)[0] + queues)
    assert simulate("--dispatcher", dispatcher)[0] == 0
    order = sorted(rows(tmp_path).values(), key=lambda row: int(row["starting_time"]))
    assert [int(row["job_id"]) for row in order] == [1, 2, 4, 3, 5]


def test_the_audit_of_a_table_alone_cannot_know_the_hours(simulate, tmp_path, capsys):
    assert simulate("--dispatcher", "easy", "--calendar-start", NINE)[0] == 0
    folder, platform = tmp_path / "o", ["--platform", str(tmp_path / "p.toml")]
    assert run(["audit", str(folder), *platform]) == 0
    (folder / "run.json").unlink()
    capsys.readouterr()
    assert run(["audit", str(folder), *platform]) == 2
    said = capsys.readouterr().err
    assert "has queues with hours or maintenance by date, and nobody says when the trace began" in said
    assert said.count("\n") == 1


def test_who_waits_for_a_closed_queue_keeps_nobody_else(simulate, tmp_path):
    """In a strict order, too: 2 is first in the queue, which closes before there is room."""
    lines = ["1,0,10,10,4,4,", "2,1,5,5,4,4,day", "3,2,5,5,4,4,"]
    (tmp_path / "j.csv").write_text("\n".join([JOBS.split("\n", maxsplit=1)[0], *lines, ""]))
    stopped = '[[queues]]\nname = "day"\nstopped = [{ start_s = 5, end_s = 50 }]\n'
    (tmp_path / "p.toml").write_text(PLATFORM.split("[prime]", maxsplit=1)[0] + stopped)
    for dispatcher in ("rules-fcfs", "easy", "dardis-late", "cp-eurora", "portfolio"):
        assert simulate("--dispatcher", dispatcher)[0] == 0
        assert [int(rows(tmp_path)[job]["starting_time"]) for job in (1, 2, 3)] == [0, 50, 10], dispatcher


def test_a_job_asks_again_for_all_hours_before_its_own(simulate, tmp_path):
    """1 ends early; before 2 has ended, too, the queue of 3 is closed and opened again."""
    lines = ["1,0,10,100,2,4,", "2,0,45,45,2,4,", "3,1,5,5,4,4,day"]
    (tmp_path / "j.csv").write_text("\n".join([JOBS.split("\n", maxsplit=1)[0], *lines, ""]))
    stopped = '[[queues]]\nname = "day"\nstopped = [{ start_s = 20, end_s = 40 }]\n'
    (tmp_path / "p.toml").write_text(PLATFORM.split("[prime]", maxsplit=1)[0] + stopped)
    assert simulate("--dispatcher", "dardis-throughput")[0] == 0
    assert int(rows(tmp_path)[3]["starting_time"]) == 45


HEAD = JOBS.split("\n", maxsplit=1)[0]
STOPPED = '[[queues]]\nname = "s"\nstopped = [{ start_s = 20, end_s = 150 }]\n'
ONE_NODE = 'name = "p"\n[[nodes]]\ncount = 1\nprefix = "a"\nresources = { cores = 4 }\n'


@pytest.mark.parametrize(
    "dispatcher", ["rules-fcfs", "easy", "replan", "hcp19", "cp-eurora", "portfolio", "conservative", "dardis-late"]
)
@pytest.mark.parametrize("rule", ["soft", "hard"])
def test_a_profile_that_falls_while_a_queue_is_closed_loses_nobody(simulate, tmp_path, dispatcher, rule):
    """2 would fit before 100 alone, when its queue is closed: it is rejected, or a soft profile gives way."""
    (tmp_path / "p.toml").write_text(ONE_NODE + STOPPED)
    (tmp_path / "j.csv").write_text(f"{HEAD}\n1,0,30,30,1,2,\n2,10,5,5,1,4,s\n3,200,5,5,1,1,\n")
    (tmp_path / "cap.csv").write_text("time_s,node,kind,value\n0,*,cores,4\n100,*,cores,2\n")
    profile = ("--profile", str(tmp_path / "cap.csv"), "--set", f"profile={rule}", "--dispatcher", dispatcher)
    assert simulate(*profile)[0] == 0
    found = rows(tmp_path)
    assert found[2]["status"] == ("completed" if rule == "soft" else "rejected")
    assert int(found[3]["starting_time"]) >= 200
    assert run(["audit", str(tmp_path / "o")]) == 0


@pytest.mark.parametrize("dispatcher", ["hcp19", "pcp19", "cp-eurora", "portfolio"])
def test_a_queue_that_closes_while_a_decision_takes_its_time(simulate, tmp_path, dispatcher):
    (tmp_path / "p.toml").write_text(
        ONE_NODE.replace("count = 1", "count = 2")
        + '[[queues]]\nname = "s"\nstopped = [{ start_s = 11, end_s = 1000 }]\n'
        '[[queues]]\nname = "g"\nstopped = [{ start_s = 0, end_s = 12 }, { start_s = 13, end_s = 2000 }]\n'
    )
    jobs = [f"{n},10,{20 + n},50,1,3,s" for n in range(1, 7)]
    jobs += ["9,10,30,40,1,2,", "8,5,30,40,1,1,g", "7,1100,5000,6000,1,1,"]
    (tmp_path / "j.csv").write_text("\n".join([HEAD, *jobs, ""]))
    cost = ("--set", "decision_cost=deterministic", "--set", "shortcuts=off")
    assert simulate("--dispatcher", dispatcher, *cost)[0] == 0
    assert run(["audit", str(tmp_path / "o")]) == 0


@pytest.mark.parametrize("dispatcher", ["dardis-profile", "dardis-balance"])
def test_drawn_starts_come_even_where_open_spans_are_shorter_than_the_grain(simulate, tmp_path, dispatcher):
    spans = ", ".join(f"{{ start_s = {s}, end_s = {s + 37} }}" for s in range(0, 2000, 41))
    (tmp_path / "p.toml").write_text(ONE_NODE + f'[[queues]]\nname = "s"\nstopped = [{spans}]\n')
    jobs = [f"{n},{7 * n},{n + 20},{30 + 11 * n},1,{1 + n % 4},s" for n in range(12)]
    (tmp_path / "j.csv").write_text("\n".join([HEAD, *jobs, ""]))
    for rule in ("none", "factor:1"):
        assert simulate("--dispatcher", dispatcher, "--deadlines", rule)[0] == 0
        assert {row["status"] for row in rows(tmp_path).values()} == {"completed"}
        assert run(["audit", str(tmp_path / "o")]) == 0


def test_groups_that_partition_and_queue_have_not_in_common_hold_nothing(simulate, tmp_path):
    text = (
        PLATFORM.split("[prime]", maxsplit=1)[0] + '[partitions]\n1 = ["a"]\n[[queues]]\nname = "1"\ngroups = ["b"]\n'
    )
    (tmp_path / "p.toml").write_text(text + '[[queues]]\nname = "2"\n')
    lines = (f"{n} {n} 0 5 2 -1 -1 2 9 -1 1 1 1 -1 {queue} 1 -1 -1" for n, queue in ((1, 1), (2, 2)))
    (tmp_path / "j.csv").write_text("\n".join([*lines, ""]))
    status, said = simulate("--dispatcher", "easy")
    assert status == 0
    assert "job 1 rejected" in said
    assert [row["status"] for row in rows(tmp_path).values()] == ["rejected", "completed"]


@pytest.mark.parametrize(
    ("change", "moment", "said"),
    [
        ({}, "9985-01-01T00:00Z", "a year that prime time knows not"),
        ({'"18:00"': '"24:00"', '"08:00"': '"00:00"'}, NINE, "queue 'night' is closed for over a year"),
        ({"end_s = 500": "end_s = 1000000000"}, NINE, "queue 'held' is closed for over a year"),
    ],
)
def test_hours_that_make_no_sense_are_mistakes(simulate, tmp_path, change, moment, said):
    text = PLATFORM
    for old, new in change.items():
        text = text.replace(old, new)
    (tmp_path / "p.toml").write_text(text)
    status, told = simulate("--dispatcher", "easy", "--calendar-start", moment)
    assert (status, told.count("\n")) == (2, 0)
    assert said in told


def test_the_audit_compares_queues_with_the_trace(simulate, tmp_path, capsys):
    assert simulate("--dispatcher", "easy", "--calendar-start", NINE)[0] == 0
    path = tmp_path / "o" / "jobs.csv"
    path.write_text(path.read_text().replace(",held,", ",,"))
    capsys.readouterr()
    assert run(["audit", str(tmp_path / "o")]) == 1
    assert "job 4: is in queue" in capsys.readouterr().out
