"""Room that a pool keeps for what kernels ask and answer."""

from __future__ import annotations

import numpy as np

from dardis.kernels.at_once import Found
from dardis.kernels.offers import Asked, Batch, Held
from dardis.kernels.placer import FEWEST_OFFERS
from dardis.kernels.selection import NONE
from dardis.model.arrays import Ints
from dardis.model.offer_rows import Asks
from dardis.wire.messages import Seek

_NONE: Ints = np.zeros(0, dtype=np.int64)
_ZEROS: Ints = np.zeros(2, dtype=np.int64)


def found_of(at: Ints, refuser: Ints) -> Found:
    """Room for answers to jobs whose nodes stand from `at` on."""
    start, count, rounds = np.full((3, len(at) - 1), NONE, dtype=np.int64)
    nodes, units = np.empty((2, int(at[-1])), dtype=np.int64)
    return Found(start, count, rounds, refuser, at, nodes, units, np.zeros(1, dtype=np.int64))


class Single:
    """A question about one job, and room for its answer; kept, since to make them takes as long as to answer."""

    def __init__(self, kinds: int, nodes: int) -> None:
        """Have room for so many nodes."""
        self.nodes = nodes
        self._columns = np.empty((8, 1), dtype=np.int64)
        self._request = np.empty((1, kinds), dtype=np.int64)
        job, draw_key, first, last, walltime, units, quota, groups = self._columns
        asks = Asks(job, draw_key, first, last, walltime, units, quota, groups, self._request)
        self.batch = Batch(asks, Held(_ZEROS, _NONE, _NONE, _ZEROS, _ZEROS), Asked(_NONE, _NONE, _NONE))
        self.found = found_of(np.array([0, nodes], dtype=np.int64), _NONE)

    def put(self, seek: Seek) -> None:
        """Ask this."""
        self._columns[:, 0] = (
            seek.job, seek.attempt, seek.first, seek.first, seek.walltime, seek.units, -1, seek.groups
        )  # fmt: skip
        self._request[0] = seek.request


class Space:
    """Rows that answers are written to, as many as one has needed."""

    def __init__(self, columns: int) -> None:
        """Have room for some rows."""
        self.rows: Ints = np.empty((FEWEST_OFFERS, columns), dtype=np.int64)

    def double(self) -> None:
        """Make room for twice as many; what they hold is lost."""
        self.rows = np.empty((2 * len(self.rows), self.rows.shape[1]), dtype=np.int64)
