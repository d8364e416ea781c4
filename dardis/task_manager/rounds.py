"""One round: queries, offers and picks."""

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
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, Job
from dardis.model.node_sets import NodeSets
from dardis.model.offer_rows import BEST_INCARNATION, BEST_NODE, BEST_UNITS
from dardis.task_manager.layout import Layout
from dardis.task_manager.search_windows import Search
from dardis.task_manager.selection import FROM, TO, Draw, Selection, SelectionPolicy
from dardis.task_manager.setups import Generator, SetUp
from dardis.wire import messages as say
from dardis.wire.effects import Effect, Send

_GENERATORS = {
    Generator.FIRST: offer_rows.FIRST, Generator.UNIFORM: offer_rows.UNIFORM,
    Generator.EXPONENTIAL: offer_rows.EXPONENTIAL,
}  # fmt: skip

ALL_NODES: tuple[Ints, Ints] = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
MOST_DRAWN_FROM = 1 << 22
"""Most instants for draws (eight years of minutes); beyond: all runs."""


@dataclass(frozen=True, slots=True)
class Pick:
    """Start found by a round. `place`: of its query."""

    place: int
    start: int
    nodes: Ints
    units: Ints


@dataclass(slots=True)
class JobState:
    """Task manager's record of a job. `nodes` and `units`: reserved, or None."""

    job: Job
    round_count: int = 0
    """Rounds so far. Names claims, and keys first draws."""
    claims: int = 0
    search: Search | None = None
    start: int = 0
    nodes: Ints | None = None
    units: Ints | None = None
    hosts: tuple[HostId, ...] = ()
    claim: int = 0
    fills_nodes: bool | None = None
    """The job's units fill the reserved nodes; None: unknown."""
    start_if_all_up: int = FOREVER
    """Earliest known start with all nodes up (FOREVER: none was held back)."""

    def release(self) -> list[Effect]:
        """Drop a reservation; return releases."""
        told: list[Effect] = [Send(host, say.Release(self.job.number, self.claim)) for host in self.hosts]
        self.nodes, self.units, self.hosts = None, None, ()
        return told

    @property
    def window_count(self) -> int:
        """Windows of the last search (thesis 5.3.6)."""
        return 0 if self.search is None else self.search.attempt + 1

    def is_reservation(self, pick: Pick) -> bool:
        """Whether `pick` equals the reservation."""
        return (
            self.nodes is not None
            and self.units is not None
            and pick.start == self.start
            and np.array_equal(pick.nodes, self.nodes)
            and np.array_equal(pick.units, self.units)
        )


@dataclass(slots=True)
class Round:
    """Queries of some jobs in one message, and the offers so far."""

    number: int
    states: list[JobState]
    searches: list[Search]
    query: say.OfferQuery
    hosts: tuple[HostId, ...] | None
    """Queried hosts; None: all."""
    is_renegotiation: bool
    """Whether the jobs query again after nodes became free."""
    offers: dict[HostId, say.Offers] = field(default_factory=dict)
    sent_query: say.OfferQuery = field(init=False)
    expires: int = FOREVER
    relay: say.Relay | None = None
    dead_host_count: int = 0
    """Most hosts in `relay.gone`."""
    measures: tuple[Round, Pick] | None = None
    sums: say.Sums | None = None
    starts: list[tuple[int, int]] = field(default_factory=list)
    """(place, start) of each query with a start in the sums."""
    candidates: say.Candidates | None = None

    def join_offers(self) -> tuple[Ints, Ints]:
        """All offers as (rows, offset), by query, nodes ascending."""
        offers = [self.offers[host] for host in sorted(self.offers)]
        if len(offers) == 1:
            return offers[0].rows, offers[0].offset
        blocks = [o.rows[o.offset[i] : o.offset[i + 1]] for i in range(len(self.states)) for o in offers]
        ends = np.cumsum([len(block) for block in blocks])[len(offers) - 1 :: len(offers)]
        return np.concatenate(blocks), np.concatenate([[0], ends]).astype(np.int64)

    @property
    def is_answered(self) -> bool:
        """Whether answers are here, also for candidates if queried."""
        return bool(self.offers) or (self.sums is not None and (self.candidates is not None or not self.starts))

    def incarnations(self, host_of: Callable[[Ints], Ints]) -> dict[HostId, int]:
        """Incarnations of answering hosts, or at least of candidates."""
        if self.candidates is None:
            return {host: offer.incarnation for host, offer in self.offers.items()}
        rows = self.candidates.rows
        hosts = host_of(rows[:, BEST_NODE])
        return dict(zip(hosts.tolist(), rows[:, BEST_INCARNATION].tolist(), strict=True))

    @property
    def queried_nodes(self) -> int | None:
        """Queried nodes over all jobs; None: all for each job."""
        if len(self.query.sample_offset):
            return len(self.query.sample)
        if self.query.held_only:
            return sum(len(state.nodes) for state in self.states if state.nodes is not None)
        return None

    def _answers(self) -> Iterable[say.Offers | say.Sums]:
        return self.offers.values() if self.sums is None else (self.sums,)

    @property
    def horizon(self) -> int:
        """Time of the last change on answering nodes."""
        return max(answer.horizon for answer in self._answers())

    @property
    def down_until(self) -> int:
        """Latest time at which a sleeping node could be up."""
        return max(answer.down_until for answer in self._answers())

    @property
    def last_end(self) -> int:
        """End of the last reservation on answering nodes."""
        return max(answer.last_end for answer in self._answers())


