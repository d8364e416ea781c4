"""Spans of time, `[start, end)` each."""

from __future__ import annotations

from collections.abc import Iterable


def united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same instants in spans that neither touch nor overlap, ascending."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found
