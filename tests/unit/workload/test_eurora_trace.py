import pytest

from dardis.model.errors import InputError
from dardis.workload.read import read_trace

HEADER = (
    "job_id,queue,submit,start,end,nodes_used,cores,gpus,mics,mem_kb,req_nodes,req_cores,req_walltime_s,"
    "predicted_power_w,alloc(node:cores:gpus:mics:mem_kb)"
)
ROW = "7,debug,1970-01-01 00:01:00,1970-01-01 00:02:00,1970-01-01 00:02:30,2,8,2,0,3000,2,8,1800,"


@pytest.fixture
def read(tmp_path):
    def read_rows(*rows, strict=False):
        path = tmp_path / "e.csv"
        path.write_text("\n".join((HEADER, *rows)) + "\n")
        return read_trace(path, strict=strict)

    return read_rows


def test_a_unit_is_the_largest_share_of_a_node(read):
    trace = read(ROW + "11.0,33:4:1:0:1025 34:4:1:0:500")
    assert (trace.submit.tolist(), trace.wait.tolist(), trace.runtime.tolist()) == ([60], [60], [30])
    assert (trace.units.tolist(), trace.walltime.tolist(), trace.queue.tolist()) == ([2], [1800], ["debug"])
    request = {kind: amounts.tolist() for kind, amounts in trace.request.items()}
    assert request == {"cores": [4], "gpu": [1], "mic": [0], "memory": [2], "power": [6]}


def test_units_are_the_requested_nodes_not_the_used_ones(read):
    trace = read(ROW.replace(",2,8,1800,", ",1,4,1800,") + "11.0,33:4:1:0:1025 34:4:1:0:500")
    assert (trace.units.tolist(), trace.procs.tolist(), trace.request["power"].tolist()) == ([1], [4], [6])


def test_power_that_is_not_stated_is_none(read):
    assert read(ROW + ",33:4:1:0:1025").request["power"].tolist() == [0]


@pytest.mark.parametrize(
    "tail",
    [
        "1,33:4:1:0",
        "1,",
        "x,33:4:1:0:5",
        "inf,33:4:1:0:5",
        "1,33:4:-1:0:5",
        "9e30,33:4:1:0:5",
        f"1,33:{10**30}:1:0:5",
        "1,33:4:1:0:5,1",
    ],
)
def test_a_row_that_does_not_parse_is_malformed(read, tail):
    trace = read(ROW + "1,33:4:1:0:5", ROW + tail)
    assert [(skip.line, skip.malformed) for skip in trace.skipped] == [(3, True)]
    with pytest.raises(InputError, match=r"e\.csv:3"):
        read(ROW + "1,33:4:1:0:5", ROW + tail, strict=True)


def test_a_missing_column_is_an_error(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text(HEADER.replace("start,", "") + "\n")
    with pytest.raises(InputError, match=r"e\.csv:1: no column start"):
        read_trace(path)


@pytest.mark.parametrize("text", ["a,b,c\n1,2,3\n", "1,2,3\n"])
def test_another_csv_is_no_trace(tmp_path, text):
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=r"no known trace.*expected SWF, a job table"):
        read_trace(path)
