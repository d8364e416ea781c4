"""Queues and events of a site from the command line: what runs when, what the audit makes of it, and refusals."""

import json

import pytest
from kit.small_site import rows_of

from dardis.cli.main import run

TWO_GROUPS = """name = "p"
[[nodes]]
count = 2
prefix = "a"
resources = { cores = 4 }
[[nodes]]
count = 2
prefix = "b"
resources = { cores = 4 }
"""
ONE_NODE = 'name = "p"\n[[nodes]]\ncount = 1\nprefix = "a"\nresources = { cores = 4 }\n'
FOUR_NODES = ONE_NODE.replace("count = 1", "count = 4")
PLATFORM = (
    TWO_GROUPS
    + """[prime]
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
)
HEAD = "job_id,submit_s,runtime_s,walltime_s,units,req_cores,queue"
JOBS = ["1,0,50,60,1,4,day", "2,0,50,60,3,4,day", "3,0,50,60,1,4,night", "4,0,50,60,1,4,held", "5,0,50,60,1,4,",
        "6,10,50,60,4,4,night"]  # fmt: skip
NINE, FIVE = "2023-07-03T09:00Z", "2023-07-03T17:00Z"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Write the platform and the jobs."""
    monkeypatch.chdir(tmp_path)

    def write(platform, jobs):
        (tmp_path / "p.toml").write_text(platform)
        (tmp_path / "j.csv").write_text("\n".join([HEAD, *jobs, ""]))

    write(PLATFORM, JOBS)
    return write


@pytest.fixture
def simulate(site, capsys):
    """Run `dardis simulate` of a dispatcher; its status, and what it says."""

    def call(dispatcher, *more):
        asked = ["simulate", "j.csv", "--platform", "p.toml", "--out", "o", "--force", "--no-report"]
        status = run([*asked, "--dispatcher", dispatcher, *more])
        return status, capsys.readouterr().err.strip()

    return call


@pytest.fixture
def starts(simulate, tmp_path):
    """Simulate, which succeeds and is legal; when each job starts, None where it never does."""

    def call(*arguments):
        assert simulate(*arguments)[0] == 0
        assert run(["audit", "o"]) == 0
        found = jobs_of(tmp_path)
        return {number: int(row["starting_time"]) if row["starting_time"] else None for number, row in found.items()}

    return call


def jobs_of(folder):
    return {int(row["job_id"]): row for row in rows_of(folder / "o" / "jobs.csv")}


def audited(capsys):
    capsys.readouterr()
    return run(["audit", "o"]), capsys.readouterr().out


def test_audit_checks_queue_hours_limits_and_trace(starts, tmp_path, capsys):
    starts("easy", "--calendar-start", NINE)
    record, jobs = tmp_path / "o" / "run.json", tmp_path / "o" / "jobs.csv"
    whole, said = record.read_text(), json.loads(record.read_text())
    said["platform"]["queues"][0] |= {"max_walltime_s": 59, "stopped": [[0, 1]], "groups": [1]}
    record.write_text(json.dumps(said))
    status, told = audited(capsys)
    assert status == 1
    for text in ("starts while queue day is closed", "is not available to queue day",
                 "requests more than the limit of its queue, 59 s of walltime"):  # fmt: skip
        assert text in told
    record.write_text(whole)
    jobs.write_text(jobs.read_text().replace(",held,", ",,"))
    status, told = audited(capsys)
    assert (status, "job 4: is in queue" in told) == (1, True)
    record.unlink()
    assert run(["audit", "o", "--platform", "p.toml"]) == 2
    said = capsys.readouterr().err
    assert "has queues with hours or maintenance by date, but the start of the trace is unknown" in said
    assert said.count("\n") == 1


def test_queue_hours_follow_the_platform_calendar_or_a_warning(site, starts):
    site(f'calendar_start = "{NINE}"\n' + PLATFORM, JOBS)
    assert starts("easy")[3] == 9 * 3600
    assert starts("easy", "--calendar-start", FIVE)[3] == 3600


@pytest.mark.parametrize(
    ("change", "more", "said"),
    [
        ({}, (), ["--calendar-start", "j.csv"]),
        ({}, ("--calendar-start", "9985-01-01T00:00Z"), ["a year without known prime time"]),
        (
            {'"18:00"': '"24:00"', '"08:00"': '"00:00"'},
            ("--calendar-start", NINE),
            ["'night' is closed for over a year"],
        ),
        ({"end_s = 500": "end_s = 1000000000"}, ("--calendar-start", NINE), ["'held' is closed for over a year"]),
        (
            {'"day"': '"dya"'},
            ("--calendar-start", NINE),
            ["job 1", "'day' is not declared; expected one of dya, night"],
        ),
        ({}, ("--calendar-start", "noon"), ["--calendar-start: 'noon'"]),
    ],
)
def test_invalid_queue_hours_are_errors(site, simulate, change, more, said):
    text = PLATFORM
    for old, new in change.items():
        text = text.replace(old, new)
    site(text, JOBS)
    status, told = simulate("easy", *more)
    assert (status, told.count("\n")) == (2, 0)
    assert all(part in told for part in said), told


def closed(name, *spans):
    """A queue that is closed at times."""
    stopped = ", ".join(f"{{ start_s = {start}, end_s = {end} }}" for start, end in spans)
    return f'[[queues]]\nname = "{name}"\nstopped = [{stopped}]\n'


def test_job_requests_an_earlier_start_in_all_open_hours(site, starts):
    site(TWO_GROUPS + closed("day", (20, 40)), ["1,0,10,100,2,4,", "2,0,45,45,2,4,", "3,1,5,5,4,4,day"])
    assert starts("dardis-throughput")[3] == 45


@pytest.mark.parametrize("dispatcher", ["hcp19", "pcp19", "cp-eurora", "portfolio"])
def test_queue_hours_hold_when_a_queue_closes_during_a_decision(site, starts, dispatcher):
    queues = closed("s", (11, 1000)) + closed("g", (0, 12), (13, 2000))
    jobs = [f"{n},10,{20 + n},50,1,3,s" for n in range(1, 7)]
    jobs += ["9,10,30,40,1,2,", "8,5,30,40,1,1,g", "7,1100,5000,6000,1,1,"]
    site(ONE_NODE.replace("count = 1", "count = 2") + queues, jobs)
    starts(dispatcher, "--set", "decision_cost=deterministic", "--set", "shortcuts=off")


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
def events(site, tmp_path):
    """A machine and a file with events; the option that names it."""
    jobs = ["1,0,50,60,4,4,day", "2,1,50,60,2,4,day", "3,5,50,60,1,4,day", "4,40,10,20,1,4,course", "5,6,50,60,4,4,day"]
    site(FOUR_NODES + '[[queues]]\nname = "day"\n[[queues]]\nname = "course"\n', jobs)
    (tmp_path / "e.toml").write_text(EVENTS)
    return "--events", "e.toml"


@pytest.mark.parametrize(
    "dispatcher", ["rules-fcfs", "easy", "conservative", "replan", "dardis-throughput", "dardis-late"]
)
def test_site_events_are_reported_and_audited(events, simulate, tmp_path, capsys, dispatcher):
    status, said = simulate(dispatcher, *events)
    assert status == 0
    found = jobs_of(tmp_path)
    assert int(found[4]["starting_time"]) == 300
    assert int(found[3]["execution_time"]) == 40
    assert found[5]["starting_time"] == ""  # one node is down for ever
    assert "waits in queue day, which is stopped" in said
    path = tmp_path / "o" / "run.json"
    record = json.loads(path.read_text())
    assert record["events_file"] == str(tmp_path / "e.toml")
    (changed,) = (one for one in record["changed"] if one["job"] == 3)
    assert (changed["walltime_s"], changed["ran_s"]) == (40, None)
    status, told = audited(capsys)
    assert (status, "ok" in told) == (0, True), told
    # Without what is told of them, what events did is illegal.
    down = {"nodes": [0], "start": 0, "end": 1 << 50, "foreseen": False}
    for part, why in (({"changed": []}, "unlike in the trace"),
                      ({"platform": record["platform"] | {"maintenance": [down]}}, "maintenance")):  # fmt: skip
        path.write_text(json.dumps(record | part))
        status, told = audited(capsys)
        assert (status, why in told) == (1, True)


def test_options_incompatible_with_events_are_refused_before_the_run(events, simulate, tmp_path, capsys):
    (tmp_path / "cap.csv").write_text("time_s,node,kind,value\n0,*,cores,8\n")
    for dispatcher, more, said in (
        ("pcp20", (), ("--events", "does not support", "one of")),
        ("easy", ("--profile", "cap.csv"), ("--profile", "reservations")),
    ):
        status, line = simulate(dispatcher, *events, *more)
        assert (status, line.count("\n")) == (2, 0)
        assert all(part in line for part in said), line
    compare = ["compare", "j.csv", "--platform", "p.toml", *events, "--dispatchers", "easy,pcp20", "--out", "o"]
    assert run(compare) == 2
    assert "pcp20 does not support" in capsys.readouterr().err
    assert not list(tmp_path.glob("o/*"))


@pytest.mark.parametrize(
    "dispatcher", ["rules-fcfs", "easy", "replan", "hcp19", "cp-eurora", "portfolio", "conservative", "dardis-late"]
)
@pytest.mark.parametrize("rule", ["soft", "hard"])
def test_profile_drop_during_closed_hours_loses_no_job(site, starts, tmp_path, dispatcher, rule):
    site(ONE_NODE + closed("s", (20, 150)), ["1,0,30,30,1,2,", "2,10,5,5,1,4,s", "3,200,5,5,1,1,"])
    (tmp_path / "cap.csv").write_text("time_s,node,kind,value\n0,*,cores,4\n100,*,cores,2\n")
    assert starts(dispatcher, "--profile", "cap.csv", "--set", f"profile={rule}")[3] >= 200
    assert jobs_of(tmp_path)[2]["status"] == ("completed" if rule == "soft" else "rejected")


def test_job_in_a_closed_queue_does_not_block_others(site, starts):
    site(TWO_GROUPS + closed("day", (5, 50)), ["1,0,10,10,4,4,", "2,1,5,5,4,4,day", "3,2,5,5,4,4,"])
    for dispatcher in ("rules-fcfs", "easy", "dardis-late", "cp-eurora", "portfolio"):
        assert starts(dispatcher) == {1: 0, 2: 50, 3: 10}, dispatcher


@pytest.mark.parametrize("dispatcher", ["rules-fcfs", "easy", "conservative", "replan", "dardis-late"])
def test_the_higher_priority_goes_first(site, starts, dispatcher):
    jobs = [f"{n},{int(n > 1)},50,60,4,4,{'low' if n % 2 else 'high'}" for n in range(1, 6)]
    site(TWO_GROUPS + '[[queues]]\nname = "low"\n[[queues]]\nname = "high"\npriority = 2\n', jobs)
    found = starts(dispatcher)
    assert sorted(found, key=found.get) == [1, 2, 4, 3, 5]
