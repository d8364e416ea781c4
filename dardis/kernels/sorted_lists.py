"""Order of jobs in a queue's lists."""

from __future__ import annotations

import numpy as np

from dardis.kernels.common_starts import NONE
from dardis.kernels.jit import inlined
from dardis.kernels.job_queue import BACK, LEVEL, NUMBER, RULE, SUBMIT, QueueArrays


@inlined
def goes_before(queue: QueueArrays, which: int, a: int, b: int) -> bool:
    """Whether slot a precedes slot b: by priority, key, submission, number."""
    if queue.table[a, LEVEL] != queue.table[b, LEVEL]:
        return queue.table[a, LEVEL] > queue.table[b, LEVEL]
    if queue.keys[a, which] != queue.keys[b, which]:
        return queue.keys[a, which] < queue.keys[b, which]
    if queue.table[a, SUBMIT] != queue.table[b, SUBMIT]:
        return queue.table[a, SUBMIT] < queue.table[b, SUBMIT]
    return queue.table[a, NUMBER] < queue.table[b, NUMBER]


@inlined
def beyond(queue: QueueArrays, last: int, slot: int) -> bool:
    """Whether a job is behind the window."""
    return last != NONE and goes_before(queue, np.int64(RULE), last, slot)


@inlined
def insert(queue: QueueArrays, which: int, slot: int) -> None:
    """Insert a slot into a list."""
    count = queue.size[which]
    low, high = np.int64(0), count
    while low < high:
        middle = (low + high) >> 1
        if goes_before(queue, which, slot, queue.lists[which, middle]):
            high = middle
        else:
            low = middle + 1
    for place in range(count, low, -1):
        queue.lists[which, place] = queue.lists[which, place - 1]
    queue.lists[which, low] = slot
    queue.size[which] = count + 1


@inlined
def enqueue(queue: QueueArrays, slot: int) -> None:
    """Insert a slot into both lists."""
    insert(queue, np.int64(RULE), slot)
    insert(queue, np.int64(BACK), slot)
