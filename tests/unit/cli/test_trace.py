"""`dardis trace`: what it tells of a trace, converts, and generates."""

import pytest
from typer.testing import CliRunner

from dardis.cli.main import app_of
from dardis.model.errors import InputError
from dardis.workload.trace_reader import read_trace

SWF = """; Version: 2.2
1 0 5 100 4 -1 -1 -1 200 1024 1 7 2 -1 3 1 -1 -1
2 50 5 100 40 -1 -1 40 200 1024 1 8 2 -1 3 2 -1 -1
3 60 5 -1 40 -1 -1 40 200 1024 5 8 2 -1 3 2 -1 -1
rubbish
"""
PLATFORM = 'name = "p"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 16 }\n'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t.swf").write_text(SWF)
    (tmp_path / "p.toml").write_text(PLATFORM)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(
        app_of(["trace"]), ["trace", *map(str, arguments)], catch_exceptions=False, env={"COLUMNS": "200"}
    )


def test_info_shows_jobs_load_and_skipped_lines(folder):
    output = run("info", folder / "t.swf", "--platform", folder / "p.toml").output
    lines = [" ".join(line.replace("│", " ").split()) for line in output.splitlines()]
    assert "jobs 2 (2 users)" in lines
    assert "load on p 1.375 of 64 cores" in lines
    assert "skipped 1: no runtime (first in line 4)" in lines
    assert "malformed 1: 1 fields instead of 18 (first in line 5)" in lines
    with pytest.raises(InputError, match=r"t\.swf:5"):
        run("info", folder / "t.swf", "--strict")


def test_convert_to_a_table_and_back_keeps_the_jobs(folder):
    run("convert", folder / "t.swf", folder / "t.csv.gz", "--platform", folder / "p.toml")
    table = read_trace(folder / "t.csv.gz", strict=True)
    assert (table.units.tolist(), table.request["cores"].tolist()) == ([1, 3], [4, 14])
    result = run("convert", folder / "t.csv.gz", folder / "again.swf")
    assert result.exit_code == 0
    again = read_trace(folder / "again.swf", strict=True)
    assert (again.number.tolist(), again.procs.tolist(), again.queue.tolist()) == ([1, 2], [4, 42], ["3", "3"])
    run("convert", folder / "t.swf", folder / "t.csv")  # without a platform each processor is a unit
    table = read_trace(folder / "t.csv", strict=True)
    assert (table.units.tolist(), table.request["memory"].tolist()) == ([4, 40], [1, 1])


def test_convert_filters_and_scales(folder):
    run("convert", folder / "t.swf", folder / "o.swf", "--load", "2", "--from", "0", "--to", "60", "--min-width", "2")
    assert read_trace(folder / "o.swf").submit.tolist() == [0, 25]
    (folder / "d.swf").write_text("; UnixStartTime: 1328227200\n" + SWF)
    run("convert", folder / "d.swf", folder / "o.swf", "--to", "2012-02-03T00:00:10Z", "--force")
    assert read_trace(folder / "o.swf").number.tolist() == [1]
    run("convert", folder / "t.swf", folder / "o.swf", "--partition", "2", "--force")
    assert read_trace(folder / "o.swf").number.tolist() == [2]
    run("convert", folder / "t.swf", folder / "o.swf", "--queue", "3", "--jobs", "1", "--force")
    assert read_trace(folder / "o.swf").number.tolist() == [1]


def test_convert_to_a_load_which_info_then_prints(folder):
    options = "--platform", folder / "p.toml", "--target-load", "0.8"
    assert run("convert", folder / "t.swf", folder / "o.swf", *options).exit_code == 0
    assert "0.80" in run("info", folder / "o.swf", "--platform", folder / "p.toml").output
    for wrong, why in (
        (("--target-load", "0.8"), "without --platform"),
        ((*options, "--load", "2"), "both"),
        ((*options[:3], "0"), "a load above 0"),
        ((*options[:3], "nan"), "a load above 0"),
        ((*options[:3], "1e9"), "--target-load: 1e\\+09; expected .* since the load of the trace is 1.38"),
        ((*options[:3], "60"), "submitted within seconds"),
    ):
        with pytest.raises(InputError, match=why):
            run("convert", folder / "t.swf", folder / "x.swf", *wrong)
    assert not (folder / "x.swf").exists()


def test_convert_overwrites_nothing_and_leaves_no_temporary_file(folder):
    before = (folder / "t.swf").read_bytes()
    for out, more, why in (
        ("t.swf", (), "exists"),
        ("t.txt", (), r"\.swf, \.csv"),
        ("no/t.csv", (), "folder does not exist"),
        ("none.swf", ("--queue", "9"), "no job"),
    ):
        with pytest.raises(InputError, match=why):
            run("convert", folder / "t.swf", folder / out, *more)
    assert (folder / "t.swf").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["p.toml", "t.swf"]


def test_generate_for_four_nodes_on_a_calendar(folder):
    more = ("--jobs", "50", "--nodes", "4", "--kinds", "2", "--begin", "2014-12-01")
    run("generate", "eurora", folder / "four.csv.gz", *more, "--seed", "4")
    made = read_trace(folder / "four.csv.gz", strict=True)
    assert (len(made), made.units.max(), list(made.request)) == (50, 2, ["cores", "memory"])
    assert 1_417_392_000 <= made.submit.min() <= made.submit.max() < 1_417_392_000 + 86_400
    with pytest.raises(InputError, match="--begin: 'monday'"):
        run("generate", "eurora", folder / "none.csv", "--begin", "monday")
