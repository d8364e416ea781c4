"""Carries out what a switcher decides, in virtual time: tells the hosts, and keeps the record of who was down."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dardis.engine.clock import cpu_ns
from dardis.node_manager.switching import Switcher
from dardis.sim.recorder import Recorder
from dardis.transport.base import Hosts
from dardis.wire.effects import Send
from dardis.wire.messages import Switch

Ints = NDArray[np.int64]


class SwitchedNodes:
    """The nodes of a run, where a `switcher` shuts some down; without one nothing ever happens."""

    def __init__(self, switcher: Switcher | None, hosts: Hosts, bounds: Ints, recorder: Recorder) -> None:
        """Host h holds the nodes [bounds[h], bounds[h+1])."""
        self._switcher = switcher
        self._hosts = hosts
        self._bounds = bounds
        self._recorder = recorder

    def reserved(self, job: int, start: int, nodes: Ints) -> None:
        """A job will begin at `start` on these nodes, and on no others."""
        if self._switcher is not None:
            self._switcher.reserved(job, start, nodes)

    def dropped(self, job: int) -> None:
        """A job holds its nodes no more."""
        if self._switcher is not None:
            self._switcher.dropped(job)

    def ended(self, job: int, now: int) -> None:
        """A job has ended on its nodes."""
        if self._switcher is not None:
            self._switcher.ended(job, now)

    def wake(self) -> int | None:
        """When something may be switched though no job begins or ends; None without a switcher."""
        return None if self._switcher is None else self._switcher.wake()

    def until(self, now: int) -> None:
        """Switch whatever is due before `now`."""
        while (moment := self.wake()) is not None and moment < now:
            self.act(moment)

    def act(self, now: int) -> bool:
        """Switch whatever is due now, at the end of the instant; return whether anything was."""
        if self._switcher is None or not self._switcher.due(now):
            return False
        begun = cpu_ns()
        orders = self._switcher.decide(now)
        self._recorder.upkeep_ns += cpu_ns() - begun
        for order in orders:
            self._recorder.switched(order.node, order.ready if order.up else np.full(len(order.node), now), up=order.up)
            _, spent = self._hosts.exchange(list(self._sends(order)), now)
            self._recorder.upkeep_ns += spent
        return bool(orders)

    def _sends(self, order: Switch) -> list[Send]:
        cuts = np.searchsorted(order.node, self._bounds).tolist()
        shares = enumerate(slice(*edges) for edges in pairwise(cuts))
        return [
            Send(host, Switch(order.up, order.node[share], order.ready[share]))
            for host, share in shares
            if share.start < share.stop
        ]
