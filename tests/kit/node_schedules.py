"""Small schedules of jobs that take whole nodes, and machines whose nodes are worth switching."""

from __future__ import annotations

import numpy as np

from dardis.model.job import NO_TIME, Status
from dardis.model.placements import Placements
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.ragged import offsets_of
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
    count = len(jobs)

    def column(values: list[int]) -> np.ndarray:
        return np.array(values, dtype=np.int64)

    start = column([job[0] for job in jobs])
    placed = [sorted(job[2]) for job in jobs]
    nodes = column([node for nodes in placed for node in nodes])
    return Schedule(
        kinds=("cores",),
        number=np.arange(count), submit=start, earliest=start, latest=np.full(count, NO_TIME),
        walltime=column([job[1] - job[0] for job in jobs]),
        units=column([len(nodes) for nodes in placed]),
        request=np.ones((count, 1), dtype=np.int64), status=np.full(count, Status.COMPLETED, dtype=np.int8),
        start=start, finish=column([job[1] for job in jobs]), attempts=np.ones(count, dtype=np.int64),
        placed=Placements(offsets_of([*map(len, placed)]), nodes, np.ones_like(nodes)),
        queue=[""] * count, user=[""] * count,
    )  # fmt: skip


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
