"""Limit on the sum over all nodes, as a row of what is left over time.

`need`: what a job takes of each column.
"""

from __future__ import annotations

from dardis.kernels.jit import bare, inlined
from dardis.kernels.profile import DONE, FULL, apply
from dardis.kernels.rows import Rows, ensure_space, find, forget_before
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER


@inlined
def is_short(rows: Rows, place: int, need: Ints) -> bool:
    """Whether an entry lacks part of `need`."""
    for c in range(len(need)):
        if need[c] > 0 and rows.value[place, c] < need[c]:
            return True
    return False


@bare
def permits(rows: Rows, need: Ints, now: int, until: int) -> bool:
    """Whether `need` is left from now to `until`."""
    forget_before(rows, 0, now)
    place, stop = rows.head[0], rows.head[0] + rows.size[0]
    while place < stop and (place == rows.head[0] or rows.time[place] < until):
        if is_short(rows, place, need):
            return False
        place += 1
    return True


@bare
def earliest_permitted(rows: Rows, need: Ints, first: int, span: int) -> int:
    """Earliest start from `first` on with `need` left for `span` s (FOREVER: none)."""
    start = first
    place, stop = max(find(rows, 0, first), rows.head[0]), rows.head[0] + rows.size[0]
    while place < stop and rows.time[place] < start + span:
        if is_short(rows, place, need):
            if place + 1 == stop:
                return FOREVER
            start = rows.time[place + 1]
        place += 1
    return start


@bare
def charge(rows: Rows, need: Ints, start: int, end: int, sign: int) -> int:
    """Charge `need` during `[start, end)`, or return it (negative sign); DONE or FULL."""
    if not ensure_space(rows, 0, 2):
        return FULL
    since = max(start, rows.time[rows.head[0]])  # earlier entries are forgotten
    if since < end:
        apply(rows, 0, since, end, need, sign)
    return DONE
