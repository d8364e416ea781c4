"""Switching of nodes off and on; nodes are up when reservations begin.

Waiting jobs do not count. Each group keeps an idle reserve on. The highest idle nodes are shut down, the lowest booted:
jobs prefer low numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, NO_TIME
from dardis.model.platform import Platform
from dardis.model.schedule import boot_and_shutdown
from dardis.model.step_function import ZERO, StepFunction
from dardis.model.target import Switching
from dardis.wire.messages import Switch

DAY_S = 86_400
# Reservations move forward when jobs end early. Switching in every planned gap cost a seventh more switches, and no
# node was off longer.
PLANNED_AHEAD = 10
"""Shortest gap before a reservation for a shutdown, in multiples of the shortest time off."""


class _MaximumAhead:
    def __init__(self, function: StepFunction, seconds: int) -> None:
        most = function.max_ahead(seconds)
        self._edges: list[int] = most.times.tolist()
        self._values: list[int] = most.values.tolist()

    def at(self, now: int) -> int:
        return self._values[bisect_right(self._edges, now) - 1]

    def next_change(self, now: int) -> int:
        place = bisect_right(self._edges, now)
        return self._edges[place] if place < len(self._edges) else FOREVER


@dataclass(frozen=True, slots=True)
class _Group:
    """Nodes `[first, last)` with requirements; a shutdown pays from `least_off_s` on."""

    first: int
    last: int
    boot_s: int
    shutdown_s: int
    least_off_s: int
    idle_reserve: _MaximumAhead
    floors: _MaximumAhead


class Switcher:
    """Decides switching from reported reservations."""

    def __init__(self, platform: Platform, switching: Switching, start: int) -> None:
        self._idle_s = switching.idle_s
        self._most = int(switching.most_cycles_per_day)
        self._groups = list(_groups(platform, switching))
        count = platform.node_count
        self._switched = np.zeros(count, dtype=np.bool_)
        self._boot_s: Ints = np.zeros(count, dtype=np.int64)
        for group in self._groups:
            self._switched[group.first : group.last] = True
            self._boot_s[group.first : group.last] = group.boot_s
        self._off = np.zeros(count, dtype=np.bool_)
        self._ready: Ints = np.full(count, NO_TIME)
        self._since: Ints = np.full(count, start)
        self._next: Ints = np.full(count, FOREVER)
        """First start on the node; past if busy."""
        self._allowed: Ints = np.full(count, NO_TIME if self._most else FOREVER)
        self._shut: dict[int, deque[int]] = {}
        """Last shutdowns by node, up to the daily limit."""
        self._starts: list[dict[JobId, int]] = [{} for _ in range(count)]
        self._nodes: dict[JobId, Ints] = {}
        self._closed = np.zeros(count, dtype=np.bool_)
        spans = [(node, *span) for node in np.flatnonzero(self._switched) for span in platform.closed_spans(int(node))]
        self._spans: Ints = np.array(spans, dtype=np.int64).reshape(-1, 3)
        self._edges = sorted({*self._spans[:, 1].tolist(), *self._spans[:, 2].tolist()})
        self._changed = True
        self._wake = FOREVER

    @property
    def longest_s(self) -> int:
        """Longest time until a node is up, from a shutdown's begin."""
        return max((group.shutdown_s + group.boot_s for group in self._groups), default=0)

    def up_from(self, time: int, nodes: Ints) -> int:
        """When all nodes can be up if booted at `time`."""
        booted = np.where(self._off[nodes], time + self._boot_s[nodes], time)
        return int(np.maximum(booted, self._ready[nodes]).max(initial=time))

    def record_reservation(self, job: JobId, start: int, nodes: Ints) -> None:
        """Record a job's new start and nodes."""
        self.drop_job(job)
        mine = np.asarray(nodes[self._switched[nodes]], dtype=np.int64)
        for node in mine.tolist():
            self._starts[node][job] = start
        self._next[mine] = np.minimum(self._next[mine], start)
        self._nodes[job] = mine
        self._changed = True

    def drop_job(self, job: JobId) -> Ints:
        """Remove a job; return its nodes."""
        mine = self._nodes.pop(job, None)
        if mine is None:
            return np.zeros(0, dtype=np.int64)
        for node in mine.tolist():
            starts = self._starts[node]
            del starts[job]
            self._next[node] = min(starts.values(), default=FOREVER)
        self._changed = True
        return mine

    def on_job_end(self, job: JobId, now: int) -> None:
        """Record a job's end."""
        self._since[self.drop_job(job)] = now

    def wake(self) -> int:
        """When to decide again without changes (FOREVER: never)."""
        return self._wake

    def is_due(self, now: int) -> bool:
        """Whether a decision is due."""
        return self._changed or self._wake <= now

    def decide(self, now: int) -> list[Switch]:
        """Switches, after all changes of an instant."""
        self._changed = False
        place = bisect_right(self._edges, now)
        self._wake = self._edges[place] if place < len(self._edges) else FOREVER
        if self._edges:
            spans = self._spans
            self._closed[:] = False
            self._closed[spans[(spans[:, 1] <= now) & (now < spans[:, 2]), 0]] = True
        return [switch for group in self._groups for switch in self._decide(group, now)]

    def _decide(self, group: _Group, now: int) -> Iterator[Switch]:
        mine = slice(group.first, group.last)
        off, first_start = self._off[mine], self._next[mine]
        needed = off & (first_start <= now + group.boot_s)
        free = (first_start > now + group.least_off_s) & ~self._closed[mine]
        spare = free & ~off
        on = len(off) - int(np.count_nonzero(off)) + int(np.count_nonzero(needed))
        beyond = min(int(np.count_nonzero(spare)) - group.idle_reserve.at(now), on - group.floors.at(now))
        if beyond < 0:
            more = np.flatnonzero(off & free & ~needed)[:-beyond]
            needed[more] = True
        if needed.any():
            yield self._boot(np.flatnonzero(needed) + group.first, group, now)
        if beyond > 0:
            # Times when nodes can be shut down: idle for long enough and not needed soon.
            moments = np.maximum(self._since[mine], self._ready[mine]) + self._idle_s
            long_free = spare & (first_start > now + PLANNED_AHEAD * group.least_off_s)
            moments = np.where(long_free, np.maximum(moments, self._allowed[mine]), FOREVER)
            surplus = np.flatnonzero(moments <= now)[-beyond:]
            if len(surplus) < beyond:
                self._wake = min(self._wake, int(moments[moments > now].min(initial=FOREVER)))
            if len(surplus):
                yield self._shut_down(surplus + group.first, group, now)
        self._set_wake(group, now)

    def _set_wake(self, group: _Group, now: int) -> None:
        first_start = self._next[group.first : group.last]
        lead = np.where(self._off[group.first : group.last], group.boot_s, group.least_off_s)
        moments = first_start - lead
        wake = int(moments[moments > now].min(initial=FOREVER))
        self._wake = min(self._wake, wake, group.idle_reserve.next_change(now), group.floors.next_change(now))

    def _boot(self, nodes: Ints, group: _Group, now: int) -> Switch:
        self._off[nodes] = False
        self._ready[nodes] = np.maximum(self._ready[nodes], now + group.boot_s)
        return Switch(up=True, node=nodes, ready=self._ready[nodes])

    def _shut_down(self, nodes: Ints, group: _Group, now: int) -> Switch:
        self._off[nodes] = True
        self._ready[nodes] = now + group.shutdown_s + group.boot_s
        for node in nodes.tolist():
            times = self._shut.setdefault(node, deque(maxlen=self._most))
            times.append(now)
            if len(times) == self._most:
                self._allowed[node] = times[0] + DAY_S
        return Switch(up=False, node=nodes, ready=self._ready[nodes])


def _groups(platform: Platform, switching: Switching) -> Iterator[_Group]:
    boot, shutdown = boot_and_shutdown(platform)
    last = 0
    for index, group in enumerate(platform.groups):
        first, last = last, last + group.count
        if group.always_on or not (index in switching.spares or index in switching.floors):
            continue
        boot_s, shutdown_s = int(boot[first]), int(shutdown[first])
        yield _Group(
            first, last, boot_s, shutdown_s, max(switching.idle_s, boot_s + shutdown_s),
            _MaximumAhead(switching.spares.get(index, ZERO), boot_s),
            _MaximumAhead(switching.floors.get(index, ZERO), boot_s),
        )  # fmt: skip
