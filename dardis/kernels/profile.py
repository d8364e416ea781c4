"""Node profiles as step functions.

Columns: free capacity by kind; with a desired profile, its remaining part by kind.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.fitting import Profile, Values
from dardis.kernels.jit import bare, inlined
from dardis.kernels.rows import (
    Rows,
    close_slot,
    ensure_space,
    find,
    forget_before,
    grown,
    make_rows,
    open_slot,
    shift_up,
)
from dardis.model.arrays import Ints
from dardis.model.errors import ProtocolError
from dardis.model.job import NO_TIME
from dardis.model.platform import Maintenance, Platform
from dardis.model.target import DesiredProfile

DONE, FULL, REFUSED = 0, 1, 2
"""Results: done; arena full; does not fit."""


@inlined
def split_at(rows: Rows, node: int, moment: int) -> int:
    """Ensure a breakpoint at `moment`; return its index."""
    place = find(rows, node, moment)
    if place >= rows.head[node] and rows.time[place] == moment:
        return place
    place += 1
    open_slot(rows, node, place)
    rows.time[place] = moment
    for c in range(rows.value.shape[1]):
        rows.value[place, c] = rows.value[place - 1, c]
    return place


@inlined
def same_values(rows: Rows, a: int, b: int) -> bool:
    """Whether two entries are equal."""
    for c in range(rows.value.shape[1]):
        if rows.value[a, c] != rows.value[b, c]:
            return False
    return True


@inlined
def apply(rows: Rows, node: int, start: int, end: int, request: Ints, units: int) -> None:
    """Subtract `units` times `request` over `[start, end)`; negative units release. Needs two slots."""
    first = split_at(rows, node, start)
    last = split_at(rows, node, end)
    kinds = len(request)
    for c in range(rows.value.shape[1]):
        amount = request[c % kinds] * units
        if amount != 0:
            for place in range(np.uint64(first), np.uint64(last)):  # as entries are shifted
                rows.value[place, c] -= amount
    if same_values(rows, last, last - 1):
        close_slot(rows, node, last)
    if first > rows.head[node] and same_values(rows, first, first - 1):
        close_slot(rows, node, first)


@inlined
def can_hold(rows: Rows, node: int, start: int, end: int, request: Ints, units: int) -> bool:
    """Whether the units fit during `[start, end)`."""
    place = np.uint64(max(find(rows, node, start), rows.head[node]))
    stop = np.uint64(rows.head[node] + rows.size[node])
    while place < stop and rows.time[place] < end:
        for k in range(len(request)):
            if rows.value[place, k] < request[k] * units:
                return False
        place += np.uint64(1)
    return True


@bare
def reserve(rows: Rows, nodes: Ints, units: Ints, request: Ints, start: int, end: int, now: int) -> int:
    """Reserve `units[i]` on `nodes[i]` over `[start, end)`, all or nothing; return DONE, FULL or REFUSED."""
    for i in range(len(nodes)):
        forget_before(rows, nodes[i], now)
        if not can_hold(rows, nodes[i], start, end, request, units[i]):
            return REFUSED
    for i in range(len(nodes)):
        if not ensure_space(rows, nodes[i], np.int64(2)):
            return FULL
    for i in range(len(nodes)):
        apply(rows, nodes[i], start, end, request, units[i])
    return DONE


@bare
def release(rows: Rows, nodes: Ints, units: Ints, request: Ints, start: int, end: int, now: int) -> int:
    """Release a reservation over `[start, end)`, or its later part."""
    for i in range(len(nodes)):
        forget_before(rows, nodes[i], now)
        if not ensure_space(rows, nodes[i], np.int64(2)):
            return FULL
    for i in range(len(nodes)):
        apply(rows, nodes[i], start, end, request, -units[i])
    return DONE


@bare
def bring_forward(rows: Rows, nodes: Ints, units: Ints, request: Ints, start: int, end: int, new: int) -> None:
    """Move a reservation over `[start, end)` to `new`, where it fits. Needs four slots each."""
    until = new + end - start
    for i in range(len(nodes)):
        apply(rows, nodes[i], max(until, start), end, request, -units[i])
        apply(rows, nodes[i], new, min(until, start), request, units[i])


@bare
def without(
    profile: Profile, start: int, end: int, request: Ints, units: int, out_time: Ints, out_value: Values
) -> int:
    """Copy a profile without a reservation.

    Needs space for two more entries.
    """
    time, value, stop = profile.time, profile.value, profile.stop
    kinds = len(request)
    count = 0
    place = profile.head
    passed = 0  # ends of the reservation passed
    while place < stop or passed < 2:
        edge = start if passed == 0 else end
        if place < stop and (passed == 2 or time[place] <= edge):
            out_time[count] = time[place]
            passed += passed < 2 and time[place] == edge
            place += 1
        else:
            out_time[count] = edge
            passed += 1
        back = units if passed == 1 else 0
        for c in range(value.shape[1]):
            out_value[count, c] = value[place - 1, c] + request[c % kinds] * back
        count += 1
    return count


@bare
def ends(rows: Rows, capacity: Ints, nodes: Ints) -> tuple[int, int]:
    """Last breakpoint of the nodes (empty: all), and end of their last reservation."""
    horizon = last_end = -(np.int64(1) << 62)
    for place in range(len(nodes) or len(rows.size)):
        node = nodes[place] if len(nodes) else place
        head = rows.head[node]
        entry = head + rows.size[node] - 1
        horizon = max(horizon, rows.time[entry])
        while entry > head and rows.time[entry] > last_end:
            full = True
            for k in range(capacity.shape[1]):
                if rows.value[entry - 1, k] != capacity[node, k]:
                    full = False
            if not full:
                last_end = rows.time[entry]
            entry -= 1
    return horizon, last_end


@bare
def book(rows: Rows, nodes: Ints, job: int, start: int, now: int) -> int:
    """Record `job`'s start on each node."""
    for i in range(len(nodes)):
        if not ensure_space(rows, nodes[i], np.int64(1)):
            return FULL
    for i in range(len(nodes)):
        node = nodes[i]
        while rows.size[node] > 0 and rows.time[rows.head[node]] <= now:
            rows.head[node] += 1
            rows.size[node] -= 1
        place = find(rows, node, start) + 1
        open_slot(rows, node, place)
        rows.time[place] = start
        rows.value[place, 0] = job
    return DONE


