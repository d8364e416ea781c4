"""Small schedules of jobs that take whole nodes, and machines whose nodes are worth switching."""

from __future__ import annotations

import numpy as np
from kit import schedules

from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.schedule import Schedule

Placed = tuple[int, int, tuple[int, ...]]
"""Start, finish and nodes of a job."""

DEFAULTS = NodePower(idle_w=100, core_w=6, off_w=10, boot_s=240, boot_w=125, shutdown_s=30, shutdown_w=100)
QUICK = NodePower(idle_w=100, core_w=6, off_w=10, boot_s=5, boot_w=130, shutdown_s=2, shutdown_w=110)


def machine(count: int, power: NodePower = QUICK, *, always_on: bool = False) -> Platform:
    """Equal nodes of one core."""
    return Platform("small", (NodeGroup("n", count, {"cores": 1}, power, always_on),))


def schedule_of(jobs: list[Placed]) -> Schedule:
    """A schedule of jobs that are submitted when they start."""
    rows: list[dict[str, object]] = [
        {"number": n, "submit": start, "walltime": finish - start, "finish": finish, "placed": dict.fromkeys(nodes, 1)}
        for n, (start, finish, nodes) in enumerate(jobs)
    ]
    return schedules.schedule_of(("cores",), rows)


def random_jobs(rng: np.random.Generator, count: int, nodes: int, until: int) -> list[Placed]:
    """Jobs by start, each on the lowest nodes that are free then; those that find too few are left out."""
    free_at = np.zeros(nodes, dtype=np.int64)
    jobs: list[Placed] = []
    for start in np.sort(rng.integers(0, until, count)).tolist():
        wanted, length = int(rng.integers(1, nodes + 1)), int(rng.integers(1, until // 3))
        free = np.flatnonzero(free_at <= start)[:wanted]
        if len(free) == wanted:
            free_at[free] = start + length
            jobs.append((start, start + length, tuple(free.tolist())))
    return jobs
