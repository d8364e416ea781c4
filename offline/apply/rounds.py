"""What to ask of controllers next, so that what all nodes may draw together never rises above what is wished.

Nodes go off first, then limits fall, then limits rise, then nodes come on. While power is limited, a limit rises, or a
node comes on, only as far as there is room below the sum of what is wished: where one would not fall, others wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from math import inf
from typing import NamedTuple

from offline.apply.wishes import NO_LIMIT, Seen, Wish, Wishes

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
