"""What exported requests wish of each node over time. Times in Unix s, power in W."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple, TypeVar

T = TypeVar("T")
NO_LIMIT = inf


class Wish(NamedTuple):
    """What a node is to be: limited to so much (`NO_LIMIT`: to nothing), on or off; None: that is not ours to say."""

    limit_w: float | None = None
    on: bool | None = None


class Seen(NamedTuple):
    """What its controller says of a node; None: it did not, or nobody has asked."""

    limit_w: float | None = None
    on: bool | None = None

    def fulfils(self, wish: Wish) -> bool:
        """Whether nothing is left to do."""
        return (wish.limit_w is None or wish.limit_w == self.limit_w) and (wish.on is None or wish.on == self.on)


Steps = Sequence[tuple[int, T]]
"""(from when on, what), ascending."""


@dataclass(frozen=True)
class Wishes:
    """What is wished of nodes during `[begin, end)`; what is wished at `end` holds from then on."""

    begin: int
    end: int
    most_w: Mapping[str, float]
    """What each node of the machine draws at most."""
    limits: Mapping[str, Steps[float]]
    switched: Mapping[str, Steps[bool]]
    caps: Steps[float] = ()
    """The machine's power cap, `NO_LIMIT` for none; empty where another tool does not switch nodes."""

    @cached_property
    def times(self) -> list[int]:
        """When anything changes, ascending."""
        every = (*self.limits.values(), *self.switched.values(), self.caps)
        return sorted({time for steps in every for time, _ in steps} | {self.end})

    @cached_property
    def nodes(self) -> list[str]:
        """Of whom anything is wished at any time, in the machine's order."""
        return [node for node in self.most_w if node in self.limits or node in self.switched]

    def at(self, now: int) -> dict[str, Wish]:
        """What is wished at a moment, of those of whom anything is."""
        wishes = {
            node: Wish(_last(self.limits.get(node, ()), now), _last(self.switched.get(node, ()), now))
            for node in self.nodes
        }
        return {node: wish for node, wish in wishes.items() if wish != Wish()}

    def cap_at(self, now: int) -> float:
        """W that all nodes together may draw at a moment."""
        cap_w = _last(self.caps, now)
        return NO_LIMIT if cap_w is None else cap_w


def _last(steps: Steps[T], now: int) -> T | None:
    place = bisect_right([time for time, _ in steps], now)
    return steps[place - 1][1] if place else None
