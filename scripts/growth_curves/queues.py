"""What a job costs by how many others wait: in a run where somebody comes whenever somebody has ended."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import Final

from dardis.model.addresses import FIRST_HOST, JobId
from dardis.model.job import NO_TIME, Actual, Job
from dardis.model.randomness import stream
from dardis.registry import Cluster, find_dispatcher
from dardis.runs.hosts import even_bounds, host_from_plan, host_plan
from dardis.scale import load
from dardis.sim.simulation import NO_HOSTS, Simulation
from dardis.task_manager import EVERY_HOST
from dardis.transport.local import LocalHosts
from scripts.growth_curves.points import Point
from scripts.kit.spread import Spread

DISPATCHERS: Final = ("dardis-throughput", "dardis-late", "easy")
NODES: Final = 100
RUNNING: Final = 40
"""Jobs of these that the machine holds, more or less."""
SEED: Final = 1
PARTS: Final = 3
"""Parts of a run that are measured apart."""


class EnoughSeen(Exception):  # noqa: N818 (nothing is wrong)
    """As many jobs have ended as are measured."""


def jobs_of(there: int, ends: int) -> list[Actual]:
    """So many jobs at once, and behind each a chain of others, long enough for so many ends."""
    generations = 2 * -(-ends // there) + 2
    rng, count = stream(SEED, "growth", there), there * generations
    draws = zip(
        rng.integers(1, load.MOST_UNITS + 1, count).tolist(),
        rng.integers(1, load.CORES_OF_A_NODE + 1, count).tolist(),
        rng.integers(load.SHORTEST_S, load.LONGEST_S, count).tolist(), rng.uniform(0.3, 1.0, count).tolist(),
        strict=True,
    )  # fmt: skip
    jobs = []
    for number, (units, cores, walltime, share) in enumerate(draws, start=1):
        asked = Job(JobId(number), 0, 0, None, walltime, units, (cores,), groups=1)
        after = JobId(number - there) if number > there else None
        jobs.append(Actual(asked, runtime=int(share * walltime), after=after))
    return jobs


@dataclass
class Watch:
    """Sees how much CPU each part of a run takes, and how many wait meanwhile."""

    simulation: Simulation
    a_part: int
    marks: list[tuple[int, int]]
    waiting: list[int]

    def __call__(self, settled: int, _jobs: int) -> None:
        """An instant is over. Raises EnoughSeen."""
        if settled < len(self.marks) * self.a_part:
            return
        recorder = self.simulation.recorder
        self.marks.append((settled, sum(recorder.decision_ns) + recorder.upkeep_ns))
        self.waiting.append(there)
        if len(self.marks) > PARTS:
            raise EnoughSeen
