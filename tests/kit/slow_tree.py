"""Oracle of what a tree of hosts says: every host's rows put together in plain lists, on the way up, and counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from dardis.model.addresses import split_hosts
from dardis.model.offer_rows import CONTIGUOUS

Row = TypeVar("Row")
Step = tuple[int, int, int]
"""Instant, change of units, change of the sum of indices."""
Candidate = tuple[tuple[int, ...], int, int]
"""Rank, node, units."""


def up_the_tree(
    own: Sequence[list[Row]], arity: int, join: Callable[[list[Row]], list[Row]]
) -> tuple[list[Row], int, int]:
    """What the first host says, how many rows the others have said, and how many at most one said to the first."""
    sent = longest = 0

    def ask(first: int, last: int) -> list[Row]:
        nonlocal sent, longest
        rows = list(own[first])
        for low, high in split_hosts(first + 1, last, arity):
            below = ask(low, high)
            rows += below
            sent += len(below)
            longest = max(longest, len(below)) if first == 0 else longest
        return join(rows)

    return ask(0, len(own)), sent, longest


def joined_steps(steps: Sequence[Step], units: int, *, cut: bool) -> list[Step]:
    """One step an instant at which something changes; with `cut` no more after the first that holds `units`."""
    found: list[Step] = []
    held = 0
    for instant in sorted({step[0] for step in steps}):
        more = sum(step[1] for step in steps if step[0] == instant)
        index = sum(step[2] for step in steps if step[0] == instant)
        held += more
        if more or index:
            found.append((instant, more, index))
        if cut and held >= units:
            break
    return found


def best_candidates(candidates: Sequence[Candidate], units: int, choice: int) -> list[Candidate]:
    """Those that are taken before `units` are held, by rank; of a contiguous choice all, by node."""
    if choice == CONTIGUOUS:
        return sorted(candidates, key=lambda candidate: candidate[1])
    found: list[Candidate] = []
    for candidate in sorted(candidates):
        if sum(one[2] for one in found) < units:
            found.append(candidate)
    return found
