"""`jobs.csv`: its columns, its round trip, and the mistakes it may hold."""

from __future__ import annotations

import csv
import io
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.error_lines import line_of
from kit.schedules import INSTANCES, schedule_of

from dardis.metrics import columns
from dardis.metrics.job_rules import Violation, contradictions
from dardis.metrics.jobs_csv import read_blocks, read_jobs, write_jobs
from dardis.model.job import Status
from dardis.model.placements import Placements
from dardis.model.schedule import Schedule


def assert_same(a: Schedule, b: Schedule) -> None:
    assert_same_fields(a.placed, b.placed)
    assert_same_fields(a, b)


def assert_same_fields(a: Any, b: Any) -> None:
    for field in fields(a):
        left, right = getattr(a, field.name), getattr(b, field.name)
        if isinstance(left, Placements):
            continue
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype, field.name
            np.testing.assert_array_equal(left, right, field.name)
        else:
            assert left == right, field.name


def contradicted(path: Path) -> list[Violation]:
    """All contradictions of a file."""
    return [violation for block in read_blocks(path) for _, violation in contradictions(block)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("table")


@given(data=st.data())
@settings(deadline=None)
def test_jobs_csv_round_trips(data: st.DataObject, folder: Path) -> None:
    _, schedule = data.draw(INSTANCES)
    path = folder / "jobs.csv"
    write_jobs(schedule, path, "trace")
    assert_same(read_jobs(path), schedule)
    assert contradicted(path) == []
    with path.open(newline="") as file:
        written = [row["allocated_resources"] for row in csv.DictReader(file)]
    assert written == [
        columns.canonical_interval_set(" ".join(map(str, schedule.placed.nodes[a:b].tolist())))
        for a, b in pairwise(schedule.placed.offsets.tolist())
    ]


def rewrite(path: Path, change: Any) -> None:
    """Apply `change` to the table of a file: a list of lists of text, header first."""
    table = list(csv.reader(io.StringIO(path.read_text())))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(change(table) or table)


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, Schedule]:
    """A file of three jobs, the last rejected, and its schedule."""
    rows = [
        {"placed": {0: 1, 1: 1}, "queue": "a"},
        {"placed": {3: 2}, "submit": 4, "latest": 9, "user": "b"},
        {"status": Status.REJECTED, "submit": 5},
    ]
    schedule = schedule_of(("cores", "memory"), rows)
    write_jobs(schedule, tmp_path / "jobs.csv")
    return tmp_path / "jobs.csv", schedule


def spoiled(row: int, **cells: str) -> Any:
    """Puts these into a row."""

    def spoil(table: list[list[str]]) -> None:
        for column, value in cells.items():
            table[row][table[0].index(column)] = value

    return spoil


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (spoiled(2, job_id="w0!1"), "line 3: job_id is 'w0!1'; expected a whole number"),
        (spoiled(2, submission_time=""), "line 3: submission_time is ''"),
        (spoiled(2, starting_time="4.5"), "line 3: starting_time is '4.5'; expected a whole number of seconds"),
        (spoiled(2, finish_time="9" * 30), "line 3: finish_time is '999"),
        (spoiled(2, units="-1"), "line 3: units is '-1'; expected a whole number from 0"),
        (spoiled(2, req_memory="1GiB"), "line 3: req_memory is '1GiB'"),
        (spoiled(2, units_by_node="0-3"), "units_by_node is '0-3'; expected node:units pairs like 0:1 7:2"),
        (spoiled(2, units_by_node="0:99999999999"), "line 3: units_by_node is '0:99999999999'"),
        (spoiled(2, status="lost"), "line 3: status is 'lost'; expected completed or killed or rejected"),
        (lambda _: [[]], "line 1: no column job_id, submission_time"),
        (lambda table: [[*row, row[0]] for row in table], "line 1: more than one column job_id"),
        (lambda table: [*table[:2], table[2][:-1]], "line 3: 22 values; expected 23, as in line 1"),
    ],
)
def test_error_is_reported_with_its_line(written: tuple[Path, Schedule], change: Any, told: str) -> None:
    path, _ = written
    rewrite(path, change)
    line = line_of(read_jobs, path)
    assert line.startswith(f"{path} line ")
    assert told in line


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("execution_time", "11"), ("waiting_time", ""), ("success", "0"), ("requested_number_of_resources", "3"),
        ("turnaround_time", "9"), ("stretch", "1.1"), ("allocated_resources", "0-2"), ("allocated_resources", "x"),
    ],
)  # fmt: skip
def test_inconsistent_derived_column_is_reported(written: tuple[Path, Schedule], column: str, value: str) -> None:
    path, _ = written
    rewrite(path, spoiled(1, allocated_resources="1 0", execution_time="10.0", stretch="1.000001"))
    assert contradicted(path) == []
    rewrite(path, spoiled(1, **{column: value}))
    found = contradicted(path)
    assert [violation.job for violation in found] == [1]
    assert found[0].text.startswith(f"{column} is {value!r}")


def test_files_that_are_no_table_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"job_id,\xff\xfe")
    (tmp_path / "open quote").write_text('"' + "x" * 200_000)
    (tmp_path / "empty").write_text("")
    for name in ("binary", "open quote", "empty", "absent"):
        assert line_of(read_jobs, tmp_path / name).startswith(str(tmp_path / name))
