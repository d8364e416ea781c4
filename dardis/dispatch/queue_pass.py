"""Passes over a queue after each event, and the numbers of the jobs in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dardis.dispatch.queue_orders import Clocked, Rule, Waiting
from dardis.kernels import passes
from dardis.kernels.job_queue import BACK, LEVEL, NUMBER, RULE, SUBMIT, Queue
from dardis.kernels.job_table import JobTable
from dardis.kernels.placer import Placer
from dardis.kernels.profile import DONE
from dardis.model.arrays import Ints
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.model.platform import Platform
from dardis.model.resources import CORES
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


class Numbering:
    """Numbers the jobs of a queue: by rules once, by orders that see the clock whenever it is decided."""

    def __init__(self, orders: tuple[Rule | Clocked, Rule | Clocked]) -> None:
        """`orders` are those of the queue, and of those who are backfilled."""
        both = [*zip((RULE, BACK), orders, strict=True)]
        self._rules = [(which, order) for which, order in both if not isinstance(order, Clocked)]
        self._clocked = [(which, order) for which, order in both if isinstance(order, Clocked)]
        self._known = np.zeros((0, 4))
        """By slot: submission, s on the trace's clock, and the last three of `Waiting`."""
        self._first = NO_TIME

    def hear_of(self, job: Job) -> None:
        """Know when the first job came, whatever becomes of it."""
        if self._first == NO_TIME:
            self._first = job.submit

    def enter(self, queue: Queue, slot: int, job: Job, platform: Platform) -> None:
        """Number a job that is to wait in this slot, as far as that is done once."""
        for which, rule in self._rules:
            queue.keys[slot, which] = rule(job, platform)
        if not self._clocked:
            return
        if slot >= len(self._known):
            self._known = np.concatenate([self._known, np.zeros((slot + 1 + len(self._known), 4))])
        cores = job.amounts[platform.kinds.index(CORES)]
        self._known[slot] = job.submit, job.expected, cores, platform.level_of(job.queue)

    def see_clock(self, queue: Queue, arrived: Sequence[int], now: int) -> bool:
        """Number and sort who waits, and number those that have `arrived`; whether anybody has another place now."""
        moved = False
        for which, order in self._clocked:
            slots = queue.lists[which, : queue.size[which]]
            numbered = np.concatenate([slots if order.ages else slots[:0], np.array(arrived, dtype=np.int64)])
            queue.keys[numbered, which] = order.number(self._waiting(numbered, now))
            if order.ages:
                places = _in_order(queue, which, slots)
                moved = moved or bool((places[1:] < places[:-1]).any())
                slots[:] = slots[places]
        return moved

    def _waiting(self, slots: Ints, now: int) -> Waiting:
        submit, expected, cores, level = self._known[slots].T
        return Waiting(np.maximum(now - submit, 0), np.maximum(submit - self._first, 0), expected, cores, level)


def _in_order(queue: Queue, which: int, slots: Ints) -> Ints:
    """The places of the slots in the order in which kernels keep a list (`kernels.in_order`)."""
    keys, below = queue.keys[slots, which], -queue.table[slots, LEVEL]
    places = np.lexsort((keys, below))  # next to no work where hardly anybody has moved
    sorted_keys, sorted_below = keys[places], below[places]
    if ((sorted_keys[1:] != sorted_keys[:-1]) | (sorted_below[1:] != sorted_below[:-1])).all():
        return places
    return np.lexsort((queue.table[slots, NUMBER], queue.table[slots, SUBMIT], keys, below))
