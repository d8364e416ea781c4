"""`dardis audit` of a run: it counts the jobs, and holds each to what the trace says of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from dardis.cli.main import run as command

PLATFORM = """
name = "small"
[[nodes]]
count = 3
prefix = "a"
resources = { cores = 4, gpu = 1 }
"""
TRACE = """job_id,submit_s,runtime_s,walltime_s,units,req_cores,req_gpu,queue,user,after,think_s
1,100,50,60,3,4,0,long,ann,,
2,100,90,60,1,2,0,short,bob,,
3,110,10,100,2,4,0,long,ann,,
4,110,10,100,1,4,1,short,bob,,
5,120,30,30,5,2,0,short,cyd,1,40
6,400,5,10,1,9,0,short,cyd,,
7,500,5,10,2,2,0,long,bob,,
"""
Table = list[list[str]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Path, list[str]]]:
    """Makes a run in a folder of its own; returns the folder and what to say to `dardis audit`."""

    def make(*options: str) -> tuple[Path, list[str]]:
        base = tmp_path_factory.mktemp("audited")
        (base / "p.toml").write_text(PLATFORM)
        (base / "t.csv").write_text(TRACE)
        said = ["simulate", str(base / "t.csv"), "--platform", str(base / "p.toml"), "--out", str(base / "out")]
        assert command([*said, "--dispatcher", "dardis-throughput", "--no-report", *options]) == 0
        return base, ["audit", str(base / "out")]

    return make


def change(base: Path, edit: Callable[[list[str], Table], Table | None]) -> None:
    """Rewrite the rows of jobs.csv."""
    path = base / "out" / "jobs.csv"
    header, *rows = csv.reader(io.StringIO(path.read_text()))
    changed = edit(header, rows)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *(rows if changed is None else changed)])
    path.write_text(text.getvalue())


@pytest.mark.parametrize(
    "options",
    [
        (), ("--think-times",), ("--jobs", "4"), ("--from", "110", "--to", "450"), ("--trim", "5,100"),
        ("--set", "unit_cores=2"), ("--deadlines", "factor:1"),
    ],
)  # fmt: skip
def test_audit_counts_jobs_and_accepts_the_run(made, capsys, options) -> None:
    _, audit = made(*options)
    capsys.readouterr()
    assert command(audit) == 0
    out = capsys.readouterr().out
    assert out.startswith("audit: ")
    assert out.endswith(" jobs, ok\n")
    assert out.count("\n") == 1


@pytest.mark.parametrize("place", [0, 3, -1])
@pytest.mark.parametrize("options", [(), ("--trim", "0,0")])
def test_missing_row_is_reported(made, capsys, place, options) -> None:
    base, audit = made(*options)
    number = []

    def drop(header: list[str], rows: Table) -> None:
        number.append(rows.pop(place)[header.index("job_id")])

    change(base, drop)
    capsys.readouterr()
    assert command(audit) == 1
    out = capsys.readouterr().out
    assert "audit: metrics.json counts 7 jobs, jobs.csv has 6\n" in out
    assert f"audit: job {number[0]}: was submitted but is missing\n" in out
    (base / "t.csv").unlink()  # the metrics alone tell it as well
    assert command(audit) == 1
    out = capsys.readouterr().out
    assert "metrics.json counts 7 jobs, jobs.csv has 6" in out
    assert f"audit: not compared with the trace: {base / 't.csv'} does not exist\n" in out


@pytest.mark.parametrize(
    ("row", "cells", "told"),
    [
        (0, {"submission_time": "99"}, "job 1: was submitted at 99, not 100, unlike in the trace"),
        (0, {"requested_time": "61"}, "job 1: has walltime 61, not 60, unlike in the trace"),
        (0, {"req_cores": "3"}, "job 1: requests cores 3, not 4, unlike in the trace"),
        (0, {"finish_time": "149"}, "job 1: ran for 49, not 50, unlike in the trace"),
        (0, {"job_id": "11"}, "job 11: was never submitted"),
        (1, {"status": "completed", "success": "1"}, "job 2: should have been killed, unlike in the trace"),
        (1, {"status": "completed", "success": "1"}, "metrics.json counts 1 killed, jobs.csv has 0"),
    ],
)
def test_changed_row_is_reported(made, capsys, row, cells, told) -> None:
    base, audit = made()

    def edit(header: list[str], rows: Table) -> None:
        for column, value in cells.items():
            rows[row][header.index(column)] = value

    change(base, edit)
    capsys.readouterr()
    assert command(audit) == 1
    assert f"audit: {told}\n" in capsys.readouterr().out
