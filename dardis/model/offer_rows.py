"""Columns (64-bit integers) and codes in messages and kernels."""

from __future__ import annotations

from typing import NamedTuple

from dardis.model.arrays import Ints
from dardis.model.choices import NodeChoice

INDEX_BITS = 20
"""Fixed-point bits of a fitting index: 1 (one unit fits exactly) is 1 << INDEX_BITS."""

NODE, FROM, TO, INDEX, FREE_FROM, FREE_TO = range(6)
"""Offer: node, start range in grid instants, fitting index, bounds (s) of the free time in which a unit fits."""
OFFER_COLUMNS = 6

STEP_INSTANT, STEP_UNITS, STEP_INDICES = range(3)
"""Sum's step: instant, change of units, change of indices."""
STEP_COLUMNS = 3

BEST_KEY, BEST_NODE, BEST_UNITS, BEST_INCARNATION = range(4)
"""Candidate: key (lowest first), node, units, host incarnation."""
BEST_COLUMNS = 4


class QueryArrays(NamedTuple):
    """Batch of queries (asks,), `request` (asks, kinds). A negative quota requests all runs."""

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
"""Content of answers: offers, sums, or best nodes for given starts."""
FIRST, UNIFORM, EXPONENTIAL = range(3)
"""Start-time generators: first instants; draws by index, without or with exponential decay."""
BEST_FIT, WORST_FIT, ANY_NODE, FIRST_FIT, CONTIGUOUS = range(5)
NODE_CHOICES = {
    NodeChoice.BEST_FIT: BEST_FIT, NodeChoice.WORST_FIT: WORST_FIT, NodeChoice.RANDOM: ANY_NODE,
    NodeChoice.FIRST_FIT: FIRST_FIT, NodeChoice.CONTIGUOUS: CONTIGUOUS,
}  # fmt: skip
NONE_RESERVES, HOST_RESERVES, MANAGER_RESERVES = range(3)
"""Reserving side for the first blocked job."""


TAG, LENGTH, NUMBERS = range(3)
"""Header positions of a block, then numbers."""
QUERY_TAG, SUMS_TAG, CANDIDATES_TAG = 0, 19, 20

ROUND, GENERATOR, GRAIN, BINDS, HELD_ONLY, AS_IF_UP, WANT, EARLIEST, CHOICE, DISTINCT = range(NUMBERS, NUMBERS + 10)
"""Positions of a query's numbers; ROUND also in answers."""
QUERY_NUMBERS = 10
(
    JOB, DRAW_KEY, FIRST_START, LAST_START, WALLTIME, UNITS, QUOTA, GROUPS, REQUEST, SAMPLE_OFFSET, SAMPLE, NEEDED,
    START,
) = range(13)  # fmt: skip
QUERY_ARRAYS = 13

HOSTS, HORIZON, LAST_END, DOWN_UNTIL = range(NUMBERS + 1, NUMBERS + 5)
"""Positions of an answer's other numbers: all for sums, the first for candidates."""
SUMS_NUMBERS, CANDIDATES_NUMBERS = 5, 2

STATIC, CUBED, SHARE, CALLED = range(4)
"""How sort keys change with a job's age: not; −(age / a)³ · b; −age / a; as a Python function computes them."""
