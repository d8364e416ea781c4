"""Turns of all waiting jobs in one call to a local pool.

Results equal turns by published profiles. Saved messages are counted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dardis.kernels import job_queue as columns
from dardis.kernels import late_order as kernel
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.choices import NodeChoice
from dardis.model.local_queries import BIND_COLUMNS, BindQuery, BindResponse, LocalNodes
from dardis.model.offer_rows import HOST_RESERVES, MANAGER_RESERVES, NONE_RESERVES
from dardis.task_manager.late.order import ProfileView
from dardis.task_manager.rounds import Pick
from dardis.task_manager.search_windows import SearchRules
from dardis.task_manager.setups import LateSetUp

NO_JOB = JobId(-1)


class LocalTurns:
    """Submits waiting jobs to the pool, in order."""

    def __init__(self, setup: LateSetUp, rules: SearchRules, view: ProfileView, pool: LocalNodes) -> None:
        """The pool reserves only without queue hours, binding profile and random nodes."""
        simple = not rules.desired_binds and not rules.hours and setup.node_choice is not NodeChoice.RANDOM
        self._reserves = HOST_RESERVES if simple else MANAGER_RESERVES
        self._view, self._pool = view, pool
        self._places: Ints = np.zeros(0, dtype=np.int64)

    def bind(self, begin: int, count: int, dropped: JobId, now: int, *, whole: bool, reserves: bool) -> BindResponse:
        """Give turns to the first `count` jobs from place `begin` on. `whole`: all, not only new jobs."""
        queue, rules = self._view.waiting.queue, self._view.rules
        if len(self._places) < count:
            self._places = np.zeros(2 * count, dtype=np.int64)
        rows = np.empty((count - begin, BIND_COLUMNS + queue.table.shape[1] - columns.REQUEST), dtype=np.int64)
        slots = queue.lists[columns.RULE, :count]
        tried = kernel.list_tried(queue.table, slots, begin, whole, rows, self._places)
        behind = tried > 0 and int(self._places[tried - 1]) < count - 1
        bind = BindQuery(
            rows[:tried], dropped, self._reserves if reserves else NONE_RESERVES, behind, rules.choice,
            rules.distinct, rules.binding == columns.BOUND_THROUGHOUT, rules.soft,
        )  # fmt: skip
        return self._pool.bind(bind, now)

    def place_of(self, place: int) -> int:
        """Place in the order."""
        return int(self._places[place])


def picks(bound: BindResponse) -> Iterator[tuple[JobId, Pick]]:
    """Iterate over bound jobs and nodes."""
    low = 0
    for place, number, start, _, count in bound.jobs.tolist():
        yield number, Pick(place, start, bound.nodes[low : low + count], bound.units[low : low + count])
        low += count
