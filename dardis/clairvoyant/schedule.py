"""Makes a schedule better by knowing all jobs: some are taken out and put in again in another order, all others stay.

A large neighbourhood search (Shaw, 1998) on the nodes themselves, so that it is legal at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from dardis.kernels import search
from dardis.kernels.job_table import JobTable
from dardis.kernels.placer import Placer
from dardis.kernels.profile import DONE
from dardis.kernels.profiles import NodeProfiles
from dardis.kernels.queue import HELD, HOLD, UNBOUND, Rules
from dardis.model.arrays import Ints
from dardis.model.choices import NodeChoice
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, NO_TIME, Actual
from dardis.model.offer_rows import NODE_CHOICES
from dardis.model.placements import Placements, offsets_of
from dardis.model.platform import Platform
from dardis.model.randomness import stream

MOST_OUT: Final = 24
"""Jobs that are taken out beside the one that is to start sooner."""
TRIES_A_JOB: Final = 10
NODES_ASKED: Final = 500_000_000
"""In all tries together, about: a large machine has fewer of them."""

Progress = Callable[[int, int], None]
"""What is called with (how much is done, how much there is)."""
Where = tuple[Ints, Ints]
"""Nodes, ascending, and the units on each."""


class Improving:
    """A whole schedule of jobs whose durations are known."""

    def __init__(self, jobs: Sequence[Actual], platform: Platform, start: Ints, placed: Placements) -> None:
        """Begin with these starts and nodes. Raises ProtocolError where they are not legal."""
        self._earliest = np.array([job.earliest for job in jobs], dtype=np.int64)
        self._span = np.array([job.duration for job in jobs], dtype=np.int64)
        self._area = self._span * np.array([job.asked.units * max(job.asked.request) for job in jobs])
        """What grows with what a job takes of the machine."""
        self.start = np.zeros(len(jobs), dtype=np.int64)
        kinds = len(platform.kinds)
        self._table = JobTable(platform.sets)
        self._slots = [self._table.add(job.asked, job.duration) for job in jobs]
        self._table.queue.table[self._slots, HELD] = 0
        rules = Rules(False, False, 0, UNBOUND, False, False, NODE_CHOICES[NodeChoice.BEST_FIT], 0)
        self._placer = Placer(NodeProfiles(platform, 0, platform.node_count, None), rules, kinds)
        for job, moment in enumerate(start.tolist()):
            span = slice(placed.offsets[job], placed.offsets[job + 1])
            self._put_back(job, moment, (placed.nodes[span].astype(np.int64), placed.units[span].astype(np.int64)))

    @property
    def total(self) -> int:
        """The sum of all starts, in s: what is to become less."""
        return int(self.start.sum())

    @property
    def placed(self) -> Placements:
        """Where jobs are."""
        where = [self._table.nodes_of(slot) for slot in self._slots]
        offsets = offsets_of(np.array([len(nodes) for nodes, _ in where], dtype=np.int64))
        return Placements(offsets, *(np.concatenate(column) for column in zip(*where, strict=True)))

    def improve(self, tries: int, seed: int, progress: Progress | None = None) -> None:
        """Let each start as soon as it can beside the others, then try to change the order of some, so many times."""
        for job in np.lexsort((self._earliest, self.start)).tolist():
            self._take_out(job)
            self._put_in(job)
        chance = stream(seed, "clairvoyant")
        for done in range(tries):
            waiting = np.flatnonzero(self.start > self._earliest)
            if not len(waiting):
                break
            self._try(int(chance.choice(waiting)), chance)
            if progress is not None:
                progress(done + 1, tries)

    def _try(self, job: int, chance: np.random.Generator) -> None:
        """Let a job in before some of those who run while it could, and keep that if all starts' sum does not grow."""
        end = self.start[job] + self._span[job]
        beside = np.flatnonzero((self.start < end) & (self.start + self._span > self._earliest[job]))
        beside = beside[beside != job]
        if not len(beside):
            return
        count = min(len(beside), int(chance.integers(1, MOST_OUT + 1)))
        some = np.concatenate([[job], chance.choice(beside, count, replace=False)])
        before = self.start[some]
        where = [self._take_out(one) for one in some.tolist()]
        if chance.random() < 0.5:
            order = np.concatenate([[0], 1 + np.argsort(before[1:], kind="stable")])
        else:
            order = np.argsort(self._area[some] * chance.exponential(size=len(some)), kind="stable")
        left, placed = int(before.sum()), []
        for one in some[order].tolist():
            self._put_in(one)
            placed.append(one)
            left -= int(self.start[one])
            if left < 0:
                break
        if left < 0:
            for one in placed:
                self._take_out(one)
            for one, moment, there in zip(some.tolist(), before.tolist(), where, strict=True):
                self._put_back(one, moment, there)

    def _take_out(self, job: int) -> Where:
        """Free a job's nodes, and return them."""
        slot = self._slots[job]
        where = self._table.nodes_of(slot)
        self._see(self._placer.change(search.give_back, self._table.queue, slot, NO_TIME))
        return where

    def _put_in(self, job: int) -> None:
        """Give a job its earliest start beside all others."""
        slot, queue, placer = self._slots[job], self._table.queue, self._placer
        if not placer.find(queue, slot, UNBOUND, int(self._earliest[job]), FOREVER, NO_TIME):
            raise ProtocolError("a job that fits finds no nodes")
        self.start[job] = moment = int(placer.room.result[1])
        self._see(placer.change(search.take, queue, slot, moment, NO_TIME))

    def _put_back(self, job: int, moment: int, where: Where) -> None:
        """Give a job this start and these nodes."""
        slot, queue = self._slots[job], self._table.queue
        (nodes, units), low = where, queue.table[self._slots[job], HOLD]
        queue.hold_node[low : low + len(nodes)], queue.hold_units[low : low + len(nodes)] = nodes, units
        queue.table[slot, HELD] = len(nodes)
        self.start[job] = moment
        self._see(self._placer.change(search.take, queue, slot, moment, NO_TIME))

    @staticmethod
    def _see(done: int) -> None:
        """See that a change of the nodes has been made."""
        if done != DONE:
            raise ProtocolError("a job does not fit where it is to be")


def tries_for(jobs: int, nodes: int) -> int:
    """How often it is worth trying."""
    return min(TRIES_A_JOB * jobs, NODES_ASKED // (nodes * MOST_OUT))
