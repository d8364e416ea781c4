"""The programme of an auction as 001 prints it (eq. 1 to 8): u and r of each job and node, beside a b of each bid.

For tests and benches: `dardis.dispatch.auction.programme` makes a smaller one of the same optimum. Equations 3 and 4
are mended. As printed 3 lets a job have no node of any of its bids that loses, so that neither of two that share a node
can win; and 4 counts a node once for each bid that it is in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from dardis.dispatch.auction.programme import Auction
from dardis.model.arrays import Bools, Floats
from dardis.solver.milp import LinearProgram


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
class _JobRequest:
    """What a job asks for, in the words of table 2."""

    bids: list[int]
    """Places of its bids: B."""
    cores: list[int]
    """R^cpu of each."""
    on_node: tuple[int, ...]
    """R^cpn, and then R^gpu and others: what each node is asked for."""


def printed(auction: Auction, as_printed: Collection[int] = ()) -> tuple[LinearProgram, Bools]:
    """The programme, and which variables are whole; `as_printed` names equations that are left as they are (3, 4).

    Raises ValueError where the paper has no such auction: amounts that hold for some time only, jobs of several
    requests, or units on one node that are more than a core and more than one.
    """
    if len(auction.free.until) > 1:
        raise ValueError("001 knows one amount of each node")
    free, rows = auction.free.amounts[0], ProgrammeRows()
    jobs = [_job_request(auction, job) for job in range(len(auction.priorities))]
    count, nodes = len(auction.bids), len(free)
    u = count + np.arange(len(jobs) * nodes).reshape(len(jobs), nodes)
    r = u + u.size
    for job, asks in enumerate(jobs):
        rows.add([(bid, 1.0) for bid in asks.bids], -np.inf, 1.0)  # 2
        _nodes_of_bids(auction, asks, u[job].tolist(), rows, mended=3 not in as_printed)
        _cores_of_job(auction, asks, (u[job].tolist(), r[job].tolist()), rows, mended=4 not in as_printed)
        _remaining(auction, asks, (u[job].tolist(), r[job].tolist()), rows)
    for node in range(nodes):
        taken = [(int(of[job, node]), 1.0) for of in (u, r) for job in range(len(jobs))]
        rows.add(taken, -np.inf, float(free[node, 0]))  # 5
        for kind in range(1, free.shape[1]):  # 6, for whatever there is beside cores
            others = [(int(u[job, node]), float(asks.on_node[kind])) for job, asks in enumerate(jobs)]
            rows.add([one for one in others if one[1]], -np.inf, float(free[node, kind]))
    size = count + u.size + r.size
    objective = np.zeros(size)
    objective[:count] = auction.worth
    upper = np.ones(size)
    upper[count + u.size :] = np.tile(free[:, 0], len(jobs))
    return rows.program(objective, upper), np.ones(size, dtype=bool)


def _job_request(auction: Auction, job: int) -> _JobRequest:
    bids = [place for place, bid in enumerate(auction.bids) if bid.job == job]
    units = {auction.bids[place].unit for place in bids}
    requests = {auction.bids[place].request for place in bids}
    unit = next(iter(units), (0,) * auction.free.amounts.shape[2])
    known = len(units) <= 1 and len(requests) <= 1
    # Of one core a unit, a bid on all cores of its nodes says so at once.
    others = [auction.bids[place].fixed[:, 1 if sum(unit) == unit[0] == 1 else 0 :] for place in bids]
    if not known or any((taken != unit[-taken.shape[1] :]).any() for taken in others) or (bids and not unit[0]):
        raise ValueError("001 knows jobs of one request that take cores on each node, as many on each or none in all")
    cores = [int(auction.bids[place].fixed[:, 0].sum()) + auction.bids[place].spare for place in bids]
    return _JobRequest(bids, cores, unit)


def _nodes_of_bids(auction: Auction, asks: _JobRequest, u: list[int], rows: ProgrammeRows, *, mended: bool) -> None:
    """Eq. 3: who wins has the nodes of his bid. Mended: a node is a job's as far as a bid wins that it is in."""
    if not mended:
        for place in asks.bids:
            nodes = auction.bids[place].nodes.tolist()
            rows.add([(place, -float(len(nodes))), *((u[node], 1.0) for node in nodes)], 0.0, 0.0)
        return
    for node, bids in enumerate(_bids_on(auction, asks, len(u))):
        rows.add([(u[node], 1.0), *((place, -1.0) for place in bids)], 0.0, 0.0)


def _cores_of_job(
    auction: Auction, asks: _JobRequest, of: tuple[list[int], list[int]], rows: ProgrammeRows, *, mended: bool
) -> None:
    """Eq. 4: who wins has the cores that he asks for. Mended: each node counts once."""
    times = [len(bids) for bids in _bids_on(auction, asks, len(of[0]))]
    count = [float(min(1, held) if mended else held) for held in times]
    needs = [(place, -float(cores)) for place, cores in zip(asks.bids, asks.cores, strict=True)]
    rows.add([*needs, *((of_[node], count[node]) for of_ in of for node, held in enumerate(times) if held)], 0.0, 0.0)


def _remaining(auction: Auction, asks: _JobRequest, of: tuple[list[int], list[int]], rows: ProgrammeRows) -> None:
    """Eq. 7 and 8: cores beside the one of u are on nodes of the job, and as many on each as it asks for."""
    most = max(asks.cores, default=1)
    for node, bids in enumerate(_bids_on(auction, asks, len(of[0]))):
        u, r = of[0][node], of[1][node]
        have = max(0, min(int(auction.free.amounts[0, node, 0]), most) - 1)
        rows.add([(r, 1.0), (u, -float(have))], -np.inf, 0.0)
        if asks.on_node[0] > 1 and bids:
            rows.add([(u, 1.0), (r, 1.0), *((place, -float(asks.on_node[0])) for place in bids)], 0.0, 0.0)


def _bids_on(auction: Auction, asks: _JobRequest, nodes: int) -> list[list[int]]:
    """The bids of a job that each node is in: C_jn."""
    found: list[list[int]] = [[] for _ in range(nodes)]
    for place in asks.bids:
        for node in auction.bids[place].nodes.tolist():
            found[node].append(place)
    return found
