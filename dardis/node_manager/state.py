"""A pool's arrays: profiles, capacities and reservations of its nodes, and the operations that may enlarge them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dardis.kernels import offers, profile, starts
from dardis.kernels.rows import grown, make_rows
from dardis.model.errors import ProtocolError
from dardis.model.job import NO_TIME
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile
from dardis.wire.messages import Ask

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Claim:
    """A job's reservation on some nodes of the pool (local numbers, ascending), with the attempt that made it."""

    attempt: int
    nodes: Ints
    units: Ints
    request: Ints
    start: int
    end: int
    committed: bool


class PoolState:
    """Profiles and reservations of nodes `[first, last)` of a platform, as arrays that the kernels work on."""

    def __init__(self, platform: Platform, first: int, last: int, desired: DesiredProfile | None) -> None:
        """Lay out empty profiles: capacity less maintenance, and the desired profile where there is one."""
        self.first = first
        self.count = last - first
        self.capacity: Ints = np.ascontiguousarray(platform.capacity[first:last])
        self.group: Ints = np.ascontiguousarray(platform.group_of_node[first:last].astype(np.int64))
        self.has_desired = desired is not None
        kinds = len(platform.kinds)
        self.profiles = make_rows(self.count, 2 * kinds if desired else kinds, 8, np.int32)
        self.books = make_rows(self.count, 1, 4, np.int64)
        self._lay_out(platform, desired)
        self._out = np.empty((max(1024, 2 * self.count), 6), dtype=np.int64)
        self._longest = 64
        """Breakpoints of a profile that the scratch has room for."""
        self._scratch = offers.make_scratch(self._longest, self.profiles, 0, 0)

    def _lay_out(self, platform: Platform, desired: DesiredProfile | None) -> None:
        kinds = len(platform.kinds)
        for local in range(self.count) if desired else ():
            assert desired is not None
            functions = [desired.of_node(self.first + local, kind) for kind in range(kinds)]
            times = np.unique(np.concatenate([f.times for f in functions]))
            self._set_row(local, times, np.stack([f.at(times) for f in functions], axis=1))
        if not desired:
            rows = self.profiles
            rows.time[rows.head] = NO_TIME
            rows.value[rows.head] = self.capacity
            rows.size[:] = 1
        one = np.ones(1, dtype=np.int64)
        for node in range(self.first, self.first + self.count) if platform.maintenance else ():
            place = np.array([node - self.first], dtype=np.int64)
            for start, end in platform.closed_spans(node):
                # Nothing fits then: all that the node holds is taken.
                if not self.reserve(place, one, self.capacity[node - self.first], start, end, NO_TIME):
                    raise ProtocolError(f"node {node}: its maintenance from {start} to {end} s cannot be reserved")

    def _set_row(self, local: int, times: Ints, wished: Ints) -> None:
        while self.profiles.slots[local] < len(times) + 2:
            rows = self.profiles
            extra = 2 * (len(times) + 2)
            if rows.tail[0] + extra > len(rows.time):
                self.profiles = rows = grown(rows, extra * max(8, self.count - local))
            rows.base[local] = rows.head[local] = rows.tail[0]
            rows.slots[local] = extra
            rows.tail[0] += extra
        head = self.profiles.head[local]
        self.profiles.time[head : head + len(times)] = times
        self.profiles.value[head : head + len(times)] = np.concatenate(
            [np.broadcast_to(self.capacity[local], wished.shape), wished], axis=1
        )
        self.profiles.size[local] = len(times)

    def _grow_profiles(self) -> None:
        self.profiles = grown(self.profiles)

    def _grow_books(self) -> None:
        self.books = grown(self.books)

    def reserve(self, nodes: Ints, units: Ints, request: Ints, start: int, end: int, now: int) -> bool:
        """Reserve on all these nodes, or on none and return False."""
        while True:
            answer = profile.reserve(self.profiles, nodes, units, request, start, end, now)
            if answer != profile.FULL:
                return answer == profile.DONE
            self._grow_profiles()

    def release(self, nodes: Ints, units: Ints, request: Ints, start: int, end: int, now: int) -> None:
        """Give back what was reserved over `[start, end)`."""
        while profile.release(self.profiles, nodes, units, request, start, end, now) == profile.FULL:
            self._grow_profiles()

    def book(self, nodes: Ints, job: int, start: int, now: int) -> None:
        """Note the job's start on its nodes."""
        while profile.book(self.books, nodes, job, start, now) == profile.FULL:
            self._grow_books()

    def unbook(self, nodes: Ints, job: int, start: int) -> None:
        """Strike the job from its nodes' lists."""
        profile.unbook(self.books, nodes, job, start)

    def later_jobs(self, nodes: Ints, now: int, depth: int) -> tuple[Ints, int]:
        """The first `depth` jobs that start after `now` on each node: each once, ascending; and how many with repeats.

        A depth less than 0 stands for each node's cores.
        """
        depths = self.capacity[nodes, 0] if depth < 0 else np.full(len(nodes), depth)
        room = np.empty(1024, dtype=np.int64)
        count = profile.later_jobs(self.books, nodes, now, depths, room)
        if count < 0:
            room = np.empty(-count, dtype=np.int64)
            count = profile.later_jobs(self.books, nodes, now, depths, room)
        return (np.unique(room[:count]) if count else room[:0]), count

    def offers(self, ask: Ask, held: offers.Held, seed: int, now: int) -> tuple[Ints, Ints]:
        """Return (rows, offset) of the offers of all nodes to all asks of the message."""
        offset = np.empty(len(ask.job) + 1, dtype=np.int64)
        asks = offers.Asks(ask.job, ask.draw_key, ask.first, ask.last, ask.walltime, ask.quota, ask.groups, ask.request)
        respect = ask.respect and self.has_desired
        quota = 0 if ask.generator == starts.FIRST else int(ask.quota.max())
        instants = int((ask.last - ask.first).max()) // ask.grain + 1 if quota > 1 else 0
        longest = int(self.profiles.size.max(initial=0))
        if quota > 1 or longest > self._longest:
            self._longest = max(longest, self._longest)
            self._scratch = offers.make_scratch(self._longest, self.profiles, quota, instants)
        scratch = self._scratch
        while True:
            count = offers.answer(
                self.profiles, self.group, self.first, asks, held, ask.held_only, respect, ask.generator,
                ask.grain, seed, now, scratch, self._out, offset,
            )  # fmt: skip
            if count >= 0:
                return self._out[:count].copy(), offset
            self._out = np.empty((2 * len(self._out), 6), dtype=np.int64)

    def ends(self) -> tuple[int, int]:
        """When the last thing changes on these nodes, and when their last reservation ends."""
        return profile.ends(self.profiles, self.capacity)
