"""Task manager's view of the machine: hosts, nodes and group capacities."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dardis.model.addresses import HostId
from dardis.model.arrays import Ints
from dardis.model.job import Job
from dardis.model.node_sets import NodeSets, units_in
from dardis.model.platform import Platform
from dardis.model.queues import ALWAYS, PermittedStarts
from dardis.model.target import DesiredProfile


@dataclass(frozen=True, slots=True)
class Layout:
    """Nodes by host, and groups of adjacent equal nodes."""

    bounds: tuple[int, ...]
    """Host h holds the nodes [bounds[h], bounds[h+1])."""
    sets: NodeSets
    kinds: tuple[str, ...]
    has_desired: bool
    """Whether nodes have desired profiles."""
    is_limited: bool = False
    """Whether nodes share a desired profile."""
    hours: Mapping[str, PermittedStarts] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=lambda: {"": 0})
    """Number of lower priorities, by queue."""
    _cuts: Ints = field(init=False, compare=False, repr=False)
    _group_ends: Ints = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_cuts", np.array(self.bounds, dtype=np.int64))
        object.__setattr__(self, "_group_ends", np.cumsum(self.sets.counts))

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return len(self.bounds) - 1

    @property
    def cores_place(self) -> int:
        """Index of cores among the resource kinds."""
        return self.kinds.index("cores")

    @property
    def cores(self) -> int:
        """Cores of the whole machine."""
        return int(self.sets.counts @ self.sets.capacity[:, self.cores_place])

    def host_of(self, nodes: Ints) -> Ints:
        """Host of each node."""
        return np.searchsorted(self._cuts, nodes, side="right") - 1

    def nodes_by_host(self, nodes: Ints) -> Iterator[tuple[HostId, slice]]:
        """Iterate over the hosts of ascending `nodes`, with slices."""
        low, count = 0, len(nodes)
        while low < count:
            host = bisect_right(self.bounds, nodes[low]) - 1
            end = self.bounds[host + 1]
            high = count if nodes[-1] < end else int(np.searchsorted(nodes, end))
            yield HostId(host), slice(low, high)
            low = high

    def span(self, host: HostId) -> tuple[int, int]:
        """Host's nodes `[first, last)`."""
        return self.bounds[host], self.bounds[host + 1]

    def most_units(self, nodes: Ints, request: Sequence[int], *, distinct: bool) -> int:
        """Units of size `request` that fit these nodes when empty."""
        of_node = self.sets.capacity[np.searchsorted(self._group_ends, nodes, side="right")]
        whole = units_in(of_node, request)
        return int((np.minimum(whole, 1) if distinct else whole).sum())

    def starts_of(self, job: Job) -> PermittedStarts:
        """Queue's start hours."""
        return self.hours.get(job.queue, ALWAYS)

    def level_of(self, job: Job) -> int:
        """Queue's priority level."""
        return self.levels.get(job.queue, self.levels[""])

    def cores_of(self, job: Job) -> int:
        """Cores of all units."""
        return job.units * job.request[self.cores_place]

    def allowed_node_count(self, groups: int) -> int:
        """Number of allowed nodes, at least 1."""
        return max(self.sets.count(groups), 1)


def layout_of(platform: Platform, bounds: tuple[int, ...], desired: DesiredProfile | None) -> Layout:
    """Layout with nodes [bounds[h], bounds[h+1]) on host h."""
    return Layout(
        bounds,
        platform.sets,
        platform.kinds,
        desired is not None and desired.by_node is not None,
        desired is not None and desired.shared is not None,
        platform.hours,
        platform.levels,
    )
