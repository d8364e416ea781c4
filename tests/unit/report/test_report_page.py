"""The report: whole, self-contained, the same bytes every time, for ordinary and odd runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kit.page import Page
from kit.written_run import SMALL, one_node_jobs, write_run

from dardis.cli.report import report
from dardis.metrics.power import COLUMNS
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME, Status
from dardis.model.placements import Placements
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.model.queues import Queue
from dardis.model.schedule import Schedule
from dardis.report import chart
from dardis.report.linked_words import LinkedWords
from dardis.report.page import charts, draw_report
from dardis.report.run_files import read_run
from dardis.report.summary import figures, group_table, headlines, setup
from dardis.runs.solved import SOLVER_FILE, read_gaps, write_solved
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


def test_decisions_of_a_solver_have_a_chart_by_what_is_known_of_them(tmp_path: Path) -> None:
    write_run(tmp_path, one_node_jobs(60, SMALL), SMALL)
    kinds = [
        decision("", "", 10.0), decision("optimal", "proven", 10.0), decision("feasible", "budget", 7.5),
        decision("unknown", "guard", None), decision("", "", 4.0, too_large=True),
    ]  # fmt: skip
    write_solved(tmp_path / SOLVER_FILE, [(10 * place, one) for place, one in enumerate(kinds)])
    assert [one.gap for one in read_gaps(tmp_path / SOLVER_FILE)] == [0, 0, 0.25, None, 0.6]
    text, page = drawn(tmp_path)
    assert page.headings[1:5] == [*CHARTS[:2], "Decisions as constraint models", CHARTS[2]]
    assert "1 decided by our own answer, 1 proven, 2 stopped by a limit, 1 too large for a model." in text
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


def test_its_words_are_there(page: tuple[str, Page]) -> None:
    for expected in ("dardis-profile on grid.swf.gz", "no power figures", "grain=60", "job 7; reason too wide",
                     "and 18 more", "41 µs", "surprise", "&lt;script&gt;"):  # fmt: skip
        assert expected in page[0]
    headings = [*CHARTS, "Decision times", "Figures", "By queue", "By user", "Set-up", "Rejected jobs"]
    assert page[1].headings[1:] == headings


def test_words_link_to_their_meaning(page: tuple[str, Page]) -> None:
    anchors = {source for source in page[1].sources if source.startswith("#def-")}
    assert {"#def-wait", "#def-bounded-slowdown", "#def-utilisation"} <= anchors
    assert all(page[0].count(f'<dt id="{anchor[1:]}">') == 1 for anchor in anchors)
    assert page[0].count('<dt id="def-') == len(anchors)


def test_pictures_have_the_page_s_colours_and_files_have_none_of_its_variables(
    folder: Path, page: tuple[str, Page], tmp_path: Path
) -> None:
    told = set(re.findall(r"var\((--\w+)\)", page[0]))
    assert {"--ink", "--page", "--grid", "--blue"} <= told
    assert all(page[0].count(f"{name}:") == 3 for name in told - {"--shade"})  # light, dark, printed
    picture = next(iter(charts(read_run(folder))))
    picture.write(tmp_path / "one.svg")
    assert "var(" not in (tmp_path / "one.svg").read_text()


def test_the_command_draws_the_same_bytes_and_says_where(
    folder: Path, page: tuple[str, Page], capsys: pytest.CaptureFixture[str]
) -> None:
    report(folder)
    assert capsys.readouterr().out == f"report: {folder / 'report.html'}\n"
    assert (folder / "report.html").read_text() == page[0]


def test_the_mean_wait_is_the_first_tile(folder: Path) -> None:
    tiles = [row.name for row in headlines(read_run(folder).metrics)]
    assert tiles[:3] == ["Mean wait", "Makespan", "95th percentile of waits"]


def test_groups_tell_what_deadlines_mean_where_there_are_any(tmp_path: Path) -> None:
    jobs = one_node_jobs(60, SMALL, queues=1)  # windows of 60 s, waits of 0 to 59 s
    header, rows, _ = group_table(read_run(write_run(tmp_path, jobs, SMALL)), "queue")
    assert header[-4:] == ["Late jobs", "Tardiness", "Weighted queue time", "Weighted tardiness"]
    assert rows[0][-4:] == ["0", "0 s", "29.50", "0"]
    free = read_run(write_run(tmp_path, replace(jobs, latest=np.full(60, NO_TIME)), SMALL))
    assert group_table(free, "queue")[0] == header[:-4]
    assert free.metrics["weighted_queue_time"] is None
    assert "Weighted queue time" not in [row.name for row in figures(free.metrics)]


def test_a_node_that_failed_is_no_maintenance_window(tmp_path: Path) -> None:
    failed, planned = Maintenance((0,), 5000, 6000, foreseen=False), Maintenance((0,), 7000, 8000)

    def told(*windows: Maintenance) -> list[str]:
        run = write_run(tmp_path, one_node_jobs(4, SMALL), replace(SMALL, maintenance=windows))
        return [row.value for row in setup(read_run(run)) if row.name == "Maintenance windows"]

    assert (told(failed), told(planned, failed)) == ([], ["1"])


def test_groups_tell_what_longest_waits_mean_where_queues_have_any(tmp_path: Path) -> None:
    jobs = replace(one_node_jobs(4, SMALL, queues=2), latest=np.full(4, NO_TIME))  # waits of 0 to 3 s, by turns
    site = replace(SMALL, queues=(Queue("q0"), Queue("q1", longest_wait_s=2)))
    files = read_run(write_run(tmp_path, jobs, site))
    header, rows, _ = group_table(files, "queue")
    assert header[-4:] == ["Waited for too long", "Waits beyond the longest", "Waits by queue", "Tardiness by queue"]
    assert [row[-4:] for row in rows] == [["0", "0 s", "–", "–"], ["1", "1 s", "2", "0.50"]]
    assert ("Waited for too long", "1") in [row[:2] for row in figures(files.metrics)]
    assert group_table(read_run(write_run(tmp_path, jobs, SMALL)), "queue")[0] == header[:-4]


def test_where_nodes_of_jobs_were_is_told_by_runs_that_know_it(tmp_path: Path) -> None:
    """A folder of a version that had no such figures is read as it was."""
    jobs = replace(one_node_jobs(60, SMALL, queues=1), latest=np.full(60, NO_TIME))
    header, rows, _ = group_table(read_run(write_run(tmp_path, jobs, SMALL)), "queue")
    assert (header[-2:], rows[0][-2:]) == (["Mean fragmentation", "Mean spread"], ["1", "1"])
    new = {"sd_wait_s", "mean_slowdown", "theoretical_runtime_s", "mean_fragmentation", "sd_fragmentation",
           "mean_spread", "sd_spread"}  # fmt: skip
    path = tmp_path / "metrics.json"
    known = json.loads(path.read_text())
    assert new <= set(known)
    path.write_text(json.dumps({key: value for key, value in known.items() if key not in new}))
    path = tmp_path / "metrics_by.csv"
    table = [line.split(",") for line in path.read_text().splitlines()]
    kept = [place for place, name in enumerate(table[0]) if name not in new]
    path.write_text("".join(",".join(line[place] for place in kept) + "\n" for line in table))
    assert group_table(read_run(tmp_path), "queue")[0] == header[:-2]
    assert "Mean spread" not in drawn(tmp_path)[0]


def test_text_with_words_stays_text() -> None:
    words = LinkedWords()
    linked = words.linked("<b>Mean bounded slowdown & waits</b>")
    assert linked == (
        '&lt;b&gt;Mean <a class="word" href="#def-bounded-slowdown">bounded slowdown</a> &amp; '
        '<a class="word" href="#def-wait">waits</a>&lt;/b&gt;'
    )
    assert [word for _, word, _ in words.used()] == ["bounded slowdown", "wait"]
    assert LinkedWords().linked("waiting") == "waiting"


def test_kinds_that_no_job_holds_have_no_panel(tmp_path: Path) -> None:
    rich = Platform("rich", (NodeGroup("n", 4, {"cores": 4, "memory": 1024, "gpu": 2}),))
    jobs = one_node_jobs(60, SMALL)
    jobs = replace(jobs, kinds=rich.kinds, request=np.tile([2, 100, 0], (60, 1)))
    assert "No job asks for gpu." in drawn(write_run(tmp_path, jobs, rich))[0]
    files = read_run(tmp_path)
    (used,) = [one for one in charts(files) if one.title == "Use of the machine"]
    assert len(used.drawing.axes) == 2


@pytest.mark.parametrize("count", [0, 3])
def test_a_run_without_running_jobs_has_a_page(count: int, tmp_path: Path) -> None:
    write_run(tmp_path, none_ran(count), SMALL)
    (tmp_path / "decisions.csv").unlink()
    text, page = drawn(tmp_path)
    assert page.pictures == 0
    said = "No job ran: all 3 were rejected." if count else "No job ran: the trace has none."
    assert said in text
    assert text.index(said) < text.index("no power figures")
    assert "<li>30 jobs: too wide</li>" in text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.json", "[]"), ("run.json", "{}"), ("run.json", "[" * 100_000), ("metrics.json", "{"),
        ("profile.csv", "time_s,cores_used\n1,x"), ("profile.csv", "t,cores_used\n1,2"), ("decisions.csv", "a,b\n"),
        ("power.csv", ",".join(COLUMNS) + "\n \n"), ("decisions.csv", "cpu_s_from,cpu_s_to,decisions\n0,1e308,3\n"),
        ("metrics.json", '{"jobs": "5"}'), ("decisions.csv", "cpu_s_from,cpu_s_to,decisions\n0,nan,3\n"),
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


def test_files_of_different_runs_are_told_apart(tmp_path: Path) -> None:
    write_run(tmp_path, one_node_jobs(5, LARGE), SMALL)
    with pytest.raises(InputError, match="names a node"):
        draw_report(tmp_path)


@pytest.mark.parametrize("unix_start", [1 << 40, -(1 << 40)])
def test_years_that_no_calendar_has_are_told_from_the_first_submission(unix_start: int) -> None:
    with chart.style():
        drawing, (axes,) = chart.figure(chart.HALF, 2)
        axis = chart.TimeAxis(0, 7200, unix_start)
        axes.plot(axis.place(np.array([0, 7200])), [0, 1])
        axis.dress(axes)
        chart.finish(drawing, "", "")
    assert axes.get_xlabel() == "hours since the first submission"
