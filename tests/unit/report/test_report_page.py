"""The report of a run: its page, its charts and the numbers in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.page import Page
from kit.written_run import SMALL, one_node_jobs, write_run

from dardis.cli.report_commands import report
from dardis.metrics.power import SEGMENTS
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME, Status
from dardis.model.placements import Placements
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.model.schedule import Schedule
from dardis.model.step_function import StepFunction
from dardis.report.over_time import envelope
from dardis.report.run_files import read_run
from dardis.report.run_page import draw_report
from dardis.report.run_summary import setup
from dardis.runs.solved_instances import SOLVER_FILE, read_gaps, write_solved
from dardis.wire.effects import Solved

LARGE = Platform("large", (NodeGroup("n", 900, {"cores": 4, "memory": 1024}),))


def none_ran(count: int) -> Schedule:
    """Rejected jobs only."""
    none = np.full(count, NO_TIME)
    return replace(
        one_node_jobs(count, SMALL), status=np.full(count, Status.REJECTED, np.int8), start=none, finish=none,
        placed=Placements.none(count),
    )  # fmt: skip


def drawn(folder: Path) -> tuple[str, Page]:
    text = draw_report(folder).read_text()
    return text, Page(text)


CHARTS = ["Use of the machine", "The queue", "Nodes over time", "Waits", "Bounded slowdowns", "Waits by width"]


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: write_run(folder, one_node_jobs(1, SMALL), SMALL, wished=False),
        lambda folder: write_run(folder, one_node_jobs(3000, SMALL, queues=20), SMALL, unix_start=1_300_000_000),
        lambda folder: write_run(folder, one_node_jobs(5000, LARGE), LARGE),
    ],
    ids=["one job", "calendar, many queues", "more nodes than rows"],
)
def test_all_charts_are_drawn(make: Callable[[Path], Path], tmp_path: Path) -> None:
    text, page = drawn(make(tmp_path))
    assert page.headings[1:8] == [*CHARTS, "Decision times"]
    assert page.pictures == 7
    assert len(text) < 3_000_000


def decision(status: str, ended: str, bound: float | None, *, too_large: bool = False) -> Solved:
    return Solved(5, 4, 1, status, ended, 10.0, bound, 9, 0.1, 0.01, 0.02, 0.03, too_large)


def test_solver_decision_charts_depend_on_recorded_fields(tmp_path: Path) -> None:
    write_run(tmp_path, one_node_jobs(60, SMALL), SMALL)
    kinds = [
        decision("", "", 10.0), decision("optimal", "proven", 10.0), decision("feasible", "budget", 7.5),
        decision("unknown", "guard", None), decision("", "", 4.0, too_large=True),
    ]  # fmt: skip
    write_solved(tmp_path / SOLVER_FILE, [(10 * place, one) for place, one in enumerate(kinds)])
    assert [one.gap for one in read_gaps(tmp_path / SOLVER_FILE)] == [0, 0, 0.25, None, 0.6]
    text, page = drawn(tmp_path)
    assert page.headings[1:5] == [*CHARTS[:2], "Decisions as constraint models", CHARTS[2]]
    assert "1 decided by the heuristic, 1 proven, 2 stopped by a limit, 1 too large for a model." in text
    write_solved(tmp_path / SOLVER_FILE, [(10, decision("unknown", "budget", None))])
    assert "1 stopped by a limit." in drawn(tmp_path)[0]
    write_solved(tmp_path / SOLVER_FILE, [])
    assert drawn(tmp_path)[1].headings[1:7] == CHARTS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("page"), one_node_jobs(60, SMALL), SMALL)


@pytest.fixture(scope="module")
def page(folder: Path) -> tuple[str, Page]:
    return drawn(folder)


def test_report_command_is_repeatable_and_prints_its_path(
    folder: Path, page: tuple[str, Page], capsys: pytest.CaptureFixture[str]
) -> None:
    report(folder)
    assert capsys.readouterr().out == f"report: {folder / 'report.html'}\n"
    assert (folder / "report.html").read_text() == page[0]


@pytest.mark.parametrize("count", [0, 3])
def test_a_run_without_running_jobs_has_a_page(count: int, tmp_path: Path) -> None:
    write_run(tmp_path, none_ran(count), SMALL)
    (tmp_path / "decisions.csv").unlink()
    text, page = drawn(tmp_path)
    assert page.pictures == 0
    said = "No job ran: all 3 were rejected." if count else "No job ran: the trace is empty."
    assert said in text
    assert text.index(said) < text.index("no power figures")
    assert "<li>30 jobs: too wide</li>" in text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.json", "[]"), ("run.json", "{}"), ("run.json", "[" * 100_000), ("metrics.json", "{"),
        ("profile.csv", "time_s,cores_used\n1,x"), ("profile.csv", "t,cores_used\n1,2"), ("decisions.csv", "a,b\n"),
        ("power.csv", ",".join(SEGMENTS.names) + "\n \n"), ("metrics.json", '{"jobs": "5"}'),
        ("decisions.csv", "cpu_s_from,cpu_s_to,decisions\n0,1e308,3\n"),
        ("decisions.csv", "cpu_s_from,cpu_s_to,decisions\n0,nan,3\n"),
        ("profile.csv", ""), ("metrics_by.csv", ""), ("decisions.csv", "cpu_s_from,cpu_s_to,decisions\n\n"),
        (SOLVER_FILE, "time\n"), ("jobs.csv", None), ("run.json", None), ("metrics.json", None),
        ("metrics_by.csv", None), ("profile.csv", None),
    ],
)  # fmt: skip
def test_a_damaged_or_missing_file_is_named(name: str, content: str | None, tmp_path: Path) -> None:
    write_run(tmp_path, one_node_jobs(5, SMALL), SMALL)
    (tmp_path / name).unlink(missing_ok=True)
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=name):
        draw_report(tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_mixed_files_of_different_runs_are_refused(tmp_path: Path) -> None:
    write_run(tmp_path, one_node_jobs(5, LARGE), SMALL)
    with pytest.raises(InputError, match="has a node"):
        draw_report(tmp_path)


@given(
    steps=st.lists(st.tuples(st.integers(-5, 60), st.integers(0, 9)), max_size=12),
    edges=st.sets(st.integers(0, 50), min_size=2),
)
def test_the_envelope_is_that_of_every_second(steps: list[tuple[int, int]], edges: set[int]) -> None:
    function, bounds = StepFunction.from_steps(4, steps), np.array(sorted(edges))
    low, high, mean = envelope(function, bounds)
    for place, (start, end) in enumerate(pairwise(bounds)):
        values = function.at(np.arange(start, end))
        assert (low[place], high[place]) == (values.min(), values.max())
        assert mean[place] == pytest.approx(values.mean())


def test_failed_node_is_not_shown_as_maintenance(tmp_path: Path) -> None:
    failed, planned = Maintenance((0,), 5000, 6000, foreseen=False), Maintenance((0,), 7000, 8000)

    def told(*windows: Maintenance) -> list[str]:
        run = write_run(tmp_path, one_node_jobs(4, SMALL), replace(SMALL, maintenance=windows))
        return [row.value for row in setup(read_run(run)) if row.name == "Maintenance windows"]

    assert (told(failed), told(planned, failed)) == ([], ["1"])
