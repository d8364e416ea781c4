"""Queue passes after events, and sort keys of jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from dardis.dispatch.queue_orders import COLUMNS, AgedKeys, Rule, TimedOrder, WaitingJobs, columns_of
from dardis.kernels import passes
from dardis.kernels.job_queue import BACK, LEVEL, NUMBER, RULE, SUBMIT, JobKeys, QueueArrays
from dardis.kernels.job_table import JobTable
from dardis.kernels.placer import Placer
from dardis.kernels.profile import DONE
from dardis.model.arrays import Floats, Ints
from dardis.model.choices import NodeChoice
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.model.offer_rows import CALLED
from dardis.model.platform import Platform
from dardis.wire.effects import Solved


class QueuePass(Protocol):
    """Method for queue passes."""

    @property
    def keys(self) -> tuple[Rule | TimedOrder, Rule | TimedOrder]:
        """Orders of the queue and of backfilling."""

    @property
    def strict(self) -> bool:
        """Whether a blocked job stops later jobs."""

    @property
    def backfill(self) -> bool:
        """Whether blocked jobs get reservations."""

    @property
    def depth(self) -> int:
        """Simultaneous reservations, 0 for all."""

    @property
    def window(self) -> int:
        """Jobs that backfilling considers, 0 for all."""

    @property
    def keeps_closed(self) -> bool:
        """Whether jobs of closed queues stay in the queue."""

    @property
    def weighs_levels(self) -> bool:
        """Whether the order weighs queue priorities instead of following them first."""

    def prepare(self, platform: Platform, placer: Placer) -> None:
        """Read the empty machine, first and after layout changes."""

    def run_pass(self, placer: Placer, jobs: JobTable, now: int) -> Sequence[Solved]:
        """Process queue events and start jobs; slots are in the placer's room."""


@dataclass(frozen=True, slots=True)
class JobByJobPass:
    """Job by job (thesis algorithms 1 to 4)."""

    keys: tuple[Rule | TimedOrder, Rule | TimedOrder]
    strict: bool
    backfill: bool
    depth: int
    window: int
    weighs_levels: bool = False

    @property
    def keeps_closed(self) -> bool:
        """Whether all waiting jobs have reservations."""
        return self.backfill and self.depth in (0, FOREVER) and not self.window

    def prepare(self, platform: Platform, placer: Placer) -> None:
        """Nothing to read."""

    def run_pass(self, placer: Placer, jobs: JobTable, now: int) -> Sequence[Solved]:
        """Start or reserve each job, or leave waiting."""
        check_done(placer.run(passes.run_pass, jobs.queue, now))
        return ()


class PlainQueue(NamedTuple):
    """A queue that a compiled loop can simulate; `choice`: of nodes."""

    how: JobByJobPass
    choice: NodeChoice
    distinct: bool
    seed: int


def check_done(answer: int) -> None:
    """Raise ProtocolError unless DONE."""
    if answer != DONE:
        raise ProtocolError("no nodes are found for a job that fits")


class SortKeys:
    """Computes sort keys."""

    def __init__(self, orders: tuple[Rule | TimedOrder, Rule | TimedOrder]) -> None:
        both = [*zip((RULE, BACK), orders, strict=True)]
        self._rules = [(which, order) for which, order in both if not isinstance(order, TimedOrder)]
        self._clocked = [(which, order) for which, order in both if isinstance(order, TimedOrder)]
        self._is_single = len(self._clocked) == 2 and orders[0] == orders[1]
        """Whether both lists have the same order."""
        self._known = np.zeros((0, COLUMNS))
        """Rows of `columns_of` by slot."""
        self._first = NO_TIME

    def on_submit(self, job: Job) -> None:
        """Note the first submission."""
        if self._first == NO_TIME:
            self._first = job.submit

    def set_keys(self, queue: QueueArrays, slot: int, job: Job, platform: Platform) -> None:
        """Set keys of a new job."""
        for which, rule in self._rules:
            queue.keys[slot, which] = rule(job, platform)
        if not self._clocked:
            return
        if slot >= len(self._known):
            self._known = np.concatenate([self._known, np.zeros((slot + 1 + len(self._known), COLUMNS))])
        self._known[slot] = columns_of(job, platform)

    def update_keys(self, table: JobTable, arrived: Sequence[int], now: int) -> bool:
        """Update keys and sort; return whether places changed."""
        moved, queue = False, table.queue
        for which, order in self._clocked[: 1 if self._is_single else 2]:
            slots = queue.lists[which, : queue.size[which]]
            numbered = np.concatenate([slots if order.ages else slots[:0], np.array(arrived, dtype=np.int64)])
            if len(numbered) == 0:
                continue
            waiting = WaitingJobs(
                self._known.take(numbered, axis=0),
                lambda numbered=numbered: [table.jobs[slot] for slot in numbered.tolist()],  # type: ignore[misc]
                now, self._first,
            )  # fmt: skip
            queue.keys[numbered, which] = order.sort_keys(waiting)
            if order.ages:
                places = _in_order(queue, which, slots)
                moved = moved or bool((places[1:] < places[:-1]).any())
                slots[:] = slots[places]
            if self._is_single:
                queue.keys[numbered, BACK] = queue.keys[numbered, which]
                queue.lists[BACK, : len(slots)] = slots
        return moved


def _in_order(queue: QueueArrays, which: int, slots: Ints) -> Ints:
    keys, below = queue.keys[slots, which], -queue.table[slots, LEVEL]
    places = np.lexsort((keys, below))  # cheap if almost sorted
    sorted_keys, sorted_below = keys[places], below[places]
    if ((sorted_keys[1:] != sorted_keys[:-1]) | (sorted_below[1:] != sorted_below[:-1])).all():
        return places
    return np.lexsort((queue.table[slots, NUMBER], queue.table[slots, SUBMIT], keys, below))


def compiled_keys(
    orders: Sequence[Rule | TimedOrder], jobs: Sequence[Job], platform: Platform,
    columns: Callable[[], WaitingJobs],
) -> JobKeys:  # fmt: skip
    """Keys of all jobs of a run for the compiled simulation."""
    orders = orders[:1] if orders[0] == orders[1] else orders
    key, mode = np.zeros((len(jobs), len(orders))), np.zeros(2, dtype=np.int64)
    aged: dict[int, AgedKeys] = {}
    for which, order in enumerate(orders):
        if not isinstance(order, TimedOrder):
            key[:, which] = [order(job, platform) for job in jobs]
        elif order.constants is not None:
            aged[which] = order.constants(columns())
            mode[which] = aged[which].mode
        elif order.ages:
            mode[which] = CALLED
        else:
            key[:, which] = order.sort_keys(columns())
    mode[len(orders) - 1 :] = mode[len(orders) - 1]
    a, b = np.ones((2, len(jobs) if aged else 0, 2))
    for which, one in aged.items():
        columns_of_order = slice(which, which + 1 if len(orders) > 1 else 2)
        a[:, columns_of_order], b[:, columns_of_order] = one.a[:, None], one.b[:, None]
    return JobKeys(key, mode, a, b)


def called_keys(
    orders: tuple[Rule | TimedOrder, Rule | TimedOrder], columns: Callable[[], WaitingJobs]
) -> Callable[[Ints, int], Floats] | None:
    """Keys of jobs by place, at a time, of the order that is not compiled; None: there is none."""
    for order in orders:
        if isinstance(order, TimedOrder) and order.ages and order.constants is None:
            jobs, sort_keys = columns(), order.sort_keys
            return lambda places, now: sort_keys(jobs.at(places, now))
    return None
