"""Wished limits and power states, and the next safe requests.

Order: shutdowns, lower limits, higher limits, boots. The latter two wait for room below the total wished power, if
limited.
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


class RequestKind(StrEnum):
    """Kinds of requests."""

    SHUT_DOWN = "GracefulShutdown"
    LIMIT = "limit"
    POWER_ON = "On"


class Action(NamedTuple):
    """Request for a node; `limit_w` only for a limit."""

    node: str
    kind: RequestKind
    limit_w: float | None = None


def most_node_w(node: str, state: NodeState | DesiredNodeState, most_w: Mapping[str, float]) -> float:
    """Most power of a node in a state, in W."""
    if state.on is False:
        return 0.0
    return most_w[node] if state.limit_w is None else min(state.limit_w, most_w[node])


def first_excess(wishes: DesiredStates, now: int) -> tuple[int, float] | None:
    """First time from `now` on above the cap, and the excess in W.

    Nodes without limits count with their most power.
    """
    for time in sorted({now, *(time for time in wishes.times if time > now)}):
        wished, cap_w = wishes.at(time), wishes.cap_at(time)
        drawn = sum(most_node_w(node, wished.get(node, DesiredNodeState()), wishes.most_w) for node in wishes.most_w)
        if drawn > cap_w + _ROUNDING_W:
            return time, drawn - cap_w
    return None


def most_total_w(wishes: Mapping[str, DesiredNodeState], most_w: Mapping[str, float]) -> float:
    """Most power of all nodes, in W; infinite without limits."""
    if all(wish.limit_w in {None, NO_LIMIT} for wish in wishes.values()):
        return inf
    return sum(most_node_w(node, wishes.get(node, DesiredNodeState()), most_w) for node in most_w)


def next_actions(
    wishes: Mapping[str, DesiredNodeState],
    seen: Mapping[str, NodeState],
    most_w: Mapping[str, float],
    may: Callable[[Action], bool],
) -> list[Action]:
    """Next concurrent requests, among those allowed by `may`."""
    off: list[Action] = []
    lower: list[Action] = []
    rise: list[Action] = []
    on: list[Action] = []
    for node, wish in wishes.items():
        is_now = seen.get(node, NodeState())
        limit = Action(node, RequestKind.LIMIT, wish.limit_w)
        if wish.on is False and is_now.on:
            off.append(Action(node, RequestKind.SHUT_DOWN))
        if wish.limit_w is not None and is_now.limit_w is not None and wish.limit_w != is_now.limit_w:
            (lower if wish.limit_w < is_now.limit_w else rise).append(limit)
        elif wish.on and is_now.on is False:  # only when the limit holds
            on.append(Action(node, RequestKind.POWER_ON))
    for stage in (off, lower):
        if left := [action for action in stage if may(action)]:
            return left
    wished = most_total_w(wishes, most_w)
    drawn = sum(most_node_w(node, seen.get(node, NodeState()), most_w) for node in most_w)
    for stage in (rise, on):
        allowed = []
        for action in filter(may, stage):
            was = seen[action.node]
            to_be = (
                NodeState(action.limit_w, was.on)
                if action.kind is RequestKind.LIMIT
                else NodeState(was.limit_w, on=True)
            )
            more = most_node_w(action.node, to_be, most_w) - most_node_w(action.node, was, most_w)
            if more <= 0 or drawn + more <= wished + _ROUNDING_W:
                drawn += more
                allowed.append(action)
        if allowed:
            return allowed
    return []


T = TypeVar("T")
NO_LIMIT = inf


class DesiredNodeState(NamedTuple):
    """Wished limit and power state; None: not ours to set."""

    limit_w: float | None = None
    on: bool | None = None


class NodeState(NamedTuple):
    """Reported limit and power state; None: unknown."""

    limit_w: float | None = None
    on: bool | None = None

    def fulfils(self, wish: DesiredNodeState) -> bool:
        """Whether the node is as wished."""
        return (wish.limit_w is None or wish.limit_w == self.limit_w) and (wish.on is None or wish.on == self.on)


Steps = Sequence[tuple[int, T]]
"""(time, value) pairs, ascending."""


@dataclass(frozen=True)
class DesiredStates:
    """Wishes during `[begin, end)`; wishes at `end` remain."""

    begin: int
    end: int
    most_w: Mapping[str, float]
    """Most power by node, in W."""
    limits: Mapping[str, Steps[float]]
    switched: Mapping[str, Steps[bool]]
    caps: Steps[float] = ()
    """Power cap; empty if another tool switches nodes."""

    @cached_property
    def times(self) -> list[int]:
        """Times of changes, ascending."""
        every = (*self.limits.values(), *self.switched.values(), self.caps)
        return sorted({time for steps in every for time, _ in steps} | {self.end})

    @cached_property
    def nodes(self) -> list[str]:
        """Nodes with wishes, in the machine's order."""
        return [node for node in self.most_w if node in self.limits or node in self.switched]

    def at(self, now: int) -> dict[str, DesiredNodeState]:
        """Wishes at a moment."""
        wishes = {
            node: DesiredNodeState(_last(self.limits.get(node, ()), now), _last(self.switched.get(node, ()), now))
            for node in self.nodes
        }
        return {node: wish for node, wish in wishes.items() if wish != DesiredNodeState()}

    def cap_at(self, now: int) -> float:
        """Power cap at a moment, in W."""
        cap_w = _last(self.caps, now)
        return NO_LIMIT if cap_w is None else cap_w


def _last(steps: Steps[T], now: int) -> T | None:
    place = bisect_right([time for time, _ in steps], now)
    return steps[place - 1][1] if place else None
