"""What a job costs by the nodes of a pool, by the reservations on each, and by how many others wait.

Pools find and reserve in one call. Jobs wait in a run where somebody comes whenever somebody has ended.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from dardis.model.addresses import FIRST_HOST, JobId
from dardis.model.job import ActualJob, Job
from dardis.model.randomness import stream
from dardis.registry import Cluster, find_dispatcher
from dardis.runs.hosts import even_bounds, host_from_plan, host_plan
from dardis.runs.kernel_warmup import warm_kernels
from dardis.scale import experiment as load
from dardis.sim.simulation import NO_HOSTS, Simulation
from dardis.transport.local_transport import LocalHosts
from scripts.lab.growth.points import Point
from scripts.lab.kit import busy_pool
from scripts.lab.kit.busy_pool import BusyPool

OVER_NODES, OVER_RESERVATIONS = "nodes", "reservations a node"
KINDS: Final = {
    "starts now": busy_pool.NOW, "fits a gap": busy_pool.LATER, "fits no gap": busy_pool.LAST,
}  # fmt: skip
RESERVATIONS: Final = 4
"""On each node, where nodes grow."""
NODES: Final = 10_000
"""Where reservations grow."""
FEWEST, MOST = 5, 300
"""Jobs that are placed in a turn."""
LOOKED_AT: Final = 3_000_000
"""Nodes of all jobs of a turn together, about."""


def over_nodes(sizes: Sequence[int], turns: int) -> list[Point]:
    """Points of each size of a pool."""
    return [one for size in sizes for one in _points(OVER_NODES, size, size, RESERVATIONS, turns)]


def over_reservations(sizes: Sequence[int], turns: int) -> list[Point]:
    """Points of each number of reservations."""
    return [one for size in sizes for one in _points(OVER_RESERVATIONS, size, NODES, size, turns)]


def _points(over: str, size: int, nodes: int, reservations: int, turns: int) -> list[Point]:
    """One of each kind of job; the first turn touches what nobody has touched yet, and does not count."""
    pool = BusyPool(nodes, reservations)
    count = min(max(FEWEST, LOOKED_AT // nodes // (1 + reservations // RESERVATIONS)), MOST)
    costs: dict[str, list[float]] = {name: [] for name in KINDS}
    for _ in range(turns + 1):
        for name, ask in KINDS.items():
            costs[name].append(pool.cpu_of(ask, count))
    points = [Point.of(over, name, size, of[1:]) for name, of in costs.items()]
    sys.stderr.write(f"{size} {over}: {', '.join(f'{one.what} {one.cost_us} µs' for one in points)}\n")
    return points


OVER: Final = "waiting jobs"
DISPATCHERS: Final = ("dardis-throughput", "dardis-late", "easy")
MACHINE_NODES: Final = 100
RUNNING: Final = 40
"""Jobs of ours that this machine holds, more or less."""
SEED: Final = 1


class EnoughSeen(Exception):  # noqa: N818 (nothing is wrong)
    """As many jobs have ended as are measured."""


def jobs_of(there: int, ends: int) -> list[ActualJob]:
    """So many jobs at once, and behind each a chain of others, in all long enough for so many ends."""
    count = there * (2 * -(-ends // there) + 2)
    rng = stream(SEED, "growth", there)
    draws = zip(
        rng.integers(1, load.MOST_UNITS + 1, count).tolist(), rng.integers(1, load.CORES_OF_A_NODE + 1, count).tolist(),
        rng.integers(load.SHORTEST_S, load.LONGEST_S, count).tolist(), rng.uniform(0.3, 1.0, count).tolist(),
        strict=True,
    )  # fmt: skip
    jobs = []
    for number, (units, cores, walltime, share) in enumerate(draws, start=1):
        asked = Job(JobId(number), 0, 0, None, walltime, units, (cores,), groups=1)
        after = JobId(number - there) if number > there else None
        jobs.append(ActualJob(asked, runtime=int(share * walltime), after=after))
    return jobs


def simulation_of(name: str, jobs: list[ActualJob]) -> Simulation:
    """A run of these jobs under a dispatcher, whose kernels are compiled."""
    dispatcher, platform, bounds = find_dispatcher(name), load.machine(MACHINE_NODES), even_bounds(MACHINE_NODES, 1)
    warm_kernels(dispatcher)
    hosts = NO_HOSTS
    if dispatcher.setup.asks_nodes:
        hosts = LocalHosts([host_from_plan(host_plan(platform, None, bounds, SEED), FIRST_HOST, dispatcher.pool)])
    return Simulation(jobs, dispatcher.turns(Cluster(platform, bounds, SEED)), hosts)


def over_waiting(sizes: Sequence[int], turns: int, ends: int) -> list[Point]:
    """Points of each dispatcher at each number of waiting jobs; a turn is a part of the run, of so many ends."""
    points = []
    for name in DISPATCHERS:
        for size in sizes:
            points.append(Point.of(OVER, name, size, costs_s(name, size, turns, ends)))
            sys.stderr.write(f"{size} {OVER}: {name} {points[-1].cost_us} µs\n")
    return points


def costs_s(name: str, waiting: int, turns: int, ends: int) -> list[float]:
    """CPU of all decisions over jobs that ended, while about so many waited; the first part does not count."""
    simulation = simulation_of(name, jobs_of(waiting + RUNNING, (turns + 1) * ends))
    recorder = simulation.recorder
    marks: list[tuple[int, float]] = []

    def watch(settled: int, _jobs: int) -> None:
        if settled >= len(marks) * ends:  # the first time when all those have been seen who were there at once
            marks.append((settled, (sum(recorder.decision_ns) + recorder.upkeep_ns) / 1e9))
        if len(marks) > turns + 1:
            raise EnoughSeen

    gc.collect()
    gc.disable()
    try:
        simulation.run(watch)
    except EnoughSeen:
        pass
    finally:
        gc.enable()
    costs = [(cost - before) / (end - begun) for (begun, before), (end, cost) in pairwise(marks)]
    return costs[1:]
