"""Interface of turns, and node switching. Pure."""

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
from dardis.wire.effects import Dialogue, Effect, Send, SendAll, Switched
from dardis.wire.messages import Closures, Message, Switch


def manager_of(place: int, managers: int) -> int:
    """Task manager for the `place`-th job."""
    return place % managers


@dataclass(slots=True)
class Turn:
    """Exclusive action: a complete talk with hosts, or effects without answers."""

    dialogue: Dialogue | tuple[Effect, ...]
    upkeep: bool = False
    """Belongs to no decision, such as ends or switching."""


class DialogueManager(Protocol):
    """Task manager in a talk."""

    def handle(self, message: Message, now: int) -> list[Effect]:
        """Handle a message; return effects."""


def run_dialogue(
    manager: DialogueManager, effects: list[Effect], heed: Callable[[list[Effect]], list[Effect]], now: int
) -> Dialogue:
    """Run a task manager until no effects remain; `heed` filters effects."""
    while effects:
        answers = yield heed(effects)
        effects = [effect for answer in answers for effect in manager.handle(answer, now)]


def send_closures(machine: Platform) -> Turn:
    """Turn to send closures to all hosts."""
    return Turn(_closures_dialogue(machine), upkeep=True)


def _closures_dialogue(machine: Platform) -> Dialogue:
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
    """Source of turns at events, taken one by one."""

    batched: bool
    """Ends of an instant are reported together, before arrivals."""
    by_instant: bool
    """An instant is a single decision; if not, each turn is."""

    @property
    def messages(self) -> int:
        """Messages between task managers and node managers so far."""

    @property
    def renegotiations(self) -> int:
        """Repeated queries and claims so far."""

    def wake(self) -> int:
        """Next turn without an event (FOREVER: never)."""

    def on_wake(self, now: int) -> None:
        """Begin an instant at the time of `wake`."""

    def on_submit(self, job: Job, place: int, now: int) -> Iterable[Turn]:
        """Handle the submission of the `place`-th job."""

    def on_job_ends(self, jobs: Sequence[JobId], now: int) -> Iterable[Turn]:
        """Handle ends, in this order."""

    def on_change(self, change: Change, now: int) -> Iterable[Turn]:
        """Handle another change."""

    def on_instant_end(self, now: int, *, last: bool) -> Iterable[Turn]:
        """End the instant; `last`: no event follows so far."""

    def next_switch(self) -> int:
        """Next possible switch of nodes without an event (FOREVER: never)."""

    def switch(self, now: int) -> Iterable[Turn]:
        """Switch nodes without an event."""


class HostSwitching:
    """Optional switching of a machine's nodes over hosts."""

    def __init__(self, switcher: Switcher | None, bounds: Ints) -> None:
        self._switcher = switcher
        self._bounds = bounds

    @property
    def longest_s(self) -> int:
        """Maximum boot wait of a job, s."""
        return 0 if self._switcher is None else self._switcher.longest_s

    def up_from(self, time: int, nodes: Ints) -> int:
        """When all nodes are up, if woken at `time`."""
        return time if self._switcher is None else self._switcher.up_from(time, nodes)

    def record_reservation(self, job: JobId, start: int, nodes: Ints) -> None:
        """Record the job's only reservation."""
        if self._switcher is not None:
            self._switcher.record_reservation(job, start, nodes)

    def drop_job(self, job: JobId) -> None:
        """Drop the job's reservation."""
        if self._switcher is not None:
            self._switcher.drop_job(job)

    def on_job_end(self, job: JobId, now: int) -> None:
        """Record a job's end."""
        if self._switcher is not None:
            self._switcher.on_job_end(job, now)

    def wake(self) -> int:
        """Next possible switch without an event (FOREVER: never)."""
        return FOREVER if self._switcher is None else self._switcher.wake()

    def is_due(self, now: int) -> bool:
        """Whether a switch may be due."""
        return self._switcher is not None and self._switcher.is_due(now)

    def switch(self, now: int) -> Generator[Turn, None, bool]:
        """Switch due nodes; return whether any were."""
        if self._switcher is None or not self.is_due(now):
            return False
        orders: list[Switch] = []
        yield Turn(self._talk(self._switcher, orders, now), upkeep=True)
        return bool(orders)

    def _talk(self, switcher: Switcher, orders: list[Switch], now: int) -> Dialogue:
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
