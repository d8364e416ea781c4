"""A queue whose order is anybody's own: everything of a central dispatcher but who goes first, and on which nodes.

Promises that whoever starts fits, is open and was submitted before, whatever a rule says. It is plain NumPy, no kernel:
for trying an idea on thousands of jobs, not for speed.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dardis.config.settings import AnySetUp
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
    """A dispatcher of one's own: a class that says by `key` who goes first, and, if it likes, by `choose` where.

    Annotated attributes of a class (`depth: int = 3`) are settings, as `--set` and `NAME:depth=5` give them; kinds are
    `int` (from 1 on), `float`, `str` and `StrEnum`. An object has them with the values that were asked for, beside
    `platform` (a `Platform`) and `seed`. No desired profile is obeyed, and nodes must not fail.
    """

    strict: ClassVar[bool] = False
    """Whether whoever does not fit stops those behind; else they are tried, and may pass him for ever."""
    seeded: ClassVar[bool] = True
    """Whether the seed has a say in its schedules; where it has none, a comparison over several seeds runs once."""

    setup: Any
    platform: Platform
    seed: int
    free: Ints
    """What nodes have left, shape (nodes, kinds), in the order of `platform.kinds` (memory in MiB)."""
    waiting: list[Job]
    running: dict[JobId, tuple[Ints, Ints]]
    """Nodes of those that run, and what they hold there, shape (nodes of the job, kinds)."""

    def __init__(self, setup: AnySetUp, platform: Platform, desired: DesiredProfile | None, seed: int) -> None:  # noqa: ARG002 (what every dispatcher is made with)
        self.setup = setup
        self.platform = platform
        self.seed = seed
        self.free = platform.capacity.copy()
        self.waiting = []
        self.running = {}
        self._now = 0

    def key(self, job: Job, now: int) -> Any:  # noqa: ANN401, ARG002 (whatever can be compared; ours is always the same)
        """What is lowest for who goes first, at `now`; those alike go by submission and number. Here: in that order.

        `job` has `number`, `submit`, `earliest`, `walltime` and `expected` (s), `units`, `request` (of one unit) and
        `amounts` (of all units) by kind, `queue`, `user`, and never its runtime. Numbers, texts or tuples of such.
        """
        return job.earliest

    def choose(self, job: Job, room: Ints) -> Ints:
        """How many units go to each node, shape (nodes,), of the `room` (units) that nodes have; here the lowest nodes.

        They are `job.units` together, and none has more than its room.
        """
        return np.asarray(np.diff(np.minimum(np.cumsum(room), job.units), prepend=0))

    def submit(self, job: Job, now: int) -> Rejected | None:  # noqa: ARG002 (who waits is asked for later)
        """Take a new job; say if it can never run."""
        could = could_hold(job, self.platform.sets, distinct=self._distinct)
        if could < job.units:
            return Rejected(job.number, too_large(job, self.platform.kinds, could))
        self.waiting.append(job)
        return None

    def ended(self, number: JobId, now: int) -> None:  # noqa: ARG002 (its nodes are free at once)
        """A job has ended, at its walltime or before."""
        nodes, taken = self.running.pop(number)
        self.free[nodes] += taken

    def changed(self, change: Change, now: int) -> None:  # noqa: ARG002 (nothing depends on when)
        """Jobs wait no more."""
        gone = {*getattr(change, "jobs", ())}
        self.waiting = [job for job in self.waiting if job.number not in gone]

    def decide(self, now: int) -> list[Placed | Rejected]:
        """Start whoever fits, in the order of the keys."""
        self._now = now
        started: list[Placed | Rejected] = []
        may = [job for job in self.waiting if job.earliest <= now and self._opens(job) == now]
        for job in sorted(may, key=lambda job: (self._ordered(job, now), job.submit, job.number)):
            room = self.room(job, now)
            if room.sum() >= job.units:
                started.append(self._begun(job, self._chosen(job, room), now))
            elif self.strict:
                break
        self.waiting = [job for job in self.waiting if job.number not in self.running]
        return started

    def room(self, job: Job, now: int) -> Ints:
        """Units of the job that each node holds from `now` to its walltime, shape (nodes,)."""
        room = np.maximum(units_in(self.free - self._kept(now, now + job.walltime), job.request), 0)
        room[~self.platform.sets.nodes(job.groups)] = 0
        return np.asarray(np.minimum(room, 1) if self._distinct else room)

    def _kept(self, start: int, end: int) -> Ints:
        """The most that maintenance and reservations keep of nodes at one instant of `[start, end)`, as `free` is."""
        windows = [window for window in self.platform.maintenance if window.start < end and start < window.end]
        most = np.zeros_like(self.free)
        for instant in {max(window.start, start) for window in windows}:
            kept = np.zeros_like(most)
            for window in windows:
                if window.start <= instant < window.end:
                    nodes = list(window.nodes)
                    kept[nodes] += self.platform.capacity[nodes] if window.less is None else np.array(window.less)
            np.maximum(most, kept, out=most)
        return most

    def wake(self) -> int:
        """The next time at which somebody may start without an event (FOREVER: never)."""
        times = [job.earliest for job in self.waiting]
        times += [window.end for window in self.platform.maintenance if self.waiting]
        for job in self.waiting if self.platform.hours else ():
            times += [self._opens(job), self.platform.starts_of(job.queue).changes(self._now)]
        return min((time for time in times if time > self._now), default=FOREVER)

    def _ordered(self, job: Job, now: int) -> Any:  # noqa: ANN401 (as `key`)
        """Its key, if it orders anything. Raises ProtocolError."""
        key = self.key(job, now)
        parts = key if isinstance(key, tuple) else (key,)
        if any(part is None or (isinstance(part, float | np.floating) and np.isnan(part)) for part in parts):
            raise ProtocolError(f"key(job {job.number}) gives {key!r}, before and behind nothing")
        return key

    @property
    def _distinct(self) -> bool:
        return bool(self.setup.units_per_node is UnitsPerNode.DISTINCT)

    def _opens(self, job: Job) -> int:
        """When the job may start, from now on."""
        return self.platform.starts_of(job.queue).opens(max(job.earliest, self._now))

    def _chosen(self, job: Job, room: Ints) -> Ints:
        """What is chosen, where it may be. Raises ProtocolError."""
        units = np.asarray(self.choose(job, room.copy()))
        if units.shape != room.shape or not np.issubdtype(units.dtype, np.integer):
            found = f"{units.dtype} of shape {units.shape}"
            raise ProtocolError(f"choose(job {job.number}) gives {found}, not whole numbers of shape {room.shape}")
        if (units < 0).any() or (units > room).any() or units.sum() != job.units:
            raise ProtocolError(
                f"choose(job {job.number}) gives more than the room of a node, or not {job.units} units"
            )
        return units.astype(np.int64)

    def _begun(self, job: Job, units: Ints, now: int) -> Placed:
        nodes = np.flatnonzero(units)
        self.running[job.number] = nodes, units[nodes, None] * np.array(job.request)
        self.free[nodes] -= self.running[job.number][1]
        return Placed(job.number, now, nodes, units[nodes])
