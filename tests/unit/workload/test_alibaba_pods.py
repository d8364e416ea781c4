"""Pods of Alibaba's GPU cluster as jobs of one unit, and those that are none."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dardis.model.errors import InputError
from dardis.workload.read import read_trace
from dardis.workload.trace import Trace

HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
POD = "p-7,3152,12288,1,460,V100M16|V100M32,LS,Running,60,190.0,100.9"
Read = Callable[..., Trace]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads a list of these pods."""

    def read_pods(*pods: str, strict: bool = False) -> Trace:
        path = tmp_path / "pods.csv"
        path.write_text("\n".join((HEADER, *pods)) + "\n")
        return read_trace(path, strict=strict)

    return read_pods


def test_a_pod_is_a_job_of_one_unit(read: Read) -> None:
    """Cores are whole ones, rounded up, and so is a share of a GPU; the walltime is the runtime."""
    trace = read(POD, "p-8,4000,0,0,0,,BE,Failed,61,71,61")
    columns = (trace.number, trace.submit, trace.wait, trace.runtime, trace.walltime, trace.units, trace.procs)
    assert [column.tolist() for column in columns] == [
        [0, 1], [60, 61], [40, 0], [90, 10], [90, 10], [1, 1], [4, 4],
    ]  # fmt: skip
    request = {kind: amounts.tolist() for kind, amounts in trace.request.items()}
    assert request == {"cores": [4, 4], "gpu": [1, 0], "memory": [12288, 0]}
    texts = [column.tolist() for column in (trace.name, trace.queue, trace.partition)]
    assert texts == [["p-7", "p-8"], ["LS", "BE"], ["V100M16|V100M32", ""]]


@pytest.mark.parametrize("times", ["60,190,", "60,,100", "60,100,100"])
def test_a_pod_that_never_ran_is_skipped(read: Read, times: str) -> None:
    pod = POD.replace("60,190.0,100.9", times)
    trace = read(pod, POD, strict=True)
    assert trace.number.tolist() == [1], "numbers are places in the list"
    assert [(skip.line, skip.malformed) for skip in trace.skipped] == [(2, False)]
    assert trace.skipped[0].reason in {"no runtime", "no runtime: it runs or waits"}
    with pytest.raises(InputError, match=r"pods\.csv: no valid job \(1 lines skipped"):
        read(pod)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("3152", "3.5"),
        ("3152", "-1"),
        ("3152,12288,1", "0,0,0"),
        ("12288", ""),
        ("12288", str(1 << 50)),
        (",1,460", ",x,460"),
        (",60,", ",,"),
        (",60,", ",-60,"),
        ("190.0", "9e30"),
        ("190.0", "50"),
        ("100.9", "nan"),
        ("LS,", ""),
        ("LS,", "LS,LS,"),
    ],
)
def test_a_line_that_is_no_pod_is_malformed(read: Read, old: str, new: str) -> None:
    trace = read(POD, POD.replace(old, new, 1))
    assert [(skip.line, skip.malformed) for skip in trace.skipped] == [(3, True)]
    with pytest.raises(InputError, match=r"pods\.csv:3"):
        read(POD, POD.replace(old, new, 1), strict=True)


def test_too_few_fields_are_counted(read: Read) -> None:
    short = POD.replace("LS,", "", 1)
    width = short.count(",") + 1
    (skip,) = read(POD, short).skipped
    assert skip.reason == f"no pod of this form ({width} fields instead of {width + 1})"


def test_a_list_without_a_column_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "pods.csv"
    path.write_text("sn,cpu_milli,memory_mib,gpu,model\n")
    with pytest.raises(InputError, match=r"pods\.csv:1: no column name, num_gpu, gpu_spec, qos, creation_time"):
        read_trace(path)


def test_the_published_list(shared: Path) -> None:
    """Its 897 pods that are pending have no times."""
    trace = read_trace(shared / "traces" / "Alibaba-GPU-2023-openb_pod_list_default.csv.gz", strict=True)
    assert (len(trace), len(trace.skipped)) == (7255, 897)
    assert {*trace.queue.tolist()} == {"LS", "BE", "Burstable", "Guaranteed"}
    assert trace.name.tolist()[0] == f"openb-pod-{trace.number[0]:04}"
    assert {*trace.request["gpu"].tolist()} == {0, 1, 2, 4, 8}
