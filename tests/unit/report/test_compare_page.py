"""The comparison's page: one file, all charts of every trace, also where runs failed or figures have no meaning."""

import re
from dataclasses import replace

import numpy as np
import pytest
from kit.page import Page
from kit.written_run import one_node_jobs, write_run

from dardis.metrics.classes import WIDTH, JobClass
from dardis.metrics.comparison import Compared, RunResult, lines_of
from dardis.metrics.system import schedule_metrics
from dardis.model.platform import NodeGroup, Platform
from dardis.report import chart
from dardis.report.compare_charts import Borne, waits, who_pays
from dardis.report.compare_page import write_comparison
from dardis.report.radar import placed, radar

CHARTS = [
    "Beside the first dispatcher", "Radar", "Waits", "Bounded slowdowns", "Who pays, by width",
    "Who pays, by walltime", "Nodes over time",
]  # fmt: skip


@pytest.fixture
def write(tmp_path):
    """Write the files of a run whose jobs each wait for `delay`, and return it as a result."""

    def run(label, trace="t", seed=1, count=60, nodes=4, delay=9):
        folder = tmp_path / "runs" / trace / label / str(seed)
        folder.mkdir(parents=True)
        platform = Platform("m", (NodeGroup("n", nodes, {"cores": 4, "memory": 1024}),))
        jobs = one_node_jobs(count, platform)
        start, walltime = jobs.submit + delay, 40 + 700 * (np.arange(count) % 3)
        schedule = replace(jobs, start=start, finish=start + 40, walltime=walltime)
        write_run(folder, schedule, platform, wished=False)
        return RunResult(trace, label, "easy", (), seed, folder, schedule_metrics(schedule, platform, None))

    return run


@pytest.fixture
def kept(monkeypatch):
    """The drawings that would have been finished."""
    drawings = []
    monkeypatch.setattr(chart, "finish", lambda drawing, *_: drawings.append(drawing))
    return drawings


def drawn(folder, results, pair):
    write_comparison(folder, Compared(tuple(results), pair), folder)
    text = (folder / "report.html").read_text()
    return text, Page(text)


def test_every_trace_has_all_charts_the_same_bytes_each_time(write, tmp_path):
    results = [write(label, trace, delay=d) for trace in ("t", "u & v") for d, label in ((9, "a"), (90, "b"))]
    text, page = drawn(tmp_path, results, ("a", "b"))
    assert page.headings == ["A comparison", "Figures", "t", *CHARTS, "u & v", *CHARTS]
    assert page.pictures == 2 * len(CHARTS)
    assert re.search(r">makespan</a> \((s|min)\)", " ".join(text.split()))
    assert drawn(tmp_path, results, ("a", "b"))[0] == text


def test_failed_runs_are_named_and_do_not_stop_the_charts(write, tmp_path):
    failed = RunResult("t", "c", "easy", (), 1, tmp_path / "none", None, "out of <memory>")
    text, page = drawn(tmp_path, [write("a"), write("b", delay=90), failed], ("a", "c"))
    assert page.headings[3:] == CHARTS
    assert "out of &lt;memory&gt;" in text
    assert text.count("<td>failed</td>") == 1


def test_when_all_have_failed_there_is_a_page(tmp_path):
    failed = [RunResult("t", label, "easy", (), 1, tmp_path, None, "no") for label in "ab"]
    text, page = drawn(tmp_path, failed, ("a", "b"))
    assert page.pictures == 0
    assert text.count("<td>failed</td>") == 2
    assert len((tmp_path / "who_pays.csv").read_text().splitlines()) == 1


def test_a_large_machine_and_more_dispatchers_than_lines(write, tmp_path):
    results = [write(f"d{n}", nodes=300, count=1200, delay=10 * n) for n in range(chart.MOST_LINES + 2)]
    text, page = drawn(tmp_path, results, ("d0", "d9"))
    assert page.headings[3:] == CHARTS
    assert "the table has these, too: d8, d9." in text
    assert len(text) < 2_000_000


