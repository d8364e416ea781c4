"""Places of srun's tasks in a job: no core twice, blocks of ranks by node, and none only if there is none."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.error_lines import line_of

from dardis.live.live_jobs import NodeShare
from dardis.live.step_allocation import TaskPlace, place_tasks, task_variables
from dardis.live.task_request import TaskRequest
from dardis.model.errors import InputError


@st.composite
def shares(draw):
    cores = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    return [
        NodeShare(f"n{node}", tuple(range(10, 10 + count)), tuple(range(draw(st.integers(0, 3)))))
        for node, count in enumerate(cores)
    ]


REQUESTS = st.builds(
    TaskRequest, tasks=st.integers(1, 8), cpus=st.integers(0, 3), nodes=st.none() | st.integers(1, 4),
    tasks_per_node=st.none() | st.integers(1, 4), gpus_per_node=st.integers(0, 2) | st.just(0),
    gpus_per_task=st.just(0) | st.integers(0, 1), nodelist=st.just(()) | st.just(("n0",)),
)  # fmt: skip


def fits(job, used, asked):
    """Whether some set of nodes has enough for all tasks, tried one after another."""
    count = asked.nodes or len(asked.nodelist) or min(len(job), asked.tasks)
    for nodes in combinations([share for share in job if not asked.nodelist or share.node in asked.nodelist], count):
        room = []
        for share in nodes:
            cores = set(share.cores).difference(*(place.cores for place in used if place.node == share.node))
            gpus = set(share.gpus).difference(*(place.gpus for place in used if place.node == share.node))
            most = asked.tasks_per_node or asked.tasks
            most = min(most, len(cores) // asked.cpus) if asked.cpus else most if cores else 0
            most = min(most, len(gpus) // asked.gpus_per_task) if asked.gpus_per_task else most
            room.append(most if len(gpus) >= asked.gpus_per_node else 0)
        if min(room, default=0) >= 1 and sum(room) >= asked.tasks:
            return True
    return False


@given(shares(), st.lists(REQUESTS, min_size=1, max_size=4))
def test_concurrent_steps_share_no_core_and_wait_only_if_they_do_not_fit(job, requests):
    used: list[TaskPlace] = []
    for asked in requests:
        if asked.gpus_per_node and asked.gpus_per_task:
            continue
        if not fits(job, [], asked):
            assert line_of(place_tasks, job, used, asked).startswith("--ntasks: ")
            continue
        places = place_tasks(job, used, asked)
        assert (places is not None) == fits(job, used, asked)
        if places is None:
            continue
        held = {share.node: share for share in job}
        assert [place.node for place in places] == sorted(place.node for place in places), "ranks in blocks"
        for place in places:
            assert set(place.cores) <= set(held[place.node].cores)
            assert len(place.cores) == (asked.cpus or len(place.cores))
            assert not asked.gpus_per_task or len(place.gpus) == asked.gpus_per_task
        mine = [(place.node, core) for place in places for core in place.cores] if asked.cpus else []
        assert len(mine) == len(set(mine))
        assert not set(mine) & {(place.node, core) for place in used for core in place.cores}
        used += places
        assert place_tasks(job, used, TaskRequest(tasks=1, overlap=True)) is not None


def test_variables_of_tasks_follow_their_places():
    places = [TaskPlace("a1", (0,)), TaskPlace("a1", (1,)), TaskPlace("a3", (0,), (2,))]
    told = task_variables(places, 2, 5)
    assert told == {
        "SLURM_STEP_ID": "5", "SLURM_STEPID": "5", "SLURM_PROCID": "2", "SLURM_LOCALID": "0", "SLURM_NODEID": "1",
        "SLURM_NTASKS": "3", "SLURM_NPROCS": "3", "SLURM_NNODES": "2", "SLURM_STEP_NUM_TASKS": "3",
        "SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_NODELIST": "a[1,3]", "SLURM_STEP_TASKS_PER_NODE": "2,1",
        "SLURM_TASKS_PER_NODE": "2,1", "SLURM_GTIDS": "2", "SLURM_CPUS_ON_NODE": "1",
        "CUDA_VISIBLE_DEVICES": "2", "SLURM_STEP_GPUS": "2",
    }  # fmt: skip
    assert task_variables(places, 1, 0)["SLURM_LOCALID"] == "1"


@pytest.mark.parametrize(
    ("asked", "line"),
    [({"tasks": 0}, "--ntasks: 0"), ({"cpus": -1}, "--cpus-per-task: -1"), ({"nodes": True}, "--nodes: True")],
)
def test_impossible_task_requests_are_refused(asked, line):
    assert line_of(TaskRequest, **asked).startswith(line)
    with pytest.raises(InputError, match="nodes of the job: n0"):
        place_tasks([NodeShare("n0", (0,))], [], TaskRequest(nodelist=("n9",)))
