"""Programme of an auction (001, eq. 1 to 8), with a variable for each bid only.

As printed: two more for each job and node, and eq. 3 also empties the nodes of losing bids. Here, for any set of nodes,
bids use at most its free units: of its spare units, a bid needs there what its other nodes cannot hold. The rows of all
sets are the printed programme (max-flow min-cut). It begins with single nodes and the nodes of each bid; others are
added when winners do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd

import numpy as np

from dardis.dispatch.auction.bids import Bid, FreeLevels
from dardis.model.arrays import Floats, Ints
from dardis.model.errors import ProtocolError
from dardis.solver.milp import LinearProgram, MilpBudget, largest_flow, maximise
from dardis.solver.result import EndReason, Result, SolverStatus


@dataclass(frozen=True)
class Auction:
    """Bids and free capacity."""

    free: FreeLevels
    priorities: tuple[int, ...]
    """P of each job."""
    bids: tuple[Bid, ...]
    alpha: float
    """α: weight of preferences."""

    @cached_property
    def worth(self) -> Floats:
        """Value of each bid (eq. 1)."""
        return np.array([self.priorities[bid.job] + self.alpha * bid.preference for bid in self.bids])

    def value(self, winners: Sequence[int]) -> float:
        """Total value of bids."""
        return float(self.worth[np.array(winners, dtype=np.int64)].sum())


def alpha_of_paper(priorities: Sequence[int], bids: int) -> float:
    """Eq. 10: all preferences weigh less than the lowest priority.

    Priorities can still lose: 11 with preference 0.3 loses to 10 with 1.0.
    """
    return min(priorities) / (bids + 1)


def alpha_exact(priorities: Sequence[int]) -> float:
    """α such that preferences never outweigh a difference of priorities."""
    return gcd(*priorities) / (len(priorities) + 1)


@dataclass(frozen=True)
class Shortage:
    """Capacity that bids exceed together: of a kind, on each node from level `least` on (beyond all: not there)."""

    kind: int
    least: Ints


class CapacityRows:
    """Rows of capacity, each as an array of the capacity and the least use by each bid."""

    def __init__(self, auction: Auction) -> None:
        """Tabulate bids by node."""
        self.auction, bids, amounts = auction, auction.bids, auction.free.amounts
        _, nodes, kinds = amounts.shape
        self._levels = np.array([[bid.level] for bid in bids], dtype=np.int64)
        self._fixed = np.zeros((kinds, len(bids), nodes), dtype=np.int64)
        self._room = np.zeros_like(self._fixed)
        self._spare = np.zeros((kinds, len(bids)), dtype=np.int64)
        for place, bid in enumerate(bids):
            self._fixed[:, place, bid.nodes] = bid.fixed.T
            if bid.spare:
                self._spare[bid.kind, place] = bid.spare
                self._room[bid.kind, place, bid.nodes] = _room(auction, bid)

    def row(self, where: Shortage) -> Ints:
        """Row of any capacity."""
        kind, least = where.kind, where.least
        inside = self._levels >= least
        outside = np.einsum("bn,bn->b", self._room[kind], ~inside)
        use = np.einsum("bn,bn->b", self._fixed[kind], inside) + np.maximum(self._spare[kind] - outside, 0)
        have = self.auction.free.amounts[:, :, kind]
        among = np.flatnonzero(least < len(have))
        return np.concatenate([[have[least[among], among].sum()], use])

    def first(self) -> Ints:
        """Rows of the first programme: jobs (eq. 2), nodes (eq. 5 and 6) and nodes of bids (eq. 4 and 7)."""
        jobs = np.array([bid.job for bid in self.auction.bids])
        found = [_contended(np.array([[1, *(jobs == job)] for job in np.unique(jobs)]))]
        for level, have in enumerate(self.auction.free.amounts):
            for kind, fixed in enumerate(self._fixed):
                found.append(_contended(np.vstack([have[:, kind], fixed * (self._levels >= level)]).T))
        beyond, nodes, _ = self.auction.free.amounts.shape
        for bid in self.auction.bids:
            if bid.spare:
                least = np.full(nodes, beyond)
                least[bid.nodes] = bid.level
                found.append(_contended(self.row(Shortage(bid.kind, least))[None]))
        return _undominated(np.concatenate(found))


def _contended(rows: Ints) -> Ints:
    contended: Ints = np.unique(rows[rows[:, 1:].sum(axis=1) > rows[:, 0]], axis=0)
    return contended


def _undominated(rows: Ints) -> Ints:
    """Rows that no other single row implies."""
    rows = rows[np.argsort(-rows[:, 1:].sum(axis=1) / rows[:, 0], kind="stable")]
    kept = [rows[:0]]
    while len(rows):
        first, rows = rows[:1].copy(), rows[1:]  # a view would keep all rows
        kept.append(first)
        rows = rows[(rows[:, 1:] * first[0, 0] > first[:, 1:] * rows[:, :1]).any(axis=1)]
    return np.concatenate(kept)


def _program(auction: Auction, rows: Ints) -> LinearProgram:
    count = len(auction.bids)
    row, column = np.nonzero(rows[:, 1:])
    return LinearProgram(
        auction.worth, np.zeros(count), np.ones(count), row, column, rows[row, column + 1].astype(np.float64),
        np.full(len(rows), -np.inf), rows[:, 0].astype(np.float64),
    )  # fmt: skip


def choose_winners(
    auction: Auction, search: MilpBudget, first: Sequence[int] = ()
) -> tuple[Result, list[int], list[Ints]]:
    """Winners with their spare units, at least as good as `first`; the programme is solved at most `nodes` times."""
    capacity = CapacityRows(auction)
    rows, known, cpu_s = capacity.first(), np.zeros(len(auction.bids)), 0.0
    known[np.array(first, dtype=np.int64)] = 1.0
    for _ in range(search.nodes):
        result, values = maximise(_program(auction, rows), np.ones(len(known), dtype=bool), search, known)
        cpu_s += result.cpu_s
        winners = np.flatnonzero((known if values is None else values) > 0.5).tolist()
        more = distribute_spare_units(auction, winners)
        if not isinstance(more, Shortage):
            return replace(result, objective=auction.value(winners), cpu_s=cpu_s), winners, more
        row = capacity.row(more)
        if (rows == row).all(axis=1).any():  # within the tolerance of the solver: exclude these winners
            row = np.array([len(winners) - 1, *np.isin(np.arange(len(known)), winners)])
        rows = np.concatenate([rows, row[None]])
    more = distribute_spare_units(auction, first)
    if isinstance(more, Shortage):
        raise ProtocolError("first winning bids do not fit on their nodes")
    unproven = replace(result, status=SolverStatus.FEASIBLE, ended=EndReason.BUDGET, cpu_s=cpu_s)
    return replace(unproven, objective=auction.value(first)), list(first), more


def distribute_spare_units(auction: Auction, winners: Sequence[int]) -> list[Ints] | Shortage:
    """Integer spare units of winning bids by node, or why they do not fit.

    A flow from bids through nodes; longer bids also count for shorter.
    """
    left = auction.free.amounts.copy()
    for place in winners:
        bid = auction.bids[place]
        left[: bid.level + 1, bid.nodes] -= bid.fixed
    for level, node, kind in np.argwhere(left < 0)[:1].tolist():
        least = np.full(left.shape[1], len(left))
        least[node] = level
        return Shortage(kind, least)
    wanting = [place for place in winners if auction.bids[place].spare]
    found = {place: np.zeros(len(auction.bids[place].nodes), dtype=np.int64) for place in winners}
    for kind in sorted({auction.bids[place].kind for place in wanting}):
        some = [place for place in wanting if auction.bids[place].kind == kind]
        flows = _flows(auction, left[:, :, kind], some)
        if isinstance(flows, np.ndarray):
            return Shortage(kind, flows)
        found |= flows
    return [found[place] for place in winners]


def _room(auction: Auction, bid: Bid) -> Ints:
    room: Ints = auction.free.amounts[bid.level, bid.nodes, bid.kind] - bid.fixed[:, bid.kind]
    return room


def _flows(auction: Auction, left: Ints, some: list[int]) -> dict[int, Ints] | Ints:
    """Spare units by bid, or the least level of each node in a least cut."""
    levels, nodes = left.shape
    bids = [auction.bids[place] for place in some]
    source, sink = 0, 1
    first_node = 2 + len(bids)
    at = np.arange(levels * nodes).reshape(levels, nodes) + first_node
    spare = np.array([bid.spare for bid in bids], dtype=np.int64)
    tails, heads, capacities = [np.full(len(bids), source)], [2 + np.arange(len(bids))], [spare]
    for place, bid in enumerate(bids):
        tails.append(np.full(len(bid.nodes), 2 + place))
        heads.append(at[bid.level, bid.nodes])
        capacities.append(_room(auction, bid))
    for level in range(levels):
        tails.append(at[level])
        heads.append(at[level - 1] if level else np.full(nodes, sink))
        capacities.append(left[level])
    flow, cut = largest_flow(np.concatenate(tails), np.concatenate(heads), np.concatenate(capacities), source, sink)
    if int(flow[: len(bids)].sum()) < int(spare.sum()):
        least: Ints = np.where(cut[at], np.arange(levels)[:, None], levels).min(axis=0)
        return least
    found, low = {}, len(bids)
    for place, bid in zip(some, bids, strict=True):
        found[place] = flow[low : low + len(bid.nodes)].astype(np.int64)
        low += len(bid.nodes)
    return found


def greedy(auction: Auction) -> list[int]:
    """Bids that fit together, by priority and then value."""
    left = auction.free.amounts.copy()
    order = sorted(range(len(auction.bids)), key=lambda place: (*_rank(auction, place), place))
    winners: list[int] = []
    served: set[int] = set()
    for place in order:
        bid = auction.bids[place]
        if bid.job in served:
            continue
        here = left[: bid.level + 1, bid.nodes] - bid.fixed
        if (here < 0).any():
            continue
        if bid.spare:
            most = here[:, :, bid.kind].min(axis=0)
            if int(most.sum()) < bid.spare:
                continue
            here[:, :, bid.kind] -= np.diff(np.minimum(np.cumsum(most), bid.spare), prepend=0)
        left[: bid.level + 1, bid.nodes] = here
        served.add(bid.job)
        winners.append(place)
    return winners


def _rank(auction: Auction, place: int) -> tuple[int, int, float]:
    bid = auction.bids[place]
    return -auction.priorities[bid.job], bid.job, -bid.preference
