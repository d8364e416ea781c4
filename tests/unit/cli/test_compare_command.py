"""`dardis compare` as its user meets it: runs in processes, what is kept, what is redone, and every mistake a line."""

import json
import shutil
import signal

import pytest
from kit.few_nodes import PLATFORM, started, swf, waited, write_files
from kit.small_site import rows_of

from dardis.cli.main import run
from dardis.workload.trace_reader import read_trace


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_files(tmp_path)


@pytest.fixture
def compare(folder, capsys):
    """Run `dardis compare` of the trace with arguments; return (status, lines on standard error)."""

    def call(*more, what=("t.swf",), dispatchers="dardis-throughput,dardis-balance", platform="p.toml"):
        arguments = [*what, *(["--platform", platform] if platform else [])]
        arguments += ["--dispatchers", dispatchers] if dispatchers else []
        status = run(["compare", *arguments, "--out", "o", *map(str, more)])
        call.out, said = capsys.readouterr()
        return status, said.splitlines()

    return call


@pytest.fixture
def compare_again(small_comparison, tmp_path, capsys):
    """Ask again for what the shared comparison holds, in a copy of it; return (status, lines on standard error)."""
    shutil.copytree(small_comparison / "o", tmp_path / "o")
    files = [str(small_comparison / "t.swf"), "--platform", str(small_comparison / "p.toml")]

    def call(*more, dispatchers="dardis-throughput,dardis-balance", seeds="1,2"):
        asked = ["--dispatchers", dispatchers, "--seeds", seeds, "--out", str(tmp_path / "o"), *more]
        status = run(["compare", *files, *asked])
        call.out, said = capsys.readouterr()
        return status, said.splitlines()

    return call


def of_runs(folder, name):
    """What the files of that name say, by run."""
    runs = folder / "o" / "runs"
    return {
        path.parent.relative_to(runs).as_posix(): json.loads(path.read_text()) for path in runs.glob(f"*/*/*/{name}")
    }


def written(folder):
    return {path: path.stat().st_mtime_ns for path in (folder / "o" / "runs").glob("*/*/*/*")}


def test_two_set_ups_and_two_seeds(small_comparison):
    runs = {run: figures["schedule_digest"] for run, figures in of_runs(small_comparison, "metrics.json").items()}
    assert sorted(runs) == ["t/dardis-balance/1", "t/dardis-balance/2", "t/dardis-throughput/1"]
    out = small_comparison / "o"
    assert "One run, since the seed has no effect: dardis-throughput." in (out / "table.md").read_text()
    assert runs["t/dardis-balance/1"] != runs["t/dardis-balance/2"], "drawn starts differ from seed to seed"
    assert {path.name for path in out.iterdir()} == {
        "compare.csv", "compare.json", "found.json", "recorded", "table.csv", "table.md", "table.tex", "who_pays.csv",
        "report.html", "runs",
    }  # fmt: skip
    found = rows_of(out / "compare.csv")
    waits = [float(row["mean_wait_s"]) for row in found if row["dispatcher"] == "dardis-balance"]
    table = {row["dispatcher"]: row for row in rows_of(out / "table.csv")}
    assert float(table["dardis-balance"]["mean_wait_s_mean"]) == pytest.approx(sum(waits) / 2)
    assert float(table["dardis-balance"]["mean_wait_s_sd"]) == pytest.approx(abs(waits[0] - waits[1]) / 2**0.5)


def test_finished_runs_are_reused(compare_again, tmp_path):
    before = written(tmp_path)
    assert compare_again() == (0, [])
    assert written(tmp_path) == before
    status, said = compare_again("--jobs", "30", seeds="1")
    assert (status, len(said)) == (2, 1)
    assert "with another jobs" in said[0]
    assert "--force" in said[0]
    assert written(tmp_path) == before
    # A dispatcher that is new is run; the one that was there is kept.
    assert compare_again(dispatchers="dardis-throughput,easy")[0] == 0
    after = written(tmp_path)
    assert {path: after[path] for path in before} == before
    assert "t/easy/1" in of_runs(tmp_path, "metrics.json")
    assert "dardis-balance" not in (tmp_path / "o" / "table.md").read_text()
    # What was asked anew is redone by force.
    assert compare_again("--jobs", "30", "--force", dispatchers="easy") == (0, [])
    assert of_runs(tmp_path, "metrics.json")["t/easy/1"]["jobs"] == 30


