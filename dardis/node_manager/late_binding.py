"""Turns of late-binding jobs, if one pool has all nodes and one task manager all jobs.

Results equal those from published profiles.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dardis.kernels import job_queue, late_order
from dardis.kernels.placer import Placer
from dardis.kernels.profile import DONE
from dardis.kernels.rows import Rows
from dardis.model.arrays import Bools, Ints
from dardis.model.errors import ProtocolError
from dardis.model.local_queries import BindQuery

FIRST_JOBS = 256


class GrowablePool(Protocol):
    """Nodes and reservations in growing arrays."""

    profiles: Rows
    member: Ints
    books: Rows

    def grow(self) -> None:
        """Enlarge the profiles."""

    def grow_books(self) -> None:
        """Enlarge the reservation lists."""


class PoolLateBinder:
    """Starts a request's jobs, and keeps the results."""

    def __init__(self, pool: GrowablePool, kinds: int) -> None:
        self._pool = pool
        self._queue = job_queue.make_queue(FIRST_JOBS, kinds)
        self._how: tuple[bool, bool, bool, int, int] | None = None
        self._placer = Placer(
            pool, job_queue.Rules(False, False, 1, job_queue.UNBOUND, False, False, 0, 0), kinds, FIRST_JOBS
        )
        self._at: Ints = np.zeros(9, dtype=np.int64)
        self._got: Ints = np.zeros((FIRST_JOBS, 5), dtype=np.int64)

    def take(self, question: BindQuery, changed: Bools, since: int, seed: int, now: int) -> int:
        """Give jobs turns up to the first that the asker reserves for; return its place, or -1.

        `changed`: nodes changed since the publication at `since`.
        """
        jobs, pool, placer = question.jobs, self._pool, self._placer
        if len(jobs) > len(self._queue.table):
            self._queue = job_queue.wider_queue(self._queue, 2 * len(jobs))
            self._got = np.zeros((2 * len(jobs), 5), dtype=np.int64)
            placer.ensure_slots(2 * len(jobs))
        how = question.binds, question.soft, question.distinct, question.choice, seed
        if how != self._how:
            self._how = how
            binding = job_queue.BOUND_THROUGHOUT if question.binds else job_queue.UNBOUND
            placer.rules = job_queue.Rules(
                False, False, 1, binding, question.soft, question.distinct, question.choice, seed
            )
        at = self._at
        at[:] = 0
        at[late_order.HEAD] = -1
        while True:
            wanted = late_order.BindTask(
                pool.books, changed, at, self._got, since, jobs, question.reserves, question.has_more_waiting
            )
            outcome = placer.run(late_order.bind, self._queue, wanted, now)
            if outcome == late_order.BOOKS_FULL:
                pool.grow_books()
            elif outcome == late_order.NODES_FULL:
                self._make_room_for_nodes()
            elif outcome == late_order.BLOCKED:
                return int(at[late_order.AT])
            elif outcome == DONE:
                return -1
            else:
                raise ProtocolError(
                    f"job {jobs[at[late_order.AT], 0]}: the empty machine could hold it, yet it found no start"
                )

    def _make_room_for_nodes(self) -> None:
        old = self._queue
        node, units = (np.resize(one, 2 * len(one) + len(self._pool.member)) for one in (old.hold_node, old.hold_units))
        self._queue = old._replace(hold_node=node, hold_units=units)

    def outcome(self) -> tuple[Ints, Ints, Ints, int, int, int]:
        """Results as in `Bound`, in local numbers, and most breakpoints of a changed node."""
        _, used, booked, told, _, rounds, longest, *_ = self._at.tolist()
        node, units = self._queue.hold_node[:used].copy(), self._queue.hold_units[:used].copy()
        return self._got[:booked].copy(), node, units, rounds, told, longest
