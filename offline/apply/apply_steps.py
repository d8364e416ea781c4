"""Wished power and state of each node over time, and what to ask of controllers next to stay below the sum.

Nodes go off first, then limits fall, then limits rise, then nodes come on. While power is limited, a limit rises, or a
node comes on, only as far as there is room below the sum of what is wished: where one would not fall, others wait.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import inf
from typing import NamedTuple, TypeVar

_ROUNDING_W = 1e-6


class Deed(StrEnum):
    """What can be asked of a controller."""

    SHUT_DOWN = "GracefulShutdown"
    LIMIT = "limit"
    POWER_ON = "On"


class Action(NamedTuple):
    """A deed on a node; `limit_w` of a limit."""

    node: str
    deed: Deed
    limit_w: float | None = None


def may_draw(node: str, state: Seen | Wish, most_w: Mapping[str, float]) -> float:
    """W that a node draws at most; of whom nothing is known that is what it can."""
    if state.on is False:
        return 0.0
    return most_w[node] if state.limit_w is None else min(state.limit_w, most_w[node])


def first_excess(wishes: Wishes, now: int) -> tuple[int, float] | None:
    """The first time from `now` on at which the nodes can draw more than the cap, and by how many W.

    A node without a limit draws what it can. None: the cap is kept.
    """
    for time in sorted({now, *(time for time in wishes.times if time > now)}):
        wished, cap_w = wishes.at(time), wishes.cap_at(time)
        drawn = sum(may_draw(node, wished.get(node, Wish()), wishes.most_w) for node in wishes.most_w)
        if drawn > cap_w + _ROUNDING_W:
            return time, drawn - cap_w
    return None


def most_drawn(wishes: Mapping[str, Wish], most_w: Mapping[str, float]) -> float:
    """W that all nodes may draw together as is wished; without end while no node is to be limited."""
    if all(wish.limit_w in {None, NO_LIMIT} for wish in wishes.values()):
        return inf
    return sum(may_draw(node, wishes.get(node, Wish()), most_w) for node in most_w)


def next_actions(
    wishes: Mapping[str, Wish],
    seen: Mapping[str, Seen],
    most_w: Mapping[str, float],
    may: Callable[[Action], bool],
) -> list[Action]:
    """What is to be asked now, at once, of nodes whose state is known, of all that `may` be asked."""
    off: list[Action] = []
    lower: list[Action] = []
    rise: list[Action] = []
    on: list[Action] = []
    for node, wish in wishes.items():
        is_now = seen.get(node, Seen())
        limit = Action(node, Deed.LIMIT, wish.limit_w)
        if wish.on is False and is_now.on:
            off.append(Action(node, Deed.SHUT_DOWN))
        if wish.limit_w is not None and is_now.limit_w is not None and wish.limit_w != is_now.limit_w:
            (lower if wish.limit_w < is_now.limit_w else rise).append(limit)
        elif wish.on and is_now.on is False:  # once its limit holds
            on.append(Action(node, Deed.POWER_ON))
    for stage in (off, lower):
        if left := [action for action in stage if may(action)]:
            return left
    wished = most_drawn(wishes, most_w)
    drawn = sum(may_draw(node, seen.get(node, Seen()), most_w) for node in most_w)
    for stage in (rise, on):
        allowed = []
        for action in filter(may, stage):
            was = seen[action.node]
            to_be = Seen(action.limit_w, was.on) if action.deed is Deed.LIMIT else Seen(was.limit_w, on=True)
            more = may_draw(action.node, to_be, most_w) - may_draw(action.node, was, most_w)
            if more <= 0 or drawn + more <= wished + _ROUNDING_W:
                drawn += more
                allowed.append(action)
        if allowed:
            return allowed
    return []


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
