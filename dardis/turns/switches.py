"""When nodes are switched, and who is told: a switcher beside the turns of others. Without one nothing ever is."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import pairwise

import numpy as np

from dardis.model.addresses import JobId, all_hosts
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER
from dardis.node_manager.switching import Switcher
from dardis.turns.turn import Turn
from dardis.wire.effects import Send, Switched, Talk
from dardis.wire.messages import Switch


class Switches:
    """The nodes of a machine, which host holds which, and what a switcher, if any, is told of them."""

    def __init__(self, switcher: Switcher | None, bounds: Ints) -> None:
        """Host h holds the nodes [bounds[h], bounds[h+1])."""
        self._switcher = switcher
        self._bounds = bounds

    @property
    def longest_s(self) -> int:
        """How long a job may have to wait for nodes that are down, s."""
        return 0 if self._switcher is None else self._switcher.longest_s

    def up_from(self, time: int, nodes: Ints) -> int:
        """When these nodes are all up at the soonest, if they are woken at `time`."""
        return time if self._switcher is None else self._switcher.up_from(time, nodes)

    def reserved(self, job: JobId, start: int, nodes: Ints) -> None:
        """A job will begin at `start` on these nodes, and on no others."""
        if self._switcher is not None:
            self._switcher.reserved(job, start, nodes)

    def dropped(self, job: JobId) -> None:
        """A job holds its nodes no more."""
        if self._switcher is not None:
            self._switcher.dropped(job)

    def ended(self, job: JobId, now: int) -> None:
        """A job has ended on its nodes."""
        if self._switcher is not None:
            self._switcher.ended(job, now)

    def wake(self) -> int:
        """When something may be switched though no job begins or ends (FOREVER: never)."""
        return FOREVER if self._switcher is None else self._switcher.wake()

    def due(self, now: int) -> bool:
        """Whether anything may be switched at the end of the instant."""
        return self._switcher is not None and self._switcher.due(now)

    def switch(self, now: int) -> Generator[Turn, None, bool]:
        """Switch whatever is due, at the end of the instant; return whether anything was."""
        if self._switcher is None or not self.due(now):
            return False
        orders: list[Switch] = []
        yield Turn(self._talk(self._switcher, orders, now), upkeep=True)
        return bool(orders)

    def _talk(self, switcher: Switcher, orders: list[Switch], now: int) -> Talk:
        orders += switcher.decide(now)
        for order in orders:
            moments = order.ready if order.up else np.full(len(order.node), now)
            yield [Switched(order.up, order.node, moments), *self._sends(order)]

    def _sends(self, order: Switch) -> Iterator[Send]:
        cuts = np.searchsorted(order.node, self._bounds).tolist()
        for host, (first, last) in zip(all_hosts(len(cuts) - 1), pairwise(cuts), strict=True):
            if first < last:
                share = slice(first, last)
                yield Send(host, Switch(order.up, order.node[share], order.ready[share]))
