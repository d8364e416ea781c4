"""The interface of turns, and the switching of nodes beside them. Pure: time is an argument."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from dardis.model.addresses import JobId, all_hosts
from dardis.model.arrays import Ints
from dardis.model.events import Change
from dardis.model.job import FOREVER, Job
from dardis.model.platform import Platform
from dardis.node_manager.switching import Switcher
from dardis.wire.effects import Effect, Send, SendAll, Switched, Talk
from dardis.wire.messages import Closures, Message, Switch


def manager_of(place: int, managers: int) -> int:
    """Which of so many task managers serves the `place`-th of all jobs, both from 0 on: they take turns."""
    return place % managers


@dataclass(slots=True)
class Turn:
    """What somebody does before anybody else may: a talk with hosts, to its end, or what nobody answers."""

    talk: Talk | tuple[Effect, ...]
    upkeep: bool = False
    """Whether it belongs to no decision: an end is told, or nodes are switched."""


class Speaker(Protocol):
    """A task manager that is answered."""

    def handle(self, message: Message, now: int) -> list[Effect]:
        """Take a message at time `now`; return what is to be done."""


def talk(manager: Speaker, effects: list[Effect], heed: Callable[[list[Effect]], list[Effect]], now: int) -> Talk:
    """Let a task manager go on from these effects until nothing more is to be said; `heed` sees them, and may cut."""
    while effects:
        answers = yield heed(effects)
        effects = [effect for answer in answers for effect in manager.handle(answer, now)]


def lay_out_anew(machine: Platform) -> Turn:
    """A turn to tell all hosts when their nodes are closed, or hold less."""
    return Turn(_tell_closures(machine), upkeep=True)


def _tell_closures(machine: Platform) -> Talk:
    kinds = len(machine.kinds)
    rows = [(node, window) for window in machine.maintenance for node in window.nodes]
    nothing = (-1,) * kinds

    def table(values: list[tuple[int, ...]], columns: int) -> Ints:
        return np.array(values, dtype=np.int64).reshape(-1, columns)

    told = Closures(
        np.array([node for node, _ in rows], dtype=np.int64),
        table([(window.start, window.end) for _, window in rows], 2),
        table([nothing if window.less is None else window.less for _, window in rows], kinds),
    )
    yield [SendAll(told)]


class Turns(Protocol):
    """Who has a turn when something happens. Turns are taken one after the other, each before the next is asked for."""

    batched: bool
    """Whether all that ends in one instant is told together, before what arrives; else each event by itself."""
    by_instant: bool
    """Whether an instant is one decision, however many turns it takes; else each turn is."""

    @property
    def messages(self) -> int:
        """Messages between task managers and node managers so far."""

    @property
    def renegotiations(self) -> int:
        """Asks and claims after the first so far, over all jobs."""

    def wake(self) -> int:
        """The next time at which somebody wants a turn though no job arrives or ends (FOREVER: never)."""

    def woken(self, now: int) -> None:
        """The time that `wake` told has come: an instant begins in which somebody wants a turn."""

    def submitted(self, job: Job, place: int, now: int) -> Iterable[Turn]:
        """A job is there, the `place`-th of all from 0 on."""

    def ended(self, jobs: Sequence[JobId], now: int) -> Iterable[Turn]:
        """These have ended, in this order: at their walltimes or before."""

    def changed(self, change: Change, now: int) -> Iterable[Turn]:
        """Something else is no more as it was."""

    def over(self, now: int, *, last: bool) -> Iterable[Turn]:
        """All that happens in this instant has happened; `last`: and so far nothing is to happen after it."""

    def switches(self) -> int:
        """When nodes may be due to be switched, if nothing else happens before (FOREVER: never)."""

    def switch(self, now: int) -> Iterable[Turn]:
        """Nothing has happened, but nodes may be due to be switched."""


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
