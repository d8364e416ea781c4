from math import ceil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, Platform
from dardis.workload.trace import build_trace
from dardis.workload.trace_jobs import to_jobs

FLAT = Platform("flat", (NodeGroup("n", 300, {"cores": 32, "memory": 131072}),))
MIXED = Platform(
    "mixed",
    (NodeGroup("big", 20, {"cores": 80, "memory": 500_000}), NodeGroup("small", 48, {"cores": 12, "memory": 90_000})),
    partitions={"1": (1,), "fat": (0,)},
)


def trace_of(procs, **columns):
    count = len(procs)
    numbers = np.arange(1, count + 1)
    base = {"number": numbers, "submit": numbers * 10, "runtime": np.full(count, 50), "procs": np.array(procs)}
    given_columns = {
        name: values
        if isinstance(values, dict)
        else np.array(values, dtype=object if isinstance(values[0], str) else np.int64)
        for name, values in columns.items()
    }
    return build_trace(Path("t"), numbers, base | given_columns, [], strict=True)


def table_of(units, request, **columns):
    request = {kind: np.array(amounts) for kind, amounts in request.items()}
    return trace_of([1] * len(units), units=units, request=request, **columns)


@given(
    st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 4_000_000)), min_size=1, max_size=20),
    st.sampled_from([None, 1, 7, 64]),
)
def test_units_follow_the_rule_on_equal_nodes(jobs, unit_cores):
    procs, memory = zip(*jobs, strict=True)
    workload = to_jobs(trace_of(procs, memory_kb=list(memory)), FLAT, unit_cores=unit_cores)
    for job, wanted, kib in zip(workload.jobs, procs, memory, strict=True):
        units = ceil(wanted / (unit_cores or 32))
        cores = ceil(wanted / units)
        assert (job.units, job.request) == (units, (cores, ceil(cores * kib / 1024)))


def test_the_smallest_group_that_holds_a_unit_shapes_it():
    procs, memory = [24, 24, 24, 100], [0, 8 << 20, 900 << 20, 0]
    jobs = to_jobs(trace_of(procs, memory_kb=memory), MIXED).jobs
    assert [(job.units, job.request[0]) for job in jobs] == [(2, 12), (1, 24), (1, 24), (9, 12)]
    assert jobs[1].request[1] == 24 * 8192
    assert jobs[2].request[1] > 500_000, "fits nowhere: shaped by the largest node, left to the simulator to reject"


def test_a_partition_restricts_the_groups_and_the_shape():
    jobs = to_jobs(trace_of([24, 24, 24], partition=["1", "fat", "other"]), MIXED).jobs
    assert [(job.groups, job.units) for job in jobs] == [(0b10, 2), (0b01, 1), (0b11, 2)]


def test_unknown_resource_kind_is_ignored_with_one_note():
    trace = table_of([1, 1, 1], {"cores": [1, 1, 1], "gpu": [2, 0, 1], "mic": [0, 0, 0]})
    workload = to_jobs(trace, FLAT)
    assert workload.notes == ["gpu: ignored, since the platform has none, but 2 of 3 jobs request it"]
    assert [job.request for job in workload.jobs] == [(1, 0)] * 3
    with pytest.raises(InputError, match="job 2: requests no resource of the platform"):
        to_jobs(table_of([1, 1], {"cores": [1, 0], "gpu": [0, 1]}), FLAT)
