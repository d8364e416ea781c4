"""One round: the asks that went out together, the offers that came back, and what the set-up picks from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, pairwise

import numpy as np

from dardis.kernels import common_starts, ranking
from dardis.model import offer_rows
from dardis.model.addresses import HostId
from dardis.model.arrays import Ints
from dardis.model.choices import UnitsPerNode
from dardis.model.job import FOREVER, Job
from dardis.model.node_sets import NodeSets
from dardis.model.offer_rows import BEST_INCARNATION, BEST_NODE, BEST_UNITS
from dardis.task_manager.layout import Layout
from dardis.task_manager.search_windows import Search
from dardis.task_manager.selection import Draw, Selection, SelectionPolicy
from dardis.task_manager.setups import Generator, SetUp
from dardis.wire import messages as say
from dardis.wire.effects import Effect, Send

_GENERATORS = {
    Generator.FIRST: offer_rows.FIRST, Generator.UNIFORM: offer_rows.UNIFORM,
    Generator.EXPONENTIAL: offer_rows.EXPONENTIAL,
}  # fmt: skip

ALL_NODES: tuple[Ints, Ints] = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
"""The sample, as (offset, nodes), of those that ask all nodes."""
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
    hosts: tuple[HostId, ...] = ()
    """Where its reservation is."""
    claim: int = 0
    """The `asks` that its reservation was claimed by."""
    fills: bool | None = None
    """Whether its nodes can hold no more of its units than they do: it can do without none of them; None: not known."""
    if_all_were_up: int = FOREVER
    """The earliest start known that it could have had, had all nodes been up (never: none was held back)."""

    def give_back(self) -> list[Effect]:
        """Hold nothing any more, where that is final at once; what its hosts are told."""
        told: list[Effect] = [Send(host, say.Release(self.job.number, self.claim)) for host in self.hosts]
        self.nodes, self.units, self.hosts = None, None, ()
        return told

    @property
    def tried(self) -> int:
        """Windows that it has tried in its last search (thesis 5.3.6); 0 where it did not search."""
        return 0 if self.search is None else self.search.attempt + 1

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
    hosts: tuple[HostId, ...] | None
    """Who was asked; None: all."""
    asks_again: bool
    """Whether the jobs ask again after something was freed (earlier starts, or any), instead of searching."""
    offers: dict[HostId, say.Offers] = field(default_factory=dict)
    sent: say.Ask = field(init=False)
    """What was asked last: `ask`, or candidates for it."""
    expires: int = FOREVER
    """When it goes on without those who have not answered."""
    relay: say.Relay | None = None
    """What that went down the tree of hosts as."""
    passed_over: int = 0
    """How many hosts it has named as gone, at most."""
    measures: tuple[Round, Pick] | None = None
    """What is to be claimed when it is known what it would have been with all nodes up, and the round it is from."""
    sums: say.Sums | None = None
    """What all nodes offer together, where sums are asked for."""
    starts: list[tuple[int, int]] = field(default_factory=list)
    """The start selected of the sums for each ask, by its place, that has one: candidates are asked for these."""
    candidates: say.Candidates | None = None

    def joined(self) -> tuple[Ints, Ints]:
        """All hosts' offers, ask by ask, nodes ascending: (rows, offset)."""
        offers = [self.offers[host] for host in sorted(self.offers)]
        if len(offers) == 1:
            return offers[0].rows, offers[0].offset
        blocks = [o.rows[o.offset[i] : o.offset[i + 1]] for i in range(len(self.states)) for o in offers]
        ends = np.cumsum([len(block) for block in blocks])[len(offers) - 1 :: len(offers)]
        return np.concatenate(blocks), np.concatenate([[0], ends]).astype(np.int64)

    @property
    def answered(self) -> bool:
        """Whether anybody has answered, also for candidates where these were asked for."""
        return bool(self.offers) or (self.sums is not None and (self.candidates is not None or not self.starts))

    def incarnations(self, host_of: Callable[[Ints], Ints]) -> dict[HostId, int]:
        """Which incarnation of each host has answered, or at least of those that may be chosen."""
        if self.candidates is None:
            return {host: offer.incarnation for host, offer in self.offers.items()}
        rows = self.candidates.rows
        hosts = host_of(rows[:, BEST_NODE])
        return dict(zip(hosts.tolist(), rows[:, BEST_INCARNATION].tolist(), strict=True))

    @property
    def nodes_asked(self) -> int | None:
        """How many nodes were asked, a node once for each job; None: all of them for each."""
        if len(self.ask.sample_offset):
            return len(self.ask.sample)
        if self.ask.held_only:
            return sum(len(state.nodes) for state in self.states if state.nodes is not None)
        return None

    def _answers(self) -> Iterable[say.Offers | say.Sums]:
        return self.offers.values() if self.sums is None else (self.sums,)

    @property
    def horizon(self) -> int:
        """From then on nothing changes on any node that answered."""
        return max(answer.horizon for answer in self._answers())

    @property
    def down_until(self) -> int:
        """When the last node that is down now could be up."""
        return max(answer.down_until for answer in self._answers())

    @property
    def last_end(self) -> int:
        """When the last reservation of the nodes that answered ends."""
        return max(answer.last_end for answer in self._answers())


