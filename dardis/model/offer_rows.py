"""Columns of asks, offers, sums and candidates, and codes of choices, as messages carry and kernels read them.

All columns are 64-bit integers.
"""

from __future__ import annotations

from typing import NamedTuple

from dardis.model.arrays import Ints
from dardis.model.choices import NodeChoice

INDEX_BITS = 20
"""A fitting index of 1 (one unit fits exactly) is 1 << INDEX_BITS: indices are kept in fixed point."""

NODE, FROM, TO, INDEX, FREE_FROM, FREE_TO = range(6)
"""An offer: node, first start, after the last start (both in instants of the ask's grid), fitting index (fixed point),
and the bounds of the time around, in s, in which a unit fits without a break."""
OFFER_COLUMNS = 6

STEP_INSTANT, STEP_UNITS, STEP_INDICES = range(3)
"""A step of a sum over nodes: instant, change of units, change of the sum of indices."""
STEP_COLUMNS = 3

BEST_KEY, BEST_NODE, BEST_UNITS, BEST_INCARNATION = range(4)
"""A candidate for a start that is given: key (the lowest goes first), node, units that it takes, incarnation of its
host."""
BEST_COLUMNS = 4


class Asks(NamedTuple):
    """A batch of asks as arrays of shape (asks,), `request` (asks, kinds). A quota less than 0 asks for all runs."""

    job: Ints
    draw_key: Ints
    first: Ints
    last: Ints
    walltime: Ints
    units: Ints
    quota: Ints
    groups: Ints
    request: Ints


ROWS, SUMS, CANDIDATES = range(3)
"""What an ask wants: what each node offers; sums over nodes; the best nodes for starts that are named."""
FIRST, UNIFORM, EXPONENTIAL = range(3)
"""Start-time generators: the first instants, or draws as likely as the index, or as that times an exponential decay."""
BEST_FIT, WORST_FIT, ANY_NODE, FIRST_FIT, CONTIGUOUS = range(5)
NODE_CHOICES = {
    NodeChoice.BEST_FIT: BEST_FIT, NodeChoice.WORST_FIT: WORST_FIT, NodeChoice.RANDOM: ANY_NODE,
    NodeChoice.FIRST_FIT: FIRST_FIT, NodeChoice.CONTIGUOUS: CONTIGUOUS,
}  # fmt: skip
"""Which of the nodes that offer a start are taken."""
NOBODY_RESERVES, HOST_RESERVES, ASKER_RESERVES = range(3)
"""Who sees to a reservation for the first job that can't start now."""


TAG, LENGTH, NUMBERS = range(3)
"""Places in every block; from the last on its numbers."""
ASK_TAG, SUMS_TAG, CANDIDATES_TAG = 0, 19, 20

ROUND, GENERATOR, GRAIN, BINDS, HELD_ONLY, AS_IF_UP, WANT, EARLIEST, CHOICE, DISTINCT = range(NUMBERS, NUMBERS + 10)
"""Places of an ask's numbers; its round and that of an answer stand at the same place."""
ASK_NUMBERS = 10
(
    JOB, DRAW_KEY, FIRST_START, LAST_START, WALLTIME, UNITS, QUOTA, GROUPS, REQUEST, SAMPLE_OFFSET, SAMPLE, NEEDED,
    START,
) = range(13)  # fmt: skip
"""An ask's arrays, in order."""
ASK_ARRAYS = 13

HOSTS, HORIZON, LAST_END, DOWN_UNTIL = range(NUMBERS + 1, NUMBERS + 5)
"""Places of an answer's further numbers: sums have all of them, candidates the first."""
SUMS_NUMBERS, CANDIDATES_NUMBERS = 5, 2
