"""What each job takes of the machine, and how far apart its nodes are: blocks of neighbours and spread.

As in "An Auction Based SLURM Scheduler for Heterogeneous Supercomputers" (Soner and Özturan), section 6.2. Who is
whose neighbour is told by node number; the nodes of a job are those of all its parts together.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.placements import Placements
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule

_BLOCK: Final = 8192
"""Jobs whose nodes are gone through at a time, so that what is made of them never fills the memory."""


class Footprints(NamedTuple):
    """Of every job, shape (jobs,); 0 for one that did not run."""

    core_s: Ints
    """Core-seconds that it used."""
    fragmentation: Ints
    """Blocks of neighbours that its nodes make: 1 where they lie side by side."""
    spread: Floats
    """From its first node to its last, both counted, over how many it has: 1 where they lie side by side."""


def footprints(schedule: Schedule) -> Footprints:
    """Those of all jobs of a schedule."""
    return Footprints(core_seconds(schedule), _fragmentation(schedule.placed), _spread(schedule.placed))


def core_seconds(schedule: Schedule) -> Ints:
    """Core-seconds that each job used, 0 for one that did not run; shape (jobs,)."""
    cores = schedule.asked_of(CORES)
    return np.where(schedule.ran, cores * (schedule.finish - schedule.start), 0)


def _fragmentation(placed: Placements) -> Ints:
    jobs = len(placed.counts)
    found = [np.diff(placed.blocks(first, min(first + _BLOCK, jobs))[0]) for first in range(0, jobs, _BLOCK)]
    return np.concatenate([np.empty(0, dtype=np.int64), *found])


def _spread(placed: Placements) -> Floats:
    counts = placed.counts
    some = counts > 0
    first, last = placed.nodes[placed.offsets[:-1][some]], placed.nodes[placed.offsets[1:][some] - 1]
    spread = np.zeros(len(counts))
    spread[some] = (last - first + 1) / counts[some]
    return spread
