"""`jobs.csv`: its columns, its round trip, and the mistakes it may hold."""

from __future__ import annotations

import csv
import io
import random
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.schedules import INSTANCES, schedule_of

from dardis.metrics import columns
from dardis.metrics.contradictions import contradictions
from dardis.metrics.table import read_blocks, read_jobs, write_jobs
from dardis.metrics.violation import Violation
from dardis.model.errors import InputError
from dardis.model.files import atomic_text
from dardis.model.job import NO_TIME, Status
from dardis.model.placements import Placements
from dardis.model.schedule import Schedule

DOCUMENTED = (
    "job_id,workload_name,submission_time,requested_number_of_resources,requested_time,success,starting_time,"
    "execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,units,units_by_node,"
    "req_cores,req_memory,earliest_start,latest_start,attempts,status,queue,user"
)


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
def test_reading_gives_what_was_written(data: st.DataObject, folder: Path) -> None:
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


def test_rows_hold_the_documented_columns(tmp_path: Path) -> None:
    rows = [
        {"submit": 5, "start": 9, "finish": 17, "walltime": 8, "status": Status.KILLED, "request": [2, 100],
         "placed": {0: 1, 1: 1, 2: 3, 7: 2}, "latest": 20, "queue": "q,1", "user": "u", "attempts": 2},
        {"submit": 6, "earliest": 7, "status": Status.REJECTED, "units": 900, "walltime": 60},
    ]  # fmt: skip
    write_jobs(schedule_of(("cores", "memory"), rows), tmp_path / "jobs.csv", "curie")
    assert (tmp_path / "jobs.csv").read_text().splitlines() == [
        DOCUMENTED,
        '1,curie,5,14,8,0,9,8,17,4,12,1.5,0-2 7,7,0:1 1:1 2:3 7:2,2,100,5,20,2,killed,"q,1",u',
        "2,curie,6,900,60,0,,,,,,,,900,,1,0,7,,1,rejected,,",
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


def with_points(table: list[list[str]]) -> None:
    """Whole numbers as pandas writes them."""
    place = table[0].index("starting_time")
    for row in table[1:]:
        row[place] += ".0" if row[place] else ""


def shuffled(table: list[list[str]]) -> list[list[str]]:
    """Columns in another order, with one between; 7 and the 24 columns have no common divisor."""
    count = len(table[0]) + 1
    return [[(*row, "metadata")[place * 7 % count] for place in range(count)] for row in table]


def turned(table: list[list[str]]) -> None:
    """Units by node from the last to the first."""
    place = table[0].index("units_by_node")
    for row in table[1:]:
        row[place] = "  ".join(reversed(row[place].split())) + " "


@pytest.mark.parametrize("change", [with_points, shuffled, turned])
def test_what_means_the_same_is_read_the_same(written: tuple[Path, Schedule], change: Any) -> None:
    path, schedule = written
    rewrite(path, change)
    assert_same(read_jobs(path), schedule)


def test_what_is_not_needed_may_be_absent(written: tuple[Path, Schedule]) -> None:
    path, schedule = written
    needed = {"job_id", "submission_time", "requested_time", "starting_time", "finish_time", "units", "units_by_node",
              "req_cores", "status"}  # fmt: skip
    rewrite(path, lambda table: [[v for n, v in zip(table[0], row, strict=True) if n in needed] for row in table])
    read = read_jobs(path)
    assert read.digest() == schedule.digest()
    assert read.kinds == ("cores",)
    assert read.earliest.tolist() == [0, 4, 5]
    assert set(read.latest.tolist()) == {NO_TIME}
    assert read.attempts.tolist() == [1, 1, 1]
    assert read.queue == read.user == ["", "", ""]


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
def test_what_is_wrong_is_named_with_its_line(written: tuple[Path, Schedule], change: Any, told: str) -> None:
    path, _ = written
    rewrite(path, change)
    with pytest.raises(InputError) as caught:
        read_jobs(path)
    assert str(caught.value).startswith(f"{path} line ")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("execution_time", "11"), ("waiting_time", ""), ("success", "0"), ("requested_number_of_resources", "3"),
        ("turnaround_time", "9"), ("stretch", "1.1"), ("allocated_resources", "0-2"), ("allocated_resources", "x"),
    ],
)  # fmt: skip
def test_a_derived_column_that_disagrees_is_found(written: tuple[Path, Schedule], column: str, value: str) -> None:
    path, _ = written
    rewrite(path, spoiled(1, allocated_resources="1 0", execution_time="10.0", stretch="1.000001"))
    assert contradicted(path) == []
    rewrite(path, spoiled(1, **{column: value}))
    found = contradicted(path)
    assert [violation.job for violation in found] == [1]
    assert found[0].text.startswith(f"{column} is {value!r}")


def test_a_job_may_be_as_wide_as_a_large_machine(tmp_path: Path) -> None:
    schedule = schedule_of(("cores",), [{"placed": dict.fromkeys(range(0, 200_000, 2), 1)}, {"placed": {1: 1}}])
    path = tmp_path / "jobs.csv"
    write_jobs(schedule, path)
    assert_same(read_jobs(path), schedule)
    assert [len(block.rows) for block in read_blocks(path)] == [2]
    assert contradicted(path) == []


def test_files_that_are_no_table_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"job_id,\xff\xfe")
    (tmp_path / "open quote").write_text('"' + "x" * 200_000)
    (tmp_path / "empty").write_text("")
    for name in ("binary", "open quote", "empty", "absent"):
        with pytest.raises(InputError) as caught:
            read_jobs(tmp_path / name)
        assert str(caught.value).startswith(str(tmp_path / name))
        assert "\n" not in str(caught.value)


@given(st.sets(st.integers(0, 40)), st.randoms())
def test_interval_sets_have_one_form(numbers: set[int], order: random.Random) -> None:
    parts = [str(number) for number in numbers]
    order.shuffle(parts)
    text = columns.canonical_interval_set(" ".join(parts))
    bounds = [tuple(map(int, part.split("-"))) for part in text.split()]
    assert sorted(numbers) == [n for bound in bounds for n in range(bound[0], bound[-1] + 1)]
    assert all(later[0] > earlier[-1] + 1 for earlier, later in pairwise(bounds))


def test_a_file_is_whole_or_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError), atomic_text(path) as file:
        file.write("new \ud800")
    assert path.read_text() == "old"
    with atomic_text(path) as file:
        file.write("né\r\n")
        assert path.read_text() == "old"
    assert path.read_bytes() == "né\r\n".encode()
    assert list(tmp_path.iterdir()) == [path]
