"""The thesis's rule-based scheduler in plain Python, line by line: algorithm 4, and algorithm 3 as its backfilling.

Promises what the text says, no data structure that it lacks: each unit looks for its node from the first one on, each
job in the queue is tried at each event. `PlainRules` ends two loops sooner than printed, a unit's at its first node and
a job's at its first unit without one, which changes nothing but time; `PrintedRules` does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dardis.model.addresses import JobId
from dardis.model.capacity import could_hold, too_large
from dardis.model.events import Change
from dardis.model.job import FOREVER, Job
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile
from dardis.wire.effects import Placed, Rejected


class PlainRules:
    """A dispatcher: first come, first served, on nodes within capacity and desired profile at the start."""

    def __init__(self, platform: Platform, desired: DesiredProfile, *, backfill: bool) -> None:
        """Hold an empty machine; with `backfill`, try those behind the first that can't start."""
        self._platform = platform
        self._backfill = backfill
        self._capacity: list[list[int]] = platform.capacity.tolist()
        self._used = [[0] * len(platform.kinds) for _ in self._capacity]
        kinds = range(len(platform.kinds))
        self._wished = [[desired.of_node(node, kind) for kind in kinds] for node in range(platform.node_count)]
        times = {int(time) for functions in self._wished for function in functions for time in function.times[1:]}
        self._changes = sorted(times)
        self._limits = self._limits_at(self._changes[0] - 1 if times else 0)
        self._waiting: list[Job] = []
        self._running: dict[JobId, tuple[Job, int, list[int]]] = {}
        """Job, expected end, and the node of each unit."""

    def submit(self, job: Job, now: int) -> Rejected | None:  # noqa: ARG002 (one protocol)
        """Take a new job; say if it can never run."""
        platform = self._platform
        could = could_hold(job, platform.sets, distinct=False)
        if could < job.units:
            return Rejected(job.number, too_large(job, platform.kinds, could))
        self._waiting.append(job)
        return None

    def ended(self, number: JobId, now: int) -> None:  # noqa: ARG002 (one protocol)
        """A job has ended."""
        job, _, nodes = self._running.pop(number)
        self._free(job, nodes)

    def changed(self, change: Change, now: int) -> None:
        """Nothing changes in what it is measured on."""
        raise NotImplementedError

    def wake(self) -> int:
        """The next time at which the desired profile changes, while somebody waits."""
        return self._changes[0] if self._changes and self._waiting else FOREVER

    def decide(self, now: int) -> list[Placed | Rejected]:
        """One scheduling cycle (algorithm 4)."""
        if self._changes and self._changes[0] <= now:
            self._changes = [time for time in self._changes if time > now]
            self._limits = self._limits_at(now)
        self._waiting.sort(key=lambda job: (job.earliest, job.submit, job.number))
        started: list[Placed | Rejected] = []
        while self._waiting:
            nodes = self._nodes_for(self._waiting[0])
            if nodes is None:
                if self._backfill:
                    started += self._backfilled(now)
                break
            started.append(self._run(self._waiting.pop(0), nodes, now))
        return started

    def _limits_at(self, now: int) -> list[list[int]]:
        """What may be in use of each kind on each node."""
        return [
            [
                min(int(function.at(np.array([now]))[0]), most)
                for function, most in zip(functions, capacity, strict=True)
            ]
            for functions, capacity in zip(self._wished, self._capacity, strict=True)
        ]

    def _nodes_for(self, job: Job) -> list[int] | None:
        """Take a node for each unit, or none."""
        chosen: list[int] = []
        request = job.request
        for _ in range(job.units):
            for node, (used, limit) in enumerate(zip(self._used, self._limits, strict=True)):
                for kind, amount in enumerate(request):
                    if used[kind] + amount > limit[kind]:
                        break
                else:
                    for kind, amount in enumerate(request):
                        used[kind] += amount
                    chosen.append(node)
                    break
            else:
                self._free(job, chosen)
                return None
        return chosen

    def _free(self, job: Job, nodes: Sequence[int]) -> None:
        for node in nodes:
            for kind, amount in enumerate(job.request):
                self._used[node][kind] -= amount

    def _run(self, job: Job, nodes: list[int], now: int) -> Placed:
        self._running[job.number] = (job, now + job.walltime, nodes)
        where, units = np.unique(np.array(nodes, dtype=np.int64), return_counts=True)
        return Placed(job.number, now, where, units.astype(np.int64))

    def _backfilled(self, now: int) -> list[Placed | Rejected]:
        """Start those behind the first that fit now and end before it can start (algorithm 3)."""
        first = self._start_of(self._waiting[0], now)
        started: list[Placed | Rejected] = []
        left = [self._waiting[0]]
        for job in self._waiting[1:]:
            nodes = self._nodes_for(job)
            if nodes is not None and now + job.walltime <= first:
                started.append(self._run(job, nodes, now))
                continue
            if nodes is not None:
                self._free(job, nodes)
            left.append(job)
        self._waiting = left
        return started

    def _start_of(self, job: Job, now: int) -> int:
        """When all units of the job could start, by the expected ends of the running jobs, node by node."""
        by_end = sorted(self._running.values(), key=lambda entry: entry[1])
        ends: list[list[tuple[int, Job]]] = [[] for _ in self._used]
        for running, end, nodes in by_end:
            for node in nodes:
                ends[node].append((end, running))
        gains: list[tuple[int, int]] = []
        for node, ending in enumerate(ends):
            free = [most - used for most, used in zip(self._capacity[node], self._used[node], strict=True)]
            held = units_in(free, job.request)
            gains.append((now, held))
            for end, running in ending:
                for kind, amount in enumerate(running.request):
                    free[kind] += amount
                more = units_in(free, job.request)
                gains.append((end, more - held))
                held = more
        total = 0
        for time, gain in sorted(gains):
            total += gain
            if total >= job.units:
                return time
        raise ValueError(f"job {job.number}: the empty machine could hold it")


class PrintedRules(PlainRules):
    """The same schedule, by loops that run to their ends as they are printed."""

    def _nodes_for(self, job: Job) -> list[int] | None:
        chosen: list[int] = []
        request = job.request
        for _ in range(job.units):
            own = None
            for node, (used, limit) in enumerate(zip(self._used, self._limits, strict=True)):
                fits = True
                for kind, amount in enumerate(request):
                    fits &= used[kind] + amount <= limit[kind]
                if fits and own is None:
                    own = node
            if own is not None:
                for kind, amount in enumerate(request):
                    self._used[own][kind] += amount
                chosen.append(own)
        if len(chosen) == job.units:
            return chosen
        self._free(job, chosen)
        return None


def units_in(free: Sequence[int], request: Sequence[int]) -> int:
    """How many units fit what is free on a node."""
    return min(have // amount for have, amount in zip(free, request, strict=True) if amount)
