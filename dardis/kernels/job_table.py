"""Job table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dardis.kernels.job_queue import GONE, HELD, HOLD, PART, START, QueueArrays, make_queue, wider_queue
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.model.node_sets import NodeSets
from dardis.model.queues import PermittedStarts

FIRST_SLOTS = 256


class JobTable:
    """Jobs by slot. The caller keeps the lists of `queue`."""

    def __init__(self, sets: NodeSets, hours: Sequence[PermittedStarts] = ()) -> None:
        """`hours`: possible starts, by number."""
        edges = [[], *(one.edges for one in hours)]
        offsets = np.cumsum([0, *map(len, edges)])
        self.queue: QueueArrays = make_queue(FIRST_SLOTS, sets.capacity.shape[1])._replace(
            edges=np.array([edge for one in edges for edge in one], dtype=np.int64), edges_at=offsets.astype(np.int64)
        )
        self.jobs: dict[int, Job] = {}
        self._sets = sets
        self._nodes = len(sets.member)
        self._unused = list(range(FIRST_SLOTS - 1, -1, -1))
        self._held = 0
        self._room: dict[int, int] = {}
        self._parts: dict[int, dict[int, list[int]]] = {}
        """Rows of parts, by job and request."""
        self._orders: dict[int, Mapping[int, Sequence[int]]] = {}
        """Order of parts, by job and request."""

    @property
    def slots(self) -> int:
        """Capacity in jobs."""
        return len(self.queue.table)

    def add(self, job: Job, span: int, level: int = 0, hours: int = 0) -> int:
        """Add a new job; return its slot.

        Nodes are held for `span` s. `level`: priority. `hours`: number, from 1 on (0: any time).
        """
        what = span, job.units, self._sets.code(job.groups)
        slot = self._write(job, min(job.units, self._nodes), what, level, hours, (0, 0, 0, 0), job.request)
        self.jobs[slot] = job
        return slot

    def add_shaped(self, job: Job, orders: Mapping[int, Sequence[int]], level: int, hours: int) -> int:
        """Add a job with shapes; return its slot.

        `orders`: by usable request, the order of parts.
        """
        rows: dict[int, list[int]] = {}
        after_request = 0
        for place, order in reversed(orders.items()):
            request, after = job.requests[place], 0
            rows[place] = [0] * len(order)
            for at in reversed(order):
                part = request.parts[at]
                links = (after, after_request if at == order[0] else 0, part.nodes, int(request.contiguous))
                what = request.walltime, part.units, self._sets.code(part.groups)
                slot = self._write(job, min(part.units, self._nodes), what, level, hours, links, part.request)
                rows[place][at] = slot
                after = slot + 1
            after_request = after
        first = job.requests[next(iter(orders))]
        own = self._write(job, 0, (first.walltime, 1, 0), level, hours, (0, after_request, 0, 0), first.amounts)
        self.jobs[own] = job
        self._parts[own], self._orders[own] = rows, orders
        return own

    def _write(
        self, job: Job, most: int, what: tuple[int, int, int], level: int, hours: int, links: tuple[int, int, int, int],
        request: tuple[int, ...],
    ) -> int:  # fmt: skip
        if not self._unused:
            slots = self.slots
            self.queue = wider_queue(self.queue, 2 * slots)
            self._unused = list(range(2 * slots - 1, slots - 1, -1))
        if self._held + most > len(self.queue.hold_node):
            self._pack(most)
        slot = self._unused.pop()
        latest = FOREVER if job.latest is None else job.latest
        self.queue.table[slot] = (
            job.number, job.submit, *what, latest, level, hours, 0, 1, NO_TIME, self._held, 0, 0, *links, *request,
        )  # fmt: skip
        self._held += most
        self._room[slot] = most
        return slot

    def remove(self, slot: int) -> Job:
        """Remove a job."""
        for row in (slot, *(row for rows in self._parts.pop(slot, {}).values() for row in rows)):
            self.queue.table[row, GONE] = 1
            self._unused.append(row)
            del self._room[row]
        self._orders.pop(slot, None)
        job = self.jobs.pop(slot)
        if not self.jobs:
            self._held = 0
        return job

    def nodes_of(self, slot: int) -> tuple[Ints, Ints]:
        """Nodes and units of a job."""
        low = int(self.queue.table[slot, HOLD])
        high = low + int(self.queue.table[slot, HELD])
        return self.queue.hold_node[low:high].copy(), self.queue.hold_units[low:high].copy()

    def orders_of(self, slot: int) -> Mapping[int, Sequence[int]]:
        """Usable requests of a job from `add_shaped`, with the order of parts."""
        return self._orders.get(slot, {})

    def parts_of(self, slot: int) -> tuple[int, tuple[tuple[Ints, Ints], ...]]:
        """Taken request of a job from `add_shaped`, with nodes and units by part."""
        first = int(self.queue.table[slot, PART]) - 1
        taken, rows = next((place, rows) for place, rows in self._parts[slot].items() if first in rows)
        return taken, tuple(map(self.nodes_of, rows))

    def run_on(self, slot: int, start: int, taken: int, held: Sequence[tuple[Ints, Ints]]) -> list[int]:
        """Record a job as running since `start`; return each part's row.

        `taken`: place of the request; `held`: nodes and units by part.
        """
        first, table = self.write_nodes(slot, taken, held), self.queue.table
        rows = self._parts[slot][taken] if slot in self._parts else [slot]
        table[[slot, *rows], START], table[[slot, *rows], GONE] = start, 1
        if slot in self._parts:
            table[slot, PART] = first + 1
        return rows

    def write_nodes(self, slot: int, taken: int, held: Sequence[tuple[Ints, Ints]]) -> int:
        """Write nodes and units by part; return the request's first row."""
        rows, first = (self._parts[slot][taken], self._orders[slot][taken][0]) if slot in self._parts else ([slot], 0)
        for row, (nodes, units) in zip(rows, held, strict=True):
            low = self.queue.table[row, HOLD]
            self.queue.hold_node[low : low + len(nodes)] = nodes
            self.queue.hold_units[low : low + len(nodes)] = units
            self.queue.table[row, HELD] = len(nodes)
        return rows[first]

    def _pack(self, more: int) -> None:
        old, table = self.queue, self.queue.table
        sizes = {slot: int(table[slot, HELD]) if table[slot, GONE] else most for slot, most in self._room.items()}
        total = max(len(old.hold_node), 2 * (sum(sizes.values()) + more))
        node, units = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
        self._held = 0
        for slot, size in sizes.items():
            low = int(table[slot, HOLD])
            node[self._held : self._held + size] = old.hold_node[low : low + size]
            units[self._held : self._held + size] = old.hold_units[low : low + size]
            table[slot, HOLD] = self._held
            self._held += size
        self.queue = old._replace(hold_node=node, hold_units=units)
