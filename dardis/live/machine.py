"""Hosts and nodes of a live service, and free resources."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from dardis.live.job_option_texts import MOST_PRIORITY
from dardis.live.job_request import JobRequest
from dardis.live.live_jobs import LiveJob, LiveJobState, NodeShare
from dardis.model.addresses import FIRST_HOST, JobId
from dardis.model.capacity import could_hold
from dardis.model.errors import InputError
from dardis.model.job import Job
from dardis.model.platform import NodeGroup, Platform
from dardis.model.queues import Queue
from dardis.model.resources import CORES, amount_in_words
from dardis.power.unit_power import MILLI, UnitPower
from dardis.runs.hosts import even_bounds

MEMORY: Final = "memory"
SLOTS: Final = "slots"
"""Each job takes one of a node, an exclusive job all."""
GPU: Final = "gpu"


@dataclass(frozen=True, slots=True)
class HostFacts:
    """Host's resources. `cores` are processor numbers."""

    name: str
    cores: tuple[int, ...]
    memory_mib: int
    gpus: int
    tmp_mib: int = 0
    """Size of the file system of temporary files."""


@dataclass(frozen=True)
class LiveMachine:
    """Platform with real hosts.

    `cores`: processors of each node; empty: counted only, not bound.
    """

    platform: Platform
    names: tuple[str, ...]
    cores: tuple[tuple[int, ...], ...] = ()
    hosts: tuple[str, ...] = ()
    """Raises InputError for duplicate names."""
    bounds: tuple[int, ...] = ()
    """Host h has the nodes [bounds[h], bounds[h+1])."""
    tmp_mib: int = 0
    """Least size of the file systems of temporary files."""

    def __post_init__(self) -> None:
        if twice := sorted(name for name, count in Counter(self.hosts).items() if count > 1):
            raise InputError("hosts", f"two have the name {twice[0]}", "unique names")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: node for node, name in enumerate(self.names)}

    def node(self, name: str) -> int | None:
        """Node's number, or None."""
        return self._numbers.get(name)

    def host(self, name: str) -> str | None:
        """Node's host, or None."""
        node = self.node(name)
        return None if node is None else self.hosts[bisect_right(self.bounds, node) - 1]

    def nodes(self, host: str) -> tuple[str, ...]:
        """Host's nodes."""
        number = self.hosts.index(host)
        return self.names[self.bounds[number] : self.bounds[number + 1]]

    def request(self, asked: JobRequest) -> tuple[int, ...]:
        """Request per node, by kind."""
        return self._needs(asked, asked.cpus, asked.memory_mib, asked.gpus)

    def _needs(self, asked: JobRequest, cpus: int, memory_mib: int | None, gpus: int) -> tuple[int, ...]:
        slots = self.slots if asked.exclusive or memory_mib == 0 else 1
        needs = {CORES: cpus, MEMORY: memory_mib or 0, GPU: gpus, SLOTS: slots}
        return tuple(needs.get(kind, 0) for kind in self.platform.kinds)

    @cached_property
    def power(self) -> UnitPower:
        """Platform's power figures."""
        return UnitPower(self.platform)

    @cached_property
    def most_cores(self) -> int:
        """Cores of the largest node."""
        return int(self.platform.capacity[:, self.platform.kinds.index(CORES)].max())

    def node_mw(self, asked: JobRequest) -> int:
        """Power added to each node, mW: stated, else what cores and GPUs take on any node."""
        if asked.watts is not None:
            return asked.watts * MILLI
        if asked.exclusive:
            return int(self.power.busy_mw.max())
        return self.power.of_unit(self.request(asked), np.arange(len(self.platform.groups)))

    @cached_property
    def slots(self) -> int:
        """Slots of a node: most jobs there."""
        return self.platform.groups[0].resources.get(SLOTS, 1)

    def settle(self, asked: JobRequest) -> JobRequest:
        """Request on the fewest nodes that can hold it, else on the fewest permitted."""
        most = min(asked.most_nodes or asked.nodes, self.platform.node_count)
        counts = range(asked.nodes, most + 1)
        fits = (
            nodes for nodes in counts if self._could_hold(nodes, self._needs(asked, *asked.amounts_on(nodes))) >= nodes
        )
        return asked.on_nodes(next(fits, asked.nodes))

    def _could_hold(self, nodes: int, request: tuple[int, ...]) -> int:
        platform = self.platform
        job = Job(JobId(0), 0, 0, None, 1, nodes, request, platform.all_groups)
        return could_hold(job, platform.sets, distinct=True)

    def refusal(self, asked: JobRequest) -> str:
        """Why a job can never run; empty: possible."""
        platform = self.platform
        if asked.tmp_mib > self.tmp_mib:
            return (
                f"asks for {asked.tmp_mib} MiB of temporary disk space; the machine has {self.tmp_mib} MiB on each node"
            )
        for kind, need in ((GPU, asked.gpus), (MEMORY, asked.memory_mib or 0)):
            if need and kind not in platform.kinds:
                return f"asks for {kind}, of which no node has any"
        request = self.request(asked)
        could = self._could_hold(asked.nodes, request)
        if could >= asked.nodes:
            return ""
        parts = zip(platform.kinds, request, strict=True)
        each = ", ".join(amount_in_words(kind, amount) for kind, amount in parts if amount and kind != SLOTS)
        return f"asks for {asked.nodes} node{'s' if asked.nodes > 1 else ''} with {each}; the machine has {could} such"


