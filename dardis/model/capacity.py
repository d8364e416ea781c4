"""What an empty machine could hold of a job, and how to say that it is too little."""

from __future__ import annotations

from collections.abc import Sequence

from dardis.model.job import Job
from dardis.model.resources import amount_in_words
from dardis.model.target import Split


def could_hold(job: Job, counts: Sequence[int], capacity: Sequence[Sequence[int]], *, distinct: bool) -> int:
    """Units of the job that the empty machine would hold; at most one a node if `distinct`.

    `counts` are the nodes of each group, `capacity` what a node of it holds by kind.
    """
    total = 0
    for group, count in enumerate(counts):
        if job.groups >> group & 1:
            fit = min(have // need for have, need in zip(capacity[group], job.request, strict=True) if need > 0)
            total += count * (min(fit, 1) if distinct else fit)
    return total


def too_large(job: Job, kinds: Sequence[str], could: int) -> str:
    """Why a job is rejected that the machine could never hold."""
    parts = zip(job.request, kinds, strict=True)
    unit = ", ".join(amount_in_words(kind, amount) for amount, kind in parts if amount)
    return f"asks for {job.units} units of ({unit}); the machine holds {could}"


def outside_desired(split: Split) -> str:
    """Why a job is rejected that a hard desired profile allows at no time."""
    return f"no start within the hard desired profile, as it is split over nodes (profile_split={split})"
