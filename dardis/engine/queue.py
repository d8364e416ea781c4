"""Events in one total order: by time, then priority, then the order their makers give them."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush


class EventQueue:
    """A queue of (time, priority, order, payload), all integers, so that a run is repeatable."""

    def __init__(self) -> None:
        """Start empty."""
        self._heap: list[tuple[int, int, int, int]] = []

    def fill(self, events: Iterable[tuple[int, int, int, int]]) -> None:
        """Add many events at once."""
        self._heap.extend(events)
        heapify(self._heap)

    def put(self, time: int, priority: int, order: int, payload: int) -> None:
        """Add an event; at one time the lower priority comes first, then the lower order."""
        heappush(self._heap, (time, priority, order, payload))

    def next_time(self) -> int | None:
        """Time of the next event; None when empty."""
        return self._heap[0][0] if self._heap else None

    def next_priority(self) -> int:
        """Priority of the next event; the queue must not be empty."""
        return self._heap[0][1]

    def pop(self) -> tuple[int, int, int, int]:
        """Remove and return the next event."""
        return heappop(self._heap)
