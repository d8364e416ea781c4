"""Walltimes that nobody states, or that are too short; and what a header says of the machine."""

from dataclasses import replace

import numpy as np
import pytest
from kit.past_jobs import trace_of

from dardis.model.platform import NodeGroup, Platform
from dardis.model.resources import CORES
from dardis.workload.trace_summary import stated_size, unlike_header
from dardis.workload.transform import extended, with_estimates

STATED = trace_of([0, 1, 2], [100, 70, 33], [1, 1, 1], walltime=[60, 70, 90])
UNSTATED = replace(STATED, walltime=STATED.runtime.copy(), no_walltime=np.array([True, False, True]))


def test_walltimes_are_extended_or_estimated():
    assert extended(STATED).walltime.tolist() == [100, 70, 90]
    assert extended(STATED).runtime.tolist() == STATED.runtime.tolist()
    assert STATED.walltime.tolist() == [60, 70, 90]
    assert with_estimates(UNSTATED, 1.5).walltime.tolist() == [150, 70, 50]
    assert with_estimates(UNSTATED, 1.5).stated_walltime.tolist() == UNSTATED.stated_walltime.tolist()
    assert with_estimates(STATED, 9.0).walltime.tolist() == [60, 70, 90]


SEVENTEENS = Platform("seventeens", (NodeGroup("n", 4, {CORES: 17}),))


def headed(*comments, partitions=("",)):
    trace = trace_of([0] * len(partitions), [1] * len(partitions), [1] * len(partitions))
    return replace(trace, comments=comments, partition=np.array(partitions, dtype=object))


@pytest.mark.parametrize(("comments", "partitions", "said"), [
    ((), ("",), ""),
    (("; MaxProcs: 68", "; MaxNodes: 9"), ("",), ""),
    (("; MaxProcs: 100",), ("",), "its header states MaxProcs 100, but seventeens has 68 cores"),
    ((";MaxNodes:  9 (some)",), ("",), "its header states MaxNodes 9, but seventeens has 4 nodes"),
    (("; MaxProcs: 9600",), ("1", "2"), "its header states MaxProcs 9,600, but seventeens has 68 cores"),
    (("; MaxProcs: 100",), ("1", "1"), ""),  # a part of that machine
    (("; MaxProcs: many", "; Note: MaxProcs: 7"), ("",), ""),
])  # fmt: skip
def test_header_of_a_different_machine_is_reported(comments, partitions, said):
    assert unlike_header(headed(*comments, partitions=partitions), SEVENTEENS) == said
    assert stated_size(headed("; MaxProcs: 5", "; MaxProcs: 6", "; MaxNodes: 0")) == {"MaxProcs": 5}