def test_damaged_runs_are_repeated_and_unrelated_files_reported(compare_again, tmp_path):
    first, second = (tmp_path / "o/runs/t/dardis-balance" / seed for seed in "12")
    (first / "metrics.json").write_text('{"jobs":')
    record = json.loads((second / "run.json").read_text())
    record["platform"]["groups"][0]["count"] = "2"
    (second / "run.json").write_text(json.dumps(record))
    assert compare_again(dispatchers="dardis-balance") == (0, [])
    assert "2 runs: 2 now, 0 kept, 0 failed, 1 of earlier requests" in compare_again.out
    assert "t/dardis-balance/1" in of_runs(tmp_path, "metrics.json")
    assert compare_again.out.split("\n\n")[0].splitlines()[1].split()[:2] == ["t", "dardis-balance"]
    (first / "jobs.csv").write_text("no table")
    status, heard = compare_again()
    assert (status, len(heard)) == (2, 1)
    assert str(first / "jobs.csv") in heard[0]
    assert "remove this file" in heard[0]
    (tmp_path / "o" / "compare.json").write_text('{"runs"')
    status, heard = compare_again()
    assert (status, len(heard)) == (2, 1)
    assert "compare.json: is damaged" in heard[0]


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
OF_SPEC = {"what": ["spec.toml"], "dispatchers": None, "platform": None}


def test_failed_run_is_reported_and_others_complete(compare, folder):
    (folder / "spec.toml").write_text(SPEC)
    blocked = folder / "o" / "runs" / "broken" / "fine" / "1"
    blocked.mkdir(parents=True)
    (folder / "o" / "compare.json").write_text('{"runs": {}}')
    (blocked / "thesis.tex").write_text("dear")
    status, said = compare(**OF_SPEC)
    assert (status, len(said)) == (1, 1)
    assert said[0].startswith("dardis: broken/fine/1 failed: --out")
    assert "has other content than a run" in said[0]
    assert sorted(of_runs(folder, "metrics.json")) == ["t/fine/1"]
    assert (blocked / "thesis.tex").read_text() == "dear"
    for name in ("table.md", "table.tex", "report.html", "compare.csv"):
        assert "has other content than a run" in (folder / "o" / name).read_text()
    before = written(folder)
    (blocked / "thesis.tex").unlink()
    assert compare(**OF_SPEC) == (0, [])
    assert sorted(of_runs(folder, "metrics.json")) == ["broken/fine/1", "t/fine/1"]
    after = written(folder)
    assert all(after[path] == moment for path, moment in before.items() if path.name != "thesis.tex")


