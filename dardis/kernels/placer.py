"""Arrays for placing jobs, enlarged when a kernel lacks space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from dardis.kernels import node_search
from dardis.kernels.job_queue import QueueArrays, Rules, make_pass_buffers, make_work
from dardis.kernels.offers import make_scratch
from dardis.kernels.profile import FULL
from dardis.kernels.rows import Rows
from dardis.model.arrays import Ints
from dardis.model.offer_rows import OFFER_COLUMNS

FIRST_LONGEST, FEWEST_OFFERS = 64, 1024
"""Initial space for breakpoints and offers."""


class GrowableNodes(Protocol):
    """Nodes with growing profiles."""

    profiles: Rows
    member: Ints

    def grow(self) -> None:
        """Enlarge the profiles."""


class Placer:
    """Nodes, placement rules, and work space."""

    def __init__(self, nodes: GrowableNodes, rules: Rules, kinds: int, slots: int = 1) -> None:
        """`slots`: starts in a pass."""
        self.nodes = nodes
        self.rules = rules
        scratch = make_scratch(FIRST_LONGEST, nodes.profiles, 0, 0)
        self.room = make_pass_buffers(kinds, scratch, max(FEWEST_OFFERS, 2 * len(nodes.member)), slots)

    def ensure_slots(self, slots: int) -> None:
        """Ensure space for `slots` starts in a pass."""
        if slots > len(self.room.started):
            self.room = self.room._replace(started=np.zeros(slots, dtype=np.int64))

    def run(self, kernel: Callable[..., int], queue: QueueArrays, *rest: object) -> int:
        """Call a kernel until space suffices; return its result."""
        while True:
            answer = kernel(self.nodes.profiles, self.nodes.member, queue, self.rules, self.room, *rest)
            if not self.enlarge(answer):
                return answer

    def enlarge(self, answer: int) -> bool:
        """Make the room that a kernel's answer wants; return whether it wants any."""
        if answer == FULL:
            self.nodes.grow()
        elif answer == node_search.SPACE_SHORT:
            self._enlarge()
        return answer in (FULL, node_search.SPACE_SHORT)

    def find(self, queue: QueueArrays, slot: int, binding: int, first: int, last: int, now: int) -> bool:
        """Whether a job has a start in `[first, last]`; write `room` and queue."""
        return self.run(node_search.find, queue, slot, binding, first, last, now) == node_search.FOUND

    def change(self, kernel: Callable[..., int], queue: QueueArrays, *rest: object) -> int:
        """Call a kernel without rules until space suffices."""
        while (answer := kernel(self.nodes.profiles, queue, *rest)) == FULL:
            self.nodes.grow()
        return answer

    def _enlarge(self) -> None:
        longest = int(self.nodes.profiles.size.max(initial=0))
        if longest + 4 > len(self.room.scratch.time):
            self.room = self.room._replace(scratch=make_scratch(2 * longest, self.nodes.profiles, 0, 0))
        else:
            rows = 2 * len(self.room.out)
            self.room = self.room._replace(out=np.empty((rows, OFFER_COLUMNS), dtype=np.int64), work=make_work(rows))
