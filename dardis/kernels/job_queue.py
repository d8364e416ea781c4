"""The jobs of a queue as arrays: what a pass over it, or a task manager's turn, reads and writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.offers import Scratch
from dardis.model.arrays import Floats, Ints
from dardis.model.offer_rows import OFFER_COLUMNS

(
    NUMBER, SUBMIT, SPAN, UNITS, GROUPS, LATEST, LEVEL, HOURS, IGNORES, FRESH, START, HOLD, HELD, GONE, PART, OTHER,
    NODES, ADJACENT, REQUEST,
) = range(19)  # fmt: skip
"""Columns of the table: of the job (`SPAN`: for how long its nodes are reserved; `LEVEL`: of its priority; `HOURS`:
which hours are its queue's), then whether the desired profile does not bind it, whether no pass has seen it, its
reserved start, where its nodes are written and how many they are, whether it has started; from `REQUEST` on, what a
unit asks for.

A job that asks for more than units on any nodes has no nodes in its own row, but in those of the parts of one of its
requests (`kernels.shapes`). `PART` and `OTHER` lead to them, each one more than a slot (0: none): of the job itself, to
the first part of what is taken, and to that of the first request; of a part, to the next one, and of a first part to
that of the next request. `NODES`: on how many nodes a part is (0: any number); `ADJACENT`: whether they are neighbours.
"""
RULE, BACK, ARRIVED, ENDED, OUTRUN = range(5)
"""The lists of slots: who waits in the order of the rule, and in that of the backfilled part; then who has arrived, who
has ended and who runs longer than expected, of which no pass knows yet."""
UNBOUND, BOUND_AT_START, BOUND_THROUGHOUT = 0, 1, 2
"""Whether the desired profile binds a run: not, at its start, all the time."""
PHASE, PLACE, BLOCKED, RESERVED, STARTED, WHOLE, FREED, LOOKED_AT, FOLLOWING, LAPSES, LAST = range(11)
"""Entries of a pass's state. `WHOLE`: all are to be tried, not only fresh ones; `FREED`: reservations may improve;
`FOLLOWING`, `LAPSES`: when the next reservation begins, and when a profile binds somebody no more; `LAST`: who is the
last in the window."""
REMEMBERED = 16
"""Failures that a pass remembers, so as not to try who asks for no less."""


class Rules(NamedTuple):
    """What of a set-up a pass depends on.

    `depth`: reservations held for jobs that can't start, 0: all. `window`: jobs that backfilling looks at, 0: all.
    """

    strict: bool
    backfill: bool
    depth: int
    binding: int
    soft: bool
    distinct: bool
    choice: int
    seed: int
    window: int = 0


class Queue(NamedTuple):
    """The jobs that wait or run: table, keys (slots, 2), lists (5, slots), how much of each counts, and nodes held.

    Then when jobs may start: `edges`, at which hours are closed and opened in turn, ascending for each, and where those
    of each begin in it, `edges_at`, shape (hours + 1,). Hours 0 are always open.
    """

    table: Ints
    keys: Floats
    lists: Ints
    size: Ints
    hold_node: Ints
    hold_units: Ints
    edges: Ints
    edges_at: Ints


class Room(NamedTuple):
    """Arrays that a pass works in; what they hold between passes means nothing, but for `state`."""

    state: Ints
    started: Ints
    failed: Ints
    free: Ints
    ask: Ints
    out: Ints
    offset: Ints
    result: Ints
    scratch: Scratch


def make_room(kinds: int, scratch: Scratch, rows: int, slots: int) -> Room:
    """Return room for `rows` offers and `slots` jobs that start in one pass."""
    return Room(
        np.zeros(11, dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
        np.zeros(REMEMBERED, dtype=np.int64),
        np.zeros(kinds, dtype=np.int64),
        np.array([0, 0, -1, 0, 0], dtype=np.int64),
        np.empty((rows, OFFER_COLUMNS), dtype=np.int64),
        np.empty(2, dtype=np.int64),
        np.empty(3, dtype=np.int64),
        scratch,
    )


def make_queue(slots: int, kinds: int) -> Queue:
    """Return an empty queue with room for `slots` jobs on as many nodes."""
    return Queue(
        np.zeros((slots, REQUEST + kinds), dtype=np.int64),
        np.zeros((slots, 2), dtype=np.float64),
        np.zeros((5, slots), dtype=np.int64),
        np.zeros(5, dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
        np.zeros(0, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )


def wider_queue(queue: Queue, slots: int) -> Queue:
    """Return the queue with room for `slots` jobs."""
    wider = make_queue(slots, queue.table.shape[1] - REQUEST)
    count = len(queue.table)
    wider.table[:count] = queue.table
    wider.keys[:count] = queue.keys
    wider.lists[:, :count] = queue.lists
    wider.size[:] = queue.size
    return queue._replace(table=wider.table, keys=wider.keys, lists=wider.lists, size=wider.size)