TWO = "dardis-throughput,dardis-balance"
MISTAKES = {
    "a dispatcher nobody knows": (["--seeds", "1"], {"dispatchers": "dardis-throughput,slurm"}, ["'slurm'", "one of"]),
    "a setting nobody knows": (["--set", "speed=9"], {}, ["dispatcher dardis-throughput", "speed"]),
    "a missing trace": ([], {"what": ["none.swf"]}, ["none.swf", "No such file"]),
    "no platform": ([], {"platform": None}, ["--platform P.toml"]),
    "no dispatchers": ([], {"dispatchers": None}, ["--dispatchers A,B"]),
    "a missing platform of one": ([], {"what": ["t.swf@none.toml"], "platform": None}, ["none.toml"]),
    "an empty name": ([], {"dispatchers": "dardis-throughput,"}, ["--dispatchers", "commas"]),
    "a value of one that is unknown": ([], {"dispatchers": "easy:order=x"}, ["--set order=x", "unknown value 'x'"]),
    "a dispatcher twice": ([], {"dispatchers": "dardis-throughput,dardis-throughput"}, ["two dispatchers"]),
    "a trace twice": ([], {"what": ["t.swf", "t.swf"]}, ["two traces have the name 't'"]),
    "deadlines that are no rule": (["--deadlines", "soon"], {}, ["--deadlines", "soon"]),
    "a Gantt chart of strangers": (["--gantt", "dardis-throughput,easy"], {}, ["easy'", TWO.replace(",", " | ")]),
    "a Gantt chart of one": (["--gantt", "dardis-balance"], {}, ["--gantt", "does not name two of the dispatchers"]),
    "a setting of one that is unknown": ([], {"dispatchers": "easy:speed=9"}, ["--set speed=9", "unknown setting"]),
    "a sample of one that knows all": (
        [],
        {"dispatchers": "dardis-late:sample=4"},
        ["dispatcher dardis-late sample=4", "--sample", "ask all nodes; expected one of dardis-throughput, "],
    ),
    "an arity that is none": (["--arity", "1"], {}, ["--arity", "'1'", "flat, or"]),
    "no processes": (["--processes", "0"], {}, ["--processes"]),
    "a file and options": (["--jobs", "5"], OF_SPEC, ["--jobs"]),
    "a file that is none": ([], OF_SPEC | {"what": ["no.toml"]}, ["no.toml", "cannot be"]),
    "a file with a setting nobody knows": ([], OF_SPEC | {"what": ["odd.toml"]}, ["dispatcher dardis-balance"]),
    "the name of the recorded row": ([], OF_SPEC | {"what": ["as.toml"]}, ["two dispatchers have the name 'recorded'"]),
    "a NUL in a file's name": ([], OF_SPEC | {"what": ["nul.toml"]}, ["null byte"]),
    "weeks of a short trace": (["--replicates", "3"], {}, ["--resample: weeks of a trace with 0 complete weeks"]),
    "no such draws": (["--replicates", "3", "--resample", "days"], {}, ["--resample: 'days'; expected weeks, shake"]),
    "no grid": (["--grid", "easy=1"], {}, ["--grid: 'easy=1'; expected DISPATCHER.SETTING=A,B,…"]),
    "a grid of nobody": (["--grid", "fcfs.order=a,b"], {"dispatchers": "easy"}, ["unknown dispatcher 'fcfs'"]),
    "a grid of one value": (["--grid", "easy.order=a,a"], {"dispatchers": "easy"}, ["expected values that differ"]),
    "a number twice": (["--grid", "easy.backfill_depth=1,01"], {"dispatchers": "easy"}, ["backfill_depth=01' are"]),
    "all known of draws": (["--replicates", "2", "--clairvoyant"], {}, ["--clairvoyant: replicates; expected traces"]),
    "its processes are not MPI's": ([], {}, ["MPI"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_error_is_one_line_before_any_run(compare, folder, monkeypatch, mistake):
    (folder / "spec.toml").write_text(SPEC)
    (folder / "odd.toml").write_text(SPEC + '[[dispatchers]]\nname = "dardis-balance"\nsettings = { x = 1 }\n')
    (folder / "as.toml").write_text(SPEC.replace("fine", "recorded"))
    (folder / "nul.toml").write_text(SPEC.replace("p.toml", "a\\u0000b"))
    options, changed, said = MISTAKES[mistake]
    if said == ["MPI"]:
        monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    status, heard = compare(*options, **changed)
    assert (status, len(heard)) == (2, 1)
    for part in said:
        assert part in heard[0]
    assert not (folder / "o" / "runs").exists()


def test_rejected_jobs_are_reported_and_settings_apply_to_one_dispatcher(compare, folder):
    (folder / "t.swf").write_text(swf(5) + "".join(swf(12, procs=900).splitlines(keepends=True)[5:]))
    (folder / "wide.swf").write_text(swf(1, procs=900))
    more = ("--set", "node_choice=first-fit", "--no-recorded")
    of_one = "easy:order=sjbf:node_choice=worst-fit"
    status, said = compare(*more, what=("wide.swf", "t.swf"), dispatchers=f"easy,{of_one}")
    assert status == 1
    assert "dardis: wide: no job ran: all 1 were rejected" in said[0]
    assert "t, easy: 7 jobs rejected" in compare.out
    assert "t, easy order=sjbf node_choice=worst-fit: 7 jobs rejected" in compare.out
    assert "recorded" not in {row["dispatcher"] for row in rows_of(folder / "o" / "compare.csv")}
    assert (folder / "o" / "report.html").exists()
    found = {name: record["settings"] for name, record in of_runs(folder, "run.json").items() if name[0] == "t"}
    assert {name: (settings["order"], settings["node_choice"]) for name, settings in found.items()} == {
        "t/easy/1": ("fcfs", "first-fit"), "t/easy order=sjbf node_choice=worst-fit/1": ("sjbf", "worst-fit"),
    }  # fmt: skip


def test_ctrl_c_exits_with_130_and_the_next_call_completes_the_runs(compare, folder):
    (folder / "long.swf").write_text(swf(60_000))
    (folder / "spec.toml").write_text(SPEC.replace('"broken"\ntrace = "t.swf"', '"long"\ntrace = "long.swf"'))
    process = started(["compare", "spec.toml", "--out", "o", "--processes", "1"])
    slow = folder / "o" / "runs" / "long" / "fine" / "1"
    waited(slow.exists)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines() == ["dardis: stopped; the same command continues the comparison", "dardis: interrupted"]
    assert not slow.exists(), "its process has ended, and nothing of it is left"
    assert sorted(of_runs(folder, "metrics.json")) == ["t/fine/1"]
    before = written(folder)
    (folder / "long.swf").write_text(swf(5))
    assert compare(**OF_SPEC) == (0, [])
    assert sorted(of_runs(folder, "metrics.json")) == ["long/fine/1", "t/fine/1"]
    after = written(folder)
    assert {path: after[path] for path in before} == before


def line(number, submit):
    procs = 1 + number % 3
    return f"{number} {submit} 0 300 {procs} -1 -1 {procs} 900 -1 1 {number % 4} -1 -1 1 -1 -1 -1"


@pytest.fixture
def varied(folder):
    """Jobs of several widths on a small machine and on a large one."""
    of_two = PLATFORM.replace("cores = 8", "cores = 2")
    (folder / "p.toml").write_text(of_two.replace("count = 4", "count = 2"))
    (folder / "large.toml").write_text(of_two.replace("count = 4", "count = 12"))
    (folder / "t.swf").write_text("\n".join(line(number, number * 40) for number in range(1, 41)))
    return folder / "o"


def test_draws_are_the_same_for_all_dispatchers_and_differences_are_tested(compare, varied):
    more = ("--replicates", "2", "--resample", "shake:600", "--seeds", "1,2")
    assert compare(*more, dispatchers="easy,easy:order=sjbf")[0] == 0
    runs = rows_of(varied / "compare.csv")
    assert [(row["dispatcher"], row["seed"], row["draw"]) for row in runs] == [
        ("easy", "1", "1"), ("easy", "1", "2"), ("easy order=sjbf", "1", "1"), ("easy order=sjbf", "1", "2"),
    ]  # fmt: skip
    draws = [varied / "draws/t" / f"{draw}.swf" for draw in (1, 2)]
    assert {record["trace"] for record in of_runs(varied.parent, "run.json").values()} == {*map(str, draws)}
    first, second = map(read_trace, draws)
    assert first.submit.tolist() != second.submit.tolist()
    differences = rows_of(varied / "differences.csv")
    waits = {row["figure"]: row for row in differences}["mean_wait_s"]
    each = [float(row["mean_wait_s"]) for row in runs]
    assert float(waits["difference"]) == pytest.approx((each[2] + each[3] - each[0] - each[1]) / 2)
    table = (varied / "table.md").read_text()
    assert ("°" in table.splitlines()[3]) == any(row["may_be_chance"] == "yes" for row in differences)
    assert "2 draws of the trace" in table
    assert "One run a draw, since the seed has no effect: easy, easy order=sjbf." in table
    assert not (varied / "recorded").exists()
    # All but the runs can be made again from the folder.
    names = ("compare.csv", "table.csv", "table.md", "table.tex", "differences.csv", "who_pays.csv", "found.json")
    before = {name: (varied / name).read_bytes() for name in (*names, "report.html")}
    (varied / "report.html").write_text("")
    (varied / "table.md").unlink()
    assert run(["report", "o", "--charts", "svg"]) == 0
    assert {name: (varied / name).read_bytes() for name in before} == before
    assert (varied / "charts" / "t-relative-to-the-first-dispatcher.svg").exists()
    (varied / "found.json").write_text("{}")
    assert run(["report", "o"]) == 2


def test_a_grid_over_two_platforms_with_what_was_recorded(compare, varied):
    grid = ("--grid", "easy.order=fcfs,sjbf", "--grid", "easy.backfill_depth=1,2")
    shutil.copy("t.swf", "u@v.swf")
    assert compare(*grid, what=("t.swf@large.toml", "u@v.swf"), dispatchers="easy")[0] == 0
    found = rows_of(varied / "sweep.csv")
    assert [(row["trace"], row["value"], row["second_value"]) for row in found] == [
        (trace, order, depth) for trace in ("t", "u-v") for order in ("fcfs", "sjbf") for depth in ("1", "2")
    ]
    settings = {(row["dispatcher"], row["setting"], row["second_setting"]) for row in found}
    assert settings == {("easy", "order", "backfill_depth")}
    table = {(row["trace"], row["dispatcher"]): row for row in rows_of(varied / "table.csv")}
    assert float(table["t", "recorded"]["mean_wait_s_mean"]) == 0
    assert float(table["u-v", "recorded"]["utilisation_mean"]) > 1
    fits, does_not = "t, put on nodes by best fit, pass the audit on this platform (equal units need 1", "u-v do not"
    for text in (fits, f"{does_not} pass the audit on this platform: their jobs use up to "):
        assert f"The recorded starts of {text}" in compare.out
    assert (varied / "report.html").read_text().count("easy over order and backfill_depth") >= 2
    assert run(["audit", "o/recorded/t", "--platform", "large.toml"]) == 0
    assert run(["audit", "o/recorded/u-v", "--platform", "p.toml"]) == 1
