from pathlib import Path

import numpy as np
import pytest
from kit.error_lines import line_of

from dardis.model.platform import NodeGroup, Platform
from dardis.workload.deadlines import with_deadlines
from dardis.workload.trace import build_trace
from dardis.workload.trace_jobs import to_jobs

PLATFORM = Platform("p", (NodeGroup("n", 4, {"cores": 4}),))


def trace_of(waits=(10, 21, 100, -1), lst=None):
    numbers = np.arange(1, 5)
    columns = {
        "number": numbers, "submit": numbers * 100, "runtime": np.full(4, 50),
        "walltime": np.array([50, 50, 3600, 5000]), "procs": np.ones(4, dtype=np.int64), "wait": np.array(waits),
        "queue": np.array(["a", "a", "b", "b"], dtype=object),
        "partition": np.array(["p", "p", "p", "p"], dtype=object),
    }  # fmt: skip
    if lst is not None:
        columns["lst"] = np.array(lst)
    return build_trace(Path("t"), numbers, columns, [], strict=True)


def windows(rule, trace=None, **options):
    trace = trace or trace_of()
    jobs = with_deadlines(to_jobs(trace, PLATFORM).jobs, trace, rule, **options)
    return [None if job.latest is None else job.latest - job.earliest for job in jobs]


@pytest.mark.parametrize(("rule", "expected"), [
    ("none", [None] * 4), ("window:90", [90] * 4), ("factor:1", [3600, 3600, 3600, 5000]),
    ("factor:0.1", [360, 360, 360, 500]), ("mean-wait:queue", [16, 16, 100, 100]), ("mean-wait:partition", [44] * 4),
])  # fmt: skip
def test_each_rule_gives_its_window(rule, expected):
    assert windows(rule) == expected


@pytest.mark.parametrize(("text", "message"), [
    ("job,lst\n", "d.csv:1: columns 'job,lst'; expected job_id,lst_s"),
    ("job_id,lst_s\n1,soon\n", "d.csv:2: 1,soon; expected two whole numbers"),
    ("job_id,lst_s\n1,500\n1,600\n", "d.csv:3: a second deadline of job 1"),
    ("job_id,lst_s\n2,199\n", "d.csv:2: lst_s 199; expected 200 (its est)"),
])  # fmt: skip
def test_a_mistake_in_a_table_names_file_and_line(tmp_path, text, message):
    path = tmp_path / "d.csv"
    path.write_text(text)
    assert message in line_of(windows, str(path))


@pytest.mark.parametrize(
    "rule",
    ["", "soon", "window", "window:", "window:-1", "window:nan", "factor:1e999999999", "mean-wait:user", "none:"],
)
def test_invalid_rule_lists_the_known_forms(rule):
    line = line_of(windows, rule)
    assert "--deadlines" in line
    assert "window:SECONDS" in line or "a number from 0 to" in line


def test_mean_waits_need_waits_in_every_queue():
    line = line_of(windows, "mean-wait:queue", trace_of(waits=(1, 2, -1, -1)))
    assert "the trace states no waits for queue 'b'" in line
