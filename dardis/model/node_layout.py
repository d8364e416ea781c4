"""Node layout for schedulers: reserved capacity becomes separate nodes for the reservation's jobs.

The real nodes lose this capacity, which schedulers see as maintenance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dardis.model.arrays import Integers, Ints
from dardis.model.placements import Placements
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.model.queues import Queue, Reservation
from dardis.model.resources import BEFORE_ALL
from dardis.model.schedule import Schedule


@dataclass(frozen=True)
class NodeLayout:
    """Machine with separate nodes for reservations."""

    machine: Platform
    """Own nodes, then reserved nodes."""
    node: Ints
    """Own node behind each node."""
    queues: dict[str, tuple[int, int]]
    """Node range `[first, last)` by queue with a reservation."""

    def with_reserved_nodes(self, nodes: Sequence[int]) -> list[int]:
        """Given own nodes, and all reserved nodes on them."""
        found: list[int] = np.flatnonzero(np.isin(self.node, nodes)).tolist()
        return found

    def to_own_nodes(self, schedule: Schedule) -> Schedule:
        """Schedule with own nodes."""
        if not self.queues:
            return schedule
        return _map_nodes(schedule, lambda nodes, _: self.node[nodes])

    def to_reserved_nodes(self, schedule: Schedule) -> Schedule:
        """Replace own nodes by reserved nodes of each job's queue, if any."""
        if not self.queues:
            return schedule
        return _map_nodes(schedule, self._reserved_nodes)

    def _reserved_nodes(self, nodes: Integers, queue: NDArray[np.str_]) -> Ints:
        found = nodes.astype(np.int64)
        for name, (first, last) in self.queues.items():
            mine = np.flatnonzero(queue == name)
            place = np.searchsorted(self.node[first:last], nodes[mine])
            known = self.node[first + np.minimum(place, last - first - 1)] == nodes[mine]
            found[mine[known]] = first + place[known]
        return found


def _map_nodes(schedule: Schedule, move: Callable[[Integers, NDArray[np.str_]], Ints]) -> Schedule:

    def moved(placed: Placements, queue: Sequence[str]) -> Placements:
        nodes = move(placed.nodes, np.asarray(queue)[placed.job_of])
        return replace(placed, nodes=nodes.astype(placed.nodes.dtype))

    parts, by_part = schedule.parts, schedule.by_part
    if parts is not None:
        parts = replace(parts, placed=moved(parts.placed, by_part.queue))
    return replace(schedule, placed=moved(schedule.placed, schedule.queue), parts=parts)


def make_layout(platform: Platform) -> NodeLayout:
    """Lay out the machine for schedulers."""
    count = platform.node_count
    own = np.arange(count)
    if not platform.reservations:
        return NodeLayout(platform, own, {})
    groups, windows, nodes = list(platform.groups), list(platform.maintenance), [own]
    queues: dict[str, tuple[int, int]] = {}
    groups_of: dict[str, tuple[int, ...]] = {}
    gaps: dict[str, tuple[tuple[int, int], ...]] = {}
    for reservation in platform.reservations:
        first = last = sum(map(len, nodes))
        groups_of[reservation.queue] = ()
        kept = reservation.reserved_amounts(platform.capacity, platform.kinds).tolist()
        for group, some in _by_group(platform, reservation).items():
            amounts = tuple(kept[some[0]])
            windows += _reserved_windows(platform, reservation, some, amounts)
            groups_of[reservation.queue] += (len(groups),)
            resources = dict(zip(platform.kinds, amounts, strict=True))
            groups.append(NodeGroup(f"{reservation.name}/{platform.groups[group].prefix}", len(some), resources))
            nodes.append(np.array(some))
            last += len(some)
        gaps[reservation.queue] = tuple(_gaps(reservation))
        closed = gaps[reservation.queue] if reservation.stands else [(BEFORE_ALL, reservation.spans[-1][1] + 1)]
        windows += [Maintenance(tuple(range(first, last)), *span) for span in closed]
        windows += _failed_windows(platform, dict(zip(reservation.nodes, range(first, last), strict=True)))
        queues[reservation.queue] = first, last
    others = tuple(range(len(platform.groups)))
    seen = tuple(
        replace(
            queue,
            groups=groups_of.get(queue.name, queue.groups or others),
            stopped=(*queue.stopped, *gaps.get(queue.name, ())),
        )
        for queue in platform.queues
    )
    machine = replace(
        platform,
        groups=tuple(groups),
        maintenance=tuple(windows),
        queues=seen,
        reservations=(),
        kept_groups=len(groups) - len(platform.groups),
    )
    return NodeLayout(machine, np.concatenate(nodes), queues)