def quota_of(search: Search, units: int, nodes: int, grain: int) -> int:
    """Start times a node offers so that `units` nodes must agree on one (thesis 5.3.2); -1 for all there are."""
    if search.hears:
        return 0
    instants = (search.last - search.first) // grain + 1
    if not search.quota or (grain > 1 and instants > MOST_DRAWN_FROM):
        return -1
    quota = (units - 1) * instants // nodes + 1
    return quota if quota < instants else -1


def note_whether_full(state: JobState, layout: Layout, setup: SetUp) -> None:
    """See whether a job needs all nodes that it holds: then these can mostly say no at once."""
    if state.fills is None and state.nodes is not None:
        distinct = setup.units_per_node is UnitsPerNode.DISTINCT
        state.fills = layout.most_units(state.nodes, state.job.request, distinct=distinct) == state.job.units


def make_ask(
    number: int, setup: SetUp, sets: NodeSets, states: list[JobState], searches: list[Search], quotas: list[int], *,
    asks_again: bool, held_only: bool, as_if_up: bool = False, want: int = say.ROWS,
    sample: tuple[Ints, Ints] = ALL_NODES,
) -> say.Ask:  # fmt: skip
    """Build the message that asks for all these jobs at once.

    A job that asks again may do so several times in one instant, as others in its message move: its draws are keyed
    by that instant, so that they do not depend on who shares a message.
    """
    draws = [search.first if asks_again else state.asks for state, search in zip(states, searches, strict=True)]
    rows = [
        (job.number, draw, search.first, search.last, job.walltime, job.units, quota, sets.code(job.groups))
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
        searches[0].desired_binds,
        held_only,
        as_if_up,
        *sample,
        needed=np.array([held_only and state.fills is True for state in states], dtype=np.int64),
        want=want,
        earliest=setup.selection is Selection.MIN_START,
        choice=offer_rows.NODE_CHOICES[setup.node_choice],
        distinct=setup.units_per_node is UnitsPerNode.DISTINCT,
    )


def confirms_of(
    state: JobState, incarnations: Mapping[HostId, int], chosen: Pick, layout: Layout, *, tentative: bool
) -> dict[HostId, say.Confirm]:
    """Build what the hosts of the chosen nodes are told, by host."""
    job = state.job
    request = np.array(job.request, dtype=np.int64)
    confirms = {}
    for host, mine in layout.shares(chosen.nodes):
        confirms[host] = say.Confirm(
            job.number, state.asks, incarnations[host], chosen.start, job.walltime, request,
            chosen.nodes[mine], chosen.units[mine], tentative=tentative,
        )  # fmt: skip
    return confirms


def _draw(seed: int, job: int, attempt: int) -> Draw:
    """What a job that selects a start draws from."""
    numbers = count()
    return lambda bound: int(common_starts.drawn(seed, job, attempt, next(numbers), bound))


def _taken(policy: SelectionPolicy, spans: Ints, ask: say.Ask, place: int, seed: int) -> int:
    """The instant that a policy takes for one of the asks."""
    return policy.take(spans, _draw(seed, int(ask.job[place]), int(ask.draw_key[place])))


