"""Scale experiment, with machine, jobs and background load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dardis.kernels.rows import SLACK, Rows, make_rows
from dardis.model.addresses import JobId
from dardis.model.arrays import Floats, Ints
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME, ActualJob, Job
from dardis.model.loggp import LogGP
from dardis.model.platform import NodeGroup, Platform
from dardis.model.randomness import stream
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.node_manager.pool_state import PoolState
from dardis.registry import Cluster, Dispatcher
from dardis.runs.hosts import even_bounds
from dardis.task_manager import Reach

if TYPE_CHECKING:
    from dardis.transport.mpi_transport import Communicator


@dataclass(frozen=True, slots=True)
class Experiment:
    """`arity` 0 is flat, `sample` 0 all nodes, `window` in s.

    `hosts_of`: nodes per virtual host. `overlap`: jobs in flight.
    """

    nodes: int
    ranks: int
    task_managers: int
    arity: int
    sample: int
    window: int
    reservations: int
    jobs: int
    dispatcher: Dispatcher
    hosts_of: int
    seed: int
    overlap: int = 1

    @property
    def through_tree(self) -> bool:
        """Whether rounds use the tree."""
        return self.arity > 0 and self.sample == 0

    @property
    def hosts(self) -> int:
        """Ranks, or virtual hosts."""
        return self.ranks if self.ranks > 1 else -(-self.nodes // self.hosts_of)

    @property
    def cluster(self) -> Cluster:
        """Equal nodes, spread evenly over ranks."""
        return Cluster(
            machine(self.nodes), even_bounds(self.nodes, self.ranks), self.seed, task_managers=self.task_managers,
            reach=Reach(self.arity, self.sample),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RankGroup:
    """Ranks (None: this process), network and cores.

    `short_ns`: CPU time to encode or decode a short message.
    """

    comm: Communicator | None
    network: LogGP | None
    cores: int
    short_ns: float = 0.0

    @property
    def rank(self) -> int:
        """Own rank."""
        return 0 if self.comm is None else self.comm.rank


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    """Results of an experiment's jobs.

    `cpu_ns`: CPU time in machines of all ranks; `manager_ns`: of task managers; `exchange_s`: median time of a query;
    `message_bytes`: between hosts; `ask_bytes`, `answer_bytes`, `queried_hosts`, `queried_nodes`: means; `chain`:
    longest of any job; `job_ns`: CPU time per job over all ranks, with encoding, without MPI.
    """

    schedule: Schedule
    cpu_ns: int
    manager_ns: int
    wall_s: float
    exchange_s: float | None
    rounds: int
    message_bytes: int
    root_message_bytes: int
    chain: int
    queried_hosts: float
    queried_nodes: float
    ask_bytes: float
    answer_bytes: float
    message_ns: float | None
    waves: int | None = None
    job_ns: float | None = None


CORES_OF_A_NODE = 16
MOST_UNITS = 8
SHORTEST_S, LONGEST_S = 600, 7200
LEAST_SPAN_S = 2
"""Least window per reservation: reserved and free second."""
BACKGROUND = 1 << 40
_BLOCK = 64
_CHUNK = 1 << 16


def machine(nodes: int) -> Platform:
    """Platform of equal nodes."""
    return Platform("scale", (NodeGroup("n", nodes, {CORES: CORES_OF_A_NODE}),))


def jobs(count: int, window: int, seed: int) -> list[ActualJob]:
    """Jobs numbered from 1, submitted every second, with starts within `window` s."""
    draws = stream(seed, "scale", "jobs").random((count, 3))
    units = 1 + (MOST_UNITS * draws[:, 0]).astype(np.int64)
    cores = 1 + (CORES_OF_A_NODE * draws[:, 1]).astype(np.int64)
    found = []
    for place, (size, each, walltime) in enumerate(
        zip(units.tolist(), cores.tolist(), _walltimes(draws[:, 2]).tolist(), strict=True)
    ):
        asked = Job(JobId(place + 1), place, place, place + window - 1, walltime, size, (each,), groups=1)
        found.append(ActualJob(asked, runtime=walltime))
    return found


def _walltimes(draws: Floats) -> Ints:
    return np.asarray(SHORTEST_S * (LONGEST_S / SHORTEST_S) ** draws).astype(np.int64)


def fill(state: PoolState, window: int, reservations: int, seed: int) -> None:
    """Reserve `reservations` background jobs per empty node in `[0, window)`.

    Each has a part of the window, filled by jobs of 1 to 8 units on adjacent nodes. Raises InputError for closed nodes.
    """
    if reservations == 0:
        return
    if int(state.profiles.size.max(initial=0)) > 1:
        raise InputError("--reservations", f"{reservations}, but nodes have closed times of their own", "0")
    entries = 2 * reservations + 1
    profiles = make_rows(state.count, 1, entries + SLACK, np.int32)
    books = make_rows(state.count, 1, reservations + SLACK, np.int64)
    for low in range(state.first, state.first + state.count, _CHUNK):
        high = min(low + _CHUNK, state.first + state.count)
        start, end, cores, number = background(low, high, window, reservations, seed)
        time, free = np.full((high - low, entries), NO_TIME), np.full((high - low, entries), CORES_OF_A_NODE)
        time[:, 1::2], time[:, 2::2] = start, end
        free[:, 1::2] -= cores
        nodes = slice(low - state.first, high - state.first)
        _lay_down(profiles, nodes, time, free)
        _lay_down(books, nodes, start, number)
    state.adopt_state(profiles, books)


def _lay_down(rows: Rows, nodes: slice, time: Ints, value: Ints) -> None:
    count, slots = len(rows.size), int(rows.slots[0])
    for column, entries in ((rows.time, time), (rows.value[:, 0], value)):
        column[: count * slots].reshape(count, slots)[nodes, : entries.shape[1]] = entries
    rows.size[nodes] = time.shape[1]


def background(low: int, high: int, window: int, reservations: int, seed: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Start, end, cores and job number for the nodes `[low, high)`, each (nodes, reservations)."""
    aligned = low // _BLOCK * _BLOCK
    blocks = [
        stream(seed, "scale", "background", block).random((_BLOCK, reservations, 4))
        for block in range(low // _BLOCK, -(-high // _BLOCK))
    ]
    draws = np.concatenate(blocks)[: high - aligned]
    node = np.arange(aligned, high)
    begins = (node % MOST_UNITS == 0)[:, None] | (draws[:, :, 0] < 0.3)
    # Jobs have the draws of their first node.
    first = np.maximum.accumulate(np.where(begins, np.arange(high - aligned)[:, None], 0), axis=0)[low - aligned :]
    layer = np.arange(reservations)
    _, long, soon, wide = np.moveaxis(draws[first, layer], 2, 0)
    edges = window * np.arange(reservations + 1) // reservations
    duration = np.minimum(_walltimes(long), edges[1:] - edges[:-1] - 1)
    start = edges[:-1] + (soon * (edges[1:] - edges[:-1] - duration)).astype(np.int64)
    cores = 1 + (CORES_OF_A_NODE * wide).astype(np.int64)
    return start, start + duration, cores, BACKGROUND + (first + aligned) * reservations + layer
