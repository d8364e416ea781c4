"""What place each job has among those that wait: keeps a queue's numbers, and its lists in their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dardis.dispatch.orders import Clocked, Rule, Waiting
from dardis.kernels.queue import BACK, LEVEL, NUMBER, RULE, SUBMIT, Queue
from dardis.model.arrays import Ints
from dardis.model.job import NO_TIME, Job
from dardis.model.platform import Platform
from dardis.model.resources import CORES


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
