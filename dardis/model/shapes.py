"""What a job may ask for beyond equal units on any nodes: parts that start together, on so many nodes, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Part:
    """Equal units of a job: how many, what one needs by kind, and the bit set of node groups that may run it.

    `nodes`: they are on exactly so many different nodes, at least one on each (0: on any number).
    """

    units: int
    request: tuple[int, ...]
    groups: int
    nodes: int = 0

    def __post_init__(self) -> None:
        """Refuse what no scheduler could make sense of."""
        if self.units < 1 or not 0 <= self.nodes <= self.units:
            raise ValueError("a part has at least one unit, and one on each of its nodes")
        if min(self.request) < 0 or max(self.request) == 0:
            raise ValueError("a unit must ask for something")


@dataclass(frozen=True)
class Request:
    """Parts that start together and hold their nodes for the same time (thesis eq. 4.7), at most `walltime` s.

    Parts may share nodes. `contiguous`: the nodes of each part are neighbours by their numbers, none left out.
    """

    parts: tuple[Part, ...]
    walltime: int
    contiguous: bool = False

    def __post_init__(self) -> None:
        """Refuse what no scheduler could make sense of."""
        if not self.parts or self.walltime < 1:
            raise ValueError("a request has at least one part, and walltime")

    @cached_property
    def units(self) -> int:
        """Of all parts."""
        return sum(part.units for part in self.parts)

    @cached_property
    def amounts(self) -> tuple[int, ...]:
        """What all parts ask for together, by kind."""
        return tuple(
            sum(part.units * part.request[kind] for part in self.parts) for kind in range(len(self.parts[0].request))
        )