@bare
def unbook(rows: Rows, nodes: Ints, job: int, start: int) -> None:
    """Remove `job` from the nodes' lists, if present."""
    for i in range(len(nodes)):
        place = find(rows, nodes[i], start)
        while place >= rows.head[nodes[i]] and rows.time[place] == start:
            if rows.value[place, 0] == job:
                close_slot(rows, nodes[i], place)
                break
            place -= 1


@bare
def rebook(rows: Rows, nodes: Ints, job: int, start: int, new: int) -> int:
    """Move `job`'s start to `new`, an earlier time; return DONE, or REFUSED if absent."""
    for i in range(len(nodes)):
        node = nodes[i]
        place = find(rows, node, start)
        while place >= rows.head[node] and rows.time[place] == start and rows.value[place, 0] != job:
            place -= 1
        if place < rows.head[node] or rows.time[place] != start:
            return REFUSED
        to = find(rows, node, new) + 1
        shift_up(rows, to, place)
        rows.time[to] = new
        rows.value[to, 0] = job
    return DONE


@bare
def later_jobs(rows: Rows, nodes: Ints, now: int, depth: Ints, out: Ints) -> int:
    """Write the first `depth[i]` jobs after `now` on `nodes[i]`; return their count, or minus the need."""
    count = 0
    for i in range(len(nodes)):
        place = find(rows, nodes[i], now) + 1
        stop = min(rows.head[nodes[i]] + rows.size[nodes[i]], place + depth[i])
        while place < stop:
            if count < len(out):
                out[count] = rows.value[place, 0]
            count += 1
            place += 1
    return count if count <= len(out) else -count


_ALL: Ints = np.zeros(0, dtype=np.int64)


class NodeProfiles:
    """Profiles of the nodes `[first, last)` of a platform."""

    def __init__(self, platform: Platform, first: int, last: int, desired: DesiredProfile | None) -> None:
        """Profiles: capacity less maintenance, and the desired profile."""
        self.first = first
        self.count = last - first
        self.capacity: Ints = np.ascontiguousarray(platform.capacity[first:last])
        self.member: Ints = platform.sets.member[first:last]
        self.has_desired = desired is not None
        kinds = len(platform.kinds)
        self.profiles = make_rows(self.count, 2 * kinds if desired else kinds, 8, np.int32)
        self._lay_out(platform, desired)
        self.changes = self._times()
        """Times when capacity or desired profile change."""

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
                # Maintenance takes the node's whole capacity.
                if not self.reserve(place, one, self.capacity[node - self.first], start, end, NO_TIME):
                    raise ProtocolError(f"node {node}: maintenance from {start} to {end} s cannot be reserved")
        for window in platform.maintenance:
            if window.less is not None:
                self._take_less(window, window.less)

    def _take_less(self, window: Maintenance, less: tuple[int, ...]) -> None:
        mine = np.array([node for node in window.nodes if self.first <= node < self.first + self.count], dtype=np.int64)
        amounts = np.array(less, dtype=np.int64)
        if len(mine) and not self.reserve(
            mine - self.first, np.ones_like(mine), amounts, window.start, window.end, NO_TIME
        ):
            raise ProtocolError(f"nodes have negative capacity from {window.start} to {window.end} s")

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
        """Enlarge the arena."""
        self.profiles = grown(self.profiles)

    def reserve(self, nodes: Ints, units: Ints, request: Ints, start: int, end: int, now: int) -> bool:
        """Reserve all, or nothing and return False."""
        while True:
            answer = reserve(self.profiles, nodes, units, request, start, end, now)
            if answer != FULL:
                return answer == DONE
            self.grow()

    def release(self, nodes: Ints, units: Ints, request: Ints, start: int, end: int, now: int) -> None:
        """Release a reservation."""
        while release(self.profiles, nodes, units, request, start, end, now) == FULL:
            self.grow()

    def ends(self, nodes: Ints = _ALL) -> tuple[int, int]:
        """Last change on the nodes (empty: all), and end of their last reservation."""
        return ends(self.profiles, self.capacity, nodes)
