"""Base of custom dispatchers.

Each start is feasible, whatever the rule. Plain NumPy, for experiments with thousands of jobs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dardis.config.settings import AnySetUp
from dardis.dispatch.queue_orders import WaitingJobs, sort_numbers
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.capacity import could_hold, too_large
from dardis.model.choices import UnitsPerNode
from dardis.model.errors import ProtocolError
from dardis.model.events import Change
from dardis.model.job import FOREVER, Job
from dardis.model.node_sets import units_in
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile
from dardis.wire.effects import Placed, Rejected


class Rule:
    """A custom dispatcher: `key` or `keys` orders the queue, and optionally `choose` places jobs.

    Annotated attributes (`depth: int = 3`) are settings for `--set` and `NAME:depth=5`, of type `int` (at least 1),
    `float`, `str` or `StrEnum`. An object has the values as attributes, with `platform` (a `Platform`) and `seed`.

    With `backfill`, the queue is that of `easy` or `conservative`, in this order. Without, desired profiles and node
    failures are not supported.
    """

    backfill: ClassVar[Literal["easy", "conservative"] | None] = None
    """Jobs with reservations: the first that cannot start, or all; None: no job."""
    reserve: ClassVar[Literal["rule", "fcfs"]] = "rule"
    """With `backfill`: order of reservations. `fcfs`: the rule orders only the jobs that start beside them."""
    strict: ClassVar[bool] = False
    """Whether a job without room stops later jobs; if not, later jobs may pass forever."""
    seeded: ClassVar[bool] = True
    """Whether schedules depend on the seed; if not, a comparison runs a single seed."""

    setup: Any
    platform: Platform
    seed: int
    free: Ints
    """Free capacity, shape (nodes, kinds), in order of `platform.kinds` (memory in MiB); as the next two, only without
    `backfill`."""
    waiting: list[Job]
    running: dict[JobId, tuple[Ints, Ints]]
    """Nodes and use of running jobs, shape (nodes of the job, kinds)."""

    def __init__(self, setup: AnySetUp, platform: Platform, desired: DesiredProfile | None, seed: int) -> None:  # noqa: ARG002 (the signature of all dispatchers)
        self.setup = setup
        self.platform = platform
        self.seed = seed
        self.free = platform.capacity.copy()
        self.waiting = []
        self.running = {}
        self._now = 0
        self._first = FOREVER
        self._closings: _Closings | None = None

    def key(self, job: Job, now: int) -> Any:  # noqa: ANN401, ARG002 (any comparable value; the default ignores the time)
        """Return the sort key at `now`, lowest first; ties go by submission and number.

        `job` has `number`, `submit`, `earliest`, `walltime` and `expected` (s), `units`, `request` (of a unit) and
        `amounts` (of all units) by kind, `queue` and `user`, but no runtime. Keys are numbers, texts or tuples.
        """
        return job.earliest

    def keys(self, jobs: WaitingJobs, now: int) -> Sequence[Any] | NDArray[Any]:
        """Return the sort keys of all waiting jobs at once, by default by `key`.

        `jobs` has arrays: `submit`, `earliest`, `walltime`, `expected` and `age` (s), `units`, `cores`, `user`.
        """
        return [self.key(job, now) for job in jobs.jobs]

    def choose(self, job: Job, room: Ints) -> Ints:
        """Return units for each node, shape (nodes,), by default on the lowest nodes.

        The sum is `job.units`, with at most `room` units on each node.
        """
        return np.asarray(np.diff(np.minimum(np.cumsum(room), job.units), prepend=0))

    def submit(self, job: Job, now: int) -> Rejected | None:  # noqa: ARG002 (decided later)
        """Take a new job; return a rejection if the job can never run."""
        self._first = min(self._first, job.submit)
        could = could_hold(job, self.platform.sets, distinct=self._distinct)
        if could < job.units:
            return Rejected(job.number, too_large(job, self.platform.kinds, could))
        self.waiting.append(job)
        return None

    def ended(self, number: JobId, now: int) -> None:  # noqa: ARG002 (nodes are free at once)
        """Handle the end of a job."""
        nodes, taken = self.running.pop(number)
        self.free[nodes] += taken

    def changed(self, change: Change, now: int) -> None:  # noqa: ARG002 (the time has no effect)
        """Withdraw jobs."""
        gone = {*getattr(change, "jobs", ())}
        self.waiting = [job for job in self.waiting if job.number not in gone]

    def decide(self, now: int) -> list[Placed | Rejected]:
        """Start jobs that fit, by key."""
        self._now = now
        started: list[Placed | Rejected] = []
        may = [job for job in self.waiting if job.earliest <= now and self._opens(job) == now]
        for job in self._in_order(may, now):
            room = self.room(job, now)
            if room.sum() >= job.units:
                started.append(self._start(job, self._checked_choice(job, room), now))
            elif self.strict:
                break
        self.waiting = [job for job in self.waiting if job.number not in self.running]
        return started

    def room(self, job: Job, now: int) -> Ints:
        """Units each node can hold until the walltime, shape (nodes,)."""
        room = np.maximum(units_in(self.free - self._closed_capacity(now, now + job.walltime), job.request), 0)
        room[~self.platform.sets.nodes(job.groups)] = 0
        return np.asarray(np.minimum(room, 1) if self._distinct else room)

    def _closed_capacity(self, start: int, end: int) -> Ints:
        if self._closings is None or self._closings.start != start:
            self._closings = _Closings(self.platform, start)
        return self._closings.until(end)

    def wake(self) -> int:
        """Next possible start without an event (FOREVER: never)."""
        times = [job.earliest for job in self.waiting]
        times += [window.end for window in self.platform.maintenance if self.waiting]
        for job in self.waiting if self.platform.hours else ():
            times += [self._opens(job), self.platform.starts_of(job.queue).changes(self._now)]
        return min((time for time in times if time > self._now), default=FOREVER)

    def _in_order(self, may: list[Job], now: int) -> list[Job]:
        jobs = WaitingJobs.of_jobs(may, self.platform, now, self._first)
        numbers = sort_numbers(self.keys(jobs, now), jobs)
        return [may[place] for place in np.lexsort((jobs.number, jobs.submit, numbers)).tolist()]

    @property
    def _distinct(self) -> bool:
        return bool(self.setup.units_per_node is UnitsPerNode.DISTINCT)

    def _opens(self, job: Job) -> int:
        return self.platform.starts_of(job.queue).opens(max(job.earliest, self._now))

    def _checked_choice(self, job: Job, room: Ints) -> Ints:
        units = np.asarray(self.choose(job, room.copy()))
        if units.shape != room.shape or not np.issubdtype(units.dtype, np.integer):
            found = f"{units.dtype} of shape {units.shape}"
            raise ProtocolError(f"choose(job {job.number}) gives {found}, not whole numbers of shape {room.shape}")
        if (units < 0).any() or (units > room).any() or units.sum() != job.units:
            raise ProtocolError(
                f"choose(job {job.number}) exceeds the free capacity of a node, or does not give {job.units} units"
            )
        return units.astype(np.int64)

    def _start(self, job: Job, units: Ints, now: int) -> Placed:
        nodes = np.flatnonzero(units)
        self.running[job.number] = nodes, units[nodes, None] * np.array(job.request)
        self.free[nodes] -= self.running[job.number][1]
        return Placed(job.number, now, nodes, units[nodes])


class _Closings:
    """Largest closed capacity from `start` on, (nodes, kinds)."""

    def __init__(self, platform: Platform, start: int) -> None:
        self.start = start
        capacity = platform.capacity
        kept = np.zeros_like(capacity)
        self._times: list[int] = []
        self._most = [kept.copy()]
        """Up to and including each time."""
        events = [
            (moment, change, place)
            for place, window in enumerate(platform.maintenance)
            if window.end > start
            for moment, change in ((max(window.start, start), 1), (window.end, -1))
        ]
        for moment, change, place in sorted(events):  # ends of an instant first
            window = platform.maintenance[place]
            nodes = list(window.nodes)
            kept[nodes] += change * (capacity[nodes] if window.less is None else np.array(window.less))
            if change > 0 and (kept[nodes] > self._most[-1][nodes]).any():
                if not self._times or self._times[-1] != moment:
                    self._times.append(moment)
                    self._most.append(self._most[-1].copy())
                self._most[-1][nodes] = np.maximum(self._most[-1][nodes], kept[nodes])

    def until(self, end: int) -> Ints:
        """Largest in `[start, end)`."""
        return self._most[bisect_left(self._times, end)]
