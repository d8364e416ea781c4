"""Selection policies: which of the common starts that nodes offer a task manager takes (thesis 5.3.3 to 5.3.5, 7.5).

A policy is a value of a `SelectionPolicy`, and is what a set-up has as `selection`: `--set selection=` takes its name.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from dardis.model.arrays import Ints
from dardis.model.choices import Choice

FROM, TO, INDICES = range(3)
"""Columns of the common starts: first instant, instant after the last, and the sum of the nodes' fitting indices."""
Draw = Callable[[int], int]
"""Draws an integer in [0, n), each equally likely; keyed by seed, job and attempt."""


class SelectionPolicy(Choice):
    """A choice of one start."""

    @property
    def draws(self) -> bool:
        """Whether the seed has a say; nobody knows better of a policy that says nothing."""
        return True

    @abstractmethod
    def take(self, spans: Ints, draw: Draw) -> int:
        """The instant that is taken of `spans` (spans, 3): at least one, ascending, each at least one instant long.

        Instants are counted from the first start that the job asked for, in steps of the set-up's grain. The sum of
        fitting indices (1 unit: 1 << 20) says how much more than the job the machine could hold then.
        """


class Selection(SelectionPolicy):
    """Which common start a task manager takes (thesis 7.5)."""

    MIN_START = "min-start", "The earliest start that enough nodes offer."
    MAX_PROBABILITY = (
        "max-probability",
        "The start with the largest sum of fitting indices, where the machine is emptiest.",
    )
    RANDOM = "random", "Any of them, each equally likely."

    @property
    def draws(self) -> bool:
        """Whether the seed has a say."""
        return self is Selection.RANDOM

    def take(self, spans: Ints, draw: Draw) -> int:
        """The instant that is taken."""
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
