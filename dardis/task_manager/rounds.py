"""One round: the asks that went out together, the offers that came back, and what the set-up picks from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dardis.kernels import selection, starts
from dardis.model.choices import UnitsPerNode
from dardis.model.job import FOREVER, Job
from dardis.task_manager.search import Search
from dardis.task_manager.setups import Generator, Selection, SetUp
from dardis.wire import messages as say

Ints = NDArray[np.int64]

_GENERATORS = {
    Generator.FIRST: starts.FIRST, Generator.UNIFORM: starts.UNIFORM, Generator.EXPONENTIAL: starts.EXPONENTIAL,
}  # fmt: skip
_POLICIES = {
    Selection.MIN_START: selection.MIN_START, Selection.MAX_PROBABILITY: selection.MAX_PROBABILITY,
    Selection.RANDOM: selection.RANDOM,
}  # fmt: skip

MOST_DRAWN_FROM = 1 << 22
"""Instants of a grid (eight years of minutes) beyond which nodes offer all their runs instead of drawing from it."""


@dataclass(frozen=True, slots=True)
class Pick:
    """The first ask of a round that found a start: its place in the round, when, and on which nodes."""

    place: int
    start: int
    nodes: Ints
    units: Ints


@dataclass(slots=True)
class JobState:
    """What a task manager knows of one of its jobs. `nodes` and `units` are its reservation's, None without one."""

    job: Job
    asks: int = 0
    """Rounds so far, counted from 1: names the claims, and keys the draws of a first search."""
    claims: int = 0
    search: Search | None = None
    start: int = 0
    nodes: Ints | None = None
    units: Ints | None = None
    hosts: tuple[int, ...] = ()
    """Where its reservation is."""
    claim: int = 0
    """The `asks` that its reservation was claimed by."""
    if_all_were_up: int = FOREVER
    """The earliest start known that it could have had, had all nodes been up (never: none was held back)."""

    def holds(self, pick: Pick) -> bool:
        """Whether that is what it has reserved."""
        return (
            self.nodes is not None
            and self.units is not None
            and pick.start == self.start
            and np.array_equal(pick.nodes, self.nodes)
            and np.array_equal(pick.units, self.units)
        )


@dataclass(slots=True)
class Round:
    """Asks of some jobs that share a message, and the offers to them so far, by host."""

    number: int
    states: list[JobState]
    searches: list[Search]
    ask: say.Ask
    hosts: tuple[int, ...]
    """Who was asked."""
    moving: bool
    """Whether the jobs ask again after something was freed (earlier starts, or any), instead of searching."""
    offers: dict[int, say.Offers] = field(default_factory=dict)
    measures: tuple[Round, Pick] | None = None
    """What is to be claimed when it is known what it would have been with all nodes up, and the round it is from."""

    def joined(self) -> tuple[Ints, Ints]:
        """All hosts' offers, ask by ask, nodes ascending: (rows, offset)."""
        offers = [self.offers[host] for host in sorted(self.offers)]
        if len(offers) == 1:
            return offers[0].rows, offers[0].offset
        blocks = [o.rows[o.offset[i] : o.offset[i + 1]] for i in range(len(self.states)) for o in offers]
        ends = np.cumsum([len(block) for block in blocks])[len(offers) - 1 :: len(offers)]
        return np.concatenate(blocks), np.concatenate([[0], ends]).astype(np.int64)

    @property
    def incarnations(self) -> dict[int, int]:
        """Which incarnation of each host has answered."""
        return {host: offer.incarnation for host, offer in self.offers.items()}

    @property
    def horizon(self) -> int:
        """From then on nothing changes on any node that answered."""
        return max(offer.horizon for offer in self.offers.values())

    @property
    def down_until(self) -> int:
        """When the last node that is down now could be up."""
        return max(offer.down_until for offer in self.offers.values())

    @property
    def last_end(self) -> int:
        """When the last reservation of the nodes that answered ends."""
        return max(offer.last_end for offer in self.offers.values())


def quota_of(search: Search, units: int, nodes: int, grain: int) -> int:
    """Start times a node offers so that `units` nodes must agree on one (thesis 5.3.2); -1 for all."""
    instants = (search.last - search.first) // grain + 1
    if not search.quota or (grain > 1 and instants > MOST_DRAWN_FROM):
        return -1
    return (units - 1) * instants // nodes + 1


def make_ask(
    number: int, setup: SetUp, states: list[JobState], searches: list[Search], quotas: list[int], *,
    moving: bool, held_only: bool, as_if_up: bool = False,
) -> say.Ask:  # fmt: skip
    """Build the message that asks for all these jobs at once.

    A job that wants to move may ask several times in one instant, as others in its message move: its draws are keyed
    by that instant, so that they do not depend on who shares a message.
    """
    draws = [search.first if moving else state.asks for state, search in zip(states, searches, strict=True)]
    rows = [
        (job.number, draw, search.first, search.last, job.walltime, job.units, quota, job.groups)
        for job, draw, search, quota in zip((state.job for state in states), draws, searches, quotas, strict=True)
    ]
    job, draw_key, first, last, walltime, units, quota_column, groups = np.array(rows, dtype=np.int64).T.copy()
    return say.Ask(
        number,
        job,
        draw_key,
        first,
        last,
        walltime,
        units,
        quota_column,
        groups,
        np.array([state.job.request for state in states], dtype=np.int64),
        _GENERATORS[setup.generator],
        setup.grain,
        searches[0].respect,
        held_only,
        as_if_up,
    )


def picks(this: Round, setup: SetUp, seed: int) -> Iterator[Pick]:
    """Every ask with a common start, in turn, and what the set-up takes of it."""
    ask = this.ask
    rows, offset = this.joined()
    if len(rows) == 0:
        return
    most = int(ask.units.max())
    nodes, units = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    result = np.empty(3, dtype=np.int64)
    first = 0
    while first < len(ask.job):
        selection.select_first(
            rows, offset[first:], ask.first[first:], ask.walltime[first:], ask.units[first:], ask.job[first:],
            ask.draw_key[first:], ask.grain, _POLICIES[setup.selection],
            setup.units_per_node is UnitsPerNode.DISTINCT, selection.CHOICES[setup.node_choice], seed, nodes, units,
            result,
        )  # fmt: skip
        place, start, count = result.tolist()
        if place < 0:
            return
        yield Pick(first + place, start, nodes[:count].copy(), units[:count].copy())
        first += place + 1
