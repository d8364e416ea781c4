"""The profiles of some nodes of a machine, laid out for the kernels, and the operations that may enlarge them."""

from __future__ import annotations

import numpy as np

from dardis.kernels import profile
from dardis.kernels.rows import grown, make_rows
from dardis.model.arrays import Ints
from dardis.model.errors import ProtocolError
from dardis.model.job import NO_TIME
from dardis.model.platform import Maintenance, Platform
from dardis.model.target import DesiredProfile

_ALL: Ints = np.zeros(0, dtype=np.int64)


class NodeProfiles:
    """What is free, and what is wished and not yet used, on the nodes `[first, last)` of a platform."""

    def __init__(self, platform: Platform, first: int, last: int, desired: DesiredProfile | None) -> None:
        """Lay out empty profiles: capacity less maintenance, and the desired profile where there is one."""
        self.first = first
        self.count = last - first
        self.capacity: Ints = np.ascontiguousarray(platform.capacity[first:last])
        self.member: Ints = platform.sets.member[first:last]
        self.has_desired = desired is not None
        kinds = len(platform.kinds)
        self.profiles = make_rows(self.count, 2 * kinds if desired else kinds, 8, np.int32)
        self._lay_out(platform, desired)
        self.changes = self._times()
        """When capacity or what is wished changes by itself, ascending."""

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
        for window in platform.maintenance:
            if window.less is not None:
                self._take_less(window, window.less)

    def _take_less(self, window: Maintenance, less: tuple[int, ...]) -> None:
        """Let nodes hold so much less for a while."""
        mine = np.array([node for node in window.nodes if self.first <= node < self.first + self.count], dtype=np.int64)
        amounts = np.array(less, dtype=np.int64)
        if len(mine) and not self.reserve(
            mine - self.first, np.ones_like(mine), amounts, window.start, window.end, NO_TIME
        ):
            raise ProtocolError(f"nodes hold less than nothing from {window.start} to {window.end} s")

    def _times(self) -> list[int]:
        rows = self.profiles
        if int(rows.size.max(initial=1)) == 1:
            return []
        spans = zip(rows.head.tolist(), rows.size.tolist(), strict=True)
        return np.unique(np.concatenate([rows.time[head + 1 : head + size] for head, size in spans])).tolist()

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

    def grow(self) -> None:
        """Make room for more breakpoints."""
        self.profiles = grown(self.profiles)

    def reserve(self, nodes: Ints, units: Ints, request: Ints, start: int, end: int, now: int) -> bool:
        """Reserve on all these nodes, or on none and return False."""
        while True:
            answer = profile.reserve(self.profiles, nodes, units, request, start, end, now)
            if answer != profile.FULL:
                return answer == profile.DONE
            self.grow()

    def release(self, nodes: Ints, units: Ints, request: Ints, start: int, end: int, now: int) -> None:
        """Give back what was reserved over `[start, end)`."""
        while profile.release(self.profiles, nodes, units, request, start, end, now) == profile.FULL:
            self.grow()

    def ends(self, nodes: Ints = _ALL) -> tuple[int, int]:
        """When the last thing changes on these nodes (all, if none is named), and when their last reservation ends."""
        return profile.ends(self.profiles, self.capacity, nodes)
