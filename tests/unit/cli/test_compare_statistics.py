"""Replicates, grids, recorded starts, a platform for each trace, and tables made again, through `dardis compare`."""

import csv
import json

import pytest

from dardis.cli.main import run
from dardis.workload.read import read_trace

PLATFORM = 'name = "p"\n[[nodes]]\ncount = {count}\nprefix = "n"\nresources = {{ cores = 2 }}\n'


def line(number, submit, wait=0, runtime=300):
    procs = 1 + number % 3
    return f"{number} {submit} {wait} {runtime} {procs} -1 -1 {procs} 900 -1 1 {number % 4} -1 -1 1 -1 -1 -1"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(PLATFORM.format(count=2))
    (tmp_path / "large.toml").write_text(PLATFORM.format(count=12))
    (tmp_path / "t.swf").write_text("\n".join(line(number, number * 40) for number in range(1, 41)))
    return tmp_path


def rows(folder, name):
    with (folder / "o" / name).open() as file:
        return list(csv.DictReader(file))


def compare(*more, dispatchers="easy,easy:order=sjbf"):
    return run(["compare", "--dispatchers", dispatchers, "--out", "o", *more])


def test_draws_are_the_same_for_all_and_differences_are_told_from_chance(folder, capsys):
    asked = ("t.swf", "--platform", "p.toml", "--replicates", "2", "--resample", "shake:600", "--seeds", "1,2")
    assert compare(*asked) == 0
    runs = rows(folder, "compare.csv")
    assert [(row["dispatcher"], row["seed"], row["draw"]) for row in runs] == [
        ("easy", "1", "1"), ("easy", "1", "2"), ("easy order=sjbf", "1", "1"), ("easy order=sjbf", "1", "2"),
    ]  # fmt: skip
    traces = {json.loads(path.read_text())["trace"] for path in (folder / "o/runs").glob("*/*/*/run.json")}
    assert traces == {str(folder / "o/draws/t" / f"{draw}.swf") for draw in (1, 2)}
    first, second = (read_trace(folder / "o/draws/t" / f"{draw}.swf") for draw in (1, 2))
    assert first.submit.tolist() != second.submit.tolist()
    waits = {row["figure"]: row for row in rows(folder, "differences.csv")}["mean_wait_s"]
    each = [float(row["mean_wait_s"]) for row in runs]
    assert float(waits["difference"]) == pytest.approx((each[2] + each[3] - each[0] - each[1]) / 2)
    table = (folder / "o" / "table.md").read_text()
    assert ("°" in table.splitlines()[3]) == any(
        row["may_be_chance"] == "yes" for row in rows(folder, "differences.csv")
    )
    assert "2 draws of the trace" in table
    assert "One run a draw, as nothing is drawn by the seed: easy, easy order=sjbf." in table
    assert not (folder / "o" / "recorded").exists()
    # What is there is kept, and all but the runs can be made again from the folder.
    assert compare(*asked) == 0
    assert "4 runs: 0 now, 4 kept" in capsys.readouterr().out
    names = ("compare.csv", "table.csv", "table.md", "table.tex", "differences.csv", "who_pays.csv", "found.json")
    before = {name: (folder / "o" / name).read_bytes() for name in (*names, "report.html")}
    (folder / "o" / "report.html").write_text("")
    (folder / "o" / "table.md").unlink()
    assert run(["report", "o", "--charts", "svg"]) == 0
    assert {name: (folder / "o" / name).read_bytes() for name in before} == before
    assert (folder / "o" / "charts" / "t-beside-the-first-dispatcher.svg").exists()


