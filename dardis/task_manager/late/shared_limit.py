"""Desired profile that all nodes share.

It limits the sum over all jobs: a job may start if the rest permits its whole run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dardis.kernels import limit_row as kernel
from dardis.kernels.profile import FULL
from dardis.kernels.rows import Rows, grown, make_rows
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.model.platform import Platform
from dardis.model.step_function import ZERO, breakpoints
from dardis.model.target import DesiredProfile
from dardis.power.unit_power import MILLI, UnitPower

UNLIMITED = np.int64(1) << 61


class _Taken(NamedTuple):
    need: Ints
    start: int
    end: int


class SharedLimit:
    """What is left of the machine-wide values over time, by resource kind, then power in mW."""

    def __init__(self, platform: Platform, desired: DesiredProfile) -> None:
        """A power cap limits the idle power of all nodes plus the power that jobs add."""
        kinds = len(platform.kinds)
        self._power = UnitPower(platform)
        self._sets = platform.sets
        functions = {kind: desired.total(kind) for kind in desired.machine}
        if desired.watts is not None:
            functions[kinds] = desired.watts
        self.steps: Ints = breakpoints([ZERO, *functions.values()])
        """Times of changes; the first precedes all time."""
        left = np.full((len(self.steps), kinds + 1), UNLIMITED, dtype=np.int64)
        for column, function in functions.items():
            left[:, column] = function.at(self.steps)
        if desired.watts is not None:
            left[:, kinds] = left[:, kinds] * MILLI - self._power.idle_mw.sum()
        self._last: Ints = left[-1].copy()
        self.rows: Rows = make_rows(1, kinds + 1, len(self.steps) + 8, np.int64)
        self.rows.time[: len(self.steps)], self.rows.value[: len(self.steps)] = self.steps, left
        self.rows.size[0] = len(self.steps)
        self._taken: dict[JobId, _Taken] = {}
        self._others: Ints = np.zeros(kinds + 1, dtype=np.int64)

    def need_of(self, job: Job) -> Ints:
        """What a job takes: amounts by kind, and mW."""
        takes = job.takes
        if takes is None:
            takes = (*job.request, self._power.of_unit(job.request, self._sets.groups(job.groups)))
        return np.array(takes, dtype=np.int64) * job.units

    def earliest(self, job: Job, first: int, span: int) -> int:
        """Earliest permitted start of a run of `span` s (FOREVER: none)."""
        return int(kernel.earliest_permitted(self.rows, self.need_of(job), first, max(span, 1)))

    def is_beyond(self, job: Job) -> bool:
        """Whether the last values never permit a job, whatever others take."""
        return bool((self.need_of(job) > self._last).any())

    def set_others(self, amounts: Sequence[int]) -> None:
        """State what others than jobs take from now on, by kind, and mW; negative: leave."""
        others = np.array(amounts, dtype=np.int64)
        self.rows.value[self.rows.head[0] : self.rows.head[0] + self.rows.size[0]] += self._others - others
        self._others = others

    def withhold(self, amounts: Sequence[int], start: int, end: int) -> None:
        """Take amounts by kind, and mW, from jobs during `[start, end)`."""
        self._charge(np.array(amounts, dtype=np.int64), start, end, 1)

    def next_step(self, now: int) -> int:
        """Next change of the values (FOREVER: none)."""
        place = int(np.searchsorted(self.steps, now, side="right"))
        return int(self.steps[place]) if place < len(self.steps) else FOREVER

    def take(self, job: Job, start: int) -> None:
        """Take what a job needs from `start` on for its walltime, permitted or not."""
        self.note(job, start)
        taken = self._taken[job.number]
        self._charge(taken.need, start, taken.end, 1)

    def note(self, job: Job, start: int) -> None:
        """Record what a kernel took."""
        self._taken[job.number] = _Taken(self.need_of(job), start, start + job.walltime)

    def drop(self, number: JobId, now: int = NO_TIME) -> None:
        """What a job took, if it took any, from now on."""
        taken = self._taken.pop(number, None)
        if taken is not None:
            self._charge(taken.need, max(taken.start, now), taken.end, -1)

    def _charge(self, need: Ints, start: int, end: int, sign: int) -> None:
        while kernel.charge(self.rows, need, start, end, sign) == FULL:
            self.grow()

    def grow(self) -> None:
        """Make room for steps."""
        self.rows = grown(self.rows)
