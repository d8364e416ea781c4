"""Heap of places by key, then number."""

from __future__ import annotations

from dardis.kernels.jit import inlined
from dardis.model.arrays import Ints


@inlined
def goes_before(keys: Ints, numbers: Ints, a: int, b: int) -> bool:
    """Whether place a precedes place b."""
    return keys[a] < keys[b] or (keys[a] == keys[b] and numbers[a] < numbers[b])


@inlined
def sift_down(heap: Ints, size: int, keys: Ints, numbers: Ints, place: int) -> None:
    """Restore the heap below `place`."""
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and goes_before(keys, numbers, heap[child + 1], heap[child]):
            child += 1
        if not goes_before(keys, numbers, heap[child], heap[place]):
            return
        heap[place], heap[child] = heap[child], heap[place]
        place = child


@inlined
def sift_up(heap: Ints, place: int, keys: Ints, numbers: Ints) -> None:
    """Restore the heap above `place`."""
    while place > 0 and goes_before(keys, numbers, heap[place], heap[(place - 1) >> 1]):
        above = (place - 1) >> 1
        heap[place], heap[above] = heap[above], heap[place]
        place = above
