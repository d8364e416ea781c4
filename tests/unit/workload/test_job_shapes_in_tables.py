"""Parts, nodes, neighbours and alternatives in a job table: read, made jobs of, written, and their mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kit.error_lines import line_of

from dardis.model.platform import NodeGroup, Platform
from dardis.workload.csv_trace import read_table
from dardis.workload.trace import Trace
from dardis.workload.trace_jobs import to_jobs

HEADER = "job_id,part,alternative,submit_s,runtime_s,walltime_s,units,nodes,contiguous,req_cores,req_gpu,partition"
PARTS = ("1,,,0,50,60,2,,,4,0,", "1,2,,,,,1,,,1,2,gpus")
Read = Callable[..., Trace]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads a table of these lines."""

    def lines(*lines: str, header: str = HEADER) -> Trace:
        path = tmp_path / "t.csv"
        path.write_text("\n".join((header, *lines)) + "\n")
        return read_table(path)

    return lines


@pytest.mark.parametrize(("lines", "line", "words"), [
    (("1,,,0,5,,1,,,0,0,", "1,2,,,,,1,,,1,0,"), 2, "has an empty request"),
    (("1,,,0,5,,1,,,1,0,", "1,1,2,,,,,,,1,,"), 3, "has no units"),
    (("1,,,0,5,,1,2,,1,0,",), 2, "nodes is 2, but units is 1"),
    (("1,,,0,5,9,1,0,,1,0,",), 2, "nodes: '0' is out of range; expected a number of nodes from 1"),
    (("1,,,0,5,9,1,,2,1,0,",), 2, "contiguous: '2' is out of range; expected 0 or 1"),
    (("1,0,,0,5,9,1,,,1,0,",), 2, "part: '0' is out of range; expected the number of the part, from 1"),
    (("1,,,0,5,9,1,,,1,0,", "1,2,,,,8,1,,,1,0,"), 3, "walltime_s is 8, but 9 in part 1"),
    (("1,,,0,5,9,1,,,1,0,", "1,2,,3,,,1,,,1,0,"), 3, "submit_s differs from the job's first row"),
    (("1,,,0,5,9,1,,,1,0,", "1,3,,,,,1,,,1,0,"), 3, "part 3 of alternative 1 after part 1 of alternative 1"),
    (("1,,,0,5,9,1,,,1,0,", "2,2,,,,,1,,,1,0,"), 3, "part 2 of alternative 1 of job 2 without a row before it"),
    (("1,,,0,5,9,1,,,1,0,", "1,2,,,,,x,,,1,0,"), 3, "units: 'x' is not a whole number"),
    (("1,,,0,5,9,1,,,1,0,", "1,1,2,,0,,1,,,1,0,"), 3, "a time below 1 s"),
    ((*PARTS, *PARTS), 4, "job number 1 again"),
])  # fmt: skip
def test_job_shape_error_is_reported_with_its_line(read: Read, lines: tuple[str, ...], line: int, words: str) -> None:
    told = line_of(read, *lines)
    assert f"t.csv:{line}: " in told
    assert words in told


def test_part_with_unknown_resources_is_refused(read: Read) -> None:
    trace = read("1,,,0,5,9,1,,,1,0,", "1,2,,,,,1,,,0,1,")
    told = line_of(to_jobs, trace, Platform("m", (NodeGroup("a", 2, {"cores": 4}),)))
    assert told.startswith("job 1: has a part that requests no resource of the platform")
