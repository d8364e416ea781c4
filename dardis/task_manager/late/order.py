"""Agreed order of late jobs, and a view of nodes.

High priority goes first, then long waits, short expected runtimes and few cores. The job aged longest goes before all
(docs/late.md).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from dardis.kernels import job_queue as columns
from dardis.kernels import node_search as placing
from dardis.kernels import published_profiles
from dardis.kernels.job_queue import QueueArrays
from dardis.kernels.job_table import JobTable
from dardis.kernels.late_order import HEAD_START_S, SIZE, put_in_order
from dardis.kernels.profile import FULL
from dardis.kernels.rows import grown, make_rows
from dardis.model.addresses import HostId, JobId
from dardis.model.arrays import Ints
from dardis.model.choices import UnitsPerNode
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.model.offer_rows import NODE_CHOICES
from dardis.task_manager.layout import Layout
from dardis.task_manager.search_windows import SearchRules
from dardis.task_manager.setups import LateSetUp
from dardis.wire.messages import Published

Key = tuple[bool, int, float, int, JobId]
"""Sort key, least first: not the oldest, -level, -key, submission, number."""


def size_of(expected: int, cores: int) -> float:
    """Expected runtime times cores^(3/4), as square roots are equal on all machines."""
    cores = max(cores, 1)
    return expected * sqrt(cores * sqrt(cores))


def key_of(wait: int, expected: int, cores: int) -> float:
    """`(wait + 6 h) / (expected · cores^(3/4))`; the largest goes first."""
    return (wait + HEAD_START_S) / size_of(expected, cores)


class Order:
    """Order of jobs."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._spare: Ints = np.zeros(0, dtype=np.int64)

    def head(self, job: Job, until: int) -> Ints:
        """Announcement: job, submission, expected runtime, cores, level, expiry."""
        level = self._layout.level_of(job)
        return np.array(
            [job.number, job.submit, job.expected, self._layout.cores_of(job), level, until], dtype=np.int64
        )

    def key(self, head: Ints, now: int, *, aged: bool) -> Key:
        """Key of an announced job. `aged`: before all others."""
        number, submit, expected, cores, level, _ = head.tolist()
        key = 0.0 if aged else -key_of(now - submit, expected, cores)
        return (not aged, 0 if aged else -level, key, submit, number)

    def sort(self, queue: QueueArrays, count: int, now: int, oldest: JobId | None) -> int:
        """Sort waiting jobs; return the place of the first new job."""
        if len(self._spare) < count:
            self._spare = np.zeros(2 * count, dtype=np.int64)
        first = -1 if oldest is None else oldest
        slots = queue.lists[columns.RULE, :count]
        return put_in_order(queue.table, slots, queue.keys, now, first, self._spare)

    def key_at(self, queue: QueueArrays, place: int, oldest: JobId | None) -> Key:
        """Key at a place."""
        slot = queue.lists[columns.RULE, place]
        number, submit, _, _, _, _, level, *_ = queue.table[slot].tolist()
        aged = number == oldest
        return (not aged, 0 if aged else -level, 0.0 if aged else -float(queue.keys[slot, 0]), submit, number)


class ProfileView:
    """Published node profiles, and waiting jobs."""

    def __init__(self, setup: LateSetUp, rules: SearchRules, layout: Layout, seed: int) -> None:
        kinds, nodes = len(layout.kinds), layout.bounds[-1]
        self.profiles = make_rows(nodes, 2 * kinds if layout.has_desired else kinds, 4, np.int32)
        """Free capacity over time by node, also below the desired profile if given."""
        self.member = layout.sets.member
        self.incarnations: dict[HostId, int] = {}
        self.next_change: dict[HostId, int] = {}
        self._ready: Ints = np.full(nodes, NO_TIME)
        """Earliest time at which each node is up."""
        self._boot: Ints = np.zeros(nodes, dtype=np.int64)
        """Boot time of each node that is off without a boot request; else 0."""
        self._layout = layout
        self._sleeps = False
        self.rules = columns.Rules(
            strict=False, backfill=False, depth=1,
            binding=columns.BOUND_THROUGHOUT if layout.has_desired and rules.desired_binds else columns.UNBOUND,
            soft=rules.soft, distinct=setup.units_per_node is UnitsPerNode.DISTINCT,
            choice=NODE_CHOICES[setup.node_choice], seed=seed,
        )  # fmt: skip
        self.waiting = JobTable(layout.sets)
        self.slots: dict[JobId, int] = {}

    def add(self, job: Job) -> int:
        """Add a job; return its slot."""
        slot = self.slots[job.number] = self.waiting.add(job, job.walltime, self._layout.level_of(job))
        self.waiting.queue.keys[slot, SIZE] = size_of(job.expected, self._layout.cores_of(job))
        return slot

    def remove(self, number: JobId) -> Job:
        """Remove a job."""
        return self.waiting.remove(self.slots.pop(number))

    def store_profiles(self, published: Published) -> None:
        """Store published profiles."""
        self.incarnations[published.host] = published.incarnation
        self.next_change[published.host] = published.next_change
        while (
            published_profiles.accept(self.profiles, published.node, published.offset, published.time, published.value)
            == FULL
        ):
            self.grow()
        if len(published.ready):
            self._ready[published.node], self._boot[published.node] = published.ready, published.boot
            self._sleeps = True

    def grow(self) -> None:
        """Make room for profile steps."""
        self.profiles = grown(self.profiles)

    def fits(self, number: JobId, start: int, delay: int = 0) -> bool:
        """Whether a job fits the known profiles for starts from `start` to `delay` s later."""
        table = self.waiting.queue.table
        return bool(placing.fits_now(self.profiles, self.member, table, self.slots[number], self.rules, start, delay))

    def awake(self, now: int) -> tuple[Ints, int]:
        """Sets of nodes up, and seconds until all can be up."""
        if not self._sleeps:
            return self.member, 0
        up = np.maximum(self._ready, now + self._boot)
        return np.where((up > now)[:, None], 0, self.member), int(up.max()) - now

    def next_up(self, after: int) -> int:
        """When the next booting node is up (FOREVER: never)."""
        if not self._sleeps:
            return FOREVER
        return int(self._ready[(self._boot == 0) & (self._ready > after)].min(initial=FOREVER))
