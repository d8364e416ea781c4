"""Reservations: what is kept on some nodes, for some time, for the jobs of one queue (thesis 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import MinLen

from dardis.model.arrays import Ints
from dardis.model.job import NO_TIME, Job
from dardis.model.limits import Count, Text, Time


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room for the jobs of a queue, who have no other; a standing one has several spans. On the trace's clock."""

    name: Text
    queue: Text
    nodes: Annotated[tuple[Count, ...], MinLen(1)]
    """Ascending."""
    spans: Annotated[tuple[tuple[Time, Time], ...], MinLen(1)]
    """When, `[start, end)` each, ascending and apart."""
    resources: dict[str, Count] | None = None
    """What is kept on each node, by kind; None: all that it has."""
    users: tuple[str, ...] | None = None
    """Who may use it; None: everybody."""
    stands: bool = True
    """Whether it has been made."""

    def last_start(self, walltime: int) -> int:
        """The last start of a job that ends in time by its walltime (NO_TIME: it is longer than each span)."""
        return max((end - walltime for start, end in self.spans if end - start >= walltime), default=NO_TIME)

    def refusal(self, job: Job) -> str:
        """Why it takes no such job; empty if it does."""
        if not self.stands:
            return f"reservation {self.name} does not stand"
        if self.users is not None and job.user not in self.users:
            return f"user {job.user or '(none)'} may not use reservation {self.name}"
        if self.last_start(job.least_walltime) < job.earliest:
            return f"asks for {job.least_walltime} s, and reservation {self.name} is not free for so long any more"
        return ""

    def kept(self, capacity: Ints, kinds: tuple[str, ...]) -> Ints:
        """What it keeps of each node, shape (nodes, kinds), of what the nodes have of these kinds."""
        found = np.zeros_like(capacity)
        nodes = list(self.nodes)
        if self.resources is None:
            found[nodes] = capacity[nodes]
        else:
            found[nodes] = [self.resources.get(kind, 0) for kind in kinds]
        return found
