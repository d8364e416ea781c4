from pathlib import Path

import numpy as np
import pytest

from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, Platform
from dardis.workload import transform
from dardis.workload.csv_trace import parse_table

FOUR = Platform("p", (NodeGroup("n", 4, {"cores": 4}),))
TEXT = """job_id,submit_s,runtime_s,units,req_cores,queue,partition,est_s,lst_s
1,100,5,1,1,a,x,,
2,110,5,2,1,b,x,120,140
3,130,5,4,2,a,y,,
4,135,5,1,3,,y,,
"""


@pytest.fixture
def trace(tmp_path):
    return parse_table(tmp_path, TEXT, strict=True)


def test_each_filter_keeps_its_jobs_and_their_numbers(trace):
    for kept, numbers in (
        (transform.in_partition(trace, ["y"]), [3, 4]),
        (transform.in_queue(trace, ["a", "b"]), [1, 2, 3]),
        (transform.submitted(trace, 110, 135), [2, 3]),
        (transform.first_jobs(trace, 2), [1, 2]),
        (transform.of_width(trace, 2, 3), [2, 4]),
    ):
        assert kept.number.tolist() == numbers
    assert kept.request["cores"].tolist() == [1, 3]
    with pytest.raises(InputError, match="queue z: no job of the 4"):
        transform.in_queue(trace, ["z"])


def test_scaling_keeps_the_first_submit_the_runtimes_and_the_windows(trace):
    scaled = transform.scale_load(trace, 2)
    assert scaled.submit.tolist() == [100, 105, 115, 117]
    assert scaled.runtime.tolist() == trace.runtime.tolist()
    assert (scaled.est - scaled.submit).tolist() == [0, 10, 0, 0]
    assert (scaled.lst - scaled.est)[1] == 20
    with pytest.raises(InputError, match="load factor"):
        transform.scale_load(trace, 0)
    assert np.array_equal(transform.scale_load(trace, 0.5).submit, [100, 120, 160, 170])


@pytest.mark.parametrize("target", [0.3, 1.0, 1.4])
def test_trace_is_scaled_to_the_requested_load(target):
    rng = np.random.default_rng(1)
    rows = zip(range(1, 101), np.cumsum(rng.integers(1, 1000, 100)), rng.integers(1, 2000, 100), strict=True)
    text = "job_id,submit_s,runtime_s,walltime_s,units,req_cores\n"
    text += "".join(f"{number},{submit},{runtime},1500,2,1\n" for number, submit, runtime in rows)
    trace = parse_table(Path("t.csv"), text, strict=True)
    work = sum(2 * min(runtime, 1500) for runtime in trace.runtime.tolist())
    scaled = transform.with_load(trace, FOUR, target)
    span = int(scaled.submit[-1] - scaled.submit[0])
    assert work / (FOUR.cores * span) == pytest.approx(target, rel=1e-4)
    assert transform.offered_load(scaled, FOUR) == pytest.approx(target, rel=1e-4)
    assert scaled.submit[0] == trace.submit[0]


def test_trace_of_one_instant_cannot_be_scaled():
    trace = parse_table(Path("t.csv"), "job_id,submit_s,runtime_s,units,req_cores\n1,0,9,1,1\n2,0,9,1,1\n", strict=True)
    assert transform.offered_load(trace, FOUR) is None
    with pytest.raises(InputError, match=r"1\.0: this trace has no load"):
        transform.with_load(trace, FOUR, 1.0)


def test_thinning_keeps_a_share_of_the_jobs_and_the_same_for_the_same_seed(trace):
    half = transform.thinned(trace, 0.5, seed=1)
    assert len(half) == 2
    assert set(half.number.tolist()) <= set(trace.number.tolist())
    assert half.number.tolist() == transform.thinned(trace, 0.5, seed=1).number.tolist()
    assert len({tuple(transform.thinned(trace, 0.5, seed).number.tolist()) for seed in range(20)}) > 1
    assert transform.thinned(trace, 1, seed=1).number.tolist() == [1, 2, 3, 4]
    for share in (0, 1.5):
        with pytest.raises(InputError, match="share"):
            transform.thinned(trace, share, seed=1)