def quota_of(search: Search, units: int, nodes: int, grain: int) -> int:
    """Starts per node that let `units` nodes agree on one (thesis 5.3.2); -1: all starts."""
    if search.is_horizon_query:
        return 0
    instants = (search.last - search.first) // grain + 1
    if not search.quota or (grain > 1 and instants > MOST_DRAWN_FROM):
        return -1
    quota = (units - 1) * instants // nodes + 1
    return quota if quota < instants else -1


def note_fills_nodes(state: JobState, layout: Layout, setup: SetUp) -> None:
    """Record whether a job needs all its nodes: allows early refusals."""
    if state.fills_nodes is None and state.nodes is not None:
        distinct = setup.units_per_node is UnitsPerNode.DISTINCT
        state.fills_nodes = layout.most_units(state.nodes, state.job.request, distinct=distinct) == state.job.units


def make_query(
    number: int, setup: SetUp, sets: NodeSets, states: list[JobState], searches: list[Search], quotas: list[int], *,
    asks_again: bool, held_only: bool, as_if_up: bool = False, want: int = say.ROWS,
    sample: tuple[Ints, Ints] = ALL_NODES,
) -> say.OfferQuery:  # fmt: skip
    """Query for all these jobs.

    Repeated queries key draws by instant: independent of other jobs.
    """
    draws = [search.first if asks_again else state.round_count for state, search in zip(states, searches, strict=True)]
    rows = [
        (job.number, draw, search.first, search.last, job.walltime, job.units, quota, sets.code(job.groups))
        for job, draw, search, quota in zip((state.job for state in states), draws, searches, quotas, strict=True)
    ]
    job, draw_key, first, last, walltime, units, quota_column, groups = np.array(rows, dtype=np.int64).T.copy()
    return say.OfferQuery(
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
        needed=np.array([held_only and state.fills_nodes is True for state in states], dtype=np.int64),
        want=want,
        earliest=setup.selection is Selection.MIN_START,
        choice=offer_rows.NODE_CHOICES[setup.node_choice],
        distinct=setup.units_per_node is UnitsPerNode.DISTINCT,
    )


def confirms_of(
    state: JobState, incarnations: Mapping[HostId, int], chosen: Pick, layout: Layout, *, tentative: bool
) -> dict[HostId, say.Confirm]:
    """Claim messages by host."""
    job = state.job
    request = np.array(job.request, dtype=np.int64)
    confirms = {}
    for host, mine in layout.nodes_by_host(chosen.nodes):
        confirms[host] = say.Confirm(
            job.number, state.round_count, incarnations[host], chosen.start, job.walltime, request,
            chosen.nodes[mine], chosen.units[mine], tentative=tentative,
        )  # fmt: skip
    return confirms


def _draw(seed: int, job: int, attempt: int) -> Draw:
    numbers = count()
    return lambda bound: int(common_starts.draw_start(seed, job, attempt, next(numbers), bound))


