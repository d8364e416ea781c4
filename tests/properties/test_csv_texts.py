"""Any text goes into every CSV that we write so that no spreadsheet runs it, and comes back as it was."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dardis.metrics.comparison_rows import RunResult, result_rows
from dardis.metrics.comparison_tables import means_table, runs_table
from dardis.metrics.job_classes import WIDTH, JobClass, classes_table
from dardis.metrics.job_metrics import write_metrics_by
from dardis.model.csv_table import from_cell
from dardis.model.job import NO_TIME, Status
from dardis.model.placements import Placements
from dardis.model.platform import NodeGroup, Platform
from dardis.model.schedule import Schedule
from dardis.workload.csv_trace import read_table
from dardis.workload.csv_trace import write_table as write_trace
from dardis.workload.trace import Trace, build_trace

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.text("'=+-@\t\r\n\",x ", max_size=5)
RUN = tuple("=+-@\t\r")
FORMULA = '=HYPERLINK("http://x","y")'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("texts")


def cells(text: str, *names: str) -> list[tuple[str, ...]]:
    """Rows of these columns, after a look that a spreadsheet would run none of them."""
    rows = [tuple(row[name] for name in names) for row in csv.DictReader(io.StringIO(text, newline=""))]
    assert not [cell for row in rows for cell in row if cell.startswith(RUN)]
    return [tuple(map(from_cell, row)) for row in rows]


def schedule(queue: list[str], user: list[str]) -> Schedule:
    """Jobs of these queues and users, one after the other on node 0."""
    number = np.arange(len(queue), dtype=np.int64)
    ones = np.ones_like(number)
    return Schedule(
        ("cores",), number, number, number, np.full_like(number, NO_TIME), ones, ones, ones[:, None],
        np.full(len(number), Status.COMPLETED, dtype=np.int8), number, number + 1, ones,
        Placements(np.arange(len(number) + 1, dtype=np.int64), np.zeros_like(number), ones), queue, user,
    )  # fmt: skip


NAMED = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4)


@given(NAMED)
@example([(FORMULA, "-x")])
def test_metrics_tables_round_trip_any_text(folder: Path, names: list[tuple[str, str]]) -> None:
    jobs = schedule(*(list(column) for column in zip(*names, strict=True)))
    path = folder / "metrics_by.csv"
    write_metrics_by(path, jobs, Platform("p", (NodeGroup("n", 1, {"cores": 1}),)), np.arange(len(names)))
    with path.open(encoding="utf-8", newline="") as file:
        written = cells(file.read(), "by", "name")
    assert written == [
        (by, name) for by, texts in (("queue", jobs.queue), ("user", jobs.user)) for name in sorted(set(texts))
    ]


@given(st.lists(st.tuples(*[TEXTS.map(str.strip)] * 4), min_size=1, max_size=4))
@example([(FORMULA, "-x", "a\u2028b", "a\rb\nc")])
def test_job_tables_round_trip_any_text(folder: Path, names: list[tuple[str, ...]]) -> None:
    ones = np.ones(len(names), dtype=np.int64)
    fields = ("queue", "user", "group", "partition")
    columns = {
        "number": np.arange(len(names)), "submit": ones, "runtime": ones, "units": ones, "procs": ones,
        "request": {"cores": ones},
        **{field: np.array(texts, dtype=object) for field, texts in zip(fields, zip(*names, strict=True), strict=True)},
    }  # fmt: skip
    path = folder / "trace.csv"
    write_trace(build_trace(path, range(len(names)), columns, [], strict=True), path)
    read: Trace = read_table(path, strict=True)
    assert [*zip(*(getattr(read, field).tolist() for field in fields), strict=True)] == names
    stated = [field for field in fields if any(getattr(read, field))]
    with path.open(encoding="utf-8", newline="") as file:
        cells(file.read(), *stated)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
@example("=t", "+l", "-s", "@error\r")
def test_comparison_tables_round_trip_any_text(folder: Path, trace: str, label: str, setting: str, error: str) -> None:
    results = [
        RunResult(trace, label, "easy", (setting,), seed, folder, None if seed else {"jobs": -1}, error * bool(seed))
        for seed in (0, 1)
    ]
    classes = classes_table([(trace, label, 1, [JobClass(WIDTH, 0, 1, 0, 1.0, 1, 1.0)])])
    for table in (runs_table(results), means_table(result_rows(results)), classes):
        table.write(folder)
    assert runs_table(results).frame()[["trace", "error"]].values.tolist() == [[trace, ""], [trace, error]]
    names = ("trace", "dispatcher")
    for file, columns, expected in (
        ("compare.csv", (*names, "settings", "error"), [(trace, label, setting, error * seed) for seed in (0, 1)]),
        ("table.csv", names, [(trace, label)]),
        ("who_pays.csv", names, [(trace, label)]),
    ):
        with (folder / file).open(encoding="utf-8", newline="") as opened:
            assert cells(opened.read(), *columns) == expected
    with (folder / "compare.csv").open(encoding="utf-8", newline="") as opened:
        assert [row["jobs"] for row in csv.DictReader(opened)] == ["-1", ""]
