"""Small random problems for the models on positions."""

from __future__ import annotations

import numpy as np

from dardis.dispatch.cp.decision_problem import BlockedCapacity, DecisionProblem, RunningJobPart, WaitingJob
from dardis.model.job import Job
from dardis.model.platform import NodeGroup, Platform

NOW = 1000


def machine(*groups: tuple[int, int, int]) -> Platform:
    """Groups of so many nodes, each of so many cores and GPUs."""
    return Platform(
        "small", tuple(NodeGroup(f"g{i}n", n, {"cores": c, "gpu": g}) for i, (n, c, g) in enumerate(groups))
    )


def job(number: int, request: tuple[int, ...], units: int = 1, submit: int = 0, groups: int = 1 << 6) -> Job:
    return Job(number, submit, submit, None, 10**6, units, request, groups - 1)


def waiting(
    number: int, duration: int, *request: int, units: int = 1, submit: int = NOW, groups: int = 1 << 6
) -> WaitingJob:
    return WaitingJob(job(number, request, units, submit, groups), duration)


def running(
    number: int, end: int, node: int, request: tuple[int, ...], positions: tuple[int, ...] | None
) -> RunningJobPart:
    """One unit; positions of each kind within the machine, -1 for none."""
    where = None if positions is None else np.array(positions)[:, None]
    return RunningJobPart(job(number, request), NOW + end, NOW + end, np.array([node]), np.array([1]), where)


def random_problem(seed: int, most_jobs: int = 4) -> DecisionProblem:
    """Up to 3 nodes in 2 groups, 2 kinds, some that run, now and then something blocked."""
    rng = np.random.default_rng(seed)
    groups = [(int(rng.integers(1, 3)), int(rng.integers(2, 7)), int(rng.integers(0, 4)))]
    if rng.random() < 0.4:
        groups.append((1, int(rng.integers(2, 7)), int(rng.integers(0, 4))))
    platform = machine(*groups)
    base = np.cumsum(platform.capacity, axis=0) - platform.capacity
    held, blocked = [], []
    for node in range(platform.node_count):
        cores, gpus = platform.capacity[node].tolist()
        if rng.random() < 0.5:
            request = (int(rng.integers(1, 1 + cores // 2)), int(rng.integers(0, 1 + gpus // 2)))
            low = [int(rng.integers(0, have - need + 1)) for have, need in zip((cores, gpus), request, strict=True)]
            at = tuple(int(base[node, k]) + low[k] if request[k] else -1 for k in range(2))
            known = at if rng.random() < 0.8 else None
            held.append(running(100 + node, int(rng.integers(1, 5)), node, request, known))
        if rng.random() < 0.2:
            start = int(rng.integers(0, 5))
            amounts = tuple(int(rng.integers(0, have + 1)) for have in (cores, gpus))
            blocked.append(BlockedCapacity(node, NOW + start, NOW + start + int(rng.integers(1, 4)), amounts))
    jobs = []
    for number in range(1, int(rng.integers(3, most_jobs + 1)) + 1):
        request = [int(rng.choice([0, 1, 2, 2, 3])), int(rng.choice([0, 0, 0, 1, 2]))]
        request[0] = request[0] or int(request[1] == 0)
        duration, units = int(rng.integers(1, 4)), int(rng.choice([1, 1, 1, 2, 3]))
        submit, bits = NOW - int(rng.integers(0, 9)), int(rng.choice([4, 4, 4, 2]))
        jobs.append(waiting(number, duration, *request, units=units, submit=submit, groups=bits))
    return DecisionProblem(platform, NOW, tuple(held), tuple(jobs), tuple(blocked), distinct=bool(rng.random() < 0.2))
