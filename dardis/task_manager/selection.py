"""Selection policies for common starts (thesis 5.3.3 to 5.3.5, 7.5).

Named in `--set selection=`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from dardis.model.arrays import Ints
from dardis.model.choices import Choice

FROM, TO, INDICES = range(3)
"""First instant, instant after the last, sum of fitting indices."""
Draw = Callable[[int], int]
"""Uniform draw from [0, n), keyed by seed, job and attempt."""


class SelectionPolicy(Choice):
    """A choice of one start."""

    @property
    def draws(self) -> bool:
        """Whether the policy draws (default: yes)."""
        return True

    @abstractmethod
    def take(self, spans: Ints, draw: Draw) -> int:
        """Chosen instant from `spans` (spans, 3), ascending and not empty.

        Instants count grain steps from the first requested start. Fitting indices (1 unit: 1 << 20) measure the
        capacity beyond the job.
        """


class Selection(SelectionPolicy):
    """Which common start a task manager takes (thesis 7.5)."""

    MIN_START = "min-start", "The earliest start that enough nodes offer."
    MAX_PROBABILITY = (
        "max-probability",
        "The start with the largest sum of fitting indices, where the machine is emptiest.",
    )
    RANDOM = "random", "Any common start, each equally likely."

    @property
    def draws(self) -> bool:
        """Whether the policy draws."""
        return self is Selection.RANDOM

    def take(self, spans: Ints, draw: Draw) -> int:
        """Chosen instant."""
        match self:
            case Selection.MIN_START:
                return int(spans[0, FROM])
            case Selection.MAX_PROBABILITY:
                return int(spans[spans[:, INDICES].argmax(), FROM])
            case Selection.RANDOM:
                ends = (spans[:, TO] - spans[:, FROM]).cumsum()
                pick = draw(int(ends[-1]))
                place = int(ends.searchsorted(pick, side="right"))
                return int(spans[place, TO]) - int(ends[place]) + pick
