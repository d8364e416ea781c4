"""How a queue is gone over whenever something has happened: what one central dispatcher does otherwise than another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dardis.dispatch.orders import Clocked, Rule
from dardis.kernels import passes
from dardis.kernels.job_table import JobTable
from dardis.kernels.placer import Placer
from dardis.kernels.profile import DONE
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER
from dardis.model.platform import Platform
from dardis.wire.effects import Solved


class Pass(Protocol):
    """Goes over a queue; the machine, what is told of jobs, and who may not start yet are the dispatcher's."""

    @property
    def keys(self) -> tuple[Rule | Clocked, Rule | Clocked]:
        """Put the queue in order, and those who are backfilled."""

    @property
    def strict(self) -> bool:
        """Whether whoever can't start stops those behind."""

    @property
    def backfill(self) -> bool:
        """Whether nodes are reserved for whoever can't start."""

    @property
    def depth(self) -> int:
        """Reservations that are held at once, 0 for all."""

    @property
    def window(self) -> int:
        """Jobs that backfilling looks at, 0 for all."""

    @property
    def keeps_closed(self) -> bool:
        """Whether those stay on the queue who may not start at this hour; else they come when it opens."""

    @property
    def weighs_levels(self) -> bool:
        """Whether the priorities of queues are weighed by the order, in place of going before it."""

    def see_empty(self, platform: Platform, placer: Placer) -> None:
        """Look at the machine while nobody runs: at first, and whenever it has become another, with no slots taken."""

    def go_over(self, placer: Placer, jobs: JobTable, now: int) -> Sequence[Solved]:
        """Take in what the queue's lists tell, and let start who is to: their slots are in the placer's room then.

        Answers what is to be told of how it was decided.
        """


@dataclass(frozen=True, slots=True)
class InOrder:
    """Job by job (thesis algorithms 1 to 4)."""

    keys: tuple[Rule | Clocked, Rule | Clocked]
    strict: bool
    backfill: bool
    depth: int
    window: int
    weighs_levels: bool = False

    @property
    def keeps_closed(self) -> bool:
        """Where all who wait have reservations."""
        return self.backfill and self.depth in (0, FOREVER) and not self.window

    def see_empty(self, platform: Platform, placer: Placer) -> None:
        """There is nothing to know of it."""

    def go_over(self, placer: Placer, jobs: JobTable, now: int) -> Sequence[Solved]:
        """Let each start, or reserve, or wait."""
        see_done(placer.run(passes.pass_over, jobs.queue, now))
        return ()


def see_done(answer: int) -> None:
    """Raise ProtocolError for anything but DONE."""
    if answer != DONE:
        raise ProtocolError("a job that fits finds no nodes, or none that hold it")
