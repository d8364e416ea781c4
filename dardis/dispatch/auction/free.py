"""What nodes have free from now on: now, and how much less where something is closed or kept later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Ints


@dataclass(frozen=True)
class Free:
    """`amounts[l]`, (nodes, kinds), is what nodes have free over all of the first `until[l]` s.

    `until` ascends, and each has less than the one before somewhere. The last holds for whatever is longer. In 001
    nodes have one such amount (eq. 5 and 6): nothing is closed there.
    """

    until: tuple[int, ...]
    amounts: Ints
    """(levels, nodes, kinds)"""

    @classmethod
    def of_steps(cls, steps: list[tuple[Ints, Ints]], longest: int) -> Free:
        """For each node since when, from 0 on, it has what free (`Machine.free`); no job runs longer than `longest`."""
        least = [(time, np.minimum.accumulate(value, axis=0)) for time, value in steps]
        drops = sorted(
            {
                int(time[i])
                for time, value in least
                for i in range(1, len(time))
                if time[i] < longest and (value[i] < value[i - 1]).any()
            }
        )
        since = [0, *drops]
        amounts = [
            [value[int(np.searchsorted(time, moment, side="right")) - 1] for time, value in least] for moment in since
        ]
        return cls((*drops, longest), np.maximum(np.array(amounts, dtype=np.int64), 0))

    def level(self, duration: int) -> int:
        """Whose amounts hold for a job that runs so long."""
        return int(np.searchsorted(self.until, duration))