def starts_of(this: Round, policy: SelectionPolicy, seed: int) -> list[tuple[int, int]]:
    """The start that a policy takes of the sums of each ask, by its place, which has one."""
    ask, found = this.ask, []
    assert this.sums is not None
    for place, (low, high) in enumerate(pairwise(this.sums.offset.tolist())):
        steps = this.sums.rows[low:high]
        spans = np.empty((1 if ask.earliest else len(steps), 3), dtype=np.int64)
        held = ranking.starts_of_sums(steps, ask.units[place], spans)
        if held:
            instant = _taken(policy, spans[:held], ask, place, seed)
            found.append((place, int(ask.first[place]) + instant * ask.grain))
    return found


def ask_for_candidates(number: int, this: Round) -> say.Ask:
    """Build the message that asks for the best nodes for the starts that were selected.

    Whoever offers all runs need not look further than the start.
    """
    ask, places = this.ask, [place for place, _ in this.starts]
    start = np.array([start for _, start in this.starts], dtype=np.int64)
    runs = ask.quota[places] < 0
    return replace(
        ask, round=number, want=say.CANDIDATES, start=start, job=ask.job[places], draw_key=ask.draw_key[places],
        first=np.where(runs, start, ask.first[places]), last=np.where(runs, start, ask.last[places]),
        walltime=ask.walltime[places], units=ask.units[places], quota=ask.quota[places], groups=ask.groups[places],
        request=ask.request[places],
    )  # fmt: skip


def picks_of_candidates(this: Round) -> Iterator[Pick]:
    """What the set-up takes of each ask that has a start, in turn, if the candidates hold it."""
    assert this.candidates is not None
    best, offset = this.candidates.rows, this.candidates.offset
    for i, (place, start) in enumerate(this.starts):
        mine = best[offset[i] : offset[i + 1]]
        units = int(this.ask.units[place])
        if int(mine[:, BEST_UNITS].sum()) < units:
            continue
        nodes, node_units = np.empty(units, dtype=np.int64), np.empty(units, dtype=np.int64)
        count = ranking.take_best(mine, units, this.ask.choice, nodes, node_units)
        yield Pick(place, start, nodes[:count].copy(), node_units[:count].copy())


def picks(this: Round, policy: SelectionPolicy, seed: int) -> Iterator[Pick]:
    """Every ask with a common start, in turn, and what a policy takes of it."""
    ask = this.ask
    rows, offset = this.joined()
    if len(rows) == 0:
        return
    most = min(int(ask.units.max()), len(rows))  # each node of them in a row at least
    nodes, units = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    result = np.empty(3, dtype=np.int64)
    asks = ask.columns
    choice = common_starts.Choice(ask.choice, ask.distinct, ask.grain, seed)
    place = -1
    while place + 1 < len(ask.job):
        if ask.earliest:
            common_starts.first_start(rows, offset, asks, place + 1, choice, nodes, units, result)
        else:
            _first_taken(rows, offset, ask, place + 1, choice, policy, nodes, units, result)
        place, start, used = result.tolist()
        if place == common_starts.NONE:
            return
        yield Pick(place, start, nodes[:used].copy(), units[:used].copy())


def _first_taken(
    rows: Ints, offset: Ints, ask: say.Ask, begin: int, choice: common_starts.Choice, policy: SelectionPolicy,
    nodes: Ints, units: Ints, result: Ints,
) -> None:  # fmt: skip
    """As `selection.first_start`, with the start that a policy takes."""
    result[0] = common_starts.NONE
    for i in range(begin, len(ask.job)):
        mine = rows[offset[i] : offset[i + 1]]
        spans = common_starts.all_starts(mine, ask.units[i], ask.distinct)
        if len(spans):
            instant = _taken(policy, spans, ask, i, choice.seed)
            start = common_starts.Start(
                instant, ask.first[i], ask.walltime[i], ask.units[i], ask.job[i], ask.draw_key[i]
            )
            used = common_starts.nodes_of_start(mine, start, choice, nodes, units)
            result[:] = i, ask.first[i] + instant * ask.grain, used
            return
