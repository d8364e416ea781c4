"""What a task manager knows of the machine: which host has which nodes, and what each group counts and can hold."""

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
from dardis.model.queues import ALWAYS, Starts
from dardis.model.target import DesiredProfile


@dataclass(frozen=True, slots=True)
class Layout:
    """Nodes over hosts, and groups of equal nodes, which are adjacent in number."""

    bounds: tuple[int, ...]
    """Host h holds the nodes [bounds[h], bounds[h+1])."""
    sets: NodeSets
    kinds: tuple[str, ...]
    has_desired: bool
    hours: Mapping[str, Starts] = field(default_factory=dict)
    """When jobs may start, by queue, for those that are not always open."""
    levels: Mapping[str, int] = field(default_factory=lambda: {"": 0})
    """How many lower priorities there are, by queue."""
    _cuts: Ints = field(init=False, compare=False, repr=False)
    """The bounds as an array: to make one of them at each question would take time of all hosts."""
    _group_ends: Ints = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Keep the bounds as an array, too, and those of the groups."""
        object.__setattr__(self, "_cuts", np.array(self.bounds, dtype=np.int64))
        object.__setattr__(self, "_group_ends", np.cumsum(self.sets.counts))

    @property
    def hosts(self) -> int:
        """How many hosts there are."""
        return len(self.bounds) - 1

    @property
    def cores_place(self) -> int:
        """Where cores stand among the kinds."""
        return self.kinds.index("cores")

    @property
    def cores(self) -> int:
        """Of the whole machine."""
        return int(self.sets.counts @ self.sets.capacity[:, self.cores_place])

    def host_of(self, nodes: Ints) -> Ints:
        """The host that holds each of the nodes."""
        return np.searchsorted(self._cuts, nodes, side="right") - 1

    def shares(self, nodes: Ints) -> Iterator[tuple[HostId, slice]]:
        """The hosts of these nodes, which ascend, and where each one's stand among them."""
        low, count = 0, len(nodes)
        while low < count:
            host = bisect_right(self.bounds, nodes[low]) - 1
            end = self.bounds[host + 1]
            high = count if nodes[-1] < end else int(np.searchsorted(nodes, end))
            yield HostId(host), slice(low, high)
            low = high

    def span(self, host: HostId) -> tuple[int, int]:
        """The nodes `[first, last)` that a host holds."""
        return self.bounds[host], self.bounds[host + 1]

    def most_units(self, nodes: Ints, request: Sequence[int], *, distinct: bool) -> int:
        """How many units, each of which asks for `request`, these nodes could hold if they were empty."""
        of_node = self.sets.capacity[np.searchsorted(self._group_ends, nodes, side="right")]
        whole = units_in(of_node, request)
        return int((np.minimum(whole, 1) if distinct else whole).sum())

    def starts_of(self, job: Job) -> Starts:
        """When the job's queue lets it start."""
        return self.hours.get(job.queue, ALWAYS)

    def level_of(self, job: Job) -> int:
        """The level of the priority of the job's queue."""
        return self.levels.get(job.queue, self.levels[""])

    def asked(self, groups: int) -> int:
        """Nodes that a job may use, at least 1."""
        return max(self.sets.count(groups), 1)


def layout_of(platform: Platform, bounds: tuple[int, ...], desired: DesiredProfile | None) -> Layout:
    """What task managers know of a machine whose host h holds the nodes [bounds[h], bounds[h+1])."""
    return Layout(
        bounds,
        platform.sets,
        platform.kinds,
        desired is not None,
        platform.hours,
        platform.levels,
    )
