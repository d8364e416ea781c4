"""The machine that a live service has: its nodes by name, and which of their cores and GPUs are free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dardis.live.asked import JobAsked
from dardis.live.jobs import LiveJob, Share, State
from dardis.model.addresses import JobId
from dardis.model.capacity import could_hold, too_large
from dardis.model.job import Job
from dardis.model.platform import NodeGroup, Platform
from dardis.model.resources import CORES

MEMORY: Final = "memory"
GPU: Final = "gpu"


@dataclass(frozen=True)
class Machine:
    """A platform of which jobs run for real.

    `cores` are the processors that each node's cores are, by node; empty: they are counted only, and nothing is bound.
    """

    platform: Platform
    names: tuple[str, ...]
    """Of the nodes."""
    cores: tuple[tuple[int, ...], ...] = ()

    def request(self, asked: JobAsked) -> tuple[int, ...]:
        """What a job needs on each of its nodes, by kind."""
        needs = {CORES: asked.cpus, MEMORY: asked.memory_mib or 0, GPU: asked.gpus}
        return tuple(needs.get(kind, 0) for kind in self.platform.kinds)

    def refusal(self, asked: JobAsked) -> str:
        """Why the machine could never hold such a job; empty if it could."""
        platform = self.platform
        for kind, need in ((GPU, asked.gpus), (MEMORY, asked.memory_mib or 0)):
            if need and kind not in platform.kinds:
                return f"asks for {kind}, of which no node has any"
        job = Job(JobId(0), 0, 0, None, 1, asked.nodes, self.request(asked), platform.all_groups)
        counts = [group.count for group in platform.groups]
        capacity = platform.group_capacity.tolist()
        could = could_hold(job, counts, capacity, distinct=True)
        return too_large(job, platform.kinds, could) if could < job.units else ""


def one_node(name: str, cores: Iterable[int], memory_mib: int, gpus: int) -> Machine:
    """A machine of this host alone."""
    bound = tuple(sorted(cores))
    resources = {CORES: len(bound), MEMORY: memory_mib} | ({GPU: gpus} if gpus else {})
    return Machine(Platform(name, (NodeGroup(name, 1, resources),)), (name,), (bound,))


def many_nodes(platform: Platform) -> Machine:
    """A machine all of whose nodes this host stands for, with cores that are counted only."""
    return Machine(platform, tuple(platform.node_name(node) for node in range(platform.node_count)))


class Free:
    """Which cores and GPUs of each node no job has."""

    def __init__(self, machine: Machine) -> None:
        """All are free."""
        capacity = machine.platform.capacity.tolist()
        kinds = machine.platform.kinds
        gpu = kinds.index(GPU) if GPU in kinds else None
        self._cores = [set(machine.cores[n]) if machine.cores else set(range(row[0])) for n, row in enumerate(capacity)]
        self._gpus = [set(range(row[gpu])) if gpu is not None else set() for row in capacity]
        self._all = [(frozenset(cores), frozenset(gpus)) for cores, gpus in zip(self._cores, self._gpus, strict=True)]

    def take(self, node: int, cores: int, gpus: int) -> Share:
        """Take the lowest ones of a node, which must have as many."""
        taken = Share(node, _lowest(self._cores[node], cores), _lowest(self._gpus[node], gpus))
        self.hold(taken)
        return taken

    def hold(self, share: Share) -> None:
        """Take these, as far as they are there."""
        if share.node >= len(self._all):
            return
        self._cores[share.node].difference_update(share.cores)
        self._gpus[share.node].difference_update(share.gpus)

    def give_back(self, share: Share) -> None:
        """Nobody has them any more."""
        if share.node >= len(self._all):
            return
        cores, gpus = self._all[share.node]
        self._cores[share.node].update(cores.intersection(share.cores))
        self._gpus[share.node].update(gpus.intersection(share.gpus))

    def has(self, share: Share) -> bool:
        """Whether the machine has these at all."""
        if share.node >= len(self._all):
            return False
        cores, gpus = self._all[share.node]
        return cores.issuperset(share.cores) and gpus.issuperset(share.gpus)

    def cores(self, node: int) -> int:
        """How many cores of a node are free."""
        return len(self._cores[node])


def _lowest(free: set[int], count: int) -> tuple[int, ...]:
    chosen = tuple(sorted(free)[:count])
    assert len(chosen) == count
    return chosen


def strangers(machine: Machine, free: Free, jobs: Iterable[LiveJob]) -> set[JobId]:
    """Those that run on more than the machine has: it was another one when they began."""
    left, found = machine.platform.capacity.tolist(), set()
    for job in jobs:
        if job.state is not State.RUNNING:
            continue
        request = machine.request(job.of.asked)
        if all(
            free.has(share) and all(need <= has for need, has in zip(request, left[share.node], strict=True))
            for share in job.shares
        ):
            for share in job.shares:
                left[share.node] = [has - need for need, has in zip(request, left[share.node], strict=True)]
        else:
            found.add(job.number)
    return found