def test_who_pays_counts_the_jobs_of_all_seeds_of_a_lone_dispatcher(write, tmp_path):
    runs = [write("a", seed=seed, count=6, delay=delay) for seed, delay in ((1, 10), (2, 30))]
    assert drawn(tmp_path, runs, ("a", "a"))[1].headings[-1] == "Nodes over time"
    rows = [line.split(",") for line in (tmp_path / "who_pays.csv").read_text().splitlines()]
    # Runs of 40 s that waited 10 s and 30 s: slowdowns 1.25 and 1.75.
    assert rows[1] == ["t", "a", "2", "width", "2", "12", "20.0", "1.5", "1.0", "1.0"]
    assert [row[3:6] for row in rows[2:]] == [["walltime", "≤ 10 min", "4"], ["walltime", "10 min–1 h", "8"]]


def result(label, **metrics):
    return RunResult("t", label, "easy", (), 1, None, metrics)


def test_the_radar_has_the_median_half_way_out_and_twice_that_or_the_largest_at_the_rim():
    lines = lines_of(
        [
            result("a", makespan_s=50, total_wait_s=0, late_jobs=0, max_wait_s=10, dissimilarity=None),
            result("b", makespan_s=60, total_wait_s=0, late_jobs=4, max_wait_s=20, dissimilarity=None),
            result("c", makespan_s=90, total_wait_s=0, late_jobs=0, max_wait_s=100, dissimilarity=None),
        ]
    )
    found = placed(lines, ["makespan_s", "total_wait_s", "late_jobs", "max_wait_s", "dissimilarity"])
    assert found == {
        "makespan_s": (60, 90, pytest.approx([50 / 120, 0.5, 90 / 120])),
        "late_jobs": (0, 4, [0, 1, 0]),
        "max_wait_s": (20, 100, [0.25, 0.5, 1]),
    }


def test_classes_of_few_jobs_are_grey_dots_beside_the_lines(kept):
    classes = [JobClass(WIDTH, place, jobs, 60 * jobs, 2.0 * jobs, jobs, 1.0) for place, jobs in ((0, 50), (1, 9))]
    with chart.style():
        who_pays([Borne("a", np.ones(1, np.int64), np.ones(1), classes, 1)], WIDTH, "")
    for axes in kept[0].axes:
        line, dots = axes.lines
        assert np.isfinite(line.get_ydata()).tolist() == [True, False]
        assert (dots.get_xdata().tolist(), dots.get_linestyle(), dots.get_color()) == ([1], "None", chart.GREY)


def test_curves_begin_where_they_differ(kept):
    alike = [0] * 75 + [10] * 5
    with chart.style():
        waits([Borne(str(far), np.array([*alike, *[far] * 20]), np.ones(1), [], 1) for far in (600, 3600)], "")
    (axes,) = kept[0].axes
    assert axes.get_xlim()[0] == 10
    assert 0.69 < axes.get_ylim()[0] < 0.81
    assert "axis cut" in axes.get_ylabel()


def test_a_radar_has_three_figures_or_none():
    few = {"makespan_s": 5, "total_wait_s": 7}
    with chart.style():
        assert radar(lines_of([result("a", **few)]), "Radar") is None
        assert radar(lines_of([result("a", **few, mean_bounded_slowdown=1.5)]), "Radar") is not None


def test_lines_are_told_apart_without_colours():
    looks = [chart.line_look(place, marked=True) for place in range(chart.MOST_LINES)]
    assert len({look["marker"] for look in looks}) == chart.MOST_LINES
    assert len({(str(look["linestyle"]), look["linewidth"]) for look in looks}) == chart.MOST_LINES
    assert all(re.fullmatch(r"#\w{6}", look["color"]) for look in looks)
    assert len({look["color"] for look in looks}) == chart.MOST_LINES
