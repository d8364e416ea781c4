"""Tables of Eurora's, Philly's and Alibaba's jobs: what a row means, and rows that are no job."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from kit.error_lines import line_of

from dardis.workload.trace import Trace
from dardis.workload.trace_reader import read_trace

EURORA = (
    "job_id,queue,submit,start,end,nodes_used,cores,gpus,mics,mem_kb,req_nodes,req_cores,req_walltime_s,"
    "predicted_power_w,alloc(node:cores:gpus:mics:mem_kb)"
)
ROW = "7,debug,1970-01-01 00:01:00,1970-01-01 00:02:00,1970-01-01 00:02:30,2,8,2,0,3000,2,8,1800,"
PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
POD = "p-7,3152,12288,1,460,V100M16|V100M32,LS,Running,60,190.0,100.9"
FIRST = {EURORA: ROW + "1,33:4:1:0:5", PHILLY: "1970-01-01 00:00:05,7,1,7,b", PODS: POD}
Read = Callable[..., Trace]


@pytest.fixture
def rows(tmp_path: Path) -> Read:
    def read_rows(*lines: str, strict: bool = False) -> Trace:
        (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
        return read_trace(tmp_path / "t.csv", strict=strict)

    return read_rows


def request(trace: Trace) -> dict[str, list[int]]:
    return {kind: amounts.tolist() for kind, amounts in trace.request.items()}


def test_eurora_unit_is_the_largest_share_of_a_node(rows: Read) -> None:
    trace = rows(EURORA, ROW + "11.0,33:4:1:0:1025 34:4:1:0:500")
    assert (trace.submit.tolist(), trace.wait.tolist(), trace.runtime.tolist()) == ([60], [60], [30])
    assert (trace.units.tolist(), trace.walltime.tolist(), trace.queue.tolist()) == ([2], [1800], ["debug"])
    assert request(trace) == {"cores": [4], "gpu": [1], "mic": [0], "memory": [2], "power": [6]}
    one = rows(EURORA, ROW.replace(",2,8,1800,", ",1,4,1800,") + "11.0,33:4:1:0:1025 34:4:1:0:500")
    assert (one.units.tolist(), one.procs.tolist(), one.request["power"].tolist()) == ([1], [4], [6])
    assert rows(EURORA, ROW + ",33:4:1:0:1025").request["power"].tolist() == [0]


@pytest.mark.parametrize(("header", "row"), [
    *((EURORA, ROW + tail) for tail in ("1,", "1,33:4:1:0", "x,33:4:1:0:5", "inf,33:4:1:0:5", "1,33:4:-1:0:5")),
    *((EURORA, ROW + tail) for tail in ("9e30,33:4:1:0:5", f"1,33:{10**30}:1:0:5", "1,33:4:1:0:5,1")),
    *((PHILLY, row) for row in ("soon,66.0,1,66.0,c", "2017-10-09 07:01:55,x,1,1,c", "a,b")),
    (PHILLY, "2017-10-09 07:01:55,6,1.5,1,c"),
    *((PODS, POD.replace("3152,12288,1", new)) for new in ("3.5,5,1", "-1,5,1", "0,0,0", "3152,,1", "5,5,x")),
    (PODS, POD.replace("12288", str(1 << 50))),
    *((PODS, POD.replace(",60,", new)) for new in (",,", ",-60,")),
    *((PODS, POD.replace("190.0,100.9", new)) for new in ("9e30,100.9", "50,100.9", "190.0,nan")),
    *((PODS, POD.replace("LS,", new)) for new in ("", "LS,LS,")),
])  # fmt: skip
def test_malformed_site_row_is_counted(rows: Read, header: str, row: str) -> None:
    trace = rows(header, FIRST[header], row)
    assert len(trace) == 1
    assert [(skip.line, skip.malformed) for skip in trace.skipped] == [(3, True)]
    assert "t.csv:3" in line_of(rows, header, FIRST[header], row, strict=True)


@pytest.mark.parametrize(("header", "told"), [
    (EURORA.replace("start,", ""), "t.csv:1: no column start"),
    ("sn,cpu_milli,memory_mib,gpu,model", "t.csv:1: no column name, num_gpu, gpu_spec, qos, creation_time"),
    ("a,b,c", "an unknown trace format"),
    ("1,2,3", "; expected SWF, a job table"),
])  # fmt: skip
def test_a_header_of_another_form_is_an_error(rows: Read, header: str, told: str) -> None:
    assert told in line_of(rows, header)


def test_philly_table_equals_its_swf(shared: Path) -> None:
    table, swf = (read_trace(shared / f"traces/Philly-GPU-2017.{form}.gz") for form in ("csv", "swf"))
    jobs = [np.sort(np.stack([t.submit - t.submit[0], t.runtime, t.procs]), axis=1) for t in (table, swf)]
    assert np.array_equal(*jobs)
    assert table.submit[0] == swf.unix_start
