"""Arrays of a job queue."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.common_starts import LEAST_WORK, WORK_ROWS
from dardis.kernels.offers import Scratch
from dardis.model.arrays import Floats, Ints
from dardis.model.offer_rows import OFFER_COLUMNS

(
    NUMBER, SUBMIT, SPAN, UNITS, GROUPS, LATEST, LEVEL, HOURS, IGNORES, FRESH, START, HOLD, HELD, GONE, PART, OTHER,
    NODES, ADJACENT, REQUEST,
) = range(19)  # fmt: skip
"""Table's columns.

`SPAN`: reserved time. `HOURS`: the queue's hours. `IGNORES`: no desired profile. `FRESH`: untried. `START`: reserved
start. `HOLD`, `HELD`: place and number of nodes. `GONE`: started. `REQUEST` on: a unit's request.

A job with a shape has its nodes in rows of parts. Links are slots plus 1 (0: none). In the job's row, `PART`: first
part taken, `OTHER` the first request. In a part, `PART`: next part; in a first part, `OTHER`: next request. `NODES`:
nodes of a part (0: any).
"""
RULE, BACK, ARRIVED, ENDED, OUTRUN = range(5)
"""Lists of slots: waiting jobs by rule, by backfilling order; new arrived, ended and overdue jobs."""
UNBOUND, BOUND_AT_START, BOUND_THROUGHOUT = 0, 1, 2
"""How the desired profile binds a run: never, at its start, throughout."""
PHASE, PLACE, BLOCKED, RESERVED, STARTED, WHOLE, FREED, LOOKED_AT, FOLLOWING, LAPSES, LAST = range(11)
"""Pass's state. `WHOLE`: try all jobs. `FREED`: reservations may improve. `FOLLOWING`: next reserved start. `LAPSES`:
next deadline. `LAST`: last job of the window.
"""
REMEMBERED = 16


class Rules(NamedTuple):
    """Pass's rules.

    `depth`: most reservations; `window`: jobs examined by backfilling; 0: all.
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


class QueueArrays(NamedTuple):
    """Waiting and running jobs: table, keys (slots, 2), lists (5, slots), their sizes, nodes held.

    `edges`: closings and openings in turn, of hours h from `edges_at[h]` on. Hours 0 are always open.
    """

    table: Ints
    keys: Floats
    lists: Ints
    size: Ints
    hold_node: Ints
    hold_units: Ints
    edges: Ints
    edges_at: Ints


class JobKeys(NamedTuple):
    """Keys of jobs in the orders of queue and backfilling, (jobs, 2), or (jobs, 1) if the orders are equal.

    `mode`: how they age (2,), by a and b (jobs, 2); both may be empty if no key ages so.
    """

    key: Floats
    mode: Ints
    a: Floats
    b: Floats


class PassBuffers(NamedTuple):
    """Work space of a pass; only `state` lasts."""

    state: Ints
    started: Ints
    failed: Ints
    free: Ints
    ask: Ints
    out: Ints
    offset: Ints
    result: Ints
    work: Ints
    scratch: Scratch


def make_work(rows: int) -> Ints:
    """Work space for choosing nodes among `rows` offers."""
    return np.empty((WORK_ROWS, max(rows, LEAST_WORK)), dtype=np.int64)


def make_pass_buffers(kinds: int, scratch: Scratch, rows: int, slots: int) -> PassBuffers:
    """Space for `rows` offers and `slots` starts."""
    return PassBuffers(
        np.zeros(11, dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
        np.zeros(REMEMBERED, dtype=np.int64),
        np.zeros(kinds, dtype=np.int64),
        np.array([0, 0, -1, 0, 0], dtype=np.int64),
        np.empty((rows, OFFER_COLUMNS), dtype=np.int64),
        np.empty(2, dtype=np.int64),
        np.empty(3, dtype=np.int64),
        make_work(rows),
        scratch,
    )


def make_queue(slots: int, kinds: int) -> QueueArrays:
    """Empty queue for `slots` jobs on as many nodes."""
    return QueueArrays(
        np.zeros((slots, REQUEST + kinds), dtype=np.int64),
        np.zeros((slots, 2), dtype=np.float64),
        np.zeros((5, slots), dtype=np.int64),
        np.zeros(5, dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
        np.zeros(0, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )


def wider_queue(queue: QueueArrays, slots: int) -> QueueArrays:
    """Queue enlarged to `slots` jobs."""
    wider = make_queue(slots, queue.table.shape[1] - REQUEST)
    count = len(queue.table)
    wider.table[:count] = queue.table
    wider.keys[:count] = queue.keys
    wider.lists[:, :count] = queue.lists
    wider.size[:] = queue.size
    return queue._replace(table=wider.table, keys=wider.keys, lists=wider.lists, size=wider.size)
