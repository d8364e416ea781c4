"""Published profiles: steps that only fall."""

from __future__ import annotations

import numpy as np

from dardis.kernels.jit import bare
from dardis.kernels.profile import DONE, FULL
from dardis.kernels.rows import Rows, ensure_space, forget_before
from dardis.model.arrays import Bools, Ints


@bare
def mark_changed(rows: Rows, since: int, now: int, changed: Bools) -> None:
    """Mark nodes with a change in `(since, now]`."""
    for node in range(len(rows.size)):
        forget_before(rows, node, now)
        changed[node] |= rows.time[rows.head[node]] > since


@bare
def count_changed(rows: Rows, since: int, now: int, changed: Bools) -> int:
    """Count nodes changed since `since`, and reset the marks."""
    mark_changed(rows, since, now, changed)
    count = np.int64(0)
    for node in range(len(changed)):
        count += changed[node]
        changed[node] = False
    return count


@bare
def publish(rows: Rows, nodes: Ints, now: int, offset: Ints, time: Ints, value: Ints) -> int:
    """Write until when each node's capacity stays available; return the steps, or minus the space needed."""
    needed = np.int64(0)
    for i in range(len(nodes)):
        needed += rows.size[nodes[i]]
    if needed > len(time):
        return -needed
    count = np.int64(0)
    offset[0] = 0
    for i in range(len(nodes)):
        node = nodes[i]
        forget_before(rows, node, now)
        head = rows.head[node]
        before = count
        for place in range(head, head + rows.size[node]):
            falls = count == before
            for c in range(value.shape[1]):
                falls = falls or rows.value[place, c] < value[count - 1, c]
            if falls:
                time[count] = rows.time[place]
                for c in range(value.shape[1]):
                    least = np.int64(rows.value[place, c])
                    value[count, c] = least if count == before else min(least, value[count - 1, c])
                count += 1
        offset[i + 1] = count
    return count


@bare
def accept(rows: Rows, nodes: Ints, offset: Ints, time: Ints, value: Ints) -> int:
    """Replace rows with published steps."""
    for i in range(len(nodes)):
        node = nodes[i]
        steps = offset[i + 1] - offset[i]
        rows.size[node] = 0
        rows.head[node] = rows.base[node]
        # Two more slots, for a start in place.
        if not ensure_space(rows, node, steps + 2):
            return FULL
        head = rows.head[node]
        for step in range(steps):
            rows.time[head + step] = time[offset[i] + step]
            for c in range(value.shape[1]):
                rows.value[head + step, c] = value[offset[i] + step, c]
        rows.size[node] = steps
    return DONE
