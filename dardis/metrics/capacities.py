"""Capacity audit: no node may hold more than its capacity."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dardis.metrics.job_rules import KeyedViolation, Violation, existing_nodes, merge_violations, timed_jobs
from dardis.model.arrays import Integers, Ints
from dardis.model.placements import offsets_of
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule

NO_JOB = -1
"""Pseudo job number of partial maintenance."""
ProgressCallback = Callable[[int, int], object]


class Capacities:
    """Collects jobs block by block, then reports overloads."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._placements = PlacementsByNode(platform.node_count)
        self._jobs = 0
        self._columns: list[Ints] = []
        """Number, start, finish, requests per block; shape (3 + kinds, jobs)."""
        for window in platform.maintenance:
            if window.less is not None:
                column = np.array([[NO_JOB], [window.start], [window.end], *([amount] for amount in window.less)])
                nodes = np.unique(np.array(window.nodes, dtype=np.int64))
                self._put(column, nodes, np.zeros_like(nodes), np.ones_like(nodes))

    def close(self) -> None:
        """Close the temporary file."""
        self._placements.close()

    def add(self, s: Schedule) -> None:
        """Add the next jobs."""
        s = s.by_part
        columns = np.stack([s.number, s.start, s.finish, *_request_of_platform(s, self._platform)])
        job, nodes, units = s.placed.job_of, s.placed.nodes, s.placed.units
        judged = (timed_jobs(s) & (s.finish > s.start))[job] & existing_nodes(nodes, self._platform) & (units > 0)
        self._put(columns, nodes[judged], job[judged], units[judged])

    def _put(self, columns: Ints, nodes: Integers, job: Ints, units: Integers) -> None:
        self._columns.append(columns)
        self._placements.add(nodes, self._jobs + job, units)
        self._jobs += columns.shape[1]

    def overloads(self, tell: ProgressCallback | None = None) -> Iterator[Violation]:
        """First overload per node and kind; `tell` counts nodes."""
        kinds = len(self._platform.kinds)
        columns = np.concatenate([np.empty((3 + kinds, 0), dtype=np.int64), *self._columns], axis=1)
        for high, block in self._placements.blocks():
            yield from merge_violations(_sweep(self._platform, columns, block))
            if tell is not None:
                tell(high, self._platform.node_count)


def _request_of_platform(s: Schedule, platform: Platform) -> list[Ints]:
    nothing = np.zeros(len(s.number), dtype=np.int64)
    return [s.request[:, s.kinds.index(kind)] if kind in s.kinds else nothing for kind in platform.kinds]


def _sweep(platform: Platform, columns: Ints, block: NDArray[np.void]) -> list[Iterator[KeyedViolation]]:
    number, start, finish, *request = columns
    count = len(block)
    time = np.concatenate([finish[block["job"]], start[block["job"]]])
    begins = np.repeat([False, True], count)
    order = np.lexsort((begins, time, np.tile(block["node"], 2)))  # spans are half-open: ends precede starts
    time, begins = time[order], begins[order]
    record = block[order % max(count, 1)]
    node, job, units = record["node"], record["job"], record["units"]
    group = platform.group_of_node[node]
    sign = np.where(begins, 1, -1)

    def excesses(kind: int) -> Iterator[KeyedViolation]:
        capacity = platform.group_capacity[group, kind]
        # Clip single requests just above capacity: sums of absurd amounts could overflow.
        amount = np.minimum(units * request[kind][job], capacity + 1)
        held = np.cumsum(sign * amount)  # each node's changes sum to zero, so each node begins at 0
        over = np.flatnonzero(begins & (held > capacity))
        _, first = np.unique(node[over], return_index=True)
        for event in over[first].tolist():
            text = f"exceeds its {capacity[event]} {platform.kinds[kind]}"
            begun = int(number[job[event]])
            found = Violation(None if begun == NO_JOB else begun, int(node[event]), int(time[event]), text)
            yield int(node[event]), found

    return [excesses(kind) for kind in range(len(platform.kinds))]


RECORD: Final = np.dtype([("node", np.int32), ("job", np.int32), ("units", np.int64)])
BLOCK: Final = 1 << 18
"""Placements per block; only a fuller node exceeds this."""


class PlacementsByNode:
    """Placements on disk, sorted by node.

    Each `add` writes a run ascending by node.
    """

    def __init__(self, node_count: int) -> None:
        self._per_node = np.zeros(node_count, dtype=np.int64)
        self._file = SpooledTemporaryFile(max_size=BLOCK * RECORD.itemsize)  # noqa: SIM115 (`close` closes it)
        self._ends = [0]

    def close(self) -> None:
        """Close the temporary file."""
        with suppress(OSError):  # a failed flush does not matter any more
            self._file.close()

    def add(self, node: Integers, job: Integers, units: Integers) -> None:
        """Add placements; job numbers ascend between calls.

        An OSError names the temporary folder.
        """
        order = np.argsort(node, kind="stable")
        run = np.empty(len(order), dtype=RECORD)
        run["node"], run["job"], run["units"] = node[order], job[order], units[order]
        try:
            self._file.write(run.tobytes())
        except OSError as error:  # the error for a full disk names no disk
            raise OSError(error.errno, error.strerror, gettempdir()) from error
        self._ends.append(self._ends[-1] + len(run))
        np.add.at(self._per_node, node, 1)

    def blocks(self) -> Iterator[tuple[int, NDArray[np.void]]]:
        """Blocks of whole nodes: end node, records by (node, job)."""
        before = offsets_of(self._per_node)
        unread = self._ends[:-1]
        low = 0
        while low < len(self._per_node):
            high = max(int(np.searchsorted(before, before[low] + BLOCK, side="right")) - 1, low + 1)
            slices = []
            for run, end in enumerate(self._ends[1:]):
                first, unread[run] = unread[run], bisect_left(range(end), high, lo=unread[run], key=self._node_at)
                slices.append(self._read(first, unread[run]))
            block = np.concatenate([np.empty(0, dtype=RECORD), *slices])
            yield high, block[np.argsort(block["node"], kind="stable")]
            low = high

    def _read(self, first: int, last: int) -> NDArray[np.void]:
        self._file.seek(first * RECORD.itemsize)
        return np.frombuffer(self._file.read((last - first) * RECORD.itemsize), dtype=RECORD)

    def _node_at(self, record: int) -> int:
        return int(self._read(record, record + 1)["node"][0])
