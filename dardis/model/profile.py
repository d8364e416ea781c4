"""Step functions of time: breakpoints and values, never one value a second."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.job import NO_TIME


@dataclass(frozen=True, slots=True)
class StepFunction:
    """`values[i]` holds in `[times[i], times[i+1])`, the last for ever; `times[0]` is `NO_TIME`, before all."""

    times: Ints
    values: Ints

    @classmethod
    def from_steps(cls, before: int, steps: Iterable[tuple[int, int]]) -> StepFunction:
        """Build from (time, value) pairs in any order; `before` holds until the first, the last of equal times wins."""
        table = dict(sorted(steps, key=lambda step: step[0]))
        times = np.array([NO_TIME, *table], dtype=np.int64)
        return cls(times, np.array([before, *table.values()], dtype=np.int64))

    @classmethod
    def from_spans(cls, starts: Ints, ends: Ints, amounts: Ints) -> StepFunction:
        """Sum of `amounts[i]` over the half-open spans `[starts[i], ends[i])`; 0 elsewhere."""
        moments = np.concatenate([starts, ends])
        change = np.concatenate([amounts, -amounts])
        times, place = np.unique(moments, return_inverse=True)
        steps = np.zeros(len(times), dtype=np.int64)
        np.add.at(steps, place, change)
        return cls(
            np.concatenate([[NO_TIME], times]).astype(np.int64),
            np.concatenate([[0], np.cumsum(steps)]).astype(np.int64),
        )

    def at(self, moments: Ints | int) -> Ints:
        """Values at the given times."""
        return np.asarray(self.values[np.searchsorted(self.times, moments, side="right") - 1])

    def integral(self, start: int, end: int) -> int:
        """Exact integral over `[start, end)`."""
        if end <= start:
            return 0
        inner = self.times[(self.times > start) & (self.times < end)]
        edges = np.concatenate([[start], inner, [end]]).astype(np.int64)
        return int(np.dot(np.diff(edges), self.at(edges[:-1])))
