"""Capacity of the empty machine, and rejection reasons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dardis.model.job import Job, Part, Request
from dardis.model.node_sets import NodeSets, units_in
from dardis.model.resources import amount_in_words
from dardis.model.target import Split


def could_hold(job: Job | Part, sets: NodeSets, *, distinct: bool) -> int:
    """Number of units on the empty machine, at most one per node if `distinct`.

    `job` has no `requests`.
    """
    return sets.most_units(job.groups, job.request, distinct=distinct)


def too_large(job: Job, kinds: Sequence[str], could: int) -> str:
    """Rejection reason of a too large job."""
    parts = zip(job.request, kinds, strict=True)
    unit = ", ".join(amount_in_words(kind, amount) for amount, kind in parts if amount)
    return f"requests {job.units} units of ({unit}); the machine fits {could}"


def outside_profile_reason(split: Split) -> str:
    """Rejection reason without a start within a hard desired profile."""
    of_nodes = "" if split is Split.SHARED else " and its shares of nodes"
    return f"no start within the hard desired profile{of_nodes} (profile_split={split})"


def hardest_first(request: Request, sets: NodeSets) -> list[int]:
    """Order parts: units that fit on the fewest nodes first, then larger units."""

    def ease(place: int) -> tuple[int, float]:
        part = request.parts[place]
        groups, need = sets.groups(part.groups), np.array(part.request, dtype=np.int64)
        groups = groups[units_in(sets.capacity[groups], part.request) > 0]
        capacity = sets.capacity[groups][:, need > 0]
        return int(sets.counts[groups].sum()), -float((need[need > 0] / capacity).max(initial=0.0))

    return sorted(range(len(request.parts)), key=ease)


def no_fit_reason(job: Job, kinds: Sequence[str]) -> str:
    """Rejection reason if no request fits."""
    requests = " or ".join(_request_text(request, kinds) for request in job.requests)
    return f"requests {requests}, which do not fit the empty machine"


def _request_text(request: Request, kinds: Sequence[str]) -> str:
    parts = []
    for part in request.parts:
        amounts = zip(part.request, kinds, strict=True)
        unit = ", ".join(amount_in_words(kind, amount) for amount, kind in amounts if amount)
        parts.append(f"{part.units} units of ({unit})" + (f" on {part.nodes} nodes" if part.nodes else ""))
    return " and ".join(parts) + (" on adjacent nodes" if request.contiguous else "")
