"""What live jobs have become, as a schedule in ms that can be audited like any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.job import NO_TIME, Status
from dardis.model.placements import Placements, offsets_of
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule

SLACK_MS: Final = 5_000
"""How long after its walltime and grace the end of a job may be seen."""


def schedule_of(jobs: Sequence[dict[str, Any]], platform: Platform) -> Schedule:
    """Jobs as the service tells them that are over, by number; those that never began are left out."""
    began = sorted((job for job in jobs if job["started_ms"] and job["ended_ms"]), key=lambda job: job["id"])
    node_of = {platform.node_name(node): node for node in range(platform.node_count)}
    nodes = [sorted(node_of[name] for name in job["nodes"]) for job in began]
    counts = np.array([len(some) for some in nodes], dtype=np.int64)
    flat = np.array([node for some in nodes for node in some], dtype=np.int64)

    def column(key: str) -> Ints:
        return np.array([job[key] for job in began], dtype=np.int64)

    asked = {
        "cores": column("cpus"),
        "gpu": column("gpus"),
        "memory": np.array([job["memory_mib"] or 0 for job in began]),
    }
    completed = np.array([job["state"] == "completed" for job in began])
    start, finish = column("started_ms"), column("ended_ms")
    most = 1_000 * (column("walltime_s") + column("grace_s")) + SLACK_MS
    return Schedule(
        kinds=platform.kinds, number=column("id"), submit=column("submitted_ms"), earliest=column("submitted_ms"),
        latest=np.full(len(began), NO_TIME), walltime=np.where(completed, most, finish - start), units=counts,
        request=np.stack([asked[kind] for kind in platform.kinds], axis=1),
        status=np.where(completed, Status.COMPLETED, Status.KILLED).astype(np.int8), start=start, finish=finish,
        attempts=column("attempt"), placed=Placements(offsets_of(counts), flat, np.ones(len(flat), dtype=np.int64)),
        queue=[""] * len(began), user=[job["user"] for job in began],
    )  # fmt: skip
