"""What a late task manager knows: what all nodes have published that they can hold, and which of its jobs wait."""

from __future__ import annotations

import numpy as np

from dardis.kernels import queue as columns
from dardis.kernels import search as placing
from dardis.kernels import view
from dardis.kernels.job_table import JobTable
from dardis.kernels.profile import FULL
from dardis.kernels.rows import grown, make_rows
from dardis.model.addresses import HostId, JobId
from dardis.model.arrays import Ints
from dardis.model.choices import UnitsPerNode
from dardis.model.codes import NODE_CHOICES
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.task_manager.layout import Layout
from dardis.task_manager.search import SearchRules
from dardis.task_manager.setups import LateSetUp
from dardis.wire.messages import Published


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
        while view.accept(self.profiles, published.node, published.offset, published.time, published.value) == FULL:
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
