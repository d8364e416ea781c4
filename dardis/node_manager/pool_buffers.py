"""Buffers, request checks and free-capacity indexes of a pool."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import numpy as np

from dardis.kernels.common_starts import NONE
from dardis.kernels.free_capacity_index import (
    ISSUE,
    MOST_NODES,
    NO_CHANGES,
    NO_INDEX,
    WRITTEN,
    Changes,
    FreeCapacityIndex,
    make_changes,
    make_index,
)
from dardis.kernels.offers import HeldReservations, QueriedNodes, QueryBatch
from dardis.kernels.placer import FEWEST_OFFERS
from dardis.kernels.round_kernel import RoundResults
from dardis.model.arrays import Ints
from dardis.model.errors import ProtocolError
from dardis.model.local_queries import SeekQuery
from dardis.model.offer_rows import QueryArrays
from dardis.wire import messages as say

_NONE: Ints = np.zeros(0, dtype=np.int64)
_ZEROS: Ints = np.zeros(2, dtype=np.int64)


def make_results(at: Ints, refuser: Ints) -> RoundResults:
    """Space for results."""
    start, count, rounds = np.full((3, len(at) - 1), NONE, dtype=np.int64)
    nodes, units = np.empty((2, int(at[-1])), dtype=np.int64)
    return RoundResults(start, count, rounds, refuser, at, nodes, units, np.zeros(1, dtype=np.int64))


class SingleSeek:
    """Request for one job, with result space."""

    # Reused, as creation takes as long as the answer.

    def __init__(self, kinds: int, nodes: int) -> None:
        self.nodes = nodes
        self._columns = np.empty((8, 1), dtype=np.int64)
        self._request = np.empty((1, kinds), dtype=np.int64)
        job, draw_key, first, last, walltime, units, quota, groups = self._columns
        asks = QueryArrays(job, draw_key, first, last, walltime, units, quota, groups, self._request)
        self.batch = QueryBatch(
            asks, HeldReservations(_ZEROS, _NONE, _NONE, _ZEROS, _ZEROS), QueriedNodes(_NONE, _NONE, _NONE)
        )
        self.found = make_results(np.array([0, nodes], dtype=np.int64), _NONE)

    def put(self, seek: SeekQuery) -> None:
        """Write a request."""
        self._columns[:, 0] = (
            seek.job, seek.attempt, seek.first, seek.first, seek.walltime, seek.units, -1, seek.groups
        )  # fmt: skip
        self._request[0] = seek.request


class GrowingRows:
    """Growing rows."""

    def __init__(self, columns: int) -> None:
        self.rows: Ints = np.empty((FEWEST_OFFERS, columns), dtype=np.int64)

    def double(self) -> None:
        """Double the rows, without contents."""
        self.rows = np.empty((2 * len(self.rows), self.rows.shape[1]), dtype=np.int64)


def check_query(ask: say.OfferQuery, first: int, last: int, kinds: int) -> None:
    """Raise ProtocolError for an ask invalid on the nodes `[first, last)`."""
    jobs, offset, sample = len(ask.job), ask.sample_offset, ask.sample
    *columns, request = ask.columns
    of_each = (*columns, ask.start) if ask.want == say.CANDIDATES else columns
    sound = jobs > 0 and all(len(column) == jobs for column in of_each) and request.shape == (jobs, kinds)
    sound = sound and ask.grain > 0
    sound = sound and bool(request.min() >= 0 and ask.units.min() > 0 and ask.walltime.min() > 0)
    if sound and len(offset):
        sound = len(offset) == jobs + 1 and offset[0] == 0 and offset[-1] == len(sample)
        sound = sound and bool((offset[1:] >= offset[:-1]).all())
        sound = sound and (len(sample) == 0 or (sample.min() >= first and sample.max() < last))
    # `needed` covers all jobs or none.
    if not sound or 0 < len(ask.needed) < jobs:
        raise ProtocolError("an invalid OfferQuery")


MOST_SIZES: Final = 16
"""Indexes kept; the least recently used is dropped."""
MOST_NAMES: Final = 4096
"""Sizes remembered."""


class FreeCapacityIndexes:
    """Indexes by unit size, from the second request on."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._changes = NO_CHANGES
        self._kept: OrderedDict[tuple[int, bytes], FreeCapacityIndex] = OrderedDict()
        self._asked: set[tuple[int, bytes]] = set()

    def note_changed(self, nodes: Ints) -> None:
        """Record changed nodes."""
        changes = self._changes
        if not len(changes.node):
            return
        written = int(changes.about[WRITTEN])
        end = written + len(nodes)
        if end <= len(changes.node):
            changes.node[written:end] = nodes
            changes.about[WRITTEN] = end
        else:
            # The list begins anew, and the next request examines all nodes.
            changes.about[WRITTEN] = 0
            changes.about[ISSUE] += 1

    def index_of(self, request: Ints, groups: int) -> tuple[Changes, FreeCapacityIndex]:
        """Changes and index for a unit size; empty at first."""
        size = groups, request.tobytes()
        openings = self._kept.get(size)
        if openings is not None:
            self._kept.move_to_end(size)
        elif size in self._asked and self._nodes <= MOST_NODES:
            if not self._kept:
                self._changes = make_changes(self._nodes)
            if len(self._kept) == MOST_SIZES:
                self._asked.discard(self._kept.popitem(last=False)[0])
            openings = self._kept[size] = make_index(self._nodes)
        else:
            if len(self._asked) == MOST_NAMES:
                self._asked.clear()
            self._asked.add(size)
            return NO_CHANGES, NO_INDEX
        return self._changes, openings
