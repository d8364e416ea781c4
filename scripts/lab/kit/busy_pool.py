"""A pool of as many busy nodes as wanted, each with reservations, and jobs that it places in one call each.

Nine nodes in ten are taken as a whole by a job that runs, of the others half; whoever asks for whole nodes can't start
now. Behind what runs each node has reservations of half its cores, with gaps.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import numpy as np

from dardis.model import offer_rows
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.choices import UnitsPerNode
from dardis.model.job import SHORTEST_WINDOW_S
from dardis.model.local_queries import SeekQuery, SeekResponse
from dardis.model.randomness import stream
from dardis.node_manager import NodePool
from dardis.registry import find_dispatcher
from dardis.runs.kernel_warmup import warm_kernels as warm_dispatcher
from dardis.scale import experiment as load
from dardis.task_manager import SETUPS
from dardis.wire import messages as say

SEED: Final = 1
WHOLE, HALF = load.CORES_OF_A_NODE, load.CORES_OF_A_NODE // 2
LAYER_S: Final = 7200
"""What runs has ended by then, and so often each node has a reservation."""
GROUPS: Final = 64
"""Jobs that share the nodes of a layer."""
FULL_GROUPS: Final = GROUPS - GROUPS // 10
MOST_UNITS: Final = 8
LEAST_NODES: Final = 16
"""Nodes for each unit of the widest job on a small pool."""
_SET_UP: Final = SETUPS["dardis-throughput"]


@dataclass(frozen=True, slots=True)
class MeasuredJobs:
    """What the jobs of a kind ask for: cores of each unit, and for how long, s."""

    cores: int
    shortest_s: int
    longest_s: int


NOW: Final = MeasuredJobs(HALF, 600, LAYER_S)
"""Jobs that can start at once."""
LATER: Final = MeasuredJobs(WHOLE, 600, LAYER_S // 2)
"""Jobs that can't, and fit into a gap."""
LAST: Final = MeasuredJobs(WHOLE, 2 * LAYER_S, 3 * LAYER_S)
"""Jobs that fit into no gap: they go behind the last reservation."""


class BusyPool:
    """So many nodes of so many reservations each, with what runs besides."""

    def __init__(self, nodes: int, reservations: int) -> None:
        """Let jobs reserve on an empty pool."""
        self.nodes = nodes
        self._pool = NodePool(load.machine(nodes), 0, nodes)
        self._placed = 0
        self._most_units = min(MOST_UNITS, nodes // LEAST_NODES)
        self._ones = np.ones(nodes, dtype=np.int64)
        rng = stream(SEED, "busy-pool", nodes)
        for layer in range(reservations + 1):
            shares = np.array_split(rng.permutation(nodes), GROUPS)
            shifts = rng.integers(0, LAYER_S // 2, GROUPS).tolist()
            for group, (share, shift) in enumerate(zip(shares, shifts, strict=True)):
                mine = np.sort(share)
                if layer:
                    self._take(mine, HALF, layer * LAYER_S + shift, LAYER_S // 2)
                else:
                    self._take(mine, WHOLE if group < FULL_GROUPS else HALF, 0, LAYER_S // 2 + shift)

    def _take(self, nodes: Ints, cores: int, start: int, walltime: int) -> None:
        """Let a job have these nodes."""
        self._placed += 1
        self._pool.handle(
            say.Confirm(JobId(self._placed), 1, 0, start, walltime, np.array([cores]), nodes, self._ones[: len(nodes)],
                        tentative=False), 0,
        )  # fmt: skip

    def cpu_of(self, ask: MeasuredJobs, count: int) -> float:
        """CPU seconds a job of placing so many, each alone: it has gone before the next one comes."""
        rng = stream(SEED, "busy-pool", "asks", self._placed)
        walltimes = rng.integers(ask.shortest_s, ask.longest_s, count).tolist()
        units = rng.integers(1, self._most_units + 1, count).tolist()
        request, spent = np.array([ask.cores]), 0.0
        for walltime, wide in zip(walltimes, units, strict=True):
            self._placed += 1
            seek = SeekQuery(
                JobId(self._placed), 1, 0, max(walltime, SHORTEST_WINDOW_S), walltime, wide, 1, request,
                offer_rows.NODE_CHOICES[_SET_UP.node_choice], _SET_UP.units_per_node is UnitsPerNode.DISTINCT,
            )  # fmt: skip
            begun = time.process_time()
            found = self._pool.seek(seek, 0)
            spent += time.process_time() - begun
            self._check_placement(found, ask)
            self._pool.handle(say.UnitsEnded(seek.job, 0), 0)
        return spent / count

    @staticmethod
    def _check_placement(found: SeekResponse, ask: MeasuredJobs) -> None:
        """See that the job has its place, and the one that is meant. Raises ValueError."""
        if len(found.nodes) == 0:
            raise ValueError("a job got no place")
        if (found.start == 0) is not (ask is NOW):
            raise ValueError(f"a job starts at {found.start} s")


def warm() -> None:
    """Compile what is measured."""
    warm_dispatcher(find_dispatcher("dardis-throughput"))
    BusyPool(2 * GROUPS, 1).cpu_of(NOW, 1)
