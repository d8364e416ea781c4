"""Slurm's variables in a job's environment. Pure. Source: manual page of sbatch, 25.05."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from dardis.live.job_option_texts import UNLIMITED_S
from dardis.live.live_jobs import LiveJob, NodeShare
from dardis.live.slurm_names import CLUSTER, PARTITION
from dardis.model.hostlist import hostlist_in_order


def slurm_environment(job: LiveJob, share: NodeShare, now_s: int) -> dict[str, str]:
    """Variables of a job's process on the node of `share`, started at `now_s` (Unix s)."""
    submission, asked = job.submission, job.submission.request
    nodes = hostlist_in_order(one.node for one in job.shares)
    tasks = tasks_by_node(job)
    found: dict[str, object] = {
        "SLURM_CLUSTER_NAME": CLUSTER, "SLURM_JOB_PARTITION": asked.partition or PARTITION,
        "SLURM_JOB_ID": job.number, "SLURM_JOBID": job.number, "SLURM_JOB_NAME": asked.name,
        "SLURM_JOB_USER": submission.user.name, "SLURM_JOB_UID": submission.user.uid,
        "SLURM_JOB_GID": submission.user.gid, "SLURM_SUBMIT_DIR": submission.cwd,
        "SLURM_JOB_NODELIST": nodes, "SLURM_NODELIST": nodes,
        "SLURM_JOB_NUM_NODES": len(job.shares), "SLURM_NNODES": len(job.shares),
        "SLURM_JOB_CPUS_PER_NODE": counts_text(len(one.cores) for one in job.shares),
        "SLURM_CPUS_ON_NODE": len(share.cores), "SLURM_TASKS_PER_NODE": counts_text(tasks),
        "SLURMD_NODENAME": share.node, "SLURM_NODEID": [one.node for one in job.shares].index(share.node),
        "SLURM_PROCID": 0, "SLURM_LOCALID": 0, "SLURM_GTIDS": 0, "ENVIRONMENT": "BATCH",
        "SLURM_JOB_START_TIME": now_s if job.started_ms is None else job.started_ms // 1000,
    }  # fmt: skip
    if asked.walltime_s != UNLIMITED_S:
        found["SLURM_JOB_END_TIME"] = int(str(found["SLURM_JOB_START_TIME"])) + asked.walltime_s
    if asked.tasks is not None or asked.tasks_per_node is not None:
        found["SLURM_NTASKS"] = found["SLURM_NPROCS"] = sum(tasks)
    if asked.tasks_per_node is not None:
        found["SLURM_NTASKS_PER_NODE"] = asked.tasks_per_node
    if (per_task := cpus_per_task(job)) is not None:
        found["SLURM_CPUS_PER_TASK"] = per_task
    if asked.memory_per_cpu_mib is not None:
        found["SLURM_MEM_PER_CPU"] = asked.memory_per_cpu_mib
    elif asked.memory_mib is not None:
        found["SLURM_MEM_PER_NODE"] = asked.memory_mib
    if asked.gpus_per_task is not None:
        found["SLURM_GPUS_PER_TASK"] = asked.gpus_per_task
    if share.gpus:
        found["SLURM_GPUS_ON_NODE"] = len(share.gpus)
        found["SLURM_JOB_GPUS"] = ",".join(map(str, share.gpus))
    if job.attempt > 1:
        found["SLURM_RESTART_COUNT"] = job.attempt - 1
    if asked.array is not None and job.index is not None:
        spans = asked.array.spans  # not the indices: each of 100,000 jobs would visit them all
        found |= {
            "SLURM_ARRAY_JOB_ID": submission.first, "SLURM_ARRAY_TASK_ID": job.index,
            "SLURM_ARRAY_TASK_COUNT": submission.count, "SLURM_ARRAY_TASK_MIN": min(span[0] for span in spans),
            "SLURM_ARRAY_TASK_MAX": max(span[-1] for span in spans), "SLURM_ARRAY_TASK_STEP": _array_step(spans),
        }  # fmt: skip
    return {name: str(value) for name, value in found.items()}


def cpus_per_task(job: LiveJob) -> int | None:
    """Cores of each task; None: not stated. A job with cores but no tasks has one a node."""
    asked = job.submission.request
    if asked.cpus_per_task is not None:
        return asked.cpus_per_task
    has_tasks = asked.tasks is not None or asked.tasks_per_node is not None
    return asked.cpus if asked.cpus > 1 and not has_tasks else None


def tasks_by_node(job: LiveJob) -> list[int]:
    """Tasks by node, as `srun` starts them without options."""
    asked, nodes = job.submission.request, len(job.shares)
    if asked.tasks_per_node is not None and asked.tasks is None:
        return [asked.tasks_per_node] * nodes
    if asked.tasks is None:
        return [1] * nodes
    most = [max(len(share.cores) // (asked.cpus_per_task or 1), 1) for share in job.shares]
    return spread_tasks(asked.tasks, most)


def spread_tasks(tasks: int, most: Sequence[int]) -> list[int]:
    """Tasks by node, dealt in turn, at most `most` (by node)."""
    counts = [0] * len(most)
    left = min(tasks, sum(most))
    while left:
        for node in range(len(most)):
            if left and counts[node] < most[node]:
                counts[node] += 1
                left -= 1
    return counts


def counts_text(counts: Iterable[int]) -> str:
    """Counts by node in Slurm's notation: `2(x3),1`."""
    parts = []
    for count, alike in groupby(counts):
        times = len(list(alike))
        parts.append(str(count) if times == 1 else f"{count}(x{times})")
    return ",".join(parts)


def _array_step(spans: Sequence[range]) -> int:
    """Step of an array of one span; 1 for lists."""
    return spans[0].step if len(spans) == 1 else 1
