"""Programme of an auction (001, eq. 1 to 8).

Nodes with the same bids form a cell (as printed: two variables for each job and node). A bid uses all its nodes, so eq.
3 needs no variables (as printed, it also empties the nodes of losing bids). Units beyond the first of each node are
continuous sums by job and cell; integer splits exist (polymatroids), see `distribute_spare_units`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd

import numpy as np

from dardis.dispatch.auction.bids import Bid, FreeLevels
from dardis.model.arrays import Bools, Floats, Ints
from dardis.solver.milp import LinearProgram, largest_flow


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
class Cells:
    """Nodes, grouped into cells by equal bids."""

    nodes: list[Ints]
    of_bid: list[list[tuple[int, Ints]]]
    """Cells of each bid, with minimum use of nodes."""


def cells_of(auction: Auction) -> Cells:
    """Cells of an auction."""
    count, width = auction.free.amounts.shape[1], len(auction.bids)
    names: list[list[int]] = [[] for _ in range(count)]
    fixed: dict[tuple[int, int], Ints] = {}
    for place, bid in enumerate(auction.bids):
        kinds, which = np.unique(bid.fixed, axis=0, return_inverse=True)
        for kind, amounts in enumerate(kinds):
            fixed[place, kind] = amounts
        for node, kind in zip(bid.nodes.tolist(), which.ravel().tolist(), strict=True):
            names[node].append(kind * width + place)
    by_name: dict[tuple[tuple[int, ...], bytes], list[int]] = defaultdict(list)
    several = len(auction.free.until) > 1
    for node, name in enumerate(names):
        if name:
            apart = auction.free.amounts[:, node].tobytes() if several else b""
            by_name[tuple(name), apart].append(node)
    nodes: list[Ints] = []
    of_bid: list[list[tuple[int, Ints]]] = [[] for _ in auction.bids]
    for cell, ((named, _), members) in enumerate(by_name.items()):
        nodes.append(np.array(members, dtype=np.int64))
        for one in named:
            kind, place = divmod(one, width)
            of_bid[place].append((cell, fixed[place, kind]))
    return Cells(nodes, of_bid)


@dataclass
class ProgrammeRows:
    """Rows of a programme under construction."""

    row: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def add(self, entries: Iterator[tuple[int, float]] | Sequence[tuple[int, float]], low: float, high: float) -> None:
        """Add `low ≤ Σ value · x[column] ≤ high`."""
        for column, value in entries:
            self.row.append(len(self.low))
            self.column.append(column)
            self.value.append(value)
        self.low.append(low)
        self.high.append(high)

    def program(self, objective: Floats, upper: Floats) -> LinearProgram:
        """Programme with variables from 0 to `upper`."""
        return LinearProgram(
            objective, np.zeros(len(upper)), upper, np.array(self.row, dtype=np.int64),
            np.array(self.column, dtype=np.int64), np.array(self.value), np.array(self.low), np.array(self.high),
        )  # fmt: skip


@dataclass(frozen=True)
class AuctionProgramme:
    """Programme: variables for bids, then spare units."""

    program: LinearProgram
    is_integer: Bools
    cells: Cells
    spare: dict[tuple[int, int, int], int]
    """Variable by job, request and cell."""

    def values(self, auction: Auction, winners: Sequence[int], more: Sequence[Ints]) -> Floats:
        """Variables for winners and spare units."""
        values = np.zeros(self.variables)
        values[np.array(winners, dtype=np.int64)] = 1.0
        for place, units in zip(winners, more, strict=True):
            bid = auction.bids[place]
            for cell, _ in self.cells.of_bid[place] if bid.spare else ():
                there = np.isin(bid.nodes, self.cells.nodes[cell])
                values[self.spare[bid.job, bid.request, cell]] = units[there].sum()
        return values

    @property
    def variables(self) -> int:
        """Number of variables."""
        return len(self.is_integer)


def build_programme(auction: Auction) -> AuctionProgramme:
    """Programme of an auction."""
    cells, bids, rows = cells_of(auction), auction.bids, ProgrammeRows()
    of_job: dict[int, list[int]] = defaultdict(list)
    for place, bid in enumerate(bids):
        of_job[bid.job].append(place)
    for places in of_job.values():
        if len(places) > 1:
            rows.add([(place, 1.0) for place in places], -np.inf, 1.0)
    spare: dict[tuple[int, int, int], int] = {}
    upper = [1.0] * len(bids)
    for places in of_job.values():
        _spare_of_job(auction, cells, places, spare, upper, rows)
    _limit_cells(auction, cells, spare, rows)
    count = len(upper)
    objective = np.zeros(count)
    objective[: len(bids)] = auction.worth
    whole = np.zeros(count, dtype=bool)
    whole[: len(bids)] = True
    return AuctionProgramme(rows.program(objective, np.array(upper)), whole, cells, spare)


def _limit_cells(auction: Auction, cells: Cells, spare: dict[tuple[int, int, int], int], rows: ProgrammeRows) -> None:
    """Limit use of cells to free capacity (eq. 5 and 6)."""
    bids, amounts = auction.bids, auction.free.amounts
    in_cell: list[list[tuple[int, Ints]]] = [[] for _ in cells.nodes]
    for place, of_bid in enumerate(cells.of_bid):
        for cell, fixed in of_bid:
            in_cell[cell].append((place, fixed))
    beside: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    like = {(bid.job, bid.request): bid for bid in bids}
    for (job, request, cell), variable in spare.items():
        bid = like[job, request]
        beside[cell].append((variable, bid.level, int(np.argmax(bid.unit))))
    for cell, nodes in enumerate(cells.nodes):
        for level in range(len(auction.free.until)):
            there = [(place, fixed) for place, fixed in in_cell[cell] if bids[place].level >= level]
            for kind in range(amounts.shape[2]):
                more = [variable for variable, at, of in beside[cell] if at >= level and of == kind]
                have = amounts[level, nodes, kind]
                taking = [(place, float(fixed[kind])) for place, fixed in there if fixed[kind]]
                if sum(value for _, value in taking) > have.min():
                    rows.add(taking, -np.inf, float(have.min()))
                if more:
                    every = [(place, value * len(nodes)) for place, value in taking]
                    rows.add([*every, *((variable, 1.0) for variable in more)], -np.inf, float(have.sum()))


def _spare_of_job(
    auction: Auction, cells: Cells, places: list[int], spare: dict[tuple[int, int, int], int], upper: list[float],
    rows: ProgrammeRows,
) -> None:  # fmt: skip
    """Add variables and rows of spare units (eq. 4 and 7)."""
    of_request: dict[int, list[int]] = defaultdict(list)
    for place in places:
        if auction.bids[place].spare:
            of_request[auction.bids[place].request].append(place)
    for request, some in of_request.items():
        most: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for place in some:
            bid = auction.bids[place]
            kind = int(np.argmax(bid.unit))
            for cell, _ in cells.of_bid[place]:
                have = auction.free.amounts[bid.level, cells.nodes[cell], kind] - 1
                most[cell].append((place, float(np.minimum(have, bid.spare).sum())))
        job = auction.bids[some[0]].job
        variables = []
        for cell, entries in most.items():
            variable = spare[job, request, cell] = len(upper)
            variables.append(variable)
            upper.append(max(value for _, value in entries))
            rows.add([*((place, -value) for place, value in entries), (variable, 1.0)], -np.inf, 0.0)
        needs = [(place, -float(auction.bids[place].spare)) for place in some]
        rows.add([*needs, *((variable, 1.0) for variable in variables)], 0.0, 0.0)


def distribute_spare_units(auction: Auction, winners: Sequence[int]) -> list[Ints] | None:
    """Integer spare units of winning bids by node; None if infeasible.

    A flow from bids through nodes; longer bids also count for shorter.
    """
    left = auction.free.amounts.copy()
    for place in winners:
        bid = auction.bids[place]
        left[: bid.level + 1, bid.nodes] -= bid.fixed
    if (left < 0).any():
        return None
    wanting = [place for place in winners if auction.bids[place].spare]
    found = {place: np.zeros(len(auction.bids[place].nodes), dtype=np.int64) for place in winners}
    for kind in {int(np.argmax(auction.bids[place].unit)) for place in wanting}:
        some = [place for place in wanting if int(np.argmax(auction.bids[place].unit)) == kind]
        flows = _flows(auction, left[:, :, kind], some)
        if flows is None:
            return None
        found |= flows
    return [found[place] for place in winners]


def _flows(auction: Auction, left: Ints, some: list[int]) -> dict[int, Ints] | None:
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
        capacities.append(np.full(len(bid.nodes), bid.spare))
    for level in range(levels):
        tails.append(at[level])
        heads.append(at[level - 1] if level else np.full(nodes, sink))
        capacities.append(left[level])
    flow = largest_flow(np.concatenate(tails), np.concatenate(heads), np.concatenate(capacities), source, sink)
    if int(flow[: len(bids)].sum()) < int(spare.sum()):
        return None
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
            kind = int(np.argmax(bid.unit))
            most = here[:, :, kind].min(axis=0)
            if int(most.sum()) < bid.spare:
                continue
            here[:, :, kind] -= np.diff(np.minimum(np.cumsum(most), bid.spare), prepend=0)
        left[: bid.level + 1, bid.nodes] = here
        served.add(bid.job)
        winners.append(place)
    return winners


def _rank(auction: Auction, place: int) -> tuple[int, int, float]:
    bid = auction.bids[place]
    return -auction.priorities[bid.job], bid.job, -bid.preference
