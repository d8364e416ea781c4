"""What an empty machine could hold of a job, and how to say that it is too little."""

from __future__ import annotations

from collections.abc import Sequence

from dardis.model.job import Job
from dardis.model.resources import amount_in_words
from dardis.model.shapes import Part, Request
from dardis.model.target import Split


def could_hold(job: Job | Part, counts: Sequence[int], capacity: Sequence[Sequence[int]], *, distinct: bool) -> int:
    """Units of a job without `requests`, or of a part, that the empty machine would hold; if `distinct`, one a node.

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


def hardest_first(request: Request, counts: Sequence[int], capacity: Sequence[Sequence[int]]) -> list[int]:
    """The places of the parts of a request, those first whose units fit on the fewest nodes, then the largest."""

    def ease(place: int) -> tuple[int, float]:
        part, nodes, largest = request.parts[place], 0, 0.0
        for group, count in enumerate(counts):
            needs = [(need, have) for need, have in zip(part.request, capacity[group], strict=True) if need > 0]
            if part.groups >> group & 1 and all(need <= have for need, have in needs):
                nodes += count
                largest = max(largest, *(need / have for need, have in needs))
        return nodes, -largest

    return sorted(range(len(request.parts)), key=ease)


def no_place(job: Job, kinds: Sequence[str]) -> str:
    """Why a job is rejected of whose requests the empty machine holds none."""
    return (
        f"asks for {' or '.join(_words(request, kinds) for request in job.requests)}; the empty machine holds no such"
    )


def _words(request: Request, kinds: Sequence[str]) -> str:
    parts = []
    for part in request.parts:
        amounts = zip(part.request, kinds, strict=True)
        unit = ", ".join(amount_in_words(kind, amount) for amount, kind in amounts if amount)
        parts.append(f"{part.units} units of ({unit})" + (f" on {part.nodes} nodes" if part.nodes else ""))
    return " and ".join(parts) + (" side by side" if request.contiguous else "")
