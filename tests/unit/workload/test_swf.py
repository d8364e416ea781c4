"""SWF: fields, malformed lines, damaged files, and public traces."""

import gzip

import numpy as np
import pytest
from kit.error_lines import line_of

from dardis.model.errors import InputError
from dardis.workload.swf import read_swf, write_swf
from dardis.workload.trace_reader import read_trace


def line(
    number=1, submit=0, wait=5, run=100, alloc=4, memory=-1, req=-1, time=200, queue=3, partition=-1, after=-1, status=1
):
    start = f"{number} {submit} {wait} {run} {alloc} 99.5 -1 {req} {time} {memory} {status}"
    return f"{start} 7 2 -1 {queue} {partition} {after} 30"


@pytest.fixture
def read(tmp_path):
    def read_lines(*lines, strict=False):
        path = tmp_path / "t.swf"
        path.write_text("\n".join(lines) + "\n")
        return read_swf(path, strict=strict)

    return read_lines


def test_fields_follow_the_rules(read):
    trace = read(
        "; UnixStartTime: 5", "; Queue: 3 fast", line(number=8, submit=50, req=6, time=-1, memory=2048),
        line(number=9, submit=50, run=300, after=8),
    )  # fmt: skip
    assert trace.number.tolist() == [8, 9]
    assert trace.procs.tolist() == [6, 4], "requested if stated, else allocated"
    assert trace.walltime.tolist() == [100, 200], "requested time if positive, else the runtime"
    assert trace.runtime.tolist() == [100, 300]
    assert trace.memory_kb.tolist() == [2048, -1]
    assert trace.queue.tolist() == ["3", "3"]
    assert (trace.user.tolist(), trace.group.tolist(), trace.partition.tolist()) == (["7"] * 2, ["2"] * 2, ["", ""])
    assert (trace.after.tolist(), trace.think.tolist()) == ([-1, 8], [30, 30])
    assert trace.comments == ("; UnixStartTime: 5", "; Queue: 3 fast")
    assert trace.counts_processors


@pytest.mark.parametrize(("bad", "reason", "malformed"), [
    ("1 2 3", "3 fields instead of 18", True), (line(submit="x"), "'x' is not a number", True),
    (line(submit=10**30), "number out of range", True), (line(submit=-4), "negative submit time", True),
    (line(run=-7), "negative runtime", True), (line(alloc=-7), "negative number of processors", True),
    (line(submit=1 << 41), "number out of range", True), (line(run=-1), "no runtime: the job runs or waits", False),
    (line(run=-1, status=5), "no runtime", False), (line(alloc=-1), "no processors", False),
])  # fmt: skip
def test_malformed_line_is_counted_with_number_and_reason(read, bad, reason, malformed):
    trace = read("; header", line(number=1), bad, line(number=2))
    assert trace.number.tolist() == [1, 2]
    assert [tuple(skip) for skip in trace.skipped] == [(3, reason, malformed)]
    if malformed:
        assert f"t.swf:3: {reason}" in line_of(read, "; header", line(number=1), bad, "rubbish", strict=True)
    else:
        assert len(read("; header", line(number=1), bad, line(number=2), strict=True)) == 2


def test_damaged_missing_and_empty_files_are_errors(read, tmp_path):
    for text in ("", "; only a header", "hello world", line(run=-1, status=5)):
        assert "no valid job" in line_of(read, text)
    packed = gzip.compress((line() + "\n").encode())
    path = tmp_path / "t.swf.gz"
    path.write_bytes(packed)
    assert len(read_swf(path)) == 1
    for damaged in (packed[:-10], packed[:12] + b"\xff" * 10 + packed[22:]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="gzip"):
            read_swf(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_swf(tmp_path / "nix.swf")


@pytest.mark.parametrize("name", ["out.swf", "out.swf.gz"])
def test_swf_round_trips(read, tmp_path, name):
    trace = read(
        "; Version: 2.2", "; Queue: 3 fast", line(number=8, submit=50, req=6, memory=2048),
        line(number=9, submit=60, after=8),
    )  # fmt: skip
    lost = write_swf(trace, tmp_path / name)
    again = read_swf(tmp_path / name, strict=True)
    assert lost == []
    assert again.comments == trace.comments
    for column in ("number", "submit", "wait", "runtime", "procs", "walltime", "memory_kb", "after", "think"):
        assert np.array_equal(getattr(again, column), getattr(trace, column)), column
    for column in ("user", "group", "queue", "partition"):
        assert getattr(again, column).tolist() == getattr(trace, column).tolist()


@pytest.mark.parametrize(("name", "lines", "jobs"), [
    ("CEA-Curie-2012-slice36k.swf.gz", 36352, 33469),
    ("KTH-SP2-1996.swf.gz", 28489, 28481),
    ("MetaCentrum-Wagap-2013.swf.gz", 17900, 17898),
    ("Eurora-2014.swf.gz", 5930, 5930),
    ("Eurora-2014.csv.gz", 5930, 5930),
    pytest.param("CEA-Curie-2011-derived295k.swf.gz", 295540, 295540, marks=pytest.mark.slow),
    pytest.param("SDSC-BLUE-2000-4.2-cln.swf.gz", 243306, 232536, marks=pytest.mark.slow),
    pytest.param("HPC2N-2002-2.2-cln.swf.gz", 202871, 202871, marks=pytest.mark.slow),
    pytest.param("NREL-RADDIT-2024.swf.gz", 161266, 159513, marks=pytest.mark.slow),
    pytest.param("Philly-GPU-2017.swf.gz", 82247, 82247, marks=pytest.mark.slow),
])  # fmt: skip
def test_line_and_job_counts(shared, name, lines, jobs):
    trace = read_trace(shared / "traces" / name)
    assert (len(trace) + len(trace.skipped), len(trace)) == (lines, jobs)