def _take_instant(policy: SelectionPolicy, spans: Ints, ask: say.OfferQuery, place: int, seed: int) -> int:
    taken = int(policy.take(spans, _draw(seed, int(ask.job[place]), int(ask.draw_key[place]))))
    if not ((spans[:, FROM] <= taken) & (taken < spans[:, TO])).any():
        raise ProtocolError(f"selection={policy} chose instant {taken}, which is no common start")
    return taken


def starts_of(this: Round, policy: SelectionPolicy, seed: int) -> list[tuple[int, int]]:
    """Return (place, start) of each query with a start in the sums."""
    ask, found = this.query, []
    assert this.sums is not None
    for place, (low, high) in enumerate(pairwise(this.sums.offset.tolist())):
        steps = this.sums.rows[low:high]
        spans = np.empty((1 if ask.earliest else len(steps), 3), dtype=np.int64)
        held = ranking.starts_of_sums(steps, ask.units[place], spans)
        if held:
            instant = _take_instant(policy, spans[:held], ask, place, seed)
            found.append((place, int(ask.first[place]) + instant * ask.grain))
    return found


def make_candidates_query(number: int, this: Round) -> say.OfferQuery:
    """Build the query for the best nodes of selected starts."""
    ask, places = this.query, [place for place, _ in this.starts]
    start = np.array([start for _, start in this.starts], dtype=np.int64)
    runs = ask.quota[places] < 0
    return replace(
        ask, round=number, want=say.CANDIDATES, start=start, job=ask.job[places], draw_key=ask.draw_key[places],
        first=np.where(runs, start, ask.first[places]), last=np.where(runs, start, ask.last[places]),
        walltime=ask.walltime[places], units=ask.units[places], quota=ask.quota[places], groups=ask.groups[places],
        request=ask.request[places],
    )  # fmt: skip


def picks_of_candidates(this: Round) -> Iterator[Pick]:
    """Iterate over picks with enough candidates."""
    assert this.candidates is not None
    best, offset = this.candidates.rows, this.candidates.offset
    for i, (place, start) in enumerate(this.starts):
        mine = best[offset[i] : offset[i + 1]]
        units = int(this.query.units[place])
        if int(mine[:, BEST_UNITS].sum()) < units:
            continue
        nodes, node_units = np.empty(units, dtype=np.int64), np.empty(units, dtype=np.int64)
        count = ranking.take_best(mine, units, this.query.choice, nodes, node_units)
        yield Pick(place, start, nodes[:count].copy(), node_units[:count].copy())


def picks(this: Round, policy: SelectionPolicy, seed: int) -> Iterator[Pick]:
    """Iterate over picks with a common start."""
    ask = this.query
    rows, offset = this.join_offers()
    if len(rows) == 0:
        return
    most = min(int(ask.units.max()), len(rows))  # each chosen node has at least one row
    nodes, units = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    result = np.empty(3, dtype=np.int64)
    asks = ask.columns
    choice = common_starts.NodeSelection(ask.choice, ask.distinct, ask.grain, seed)
    place = -1
    while place + 1 < len(ask.job):
        if ask.earliest:
            common_starts.first_start(rows, offset, asks, place + 1, choice, nodes, units, result)
        else:
            _select_first(rows, offset, ask, place + 1, choice, policy, nodes, units, result)
        place, start, used = result.tolist()
        if place == common_starts.NONE:
            return
        yield Pick(place, start, nodes[:used].copy(), units[:used].copy())


def _select_first(
    rows: Ints, offset: Ints, ask: say.OfferQuery, begin: int, choice: common_starts.NodeSelection,
    policy: SelectionPolicy,
    nodes: Ints, units: Ints, result: Ints,
) -> None:  # fmt: skip
    result[0] = common_starts.NONE
    for i in range(begin, len(ask.job)):
        mine = rows[offset[i] : offset[i + 1]]
        spans = common_starts.all_starts(mine, ask.units[i], ask.distinct)
        if len(spans):
            instant = _take_instant(policy, spans, ask, i, choice.seed)
            start = common_starts.CandidateStart(
                instant, ask.first[i], ask.walltime[i], ask.units[i], ask.job[i], ask.draw_key[i]
            )
            used = common_starts.nodes_of_start(mine, start, choice, nodes, units)
            result[:] = i, ask.first[i] + instant * ask.grain, used
            return
