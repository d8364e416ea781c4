"""What a trace states of a job that asks for more than equal units on any nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dardis.model.resources import CORES


@dataclass(frozen=True)
class StatedPart:
    """A part as a table states it: what one of its units asks for by kind, on how many nodes (0: any number)."""

    units: int
    request: Mapping[str, int]
    partition: str
    nodes: int


@dataclass(frozen=True)
class StatedRequest:
    """One of the requests that a job names, in s."""

    parts: tuple[StatedPart, ...]
    walltime: int
    runtime: int
    contiguous: bool

    @property
    def units(self) -> int:
        """Of all parts."""
        return sum(part.units for part in self.parts)

    @property
    def cores(self) -> int:
        """Of all parts."""
        return sum(part.units * part.request.get(CORES, 0) for part in self.parts)


def told_of(number: int) -> str:
    """What a trace is said to have by whoever can't do with it; that job is the first."""
    return f"has jobs with parts, nodes, contiguous or alternatives (job {number} is the first)"
