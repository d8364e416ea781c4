"""Jobs that ran or waited when a trace was written, in every form that can say so."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dardis.model.errors import InputError
from dardis.workload.csv_trace import write_table
from dardis.workload.swf import write_swf
from dardis.workload.trace import Trace
from dardis.workload.trace_jobs import in_units
from dardis.workload.trace_reader import read_trace
from dardis.workload.trace_summary import not_ended, summarise

EURORA = "job_id,queue,submit,start,end,req_nodes,req_walltime_s,predicted_power_w,alloc(node:cores:gpus:mics:mem_kb)\n"
SACCT = "JobIDRaw|Submit|Start|End|TimelimitRaw|NNodes|AllocTRES|ReqTRES|State\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
FORMS = {
    "swf": (
        "1 0 5 100 4 -1 -1 4 200 -1 1 1 1 1 1 1 -1 -1\n"
        "2 10 20 -1 4 -1 -1 4 200 -1 -1 1 1 1 1 1 -1 -1\n"
        "3 40 -1 -1 2 -1 -1 2 300 -1 -1 1 1 1 1 1 -1 -1\n"
    ),
    "csv": (
        "job_id,submit_s,runtime_s,walltime_s,wait_s,units,req_cores\n"
        "1,0,100,200,5,1,4\n2,10,,200,20,1,4\n3,40,-1,300,,1,2\n"
    ),
    "sacct.txt": SACCT
    + "1|0|5|105|3|1|cpu=4,node=1|cpu=4,node=1|COMPLETED\n2|10|30|Unknown|3|1|cpu=4,node=1|cpu=4|RUNNING\n"
    + "3|40|Unknown|Unknown|5|1||cpu=2,node=1|PENDING\n",
    "eurora.csv": EURORA
    + "1,q,1970-01-01 00:00:00,1970-01-01 00:00:05,1970-01-01 00:01:45,1,200,,n1:4:0:0:0\n"
    + "2,q,1970-01-01 00:00:10,1970-01-01 00:00:30,,1,200,,n1:4:0:0:0\n"
    + "3,q,1970-01-01 00:00:40,,,1,300,,n1:2:0:0:0\n",
    "pods.csv": PODS
    + "gone,4000,0,0,0,,LS,Failed,0,9,\nfirst,4000,0,0,0,,LS,Succeeded,0,105,5\n"
    + "second,4000,0,0,0,,LS,Running,10,,30\nthird,2000,0,0,0,,LS,Pending,40,,\n",
}

Read = Callable[..., Trace]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read_text(text: str, name: str = "t.swf", **asked: bool) -> Trace:
        (tmp_path / name).write_text(text)
        return read_trace(tmp_path / name, **asked)

    return read_text


@pytest.mark.parametrize("form", FORMS)
def test_every_format_supports_running_and_waiting_jobs(read: Read, form: str, tmp_path: Path) -> None:
    trace = read(FORMS[form], form, not_ended=True)
    columns = (trace.submit, trace.wait, trace.runtime, trace.procs)
    assert [column.tolist() for column in columns] == [[0, 10, 40], [5, 20, -1], [100, -1, -1], [4, 4, 2]]
    assert trace.has_ended.tolist() == [True, False, False]
    assert not_ended(trace) == "1 run and 1 wait"
    skipped = 1 if form == "pods.csv" else 0
    assert len(trace.skipped) == skipped, "one that was deleted before it was scheduled never ran"
    ended = read(FORMS[form], form)
    assert ended.number.tolist() == trace.number.tolist()[:1]
    assert [skip.reason for skip in ended.skipped][skipped:] == ["no runtime: the job runs or waits"] * 2
    assert not_ended(ended) == ""
    told = dict(summarise(trace, None))
    assert told["when it was written"] == "1 run and 1 wait; not in any other figure"
    assert told["jobs"].partition(" ")[0] == "1"
    write_swf(trace, tmp_path / "again.swf")
    write_table(in_units(trace, None, 4), tmp_path / "again.csv")
    for name in ("again.swf", "again.csv"):
        again = read_trace(tmp_path / name, not_ended=True)
        for column in ("submit", "wait", "runtime", "procs", "number"):
            assert getattr(again, column).tolist() == getattr(trace, column).tolist(), (name, column)


def test_trace_without_ended_jobs_is_refused(read: Read) -> None:
    text = "".join(line + "\n" for line in FORMS["swf"].splitlines()[1:])
    with pytest.raises(
        InputError, match=r"no valid job \(2 lines skipped, the first: line 1: no runtime: the job runs"
    ):
        read(text)
    with pytest.raises(InputError, match="no valid job"):
        read(text, not_ended=True)
