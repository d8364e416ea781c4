"""The columns of what nodes answer, as messages carry it and kernels write it: offers, steps of sums, candidates.

All columns are 64-bit integers.
"""

from __future__ import annotations

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
