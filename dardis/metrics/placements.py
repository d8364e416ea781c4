"""Placements (a job on a node) that are handed in job by job and handed out node by node, in a fixed memory.

They lie in a temporary file without a name, of 16 bytes each, in the folder that `tempfile` chooses (`TMPDIR`); it is
gone when the process ends, however it ends. Few placements stay in memory.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dardis.model.arrays import Integers
from dardis.model.placements import offsets_of

RECORD: Final = np.dtype([("node", np.int32), ("job", np.int32), ("units", np.int64)])
BLOCK: Final = 1 << 18
"""Placements handed out at a time, unless there are more on one node: what bounds the memory."""


class PlacementsByNode:
    """Each `add` writes a run, ascending by node; a block of nodes is then a slice of every run."""

    def __init__(self, node_count: int) -> None:
        self._per_node = np.zeros(node_count, dtype=np.int64)
        self._file = SpooledTemporaryFile(max_size=BLOCK * RECORD.itemsize)  # noqa: SIM115 (`close` closes it)
        self._ends = [0]
        """Where runs end in the file, in records; each begins where the one before it ends."""

    def close(self) -> None:
        """Give the file's room back."""
        with suppress(OSError):  # what a full disk did not take is not wanted any more
            self._file.close()

    def add(self, node: Integers, job: Integers, units: Integers) -> None:
        """Take placements: node of the machine, number of the job (ascending from call to call) and its units there.

        Raises OSError that names the folder of the temporary file.
        """
        order = np.argsort(node, kind="stable")
        run = np.empty(len(order), dtype=RECORD)
        run["node"], run["job"], run["units"] = node[order], job[order], units[order]
        try:
            self._file.write(run.tobytes())
        except OSError as error:  # a full disk does not say which one
            raise OSError(error.errno, error.strerror, gettempdir()) from error
        self._ends.append(self._ends[-1] + len(run))
        np.add.at(self._per_node, node, 1)

    def blocks(self) -> Iterator[tuple[int, NDArray[np.void]]]:
        """All placements as blocks of whole nodes, ascending: the node where each ends, and records by (node, job)."""
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
        """The records `[first, last)` of the file."""
        self._file.seek(first * RECORD.itemsize)
        return np.frombuffer(self._file.read((last - first) * RECORD.itemsize), dtype=RECORD)

    def _node_at(self, record: int) -> int:
        return int(self._read(record, record + 1)["node"][0])