def _by_group(platform: Platform, reservation: Reservation) -> dict[int, tuple[int, ...]]:
    found: dict[int, list[int]] = {}
    for node in reservation.nodes:
        found.setdefault(int(platform.group_of_node[node]), []).append(node)
    return {group: tuple(some) for group, some in found.items()}


def _reserved_windows(
    platform: Platform, reservation: Reservation, nodes: tuple[int, ...], amounts: tuple[int, ...]
) -> Iterator[Maintenance]:
    for start, end in reservation.spans if reservation.stands else ():
        alike: dict[tuple[tuple[int, int], ...], list[int]] = {}
        for node in nodes:
            alike.setdefault(tuple(platform.open_spans(node, start, end)), []).append(node)
        for spans, some in alike.items():
            yield from (Maintenance(tuple(some), *span, amounts) for span in spans)


def _failed_windows(platform: Platform, stands_for: dict[int, int]) -> Iterator[Maintenance]:
    for window in platform.maintenance:
        nodes = tuple(sorted(stands_for[node] for node in window.nodes if node in stands_for))
        if nodes and window.less is None:
            yield replace(window, nodes=nodes)


def _gaps(reservation: Reservation) -> list[tuple[int, int]]:
    """Spans without access, once the reservation is made.

    One second after the last end suffices: then waiting jobs are rejected.
    """
    spans = [(BEFORE_ALL, BEFORE_ALL), *reservation.spans]
    return [
        *((end, start) for (_, end), (start, _) in pairwise(spans)),
        (spans[-1][1], spans[-1][1] + 1),
    ]


@dataclass(frozen=True, slots=True)
class LayoutPartition:
    """Part of a laid-out machine without shared jobs, as a machine."""

    machine: Platform
    first_group: int
    first_node: int


def layout_partitions(machine: Platform) -> dict[str, LayoutPartition]:
    """Parts by queue; `""` for jobs without a reservation."""
    own = len(machine.groups) - machine.kept_groups
    found = {
        "": _layout_partition(
            machine, range(own), [queue for queue in machine.queues if (queue.groups or (0,))[0] < own]
        )
    }
    for queue in machine.queues:
        if queue.groups and queue.groups[0] >= own:
            part = _layout_partition(machine, queue.groups, [replace(queue, groups=None)])
            found[queue.name] = replace(part, machine=replace(part.machine, ends=queue.stopped[-1][0]))
    return found


def _layout_partition(machine: Platform, groups: Sequence[int], queues: Sequence[Queue]) -> LayoutPartition:
    some = machine.groups[groups[0] : groups[-1] + 1]
    first = sum(group.count for group in machine.groups[: groups[0]])
    nodes = range(first, first + sum(group.count for group in some))
    windows = [
        replace(window, nodes=tuple(node - first for node in window.nodes))
        for window in machine.maintenance
        if window.nodes[0] in nodes
    ]
    named: dict[str, Any] = {"partitions": {}, "more_sets": ()} if groups[0] else {}
    part = replace(machine, groups=some, maintenance=tuple(windows), queues=tuple(queues), kept_groups=0, **named)
    return LayoutPartition(part, groups[0], first)
