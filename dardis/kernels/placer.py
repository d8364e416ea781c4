"""Room to place jobs in: kernels can't enlarge arrays, so they say what they lack, get it, and are called again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from dardis.kernels import node_search
from dardis.kernels.job_queue import Queue, Rules, make_room
from dardis.kernels.offers import make_scratch
from dardis.kernels.profile import FULL
from dardis.kernels.rows import Rows
from dardis.model.arrays import Ints
from dardis.model.offer_rows import OFFER_COLUMNS

FIRST_LONGEST, FEWEST_OFFERS = 64, 1024
"""Breakpoints of a profile, and offers, that there is room for at first."""


class Growing(Protocol):
    """Nodes whose profiles can be given more room."""

    profiles: Rows
    member: Ints

    def grow(self) -> None:
        """Make room for more breakpoints of each node."""


class Placer:
    """Nodes, the rules by which jobs are put on them, and the arrays that kernels work in."""

    def __init__(self, nodes: Growing, rules: Rules, kinds: int, slots: int = 1) -> None:
        """Make room for `slots` jobs that start in one pass; jobs ask for `kinds` kinds of resources."""
        self.nodes = nodes
        self.rules = rules
        scratch = make_scratch(FIRST_LONGEST, nodes.profiles, 0, 0)
        self.room = make_room(kinds, scratch, max(FEWEST_OFFERS, 2 * len(nodes.member)), slots)

    def see_slots(self, slots: int) -> None:
        """See that there is room for so many jobs that start in one pass."""
        if slots > len(self.room.started):
            self.room = self.room._replace(started=np.zeros(slots, dtype=np.int64))

    def run(self, kernel: Callable[..., int], queue: Queue, *rest: object) -> int:
        """Call a kernel of nodes, jobs, rules, room and the `rest` until it has room enough; return what it answers."""
        while True:
            answer = kernel(self.nodes.profiles, self.nodes.member, queue, self.rules, self.room, *rest)
            if answer == FULL:
                self.nodes.grow()
            elif answer == node_search.ROOM:
                self._enlarge()
            else:
                return answer

    def find(self, queue: Queue, slot: int, binding: int, first: int, last: int, now: int) -> bool:
        """Whether a job finds a start in `[first, last]`: its time is then in the room, its nodes in the queue."""
        return self.run(node_search.find, queue, slot, binding, first, last, now) == node_search.FOUND

    def change(self, kernel: Callable[..., int], queue: Queue, *rest: object) -> int:
        """Call a kernel that takes or gives back a job's nodes until it has room enough; return what it answers."""
        while (answer := kernel(self.nodes.profiles, queue, *rest)) == FULL:
            self.nodes.grow()
        return answer

    def _enlarge(self) -> None:
        """Make room for the longest profile, or, where there is, for twice as many offers."""
        longest = int(self.nodes.profiles.size.max(initial=0))
        if longest + 4 > len(self.room.scratch.time):
            self.room = self.room._replace(scratch=make_scratch(2 * longest, self.nodes.profiles, 0, 0))
        else:
            self.room = self.room._replace(out=np.empty((2 * len(self.room.out), OFFER_COLUMNS), dtype=np.int64))
