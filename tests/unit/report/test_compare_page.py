"""The comparison's page: one file, all charts of every trace, also where runs failed or figures have no meaning."""

import re
from dataclasses import replace

import numpy as np
import pytest
from kit.page import Page
from kit.written_run import one_node_jobs, write_run

from dardis.metrics.comparison_rows import ComparisonData, RunResult
from dardis.metrics.system import schedule_metrics
from dardis.model.platform import NodeGroup, Platform
from dardis.report import chart
from dardis.report.compare_page import write_comparison

CHARTS = [
    "Relative to the first dispatcher", "Radar", "Waits", "Bounded slowdowns", "Breakdown by width",
    "Breakdown by walltime", "Nodes over time",
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


def drawn(folder, results, pair):
    write_comparison(folder, ComparisonData(tuple(results), pair), folder)
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


def test_a_large_machine_and_more_dispatchers_than_lines(write, tmp_path):
    results = [write(f"d{n}", nodes=300, count=1200, delay=10 * n) for n in range(chart.MOST_LINES + 2)]
    text, page = drawn(tmp_path, results, ("d0", "d9"))
    assert page.headings[3:] == CHARTS
    assert "the table also has d8, d9." in text
    assert len(text) < 2_000_000


def result(label, **metrics):
    return RunResult("t", label, "easy", (), 1, None, metrics)
