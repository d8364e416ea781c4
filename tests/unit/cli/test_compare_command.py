"""`dardis compare` as its user meets it: runs in processes, what is kept, what is redone, and every mistake a line."""

import csv
import json
import signal
import subprocess
import sys
import time

import pytest

from dardis.cli.main import run

PLATFORM = 'name = "small"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 8 }\n'


def lines(count, procs=9, runtime=50):
    return "".join(
        f"{n} {n} 0 {runtime + n % 97} {procs} -1 -1 {procs} 200 -1 1 1 1 -1 1 1 -1 -1\n" for n in range(1, count + 1)
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p.toml").write_text(PLATFORM)
    (tmp_path / "t.swf").write_text(lines(40))
    return tmp_path


@pytest.fixture
def compare(folder, capsys):
    """Run `dardis compare` of the trace with arguments; return (status, lines on standard error)."""

    def call(*more, what=("t.swf",), dispatchers="dardis-throughput,dardis-balance", platform="p.toml"):
        arguments = [str(folder / name) for name in what]
        arguments += ["--platform", str(folder / platform)] if platform else []
        arguments += ["--dispatchers", dispatchers] if dispatchers else []
        status = run(["compare", *arguments, "--out", str(folder / "o"), *map(str, more)])
        return status, capsys.readouterr().err.splitlines()

    return call


def digests(folder):
    return {
        path.parent.relative_to(folder / "o" / "runs").as_posix(): json.loads(path.read_text())["schedule_digest"]
        for path in (folder / "o" / "runs").glob("*/*/*/metrics.json")
    }


def written(folder):
    return {path: path.stat().st_mtime_ns for path in (folder / "o" / "runs").glob("*/*/*/*")}


def test_two_set_ups_and_two_seeds_and_nothing_done_twice(compare, folder):
    assert compare("--seeds", "1,2") == (0, [])
    runs = digests(folder)
    assert sorted(runs) == ["t/dardis-balance/1", "t/dardis-balance/2", "t/dardis-throughput/1"]
    assert "One run, as nothing is drawn by the seed: dardis-throughput." in (folder / "o" / "table.md").read_text()
    assert runs["t/dardis-balance/1"] != runs["t/dardis-balance/2"], "drawn starts differ from seed to seed"
    made = {path.name for path in (folder / "o").iterdir()}
    assert made == {
        "compare.csv", "compare.json", "found.json", "recorded", "table.csv", "table.md", "table.tex", "who_pays.csv",
        "report.html", "runs",
    }  # fmt: skip
    with (folder / "o" / "compare.csv").open() as file:
        rows = list(csv.DictReader(file))
    waits = [float(row["mean_wait_s"]) for row in rows if row["dispatcher"] == "dardis-balance"]
    with (folder / "o" / "table.csv").open() as file:
        table = {row["dispatcher"]: row for row in csv.DictReader(file)}
    assert float(table["dardis-balance"]["mean_wait_s_mean"]) == pytest.approx(sum(waits) / 2)
    assert float(table["dardis-balance"]["mean_wait_s_sd"]) == pytest.approx(abs(waits[0] - waits[1]) / 2**0.5)

    before = written(folder)
    assert compare("--seeds", "1,2") == (0, [])
    assert written(folder) == before
    status, said = compare("--seeds", "1", "--jobs", "30")
    assert (status, len(said)) == (2, 1)
    assert "with another jobs" in said[0]
    assert "--force" in said[0]
    assert written(folder) == before
    # A dispatcher that is new is run; the one that was there is kept.
    assert compare(dispatchers="dardis-throughput,dardis-profile")[0] == 0
    after = written(folder)
    assert {path: after[path] for path in before} == before
    assert "t/dardis-profile/1" in digests(folder)
    assert "dardis-balance" not in (folder / "o" / "table.md").read_text()
    # What was asked anew is redone by force.
    assert compare("--jobs", "30", "--force", dispatchers="dardis-throughput") == (0, [])
    assert json.loads((folder / "o/runs/t/dardis-throughput/1/metrics.json").read_text())["jobs"] == 30


SPEC = """
[[traces]]
trace = "t.swf"
platform = "p.toml"
[[traces]]
name = "broken"
trace = "t.swf"
platform = "p.toml"
jobs = 5
[[dispatchers]]
label = "fine"
name = "dardis-throughput"
"""


def test_a_run_that_fails_is_told_and_the_rest_is_there(compare, folder):
    (folder / "spec.toml").write_text(SPEC)
    blocked = folder / "o" / "runs" / "broken" / "fine" / "1"
    blocked.mkdir(parents=True)
    (folder / "o" / "compare.json").write_text('{"runs": {}}')
    (blocked / "thesis.tex").write_text("dear")
    status, said = compare(what=["spec.toml"], dispatchers=None, platform=None)
    assert status == 1
    assert len(said) == 1
    assert said[0].startswith("dardis: broken/fine/1 failed: --out")
    assert "something else than a run" in said[0]
    assert sorted(digests(folder)) == ["t/fine/1"]
    assert (blocked / "thesis.tex").read_text() == "dear"
    for name in ("table.md", "table.tex", "report.html", "compare.csv"):
        assert "something else than a run" in (folder / "o" / name).read_text()
    before = written(folder)
    (blocked / "thesis.tex").unlink()
    assert compare(what=["spec.toml"], dispatchers=None, platform=None) == (0, [])
    assert sorted(digests(folder)) == ["broken/fine/1", "t/fine/1"]
    after = written(folder)
    assert all(after[path] == moment for path, moment in before.items() if path.name != "thesis.tex")


MISTAKES = {
    "a dispatcher nobody knows": (["--seeds", "1"], {"dispatchers": "dardis-throughput,slurm"}, ["'slurm'", "one of"]),
    "a setting nobody knows": (["--set", "speed=9"], {}, ["dispatcher dardis-throughput", "speed"]),
    "a missing trace": ([], {"what": ["none.swf"]}, ["none.swf", "No such file"]),
    "a missing platform file": ([], {"platform": "none.toml"}, ["none.toml", "No such file"]),
    "no platform": ([], {"platform": None}, ["--platform P.toml"]),
    "no dispatchers": ([], {"dispatchers": None}, ["--dispatchers A,B"]),
    "an empty name": ([], {"dispatchers": "dardis-throughput,"}, ["--dispatchers", "commas"]),
    "a dispatcher twice": ([], {"dispatchers": "dardis-throughput,dardis-throughput"}, ["two dispatchers"]),
    "a trace twice": ([], {"what": ["t.swf", "t.swf"]}, ["two traces are called 't'"]),
    "seeds that are none": (["--seeds", "1,x"], {}, ["--seeds", "'1,x'"]),
    "too large a seed": (["--seeds", str(2**63)], {}, ["--seeds"]),
    "deadlines that are no rule": (["--deadlines", "soon"], {}, ["--deadlines", "soon"]),
    "a trim that is none": (["--trim", "1"], {}, ["--trim"]),
    "a Gantt chart of strangers": (
        ["--gantt", "dardis-throughput,easy"],
        {},
        ["--gantt", "easy'", "dardis-throughput | dardis-balance"],
    ),
    "a Gantt chart of one": (["--gantt", "dardis-balance"], {}, ["--gantt", "two dispatchers"]),
    "a Gantt chart of three": (
        ["--gantt", "dardis-balance,dardis-throughput,dardis-balance"],
        {},
        ["--gantt", "two dispatchers"],
    ),
    "a setting of one that is unknown": ([], {"dispatchers": "easy:speed=9"}, ["--set speed=9", "unknown setting"]),
    "a value of one that is unknown": ([], {"dispatchers": "easy:order=x"}, ["--set order=x", "unknown value 'x'"]),
    "a setting without a value": ([], {"dispatchers": "easy:order"}, ["--set order", "no KEY=VALUE"]),
    "a colon and nothing": ([], {"dispatchers": "easy:"}, ["--set", "no KEY=VALUE"]),
    "a folder for a setting": ([], {"dispatchers": "easy:order=../x"}, ["--dispatchers", "'easy:order=../x'"]),
    "a sample of one that knows all": (
        [],
        {"dispatchers": "dardis-late:sample=4"},
        [
            "dispatcher dardis-late sample=4",
            "--sample",
            "whose jobs ask all nodes; expected one of dardis-throughput, dardis-profile, dardis-balance",
        ],
    ),
    "an arity that is none": (["--arity", "1"], {}, ["--arity", "'1'", "flat, or"]),
    "an arity of one that is none": ([], {"dispatchers": "easy:arity=x"}, ["--dispatchers easy:arity=x: arity: 'x'"]),
    "no processes": (["--processes", "0"], {}, ["--processes"]),
    "a file and options": (["--jobs", "5"], {"what": ["spec.toml"], "dispatchers": None, "platform": None}, ["--jobs"]),
    "a file that is none": ([], {"what": ["no.toml"], "dispatchers": None, "platform": None}, ["no.toml", "cannot be"]),
}


@pytest.mark.parametrize(("options", "changed", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_before_anything_runs(compare, folder, options, changed, said):
    (folder / "spec.toml").write_text(SPEC)
    status, heard = compare(*options, **changed)
    assert status == 2
    assert len(heard) == 1
    for part in said:
        assert part in heard[0]
    assert not (folder / "o").exists()


def test_a_setting_that_only_one_dispatcher_lacks_is_found_first(compare, folder):
    (folder / "spec.toml").write_text(SPEC + '[[dispatchers]]\nname = "dardis-balance"\nsettings = { x = 1 }\n')
    status, said = compare(what=["spec.toml"], dispatchers=None, platform=None)
    assert (status, len(said)) == (2, 1)
    assert "dispatcher dardis-balance" in said[0]
    assert not (folder / "o").exists()


def test_settings_of_one_dispatcher_hold_for_it_alone(compare, folder):
    more = ("--set", "node_choice=first-fit")
    assert compare(*more, dispatchers="easy,easy:order=sjbf:node_choice=worst-fit") == (0, [])
    assert sorted(digests(folder)) == ["t/easy order=sjbf node_choice=worst-fit/1", "t/easy/1"]
    found = {
        path.parents[1].name: json.loads(path.read_text())["settings"]
        for path in (folder / "o" / "runs").glob("*/*/*/run.json")
    }
    assert [(s["order"], s["node_choice"]) for _, s in sorted(found.items())] == [
        ("fcfs", "first-fit"), ("sjbf", "worst-fit"),
    ]  # fmt: skip


@pytest.mark.slow
def test_an_arity_and_a_sample_for_all_and_of_one(compare, folder):
    """A tree gives the same schedule, a sample another; who asks no nodes, or knows them all, goes without."""
    dispatchers = "dardis-throughput,dardis-throughput:arity=flat:sample=all,dardis-late,easy"
    assert compare("--arity", "2", "--sample", "1", dispatchers=dispatchers) == (0, [])
    with (folder / "o" / "compare.csv").open() as file:
        rows = {row["dispatcher"]: (row["arity"], row["sample"]) for row in csv.DictReader(file)}
    assert rows == {
        "dardis-throughput": ("2", "1"), "dardis-throughput arity=flat sample=all": ("flat", "all"),
        "dardis-late": ("2", "all"), "easy": ("", ""), "recorded": ("", ""),
    }  # fmt: skip
    records = {
        path.parents[1].name: json.loads(path.read_text()) for path in (folder / "o" / "runs").glob("*/*/*/run.json")
    }
    assert {name: (record["arity"], record["sample"]) for name, record in records.items()} == {
        "dardis-throughput": (2, 1), "dardis-throughput arity=flat sample=all": ("flat", None),
        "dardis-late": (2, None), "easy": ("flat", None),
    }  # fmt: skip
    before = written(folder)
    assert compare("--arity", "2", "--sample", "1", dispatchers=dispatchers) == (0, [])
    assert written(folder) == before
    status, said = compare("--arity", "2", "--sample", "3", dispatchers=dispatchers)
    assert status == 2
    assert "t/dardis-throughput/1 with another sample" in said[0]
    assert "dardis-throughput arity=flat sample=all" in (folder / "o" / "table.md").read_text()
    assert compare(dispatchers="easy:arity=4") == (0, ["dardis: warning: --arity: easy asks no nodes"])


def test_labels_with_commas_are_drawn(compare, folder, monkeypatch):
    drawn = []

    def draw(folder, compared, _out):
        (folder / "compare.csv").write_text("")
        drawn.append(compared.pair)

    monkeypatch.setattr("dardis.report.compare_page.write_comparison", draw)
    text = SPEC[: SPEC.index("[[dispatchers]]")]
    for label in ("a", "a, b", "b, a"):
        text += f'[[dispatchers]]\nlabel = "{label}"\nname = "easy"\n'
    (folder / "spec.toml").write_text(text)
    spec = {"what": ["spec.toml"], "dispatchers": None, "platform": None}
    assert compare("--gantt", "a, b,b, a", **spec) == (0, [])
    assert compare("--gantt", "a,b, a", **spec) == (0, [])
    assert compare("--gantt", "a, b,c", **spec)[0] == 2
    assert drawn == [("a, b", "b, a"), ("a", "b, a")]


def test_what_is_damaged_is_done_again_and_what_nobody_asked_for_is_told(compare, folder, capsys):
    assert compare() == (0, [])
    (folder / "o/runs/t/dardis-balance/1/metrics.json").write_text('{"jobs":')
    arguments = [str(folder / "t.swf"), "--platform", str(folder / "p.toml"), "--out", str(folder / "o")]
    assert run(["compare", *arguments, "--dispatchers", "dardis-balance"]) == 0
    said = capsys.readouterr().out
    assert "1 runs: 1 now, 0 kept, 0 failed, 1 not asked for now" in said
    assert "t/dardis-balance/1" in digests(folder)
    assert said.split("\n\n")[0].splitlines()[1].split()[:2] == ["t", "dardis-balance"]
    jobs = folder / "o/runs/t/dardis-balance/1/jobs.csv"
    jobs.write_text("no table")
    status, heard = compare()
    assert (status, len(heard)) == (2, 1)
    assert str(jobs) in heard[0]
    assert "remove that file" in heard[0]
    jobs.unlink()
    assert compare() == (0, [])
    (folder / "o" / "compare.json").write_text('{"runs"')
    status, heard = compare()
    assert (status, len(heard)) == (2, 1)
    assert "compare.json: is damaged" in heard[0]


def test_jobs_that_were_rejected_are_told(folder, capsys):
    (folder / "t.swf").write_text(lines(5) + "".join(lines(12, procs=900).splitlines(keepends=True)[5:]))
    arguments = [str(folder / "t.swf"), "--platform", str(folder / "p.toml"), "--out", str(folder / "o")]
    assert run(["compare", *arguments, "--dispatchers", "easy,dardis-late"]) == 0
    said = capsys.readouterr().out
    assert "t, easy: 7 jobs rejected" in said
    assert "t, dardis-late: 7 jobs rejected" in said


def test_it_starts_its_processes_itself(compare, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    status, said = compare()
    assert (status, len(said)) == (2, 1)
    assert "MPI" in said[0]


def test_ctrl_c_ends_with_130_and_the_rest_is_done_later(compare, folder):
    (folder / "long.swf").write_text(lines(60_000))
    (folder / "spec.toml").write_text(
        '[[traces]]\ntrace = "t.swf"\nplatform = "p.toml"\n[[traces]]\ntrace = "long.swf"\nplatform = "p.toml"\n'
        '[[dispatchers]]\nname = "dardis-throughput"\n'
    )
    command = [sys.executable, "-m", "dardis", "compare", str(folder / "spec.toml"), "--out", str(folder / "o")]
    process = subprocess.Popen([*command, "--processes", "1"], stderr=subprocess.PIPE, text=True)
    slow = folder / "o" / "runs" / "long" / "dardis-throughput" / "1"
    deadline = time.monotonic() + 60
    while not slow.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines() == ["dardis: stopped; the same command goes on where it was", "dardis: interrupted"]
    assert not slow.exists(), "its process has ended, and nothing of it is left"
    assert sorted(digests(folder)) == ["t/dardis-throughput/1"]
    before = written(folder)
    (folder / "long.swf").write_text(lines(5))
    assert compare(what=["spec.toml"], dispatchers=None, platform=None) == (0, [])
    assert sorted(digests(folder)) == ["long/dardis-throughput/1", "t/dardis-throughput/1"]
    after = written(folder)
    assert {path: after[path] for path in before} == before
