"""Feasible requests of jobs, with the order of parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, permutations
from typing import Final

from dardis.kernels.job_queue import UNBOUND, Rules
from dardis.kernels.job_table import JobTable
from dardis.kernels.placer import Placer
from dardis.kernels.profile import DONE, NodeProfiles
from dardis.kernels.shape_kernels import can_hold_now
from dardis.model.capacity import hardest_first
from dardis.model.job import Job, Request
from dardis.model.offer_rows import FIRST_FIT
from dardis.model.platform import Maintenance, Platform
from dardis.model.resources import UNKNOWN_END

MOST_ORDERS: Final = 24
"""Maximum orders to try: all for up to four parts."""


class ShapeChecker:
    """Empty machine, built on first use."""

    def __init__(self, platform: Platform, *, distinct: bool, failed: Sequence[int] = ()) -> None:
        """`distinct`: units are on different nodes. `failed` nodes are unusable."""
        closed = (Maintenance(tuple(failed), 0, UNKNOWN_END),) if failed else ()
        self._platform = replace(platform, maintenance=closed)
        self._rules = Rules(False, False, 0, UNBOUND, False, distinct, FIRST_FIT, 0)
        self._probe = JobTable(platform.sets)
        self._empty: Placer | None = None
        self._orders: dict[Request, list[int] | None] = {}
        """Order of parts (None: infeasible)."""

    def feasible_orders(self, job: Job) -> dict[int, list[int]]:
        """Feasible requests of a job, by place, with the order of parts.

        Placement later uses the same search.
        """
        orders = {}
        for place, request in enumerate(job.requests):
            if request not in self._orders:
                hardest = hardest_first(request, self._platform.sets)
                tried = map(list, islice(permutations(hardest), MOST_ORDERS))
                self._orders[request] = next((order for order in tried if self._fits(job, {place: order})), None)
            if (known := self._orders[request]) is not None:
                orders[place] = known
        return orders

    def _fits(self, job: Job, orders: dict[int, list[int]]) -> bool:
        if self._empty is None:
            nodes = NodeProfiles(self._platform, 0, self._platform.node_count, None)
            self._empty = Placer(nodes, self._rules, len(self._platform.kinds))
        slot = self._probe.add_shaped(job, orders, 0, 0)
        found = self._empty.run(can_hold_now, self._probe.queue, slot, 0) == DONE
        self._probe.remove(slot)
        return found