def machine_of(hosts: Sequence[HostFacts]) -> LiveMachine:
    """Machine with a node for each host."""
    alike: list[list[HostFacts]] = []
    for host in hosts:
        if alike and _host_capacity(alike[-1][0]) == _host_capacity(host):
            alike[-1].append(host)
        else:
            alike.append([host])
    names = tuple(host.name for host in hosts)
    groups = tuple(NodeGroup(some[0].name, len(some), _host_capacity(some[0])) for some in alike)
    cores = tuple(host.cores for host in hosts)
    platform, tmp_mib = _for_jobs(Platform(names[FIRST_HOST], groups)), min(host.tmp_mib for host in hosts)
    return LiveMachine(platform, names, cores, names, tuple(range(len(hosts) + 1)), tmp_mib)


def queue_of(priority: int) -> str:
    """Queue of a priority, by its sign and number of binary digits."""
    level = -priority.bit_length() if priority < 0 else priority.bit_length()
    return f"priority {level:+}" if level else ""


_QUEUES: Final = tuple(
    Queue(queue_of(sign * (1 << (digits - 1))), priority=sign * digits)
    for sign in (-1, 1)
    for digits in range(1, MOST_PRIORITY.bit_length() + 1)
)


def _for_jobs(platform: Platform) -> Platform:
    most = max(group.resources.get(CORES, 0) for group in platform.groups)
    groups = tuple(replace(group, resources={**group.resources, SLOTS: most}) for group in platform.groups)
    return replace(platform, groups=groups, queues=_QUEUES)


def _host_capacity(host: HostFacts) -> dict[str, int]:
    holds = {CORES: len(host.cores), MEMORY: host.memory_mib}
    return holds | {GPU: host.gpus} if host.gpus else holds


def machine_of_platform(platform: Platform, hosts: Sequence[str] = ("localhost",), tmp_mib: int = 0) -> LiveMachine:
    """Machine that shares nodes between hosts; cores are only counted."""
    names = tuple(platform.node_name(node) for node in range(platform.node_count))
    bounds = even_bounds(platform.node_count, len(hosts))
    return LiveMachine(_for_jobs(platform), names, (), tuple(hosts), bounds, tmp_mib)


