"""Which jobs a machine can run: those that a dispatcher does not reject, with the reason for the others."""

import pytest

from dardis.config.platform_file import load_platform
from dardis.workload.trace_reader import read_trace
from dardis.workload.trace_summary import runnable, summarise

MACHINE = """name = "p"
[[nodes]]
count = 3
prefix = "a"
resources = { cores = 4, memory = "4GiB" }
[[nodes]]
count = 2
prefix = "b"
resources = { cores = 8, memory = "1GiB" }
[partitions]
2 = ["b"]
[[queues]]
name = "1"
[[queues]]
name = "2"
max_walltime_s = 150
"""
LINE = "{n} {submit} -1 {run} {procs} -1 -1 {procs} {time} {kib} 1 1 1 -1 {queue} {partition} -1 -1\n"


def swf(rows):
    names = ("procs", "time", "kib", "queue", "partition")
    return "".join(
        LINE.format(n=n, submit=10 * n, run=50, **dict(zip(names, row, strict=True))) for n, row in enumerate(rows)
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p.toml").write_text(MACHINE)
    return tmp_path


def trace_and_runnable_jobs(folder, rows):
    (folder / "t.swf").write_text(swf(rows))
    trace = read_trace(folder / "t.swf")
    return trace, runnable(trace, load_platform(folder / "p.toml"))


def test_reasons_of_jobs_that_cannot_run(folder):
    rows = [(4, 100, -1, 1, 1), (29, 100, -1, 1, 1), (17, 100, -1, 1, 2), (5, 200, -1, 2, 1), (1, 100, 1 << 23, 1, 1)]
    _, found = trace_and_runnable_jobs(folder, [*rows, rows[1]])
    assert found.is_runnable.tolist() == [True, False, False, False, False, False]
    assert found.reasons == {
        "too wide for the 28 cores": 2, "too wide for the 16 cores of the nodes they may use": 1,
        "queue 2 does not accept them": 1, "too few of the nodes that they may use are large enough": 1,
    }  # fmt: skip


def test_info_reports_runnable_jobs(folder):
    rows = [*[(8, 100, -1, 1, 1)] * 20, *[(2, 100, -1, 1, 2)] * 20, (64, 100, -1, 1, 1)]
    trace, _ = trace_and_runnable_jobs(folder, rows)
    told = dict(summarise(trace, load_platform(folder / "p.toml")))
    assert told["load on p"] == "1.179 of 28 cores"
    assert told["cannot run there"] == "1 jobs: too wide for the 28 cores"
    assert told["load without these"] == "0.916 (40 jobs)"
    assert "above 1" not in told
    trace.queue[0] = "9"
    told = dict(summarise(trace, load_platform(folder / "p.toml")))
    assert told["cannot run there"].startswith("job 0: queue '9' is not declared")
    dense = read_trace(folder / "t.swf").take(trace.number < 20)
    told = dict(summarise(dense, load_platform(folder / "p.toml")))
    assert told["above 1"] == "the queue grows while jobs arrive"
    assert "partitions that fit alone" not in told  # of one there is nothing to choose
