"""Episodes of a queue in which an agent picks the next job: parts of a trace on an empty machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dardis.dispatch.queue_orders import WaitingJobs
from dardis.dispatch.queue_pass import PlainQueue, compiled_keys
from dardis.kernels.job_queue import JobKeys
from dardis.kernels.profile import NodeProfiles
from dardis.kernels.queue_decisions import QueueDecisions, QueueView, scaled
from dardis.kernels.queue_simulation import QueuedJobs
from dardis.model.arrays import Ints
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME, ActualJob
from dardis.model.node_layout import make_layout
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.registry import Cluster, find_dispatcher
from dardis.runs.queue_runs import BACKFILLS
from dardis.sim.compiled_simulation import may_compile, queued_jobs, rejections, rules_of
from dardis.sim.recorder import Recorder
from dardis.sim.site_state import SiteState


class Episode(NamedTuple):
    """Jobs of a finished episode, arrays (jobs,) in order of submission; times in s."""

    number: Ints
    submit: Ints
    start: Ints
    finish: Ints
    walltime: Ints
    units: Ints
    cores: Ints
    """Of the complete job."""


class QueueEpisodes:
    """Parts of a trace, each on an empty machine. Jobs that can never run are left out."""

    def __init__(
        self, jobs: Sequence[ActualJob], platform: Platform, backfill: str | None, expected: Ints | None = None
    ) -> None:  # fmt: skip
        """`expected`: predicted runtimes, s; None: walltimes. Raises InputError for what is not compiled."""
        dispatcher = find_dispatcher(BACKFILLS[backfill])
        self._layout = make_layout(platform)
        machine = self._layout.machine
        cluster = Cluster(machine, (0, machine.node_count), 1)
        queue = dispatcher.builder.plain_queue(dispatcher.setup, cluster)
        if queue is None or not may_compile(jobs, platform):
            found = "nodes or queues close at times, or jobs have parts, predecessors or later earliest starts"
            raise InputError("Queue-v0", found, "nodes that are always open, and jobs of equal units (dardis simulate)")
        refused = rejections(jobs, machine, SiteState(platform, distinct=queue.distinct), distinct=queue.distinct)
        kept = [place for place in range(len(jobs)) if place not in refused]
        if not kept:
            raise InputError("trace", f"none of its {len(jobs)} jobs can run on {platform.name}", "another platform")
        self.jobs = [jobs[place] for place in kept]
        self._queue: PlainQueue = queue
        self._columns = queued_jobs(self.jobs, np.ones(len(kept), dtype=np.bool_), machine)
        self._keys = _static_keys(queue, self.jobs, machine)
        self.total = np.asarray(machine.capacity.sum(axis=0), dtype=np.int64)
        """Capacity by kind."""
        columns = self._columns
        amounts = columns.request * columns.units[:, None]
        share = (amounts / np.maximum(self.total, 1)).max(axis=1)
        runtimes = columns.span if expected is None else expected[kept]
        self._known = np.stack([scaled(columns.span), scaled(runtimes), share], axis=1).astype(np.float32)

    def begin(self, first: int, count: int, places: int, horizon: Ints) -> QueueDecisions:
        """Start with `count` jobs from `first` on. The agent sees `places` jobs and free capacity `horizon` s ahead."""
        part = slice(first, first + count)
        jobs = QueuedJobs._make(column[part] for column in self._columns)
        keys = self._keys._replace(key=self._keys.key[part], a=self._keys.a[part], b=self._keys.b[part])
        view = QueueView(
            jobs=np.zeros((places, 5), dtype=np.float32),
            free=np.zeros((len(horizon), len(self.total)), dtype=np.float32),
            mask=np.zeros(places, dtype=np.bool_),
            known=self._known[part],
            horizon=horizon,
            total=self.total,
            sums=np.zeros(2),
        )
        machine = self._layout.machine
        nodes = NodeProfiles(machine, 0, machine.node_count, None)
        return QueueDecisions(nodes, rules_of(self._queue), jobs, keys, view)

    def schedule(self, decisions: QueueDecisions, first: int) -> Schedule:
        """Schedule of an episode that began with job `first` and has ended."""
        jobs = self.jobs[first : first + len(decisions.finish)]
        recorder = Recorder(len(jobs))
        recorder.record_run(decisions.start, decisions.finish, decisions.placements)
        return self._layout.to_own_nodes(recorder.schedule(jobs, self._layout.machine.kinds))

    def arrays(self, decisions: QueueDecisions, first: int) -> Episode:
        """Arrays of an episode that began with job `first` and has ended."""
        columns, part = self._columns, slice(first, first + len(decisions.finish))
        cores = (columns.units * columns.request[:, self._layout.machine.kinds.index("cores")])[part]
        return Episode(
            columns.number[part], columns.submit[part], decisions.start, decisions.finish, columns.span[part],
            columns.units[part], cores,
        )  # fmt: skip


def _static_keys(queue: PlainQueue, jobs: Sequence[ActualJob], machine: Platform) -> JobKeys:
    asked = [job.job for job in jobs]
    return compiled_keys(queue.how.keys, asked, machine, lambda: WaitingJobs.of_jobs(asked, machine, NO_TIME, NO_TIME))
