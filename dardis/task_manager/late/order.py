"""The order that all late jobs agree on, and what a late task manager knows of nodes and jobs.

Jobs of queues with higher priority go first, among equals long waits, short walltimes and few cores. Who is old, since
a time that is fixed when it arrives, may go before all of them: one, whose time came first (docs/late.md).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from dardis.kernels import job_queue as columns
from dardis.kernels import node_search as placing
from dardis.kernels import published_profiles
from dardis.kernels.job_queue import Queue
from dardis.kernels.job_table import JobTable
from dardis.kernels.late_order import HEAD_START_S, put_in_order
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
"""The least goes first: whether not the oldest, minus the level of priority, minus the key, submission, number."""


def key_of(wait: int, walltime: int, cores: int) -> float:
    """The key of a job that has waited `wait` s: `(wait + 24 h) / (walltime · √cores)`, the largest goes first."""
    return (wait + HEAD_START_S) / (walltime * sqrt(max(cores, 1)))


class Order:
    """Who goes before whom, at any time."""

    def __init__(self, layout: Layout) -> None:
        """The order is the same for all who know the same machine."""
        self._cores = layout.cores_place
        self._layout = layout
        self._spare: Ints = np.zeros(0, dtype=np.int64)

    def head(self, job: Job, until: int) -> Ints:
        """What is announced of a job that has a reservation: job, submission, walltime, cores, level, until when."""
        cores, level = job.units * job.request[self._cores], self._layout.level_of(job)
        return np.array([job.number, job.submit, job.walltime, cores, level, until], dtype=np.int64)

    def key(self, head: Ints, now: int, *, aged: bool) -> Key:
        """The key of a job by what is announced of it, and whether it is the one that goes before all others."""
        number, submit, walltime, cores, level, _ = head.tolist()
        key = 0.0 if aged else -key_of(now - submit, walltime, cores)
        return (not aged, 0 if aged else -level, key, submit, number)

    def sort(self, queue: Queue, count: int, now: int, oldest: JobId | None) -> int:
        """Put the first `count` of those who wait in order, `oldest` first; return the place of the first new one."""
        if len(self._spare) < count:
            self._spare = np.zeros(2 * count, dtype=np.int64)
        first = -1 if oldest is None else oldest
        slots = queue.lists[columns.RULE, :count]
        return put_in_order(queue.table, slots, queue.keys, self._cores, now, first, self._spare)

    def key_at(self, queue: Queue, place: int, oldest: JobId | None) -> Key:
        """The key of the job at a place of the order, by which it was put there."""
        slot = queue.lists[columns.RULE, place]
        number, submit, _, _, _, _, level, *_ = queue.table[slot].tolist()
        aged = number == oldest
        return (not aged, 0 if aged else -level, 0.0 if aged else -float(queue.keys[slot, 0]), submit, number)


class View:
    """The nodes as they were published last, and the jobs that may start on them."""

    def __init__(self, setup: LateSetUp, rules: SearchRules, layout: Layout, seed: int) -> None:
        """No job waits, and of the nodes it is known what they will publish."""
        kinds, nodes = len(layout.kinds), layout.bounds[-1]
        self.profiles = make_rows(nodes, 2 * kinds if layout.has_desired else kinds, 4, np.int32)
        """What each node has left over time, below the desired profile as well if there is one."""
        self.member = layout.sets.member
        self.incarnations: dict[HostId, int] = {}
        """By host, as published."""
        self.next_change: dict[HostId, int] = {}
        self._ready: Ints = np.full(nodes, NO_TIME)
        """When each node is up at the soonest, as published."""
        self._boot: Ints = np.zeros(nodes, dtype=np.int64)
        """How long it takes from now on until it is up, where it is off and not asked to boot; else 0."""
        self._layout = layout
        self._sleeps = False
        """Whether a node has ever been down."""
        self.rules = columns.Rules(
            strict=False, backfill=False, depth=1,
            binding=columns.BOUND_THROUGHOUT if rules.desired_binds else columns.UNBOUND,
            soft=rules.soft, distinct=setup.units_per_node is UnitsPerNode.DISTINCT,
            choice=NODE_CHOICES[setup.node_choice], seed=seed,
        )  # fmt: skip
        """How a job is put on nodes."""
        self.waiting = JobTable(layout.sets)
        self.slots: dict[JobId, int] = {}
        """Those of the waiting jobs, by number."""

    def add(self, job: Job) -> int:
        """Let a job wait; return its slot."""
        slot = self.slots[job.number] = self.waiting.add(job, job.walltime, self._layout.level_of(job))
        return slot

    def remove(self, number: JobId) -> Job:
        """Let a job wait no more."""
        return self.waiting.remove(self.slots.pop(number))

    def see(self, published: Published) -> None:
        """Take in what a host's nodes can hold."""
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
        """Make room for more steps of each node."""
        self.profiles = grown(self.profiles)

    def fits(self, number: JobId, start: int, delay: int = 0) -> bool:
        """Whether, for all that is known, a waiting job can start at `start` and at any time up to `delay` s later."""
        table = self.waiting.queue.table
        return bool(placing.fits_now(self.profiles, self.member, table, self.slots[number], self.rules, start, delay))

    def awake(self, now: int) -> tuple[Ints, int]:
        """In which sets the nodes that are up are, and in how long all nodes could be up."""
        if not self._sleeps:
            return self.member, 0
        up = np.maximum(self._ready, now + self._boot)
        return np.where((up > now)[:, None], 0, self.member), int(up.max()) - now

    def next_up(self, after: int) -> int:
        """When the next node that boots is up after this time (FOREVER: none does)."""
        if not self._sleeps:
            return FOREVER
        return int(self._ready[(self._boot == 0) & (self._ready > after)].min(initial=FOREVER))
