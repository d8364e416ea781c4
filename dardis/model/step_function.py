"""Step functions of time as breakpoints and values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.job import NO_TIME


@dataclass(frozen=True, slots=True)
class StepFunction:
    """Value `values[i]` holds in `[times[i], times[i+1])`, the last for ever; `times[0]` is `NO_TIME`."""

    times: Ints
    values: Ints

    @classmethod
    def from_steps(cls, before: int, steps: Iterable[tuple[int, int]]) -> StepFunction:
        """Build from unsorted (time, value) pairs; the last of a time wins. `before`: initial value."""
        table = dict(sorted(steps, key=lambda step: step[0]))
        times = np.array([NO_TIME, *table], dtype=np.int64)
        return cls(times, np.array([before, *table.values()], dtype=np.int64))

    @classmethod
    def from_spans(cls, starts: Ints, ends: Ints, amounts: Ints | int = 1) -> StepFunction:
        """Sum of `amounts[i]` over spans `[starts[i], ends[i])`; 0 elsewhere."""
        moments = np.concatenate([starts, ends])
        each = np.broadcast_to(amounts, len(starts))
        change = np.concatenate([each, -each])
        times, place = np.unique(moments, return_inverse=True)
        steps = np.zeros(len(times), dtype=np.int64)
        np.add.at(steps, place, change)
        return cls(
            np.concatenate([[NO_TIME], times]).astype(np.int64),
            np.concatenate([[0], np.cumsum(steps)]).astype(np.int64),
        )

    @classmethod
    def combined(cls, how: Callable[..., Ints], *functions: StepFunction) -> StepFunction:
        """Apply `how` to the values of all functions at all breakpoints."""
        times = breakpoints(functions)
        return cls(times, how(*(function.at(times) for function in functions)))

    @classmethod
    def sum_of(cls, functions: Iterable[StepFunction]) -> StepFunction:
        """Sum of the functions."""
        functions = [ZERO, *functions]
        times = breakpoints(functions)
        values = np.zeros(len(times), dtype=np.int64)
        for function in functions:  # one by one to save memory: machines have many nodes
            values += function.at(times)
        return cls(times, values)

    def followed_by(self, other: StepFunction, since: int) -> StepFunction:
        """Join this function before `since` and the other after."""
        mine, rest = self.times < since, other.times > since
        return StepFunction(
            np.concatenate([self.times[mine], [since], other.times[rest]]),
            np.concatenate([self.values[mine], other.at(np.array([since])), other.values[rest]]),
        )

    def max_over(self, starts: Ints, ends: Ints) -> Ints:
        """Maximum over each `[starts[i], ends[i])` of at least 1 s."""
        return Extremes(self, np.maximum).over(starts, ends)

    def max_ahead(self, seconds: int) -> StepFunction:
        """Maximum from each time to `seconds` later, inclusive."""
        times = np.unique(np.concatenate([self.times, self.times[1:] - seconds]))
        return StepFunction(times, self.max_over(times, times + seconds + 1))

    def at(self, moments: Ints | int) -> Ints:
        """Values at the given times."""
        return np.asarray(self.values[np.searchsorted(self.times, moments, side="right") - 1])

    def breaks_in(self, start: int, end: int) -> Ints:
        """Breakpoints after `start` and before `end`."""
        return self.times[(self.times > start) & (self.times < end)]

    def integral(self, start: int, end: int) -> int:
        """Exact integral over `[start, end)`."""
        if end <= start:
            return 0
        edges = np.concatenate([[start], self.breaks_in(start, end), [end]]).astype(np.int64)
        return int(np.dot(np.diff(edges), self.at(edges[:-1])))


class Extremes:
    """Minima or maxima over many spans, from tables of 1, 2, 4, … steps."""

    def __init__(self, function: StepFunction, extreme: np.ufunc) -> None:
        self._times, self._extreme = function.times, extreme
        self._of_steps: list[Ints] = [function.values]
        while (half := 1 << (len(self._of_steps) - 1)) < len(last := self._of_steps[-1]):
            self._of_steps.append(extreme(last[:-half], last[half:]))

    def over(self, starts: Ints, ends: Ints) -> Ints:
        """Extreme value over each `[starts[i], ends[i])` of at least 1 s."""
        first = np.searchsorted(self._times, starts, side="right") - 1
        last = np.searchsorted(self._times, ends, side="left") - 1
        level = np.frexp(last - first + 1)[1] - 1
        found = np.zeros(len(starts), dtype=np.int64)
        for place in np.unique(level).tolist():
            here, of_steps = level == place, self._of_steps[place]
            found[here] = self._extreme(of_steps[first[here]], of_steps[last[here] - (1 << place) + 1])
        return found


def sum_of_columns(parts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Sum step functions with several columns: times (steps,) and values (steps, columns).

    A part's first values hold before, too.
    """
    times = np.unique(np.concatenate([time for time, _ in parts]))
    total = np.zeros((len(times), parts[0][1].shape[1]), dtype=np.int64)
    for time, value in parts:
        total += value[np.maximum(np.searchsorted(time, times, side="right") - 1, 0)]
    return times, total


def breakpoints(functions: Sequence[StepFunction]) -> Ints:
    """Distinct breakpoints, ascending."""
    return np.unique(np.concatenate([function.times for function in functions]))


ZERO = StepFunction.from_steps(0, [])
