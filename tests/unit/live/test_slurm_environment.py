"""Variables of Slurm in a job's environment, by its manual."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.live.job_option_texts import UNLIMITED_S, Array
from dardis.live.job_request import JobRequest
from dardis.live.live_jobs import JobUser, LiveJob, NodeShare, Submission
from dardis.live.slurm_environment import counts_text, slurm_environment, spread_tasks

SHARES = (NodeShare("n1", (0, 1, 2, 3)), NodeShare("n2", (4, 5, 6, 7)), NodeShare("n4", (0, 1), (1, 3)))


def environment(*shares, share=0, number=7, **asked):
    request = JobRequest(argv=("x",), name="run", nodes=len(shares), **asked)
    submission = Submission(5, JobUser(10, 20, "me"), request, "", {}, "/home/me", 0)
    return slurm_environment(LiveJob(number, submission, shares=shares, attempt=1), shares[share], 1000)


def test_job_on_several_nodes_has_slurm_variables():
    found = environment(*SHARES, share=2, tasks=9, tasks_per_node=4, cpus_per_task=1, memory_mib=500, walltime_s=60)
    assert found == {
        "SLURM_CLUSTER_NAME": "dardis", "SLURM_JOB_PARTITION": "dardis", "SLURM_JOB_ID": "7", "SLURM_JOBID": "7",
        "SLURM_JOB_NAME": "run", "SLURM_JOB_USER": "me", "SLURM_JOB_UID": "10", "SLURM_JOB_GID": "20",
        "SLURM_SUBMIT_DIR": "/home/me", "SLURM_JOB_NODELIST": "n[1-2,4]", "SLURM_NODELIST": "n[1-2,4]",
        "SLURM_JOB_NUM_NODES": "3", "SLURM_NNODES": "3", "SLURM_JOB_CPUS_PER_NODE": "4(x2),2",
        "SLURM_CPUS_ON_NODE": "2", "SLURM_TASKS_PER_NODE": "4,3,2", "SLURMD_NODENAME": "n4", "SLURM_NODEID": "2",
        "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_GTIDS": "0", "ENVIRONMENT": "BATCH",
        "SLURM_JOB_START_TIME": "1000", "SLURM_JOB_END_TIME": "1060", "SLURM_NTASKS": "9", "SLURM_NPROCS": "9",
        "SLURM_NTASKS_PER_NODE": "4", "SLURM_CPUS_PER_TASK": "1", "SLURM_MEM_PER_NODE": "500",
        "SLURM_GPUS_ON_NODE": "2", "SLURM_JOB_GPUS": "1,3",
    }  # fmt: skip


@pytest.mark.parametrize(("asked", "expected"), [
    (
        {"array": Array((range(2, 9, 3),), 1)},
        {"JOB_ID": "5", "TASK_ID": "2", "COUNT": "3", "MIN": "2", "MAX": "8", "STEP": "3"},
    ),
    (
        {"array": Array((range(7, 8), range(1, 3)))},
        {"TASK_ID": "7", "COUNT": "3", "MIN": "1", "MAX": "7", "STEP": "1"},
    ),
    ({}, dict.fromkeys(("JOB_ID", "TASK_ID", "TASK_COUNT", "TASK_MIN", "TASK_MAX", "TASK_STEP"))),
])  # fmt: skip
def test_array_jobs_have_their_index_and_range(asked, expected):
    found = environment(SHARES[0], number=5, **asked)
    for name, value in expected.items():
        assert found.get(f"SLURM_ARRAY_{name if '_' in name else f'TASK_{name}'}") == value


@pytest.mark.parametrize(("asked", "expected"), [
    ({}, dict.fromkeys(("NTASKS", "CPUS_PER_TASK", "MEM_PER_NODE", "MEM_PER_CPU", "NTASKS_PER_NODE"))),
    ({"cpus": 4}, {"CPUS_PER_TASK": "4", "NTASKS": None, "TASKS_PER_NODE": "1"}),
    ({"tasks": 2, "cpus": 2}, {"NTASKS": "2", "CPUS_PER_TASK": None, "TASKS_PER_NODE": "2"}),
    ({"tasks_per_node": 2}, {"NTASKS": "2", "NTASKS_PER_NODE": "2"}),
    ({"memory_mib": 0}, {"MEM_PER_NODE": "0"}), ({"partition": "long,short"}, {"JOB_PARTITION": "long,short"}),
    ({"memory_mib": 800, "memory_per_cpu_mib": 200}, {"MEM_PER_CPU": "200", "MEM_PER_NODE": None}),
    ({"walltime_s": UNLIMITED_S}, {"JOB_END_TIME": None, "JOB_START_TIME": "1000"}), ({}, {"RESTART_COUNT": None}),
])  # fmt: skip
def test_variables_of_options_are_set_only_if_stated(asked, expected):
    found = environment(SHARES[0], **asked)
    assert {name: found.get(f"SLURM_{name}") for name in expected} == expected


@given(st.integers(0, 99), st.lists(st.integers(1, 9), min_size=1, max_size=9))
def test_tasks_are_spread_evenly_within_the_limits_of_nodes(tasks, most):
    counts = spread_tasks(tasks, most)
    assert sum(counts) == min(tasks, sum(most))
    assert all(count <= limit for count, limit in zip(counts, most, strict=True))
    below = [count for count, limit in zip(counts, most, strict=True) if count < limit]
    assert not below or max(counts) - min(below) <= 1 or max(counts) <= min(below)
    ends = [int(part.partition("(x")[2].rstrip(")") or 1) for part in counts_text(counts).split(",")]
    assert sum(ends) == len(most)
