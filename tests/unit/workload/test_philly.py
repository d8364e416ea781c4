"""The table of Philly's jobs: GPUs are processors, stamps are UTC, and the SWF made of it says the same."""

import numpy as np
import pytest

from dardis.workload.read import read_trace

HEAD = "timestamp,duration,num_gpus,gpu_time,cluster\n"


@pytest.fixture
def read(tmp_path):
    def read(text):
        (tmp_path / "p.csv").write_text(HEAD + text)
        return read_trace(tmp_path / "p.csv")

    return read


def test_a_row_is_a_job(read):
    trace = read("1970-01-01 00:01:40,66.9,8,66.0,11cb48\n1970-01-01 00:00:05,7,1,7,b\n")
    assert (trace.number.tolist(), trace.submit.tolist(), trace.runtime.tolist()) == ([2, 1], [5, 100], [7, 67])
    assert (trace.procs.tolist(), trace.queue.tolist()) == ([1, 8], ["b", "11cb48"])
    assert trace.no_walltime.all()
    assert trace.unix_start == 0


@pytest.mark.parametrize(
    "row", ["soon,66.0,1,66.0,c", "2017-10-09 07:01:55,x,1,1,c", "2017-10-09 07:01:55,6,1.5,1,c", "a,b"]
)
def test_a_row_that_is_none_is_told(read, row):
    trace = read(f"1970-01-01 00:00:05,7,1,7,b\n{row}\n")
    assert len(trace) == 1
    assert [(skip.line, skip.malformed) for skip in trace.skipped] == [(3, True)]


def test_it_says_what_the_swf_says(shared):
    table, swf = (read_trace(shared / f"traces/Philly-GPU-2017.{form}.gz") for form in ("csv", "swf"))
    rows = [np.sort(np.stack([t.submit - t.submit[0], t.runtime, t.procs]), axis=1) for t in (table, swf)]
    assert np.array_equal(*rows)
    assert table.submit[0] == swf.unix_start
