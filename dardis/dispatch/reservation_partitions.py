"""Decides on the jobs of each reservation by themselves (thesis 4.3.2): they and all others are in nobody's way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dardis.dispatch.base import Decider
from dardis.model.addresses import JobId
from dardis.model.events import Change, LaidOutAnew, Withdrawn
from dardis.model.job import Job
from dardis.model.node_layout import Part, parts
from dardis.model.platform import Platform
from dardis.wire.effects import Placed, Rejected, Solved


@dataclass(frozen=True, slots=True)
class _Apart:
    """Who decides on the jobs of one part."""

    part: Part
    decider: Decider


class Apart:
    """A central dispatcher for each part of a machine."""

    def __init__(self, make: Callable[[Platform], Decider], machine: Platform) -> None:
        """`make` makes the dispatcher of a part of this laid out machine."""
        self._parts = {name: _Apart(part, make(part.machine)) for name, part in parts(machine).items()}
        self._homes: dict[JobId, _Apart] = {}
        """Whose the jobs in the system are."""

    def submit(self, job: Job, now: int) -> Rejected | None:
        """As the protocol has it."""
        home = self._parts.get(job.queue, self._parts[""])
        rejected = home.decider.submit(_within(job, home.part.first_group), now)
        if rejected is None:
            self._homes[job.number] = home
        return rejected

    def ended(self, number: JobId, now: int) -> None:
        """As the protocol has it."""
        self._homes.pop(number).decider.ended(number, now)

    def changed(self, change: Change, now: int) -> None:
        """As the protocol has it."""
        if isinstance(change, LaidOutAnew):
            for name, part in parts(change.machine).items():
                self._parts[name].decider.changed(LaidOutAnew(part.machine), now)
            return
        for home in self._parts.values():
            mine = tuple(job for job in change.jobs if self._homes[job] is home)
            if mine:
                home.decider.changed(Withdrawn(mine), now)
        for job in change.jobs:
            del self._homes[job]

    def decide(self, now: int) -> list[Placed | Rejected | Solved]:
        """As the protocol has it."""
        return [self._of_whole(effect, home) for home in self._parts.values() for effect in home.decider.decide(now)]

    def _of_whole(self, effect: Placed | Rejected | Solved, home: _Apart) -> Placed | Rejected | Solved:
        """What the dispatcher of a part says, with the nodes of the whole machine."""
        match effect:
            case Placed():
                first = home.part.first_node
                parts = tuple((nodes + first, units) for nodes, units in effect.parts)
                return replace(effect, nodes=effect.nodes + first, parts=parts)
            case Rejected():
                del self._homes[effect.job]
        return effect

    def wake(self) -> int:
        """As the protocol has it."""
        return min(home.decider.wake() for home in self._parts.values())


def _within(job: Job, first: int) -> Job:
    """The job with the groups of a part of the machine, of which the first is that of the whole."""
    if first == 0:
        return job
    requests = tuple(
        replace(request, parts=tuple(replace(part, groups=part.groups >> first) for part in request.parts))
        for request in job.requests
    )
    return replace(job, groups=job.groups >> first, requests=requests)