def test_a_grid_over_two_platforms_with_what_was_recorded(folder, capsys):
    grid = ("--grid", "easy.order=fcfs,sjbf", "--grid", "easy.backfill_depth=1,2")
    (folder / "u@v.swf").write_text((folder / "t.swf").read_text())
    assert compare("t.swf@large.toml", "u@v.swf", "--platform", "p.toml", *grid, dispatchers="easy") == 0
    found = rows(folder, "sweep.csv")
    assert [(row["trace"], row["value"], row["second_value"]) for row in found] == [
        (trace, order, depth) for trace in ("t", "u-v") for order in ("fcfs", "sjbf") for depth in ("1", "2")
    ]
    assert {(row["dispatcher"], row["setting"], row["second_setting"]) for row in found} == {
        ("easy", "order", "backfill_depth")
    }
    table = {(row["trace"], row["dispatcher"]): row for row in rows(folder, "table.csv")}
    assert float(table["t", "recorded"]["mean_wait_s_mean"]) == 0
    assert float(table["u-v", "recorded"]["utilisation_mean"]) > 1
    said = capsys.readouterr().out
    assert (
        "The recorded starts of t, put on nodes by best fit, pass the audit on this platform (units are equal by 1"
        in said
    )
    assert "The recorded starts of u-v do not pass the audit on this platform: their jobs hold up to " in said
    report = (folder / "o" / "report.html").read_text()
    assert report.count("easy over order and backfill_depth") >= 2
    assert run(["audit", "o/recorded/t", "--platform", "large.toml"]) == 0
    assert run(["audit", "o/recorded/u-v", "--platform", "p.toml"]) == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("t.swf", "--replicates", "3"), "--resample: weeks of a trace that has 0 whole ones; expected a trace of at"),
        (("t.swf", "--resample", "shake"), "resample shake:86400 without replicates; expected both, or none"),
        (("t.swf", "--replicates", "3", "--resample", "days"), "--resample: 'days'; expected weeks, shake, or"),
        (("t.swf", "--replicates", "1"), "--replicates: '1'; expected a whole number from 2 to 1000"),
        (("t.swf", "--grid", "easy=1"), "--grid: 'easy=1'; expected DISPATCHER.SETTING=A,B,…"),
        (("t.swf", "--grid", "fcfs.order=a,b"), "--grid: 'fcfs' is no dispatcher of these; expected one of easy"),
        (("t.swf", "--grid", "easy.order=a,a"), "--grid order: 'a,a'; expected values that differ"),
        (
            ("t.swf", "--grid", "easy.backfill_depth=1,01"),
            "grid: 'easy backfill_depth=1' and 'easy backfill_depth=01' are",
        ),
        (("t.swf", "--replicates", "2", "--clairvoyant"), "--clairvoyant: replicates; expected traces as they are"),
        (("t.swf@none.toml",), "none.toml"),
    ],
)
def test_what_can_not_be_is_said_in_a_line_before_anything_runs(folder, capsys, more, said):
    assert compare("--platform", "p.toml", *more) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert said in errors[0]
    assert not list((folder / "o").glob("runs")) if (folder / "o").exists() else True


def test_without_recorded_there_is_no_such_row(folder):
    assert compare("t.swf@p.toml", "--no-recorded", dispatchers="easy") == 0
    assert [row["dispatcher"] for row in rows(folder, "compare.csv")] == ["easy"]


def test_a_dispatcher_may_not_be_called_as_that_row(folder, capsys):
    (folder / "s.toml").write_text(
        '[[traces]]\ntrace = "t.swf"\nplatform = "p.toml"\n[[dispatchers]]\nname = "easy"\nlabel = "recorded"\n'
    )
    assert run(["compare", "s.toml", "--out", "o"]) == 2
    assert "two dispatchers are called 'recorded'" in capsys.readouterr().err


def test_a_trace_of_which_nobody_ran_a_job_ends_with_1(folder, capsys):
    (folder / "wide.swf").write_text(line(1, 0).replace(" 2 -1 -1 2 ", " 9 -1 -1 9 "))
    assert compare("wide.swf", "t.swf", "--platform", "p.toml", dispatchers="easy") == 1
    assert "dardis: wide: no job ran: all 1 were rejected" in capsys.readouterr().err
    assert (folder / "o" / "report.html").exists()
