"""Machine with cores as Batsim's resources."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

import numpy as np

from dardis.metrics.cores import first_cores
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.job import Job
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.power.node_power import MachinePower

_FREE: Final = -1


class NodeState(IntEnum):
    """Node's power state."""

    IDLE = 0
    SWITCHING_OFF = 1
    SLEEPING = 2
    SWITCHING_ON = 3


class BatsimMachine:
    """Holders, node states and energy."""

    def __init__(self, platform: Platform, ids: Mapping[JobId, str]) -> None:
        """`ids`: Batsim's names of jobs."""
        self._platform = platform
        self._ids = ids
        self.first = first_cores(platform)
        self.count = int(self.first[-1])
        self.node_of: Ints = np.repeat(np.arange(platform.node_count), np.diff(self.first))
        self.holder: Ints = np.full(self.count, _FREE)
        """Job on each core."""
        self._free = platform.capacity.copy()
        self._held: dict[JobId, tuple[Ints, Ints, Ints]] = {}
        """Cores, nodes and amounts by job."""
        self.power = MachinePower.of_platform(platform)
        self.state: Ints = np.full(platform.node_count, NodeState.IDLE)
        self._watts = self.power.idle_w.copy()
        self._joules = 0.0
        self._since = 0

    def resources(self) -> list[dict[str, Any]]:
        """Data of SIMULATION_BEGINS."""
        names = [self._platform.node_name(node) for node in range(self._platform.node_count)]
        return [
            {"id": core, "name": f"{names[node]}.{core - first}", "state": "idle", "properties": {"node": names[node]}}
            for core, (node, first) in enumerate(
                zip(self.node_of.tolist(), self.first[self.node_of].tolist(), strict=True)
            )
        ]

    def take(self, job: Job, cores: Ints, now: int) -> tuple[Ints, Ints]:
        """Start a job; return its nodes and units. Raises ValueError."""
        each = job.request[self._platform.kinds.index(CORES)]
        if len(cores) != job.units * each:
            raise ValueError(f"{len(cores)} resources, but the job asks for {job.units * each}")
        used = cores[self.holder[cores] != _FREE]
        if len(used):
            raise ValueError(f"resource {used[0]} is in use by job {self._ids[self.holder[used[0]]]}")
        nodes, counts = np.unique(self.node_of[cores], return_counts=True)
        if (down := nodes[self.state[nodes] != NodeState.IDLE]).size:
            state = NodeState(int(self.state[down[0]])).name.lower().replace("_", " ")
            raise ValueError(f"node {self._platform.node_name(int(down[0]))} is {state}")
        units = counts // each
        if (units * each != counts).any():
            raise ValueError(f"a unit of the job has {each} cores of one node")
        if not self._platform.sets.nodes(job.groups)[nodes].all():
            raise ValueError("the partition or queue of the job excludes one of the nodes")
        amounts = units[:, None] * np.array(job.request, dtype=np.int64)
        if (short := np.argwhere(self._free[nodes] < amounts)).size:
            kind = self._platform.kinds[int(short[0, 1])]
            raise ValueError(f"node {self._platform.node_name(int(nodes[short[0, 0]]))} lacks {kind}")
        self._advance(now)
        self._free[nodes] -= amounts
        self._watts[nodes] += self._added_w(nodes, amounts)
        self.holder[cores] = job.number
        self._held[job.number] = cores, nodes, amounts
        return nodes, units

    def give_back(self, job: JobId, now: int) -> Ints:
        """End a job; return its cores."""
        self._advance(now)
        cores, nodes, amounts = self._held.pop(job)
        self._free[nodes] += amounts
        self._watts[nodes] -= self._added_w(nodes, amounts)
        self.holder[cores] = _FREE
        return cores

    def _added_w(self, nodes: Ints, amounts: Ints) -> Any:  # noqa: ANN401 (W by node)
        added = self.power.core_w[nodes] * amounts[:, self._platform.kinds.index(CORES)]
        for kind, watts in self.power.device_w.items():
            added = added + watts[nodes] * amounts[:, self._platform.kinds.index(kind)]
        return added

    def nodes_to_switch(self, cores: Ints, *, up: bool) -> Ints:
        """Nodes of the cores, if switchable. Raises ValueError."""
        nodes, counts = np.unique(self.node_of[cores], return_counts=True)
        groups = [self._platform.groups[group] for group in self._platform.group_of_node[nodes].tolist()]
        if (counts != np.diff(self.first)[nodes]).any():
            raise ValueError("some cores of a node, but nodes switch as a whole")
        if any(one.power is None or not one.power.boot_s + one.power.shutdown_s for one in groups):
            raise ValueError("the platform states no boot_s and shutdown_s of these nodes")
        if any(one.always_on for one in groups):
            raise ValueError("nodes of an always_on group")
        busy = self.holder[cores] != _FREE
        if busy.any():
            raise ValueError(f"job {self._ids[self.holder[cores[busy][0]]]} runs there")
        if (self.state[nodes] != (NodeState.SLEEPING if up else NodeState.IDLE)).any():
            raise ValueError(f"a node is not {'sleeping' if up else 'idle'}")
        return nodes

    def enter(self, nodes: Ints, state: NodeState, now: int) -> None:
        """Change nodes' state."""
        self._advance(now)
        power = self.power
        self.state[nodes] = state
        self._watts[nodes] = (power.idle_w, power.shutdown_w, power.off_w, power.boot_w)[state][nodes]

    def joules(self, now: int) -> float:
        """Energy from 0 to `now`, J."""
        self._advance(now)
        return self._joules

    def _advance(self, now: int) -> None:
        self._joules += float(self._watts.sum()) * (now - self._since)
        self._since = now