class FreeResources:
    """Free cores and GPUs of each node."""

    def __init__(self, machine: LiveMachine) -> None:
        capacity = machine.platform.capacity.tolist()
        kinds = machine.platform.kinds
        gpu = kinds.index(GPU) if GPU in kinds else None
        nodes = list(enumerate(capacity))
        self._cores = {
            machine.names[n]: set(machine.cores[n]) if machine.cores else set(range(row[0])) for n, row in nodes
        }
        self._gpus = {machine.names[n]: set(range(row[gpu])) if gpu is not None else set() for n, row in nodes}
        self._all = {name: (frozenset(cores), frozenset(self._gpus[name])) for name, cores in self._cores.items()}

    def take(self, node: str, cores: int, gpus: int) -> NodeShare:
        """Take the lowest free numbers of a node."""
        taken = NodeShare(node, _lowest(self._cores[node], cores), _lowest(self._gpus[node], gpus))
        self.reserve(taken)
        return taken

    def take_node(self, node: str) -> NodeShare:
        """Take all free cores and GPUs of a node."""
        cores, gpus = self._all[node]
        return self.take(node, len(cores), len(gpus))

    def reserve(self, share: NodeShare) -> None:
        """Take a share, as far as present."""
        if share.node in self._all:
            self._cores[share.node].difference_update(share.cores)
            self._gpus[share.node].difference_update(share.gpus)

    def release(self, share: NodeShare) -> None:
        """Free a share."""
        if share.node in self._all:
            cores, gpus = self._all[share.node]
            self._cores[share.node].update(cores.intersection(share.cores))
            self._gpus[share.node].update(gpus.intersection(share.gpus))

    def has(self, share: NodeShare) -> bool:
        """Whether the machine has a share."""
        if share.node not in self._all:
            return False
        cores, gpus = self._all[share.node]
        return cores.issuperset(share.cores) and gpus.issuperset(share.gpus)

    def cores(self, node: str) -> int:
        """Number of free cores of a node."""
        return len(self._cores[node])


def _lowest(free: set[int], count: int) -> tuple[int, ...]:
    chosen = tuple(sorted(free)[:count])
    assert len(chosen) == count
    return chosen


def nodes_as_json(
    machine: LiveMachine,
    free: FreeResources,
    running: Iterable[LiveJob],
    drained: Mapping[str, str],
    silent: Container[str | None],
) -> list[dict[str, Any]]:
    """Nodes as JSON values. `drained`: reasons by node. `silent`: unreachable hosts."""
    jobs: dict[str, list[int]] = {}
    for job in running:
        for share in job.shares:
            jobs.setdefault(share.node, []).append(job.number)
    platform, told = machine.platform, []
    for node, name in enumerate(machine.names):
        holds = dict(zip(platform.kinds, platform.capacity[node].tolist(), strict=True))
        busy = sorted(jobs.get(name, []))
        state = "up" if name not in drained else "draining" if busy else "drained"
        host = machine.host(name)
        told.append({
            "name": name, "host": host,
            "cores": holds["cores"], "memory_mib": holds.get("memory", 0),
            "gpus": holds.get("gpu", 0), "used_cores": holds["cores"] - free.cores(name),
            "state": state, "silent": host in silent, "jobs": busy,
            "why": drained.get(name, ""),
        })  # fmt: skip
    return told


def jobs_on_removed_nodes(machine: LiveMachine, free: FreeResources, jobs: Iterable[LiveJob]) -> set[JobId]:
    """Running jobs beyond the present machine."""
    left, found = dict(zip(machine.names, machine.platform.capacity.tolist(), strict=True)), set()
    for job in jobs:
        if job.state is not LiveJobState.RUNNING:
            continue
        request = machine.request(job.submission.request)
        if all(
            free.has(share) and all(need <= has for need, has in zip(request, left[share.node], strict=True))
            for share in job.shares
        ):
            for share in job.shares:
                left[share.node] = [has - need for need, has in zip(request, left[share.node], strict=True)]
        else:
            found.add(job.number)
    return found
