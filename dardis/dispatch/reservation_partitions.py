"""Separate dispatchers for each machine reservation (thesis 4.3.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dardis.dispatch.base import Decider
from dardis.model.addresses import JobId
from dardis.model.events import Change, LayoutChanged, Withdrawn
from dardis.model.job import Job
from dardis.model.node_layout import LayoutPartition, layout_partitions
from dardis.model.platform import Platform
from dardis.wire.effects import Placed, Rejected, Solved


@dataclass(frozen=True, slots=True)
class _PartitionDispatcher:
    partition: LayoutPartition
    decider: Decider


class PartitionedDispatcher:
    """Dispatcher for each part of a machine."""

    def __init__(self, make: Callable[[Platform], Decider], machine: Platform) -> None:
        self._parts = {
            name: _PartitionDispatcher(part, make(part.machine)) for name, part in layout_partitions(machine).items()
        }
        self._homes: dict[JobId, _PartitionDispatcher] = {}
        """Part of each job."""

    def submit(self, job: Job, now: int) -> Rejected | None:
        """See `Decider.submit`."""
        home = self._parts.get(job.queue, self._parts[""])
        rejected = home.decider.submit(_job_in_partition(job, home.partition.first_group), now)
        if rejected is None:
            self._homes[job.number] = home
        return rejected

    def ended(self, number: JobId, now: int) -> None:
        """See `Decider.ended`."""
        self._homes.pop(number).decider.ended(number, now)

    def changed(self, change: Change, now: int) -> None:
        """Handle another change."""
        if isinstance(change, LayoutChanged):
            for name, part in layout_partitions(change.machine).items():
                self._parts[name].decider.changed(LayoutChanged(part.machine), now)
            return
        for home in self._parts.values():
            mine = tuple(job for job in change.jobs if self._homes[job] is home)
            if mine:
                home.decider.changed(Withdrawn(mine), now)
        for job in change.jobs:
            del self._homes[job]

    def decide(self, now: int) -> list[Placed | Rejected | Solved]:
        """Decisions of all parts."""
        return [
            self._to_whole_machine(effect, home) for home in self._parts.values() for effect in home.decider.decide(now)
        ]

    def _to_whole_machine(
        self, effect: Placed | Rejected | Solved, home: _PartitionDispatcher
    ) -> Placed | Rejected | Solved:
        match effect:
            case Placed():
                first = home.partition.first_node
                parts = tuple((nodes + first, units) for nodes, units in effect.parts)
                return replace(effect, nodes=effect.nodes + first, parts=parts)
            case Rejected():
                del self._homes[effect.job]
        return effect

    def wake(self) -> int:
        """See `Decider.wake`."""
        return min(home.decider.wake() for home in self._parts.values())


def _job_in_partition(job: Job, first: int) -> Job:
    if first == 0:
        return job
    requests = tuple(
        replace(request, parts=tuple(replace(part, groups=part.groups >> first) for part in request.parts))
        for request in job.requests
    )
    return replace(job, groups=job.groups >> first, requests=requests)
