"""Events in one total order: by time, then priority, then the order their makers give them."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

Event = tuple[int, int, int, int]
"""Time, priority, order and payload."""


class EventQueue:
    """A queue of (time, priority, order, payload), all integers, so that a run is repeatable."""

    def __init__(self) -> None:
        """Start empty."""
        self._heap: list[Event] = []

    def fill(self, events: Iterable[Event]) -> None:
        """Add many events at once."""
        self._heap.extend(events)
        heapify(self._heap)

    def put(self, time: int, priority: int, order: int, payload: int) -> None:
        """Add an event; at one time the lower priority comes first, then the lower order."""
        heappush(self._heap, (time, priority, order, payload))

    def next_time(self) -> int | None:
        """Time of the next event; None when empty."""
        return self._heap[0][0] if self._heap else None

    def pop(self) -> Event:
        """Remove and return the next event; the queue must not be empty."""
        return heappop(self._heap)

    def pop_before(self, bound: tuple[int, ...]) -> Event | None:
        """Remove and return the next event, if in the order it comes before `bound`: (time,) or (time, priority)."""
        return heappop(self._heap) if self._heap and self._heap[0] < bound else None
