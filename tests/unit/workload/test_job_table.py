import pytest

from dardis.model.errors import InputError
from dardis.model.job import NO_TIME
from dardis.workload.csv_trace import read_table, write_table

HEADER = "job_id,submit_s,runtime_s,walltime_s,units,req_cores,req_memory"


@pytest.fixture
def read(tmp_path):
    def read_lines(*lines, strict=False):
        path = tmp_path / "t.csv"
        path.write_text("\n".join(lines) + "\n")
        return read_table(path, strict=strict)

    return read_lines


def test_columns_and_their_defaults(read):
    trace = read(
        HEADER + ",req_gpu,est_s,lst_s,wait_s,queue,user,group,partition,after,think_s",
        "1,10,50,60,2,8,4GiB,1,20,99,5,fast,ann,g,p,,",
        "2,11,50,,1,1,,0,,,,,,,,1,7",
    )
    request = {kind: amounts.tolist() for kind, amounts in trace.request.items()}
    assert request == {"cores": [8, 1], "memory": [4096, 0], "gpu": [1, 0]}
    assert trace.units.tolist() == [2, 1]
    assert trace.procs.tolist() == [16, 1]
    assert trace.walltime.tolist() == [60, 50]
    assert trace.est.tolist() == [20, 11]
    assert trace.lst.tolist() == [99, NO_TIME]
    assert trace.wait.tolist() == [5, -1]
    assert (trace.queue.tolist(), trace.user.tolist()) == (["fast", ""], ["ann", ""])
    assert (trace.after.tolist(), trace.think.tolist()) == ([-1, 1], [-1, 7])


@pytest.mark.parametrize(("row", "reason", "malformed"), [
    ("2,0,5,5,1,1", "6 fields instead of 9", True),
    ("2,0.5,5,5,1,1,1,,", "submit_s: '0.5' is not a whole number", True),
    ("2,-1,5,5,1,1,1,,", "negative submit time", True), ("2,0,5,5,1,-1,1,,", "req_cores: '-1' is not an amount", True),
    ("2,0,5,5,1,0,0,,", "a unit has an empty request", True),
    ("2,0,5,5,1099511627776,1099511627776,0,,", "number out of range", True), ("2,0,0,5,1,1,1,,", "no runtime", False),
    ("2,0,5,5,0,1,1,,", "no units", False), ("2,9,5,5,1,1,1,8,", "est_s before submit_s", True),
    ("2,9,5,5,1,1,1,20,19", "lst_s before est_s", True),
])  # fmt: skip
def test_malformed_row_is_counted_with_line_and_reason(read, row, reason, malformed):
    lines = (HEADER + ",est_s,lst_s", "1,0,5,5,1,1,1,,", row)
    trace = read(*lines)
    assert trace.number.tolist() == [1]
    assert [tuple(skip) for skip in trace.skipped] == [(3, reason, malformed)]
    if malformed:
        with pytest.raises(InputError, match=r"t\.csv:3"):
            read(*lines, strict=True)


@pytest.mark.parametrize(("header", "message"), [
    (HEADER + ",color", r"t\.csv:1: unknown column 'color'; expected columns among job_id, .*req_<kind>.*think_s"),
    (HEADER + ",req_GPU", "unknown column 'req_GPU'"),
    (HEADER + ",req_cores", "column 'req_cores' occurs twice"),
    ("job_id,submit_s,units", "no column runtime_s, req_<kind>"),
])  # fmt: skip
def test_a_wrong_header_is_an_error(read, header, message):
    with pytest.raises(InputError, match=message):
        read(header, "1,2,3")


ARRAY = "job_id,submit_s,runtime_s,units,req_cores,queue,array"


def test_array_row_gives_equal_jobs(read, tmp_path):
    trace = read(ARRAY, "10,5,7,2,3,q,3", "2,1,4,1,1,,", "20,5,7,2,3,r,1", "12,9,9,9,9,,")
    assert trace.number.tolist() == [2, 10, 11, 12, 20]
    assert trace.submit.tolist() == [1, 5, 5, 5, 5]
    assert trace.units.tolist() == [1, 2, 2, 2, 2]
    assert trace.request["cores"].tolist() == [1, 3, 3, 3, 3]
    assert trace.queue.tolist() == ["", "q", "q", "q", "r"]
    assert [(skip.line, skip.reason) for skip in trace.skipped] == [(5, "job number 12 again, as on line 2")]
    write_table(trace, tmp_path / "again.csv")
    assert read_table(tmp_path / "again.csv").number.tolist() == trace.number.tolist()
