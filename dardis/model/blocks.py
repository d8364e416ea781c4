"""Where things stand in those messages that kernels read and write as they are on the wire: blocks of integers.

A block is its kind's tag, its length, the message's numbers, of each array how many dimensions it has and how long they
are, then what the arrays hold, one after the other; both in the order of the message's fields.
"""

from __future__ import annotations

TAG, LENGTH, NUMBERS = range(3)
"""Places in every block; from the last on its numbers."""
ASK_TAG, SUMS_TAG, CANDIDATES_TAG = 0, 19, 20

ROUND, GENERATOR, GRAIN, BINDS, HELD_ONLY, AS_IF_UP, WANT, POLICY, CHOICE, DISTINCT = range(NUMBERS, NUMBERS + 10)
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
