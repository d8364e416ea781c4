"""Events in a total order: by time, priority, then order."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

Event = tuple[int, int, int, int]
"""(time, priority, order, payload)."""


class EventQueue:
    """Priority queue of integer tuples, for repeatable runs."""

    def __init__(self) -> None:
        self._heap: list[Event] = []

    def fill(self, events: Iterable[Event]) -> None:
        """Add many events at once."""
        self._heap.extend(events)
        heapify(self._heap)

    def put(self, time: int, priority: int, order: int, payload: int) -> None:
        """Add an event."""
        heappush(self._heap, (time, priority, order, payload))

    def next_time(self) -> int | None:
        """Time of the next event, or None."""
        return self._heap[0][0] if self._heap else None

    def pop(self) -> Event:
        """Remove and return the next event; the queue must not be empty."""
        return heappop(self._heap)

    def pop_before(self, bound: tuple[int, ...]) -> Event | None:
        """Remove and return the next event before `bound`, or None."""
        return heappop(self._heap) if self._heap and self._heap[0] < bound else None
