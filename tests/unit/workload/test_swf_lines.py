"""What is cut out of an SWF file: each line is one of the source, and it reads as the source does, filtered."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples

from dardis.cli.main import run as command
from dardis.model.errors import InputError
from dardis.workload import transform
from dardis.workload.swf import write_lines
from dardis.workload.trace import Trace
from dardis.workload.trace_reader import read_trace

SOURCE = b"""; Version: 2.2\r
; MaxJobs: 5\r
;  Computer: \xff a latin byte\r
 1   0  5 100.7 4 99.5 77 4 200 -1 1 1 1 1 1 4 -1 -1\r
2\t60 5 100 2 -1 -1 2 200 -1 5 1 1 1 1 4 -1 -1\r
; a comment within\r
3 61 5 100 8 -1 -1 8 200 -1 1 1 1 1 1 5 -1 -1\r
\r
4 62 5 0 8 -1 -1 8 200 -1 1 1 1 1 1 4 -1 -1\r
5 63.5 -1 -1 8 -1 -1 8 200 -1 -1 1 1 1 1 4 3 10"""
LINES = SOURCE.split(b"\n")


@pytest.fixture
def source(tmp_path):
    (tmp_path / "t.swf").write_bytes(SOURCE)
    return tmp_path / "t.swf"


def convert(source, *options, out="o.swf"):
    path = source.with_name(out)
    assert command(["trace", "convert", str(source), str(path), "--force", *options]) == 0
    return path.read_bytes()


def test_lines_and_header_are_kept(source):
    note = b"; Note: dardis trace convert --partition=4: 3 of 5 lines\r"
    kept = [*LINES[:3], note, *LINES[3:6], LINES[7], LINES[9]]
    assert convert(source, "--partition", "4") == b"\n".join(kept) + b"\n"


def test_changed_times_keep_other_columns(source):
    moved = convert(source, "--load", "0.5").split(b"\n")
    assert moved[3] == b"; Note: dardis trace convert --load=0.5: 4 of 5 lines\r"
    assert moved[4:6] == [LINES[3], LINES[4].replace(b"\t60 ", b"\t120 ")]
    assert moved[-2] == LINES[9].replace(b" 63.5 ", b" 126 ")


def test_changed_file_is_reported(source):
    trace = read_trace(source)
    source.write_text("; Version: 2.2\n")
    with pytest.raises(InputError, match="has changed since it was read"):
        write_lines(trace, source, source.with_name("o.swf"), "")


def same(one: Trace, other: Trace) -> bool:
    names = ("number", "submit", "wait", "runtime", "procs", "walltime", "memory_kb", "user", "group", "name", "queue",
             "partition", "after", "think", "no_walltime")  # fmt: skip
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["{n}", " {n}", "{n}x"]), st.integers(0, 99), st.integers(-1, 40), st.integers(-1, 9),
        st.integers(1, 3), st.sampled_from(["", "; said\n", "\n"]),
    ),
    min_size=1, max_size=14,
)  # fmt: skip


@given(rows=ROWS, partition=st.integers(1, 3), most=st.integers(1, 9), factor=st.sampled_from([1.0, 0.7, 3.0]))
@examples(2)
def test_filtered_file_equals_the_filtered_source(rows, partition, most, factor, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lines")
    text = "".join(
        f"{before}{form.format(n=n % 9)} {submit} 1 {runtime} {procs} -1 -1 {procs} 20 -1 1 1 1 1 1 {part} -1 -1\n"
        for n, (form, submit, runtime, procs, part, before) in enumerate(rows)
    )
    (folder / "t.swf").write_text(text)
    try:
        trace = read_trace(folder / "t.swf", not_ended=True)
        kept = transform.of_width(transform.in_partition(trace, [str(partition)]), 0, most)
    except InputError:
        return
    kept = transform.scale_load(kept, factor)
    write_lines(kept, folder / "t.swf", folder / "o.swf", "cut")
    lines = (folder / "o.swf").read_text().splitlines()
    if factor == 1:
        assert {*lines} - {*text.splitlines()} == {
            f"; Note: dardis trace convert cut: {len(kept)} of {len(rows)} lines"
        }
    if kept.has_ended.any():
        assert same(read_trace(folder / "o.swf", strict=True, not_ended=True), kept)


def test_public_traces_keep_their_lines(shared, tmp_path):
    source = shared / "traces/HPC2N-2002-2.2-cln.swf.gz"
    out = tmp_path / "o.swf"
    assert command(["trace", "convert", str(source), str(out), "--min-width", "64"]) == 0
    new = {*out.read_bytes().split(b"\n")} - {*gzip.decompress(source.read_bytes()).split(b"\n")}
    assert new == {b"; Note: dardis trace convert --min-width=64: 1885 of 202871 lines"}
    assert same(read_trace(out), transform.of_width(read_trace(source), 64, None))
