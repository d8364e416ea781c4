"""Selects the method for a queue by load (T section 4.5.2, figure 4.13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from dardis.dispatch.queue_orders import RULES
from dardis.dispatch.queue_pass import JobByJobPass
from dardis.kernels.job_queue import FREED, RESERVED, RULE, START, WHOLE
from dardis.kernels.node_search import release_job
from dardis.model.job import NO_TIME

if TYPE_CHECKING:
    from dardis.dispatch.cp.solver_dispatcher import ModelPass
    from dardis.kernels.job_table import JobTable
    from dardis.kernels.placer import Placer
    from dardis.model.addresses import JobId
    from dardis.model.platform import Platform
    from dardis.wire.effects import Solved

DAY_S: Final = 86_400
_SHORTEST = (RULES["wt"][1], RULES["wt"][1])


class Method(StrEnum):
    """A decision method."""

    RULE = "rule"
    """Shortest walltime first."""
    MODEL = "model"
    """Eurora scheduler."""
    BACKFILLING = "backfilling"
    """`pbs-walltime`."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """Working ranges, by units submitted within a day and number of nodes."""

    light: int
    """Minimum units per node for the model."""
    heavy: int
    """Minimum units · nodes for backfilling."""

    def method(self, units: int, nodes: int) -> Method:
        """Method for this load."""
        if units * nodes >= self.heavy:
            return Method.BACKFILLING
        return Method.MODEL if units >= self.light * nodes else Method.RULE


class Portfolio:
    """Passes over a queue by the method of the working range."""

    keys: Final = _SHORTEST
    keeps_closed: Final = False
    weighs_levels: Final = False

    def __init__(self, asking: ModelPass, ranges: Ranges) -> None:
        self._asking, self._ranges = asking, ranges
        self._nodes = 0
        self._plain = {
            Method.RULE: JobByJobPass(_SHORTEST, strict=False, backfill=False, depth=1, window=0),
            Method.BACKFILLING: JobByJobPass(_SHORTEST, strict=True, backfill=True, depth=1, window=400),
        }
        self.method = Method.RULE
        self._submitted: dict[JobId, tuple[int, int]] = {}
        """Submission and units of a day's jobs; requeued jobs count once."""

    @property
    def _current_pass(self) -> JobByJobPass | ModelPass:
        return self._asking if self.method is Method.MODEL else self._plain[self.method]

    @property
    def strict(self) -> bool:
        """As the method."""
        return self._current_pass.strict

    @property
    def backfill(self) -> bool:
        """As the method."""
        return self._current_pass.backfill

    @property
    def depth(self) -> int:
        """As the method."""
        return self._current_pass.depth

    @property
    def window(self) -> int:
        """As the method."""
        return self._current_pass.window

    def prepare(self, platform: Platform, placer: Placer) -> None:
        """Prepare the model."""
        self._nodes = platform.node_count
        self._asking.prepare(platform, placer)

    def run_pass(self, placer: Placer, jobs: JobTable, now: int) -> Sequence[Solved]:
        """Select the method and run a pass."""
        if not self._asking.is_busy:
            method = self._ranges.method(self._units(jobs, now), self._nodes)
            if method is not self.method:
                self.method = method
                self._release_reservations(placer, jobs, now)
        return self._current_pass.run_pass(placer, jobs, now)

    def _units(self, jobs: JobTable, now: int) -> int:
        self._submitted |= {
            job.number: (job.submit, job.units) for job in jobs.jobs.values() if job.number not in self._submitted
        }
        self._submitted = {number: one for number, one in self._submitted.items() if one[0] > now - DAY_S}
        return sum(units for _, units in self._submitted.values())

    def _release_reservations(self, placer: Placer, jobs: JobTable, now: int) -> None:
        queue = jobs.queue
        for slot in queue.lists[RULE, : queue.size[RULE]].tolist():
            if queue.table[slot, START] != NO_TIME:
                placer.change(release_job, queue, slot, now)
        state = placer.room.state
        state[RESERVED] = 0
        state[WHOLE] = state[FREED] = 1
        placer.rules = placer.rules._replace(
            strict=self.strict, backfill=self.backfill, depth=self.depth, window=self.window
        )
