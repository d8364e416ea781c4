"""Bids of jobs on nodesets (001, sections 4 and 5): classes A, B and C, and Slurm's best fit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dardis.model.arrays import Bools, Ints

if TYPE_CHECKING:
    from dardis.dispatch.cp.decision_problem import DecisionProblem, Placement
    from dardis.model.arrays import Ints
    from dardis.model.job import Part, Request


class BidClass(StrEnum):
    """Class of a bid."""

    A = "A"
    """Adjacent, at an end of a free run."""
    B = "B"
    """Adjacent, inside a run."""
    C = "C"
    """In several neighbouring runs."""
    SLURM = "slurm"


_WEIGHTS = {
    (True, BidClass.A): (0.0, 0.25, 0.0),
    (True, BidClass.B): (0.25, 0.25, 0.0),
    (True, BidClass.C): (0.5, 0.25, 0.25),
    (False, BidClass.A): (0.0, 0.0, 0.0),
    (False, BidClass.B): (0.5, 0.0, 0.0),
    (False, BidClass.C): (0.5, 0.0, 0.5),
}
"""k₁, k₂ and k₃ (table 3), by cores only (type 1) and class."""


def preference(of: BidClass, *, cores_only: bool, nodes: int, of_nodes: int, sets: int, of_sets: int) -> float:
    """F of a bid (eq. 12) on `nodes` of `of_nodes` nodes, in `sets` of `of_sets` nodesets."""
    k1, k2, k3 = (0.0, 0.0, 0.0) if of is BidClass.SLURM else _WEIGHTS[cores_only, of]
    return 1.0 - k1 - k2 * nodes / (of_nodes + 1) - k3 * sets / (of_sets + 1)


@dataclass(frozen=True)
class Bid:
    """Nodes for a job, to win as a whole."""

    job: int
    """Place in the window."""
    request: int
    bid_class: BidClass
    preference: float
    level: int
    """Level of `FreeLevels` for the job's duration."""
    nodes: Ints
    fixed: Ints
    """Minimum use, (nodes, kinds)."""
    spare: int
    """Further units, on any nodes (r of the paper)."""
    unit: tuple[int, ...]
    placement: Placement | None
    """None: the programme spreads `spare`."""

    @property
    def kind(self) -> int:
        """Kind of spare units."""
        return int(np.argmax(self.unit))

    def put(self, more: Ints) -> Placement:
        """Placement with `more` spare units."""
        return self.request, ((self.nodes, self.fixed[:, self.kind] + more),)


@dataclass(frozen=True)
class SinglePartRequest:
    """Request of a single part, with present node capacities."""

    job: int
    request: int
    part: Part
    level: int
    contiguous: bool
    exact: int
    """Number of nodes (types 2 and 3); 0: any number (type 1)."""
    single: bool
    most: Ints
    """Units per node, (nodes,)."""

    @property
    def flexible(self) -> bool:
        """Whether the programme may spread units: a unit is a single core or other resource."""
        return sum(self.part.request) == 1 and not self.single

    @property
    def cores_only(self) -> bool:
        """Whether the job is of type 1."""
        return self.exact == 0

    def bid(self, of: BidClass, nodes: Ints, worth: float, left: Ints | None = None) -> Bid | None:
        """Bid on all these nodes; None if nodes outnumber units.

        `left`: free units, (nodes,), for a fixed placement.
        """
        units, count = self.part.units, len(nodes)
        if count > units:
            return None
        request = np.array(self.part.request, dtype=np.int64)
        most = self.most[nodes]
        if self.flexible and count < units < int(most.sum()):  # otherwise the placement is unique
            # The others hold no more, so each node holds the rest at least.
            on, held = np.maximum(most - (int(most.sum()) - units), 1), None
        else:
            on = spread(most if left is None else left[nodes], units)
            held = self.request, ((nodes, on),)
        spare = units - int(on.sum())
        return Bid(
            self.job, self.request, of, worth, self.level, nodes, on[:, None] * request, spare, self.part.request, held
        )


def spread(most: Ints, units: int) -> Ints:
    """Spread units, at least a unit on each node, first nodes first."""
    left = units - len(most)
    taken = np.minimum(np.cumsum(most - 1), left)
    spread_out: Ints = np.diff(taken, prepend=0) + 1
    return spread_out


def single_part_requests(
    problem: DecisionProblem, free: FreeLevels, place: int, job: int
) -> Iterator[SinglePartRequest]:
    """Yield single-part requests of the job at `place`, as `job` of the window."""
    for at, request in problem.waiting[place].requests:
        if len(request.parts) == 1:
            yield _single_part_request(problem, free, request, job, at)


def _single_part_request(
    problem: DecisionProblem, free: FreeLevels, request: Request, job: int, at: int
) -> SinglePartRequest:
    part, level = request.parts[0], free.level(request.walltime)
    need = np.array(part.request, dtype=np.int64)
    kinds = need > 0
    most = (free.amounts[level][:, kinds] // need[kinds]).min(axis=1)
    most[~problem.platform.sets.nodes(part.groups)] = 0
    single = problem.distinct or part.nodes == part.units
    exact = part.units if problem.distinct else part.nodes
    most = np.minimum(most, 1 if single else part.units)
    return SinglePartRequest(job, at, part, level, request.contiguous, exact, single, most)


@dataclass(frozen=True)
class PreferenceScale:
    """Size of the machine and number of nodesets, for preferences."""

    nodes: int
    sets: int

    def preference(self, what: BidClass, *, cores_only: bool, nodes: int, sets: int) -> float:
        """Preference of a bid on `sets` runs.

        Runs may outnumber nodesets; preferences stay above 0.
        """
        of_sets = max(self.sets, sets)
        return preference(what, cores_only=cores_only, nodes=nodes, of_nodes=self.nodes, sets=sets, of_sets=of_sets)


def bids_of(
    asked: SinglePartRequest, worth: PreferenceScale, count: int, cursor: int, *, contiguous: bool
) -> list[Bid]:
    """Up to `count` bids of classes A, B and C, best first.

    Order (not in the paper): tightest runs first, both ends in turn, the middle from `cursor` on. Classes B and C get
    at least a bid each. A job of type 2 that fits no window gets one bid of class C.
    """
    windows = _Windows(asked)
    lists = [list(_aligned_windows(windows, cursor)), list(_inner_windows(windows, cursor))]
    adjacent = contiguous or asked.contiguous
    if not adjacent:
        lists.append(list(_spanning_windows(windows)))
    wanted = [max(1, count - len(lists) + 1), *[1] * (len(lists) - 1)]
    chosen: list[list[tuple[int, int]]] = [[] for _ in lists]
    seen: set[tuple[int, ...]] = set()
    for rest in (False, True):
        for which, found in enumerate(lists):
            for window in found:
                done = sum(map(len, chosen))
                if done >= count or (not rest and len(chosen[which]) >= wanted[which]):
                    break
                if window not in seen:
                    seen.add(window)
                    chosen[which].append(window)
    found_nodes = [
        (of, windows.usable[first:end], windows.runs_of(first, end))
        for of, places in zip((BidClass.A, BidClass.B, BidClass.C), chosen, strict=False)
        for first, end in places
    ]
    if not found_nodes and not adjacent and (nodes := _emptiest_nodes(windows)) is not None:
        found_nodes = [(BidClass.C, nodes, windows.runs_with(nodes))]
    made = []
    for of, nodes, sets in found_nodes:
        value = worth.preference(of, cores_only=asked.cores_only, nodes=len(nodes), sets=sets)
        bid = asked.bid(of, nodes, value)
        if bid is not None:
            made.append(bid)
    return made


class _Windows:
    """Minimal windows over usable nodes, by place."""

    def __init__(self, asked: SinglePartRequest) -> None:
        self.asked = asked
        self.usable = usable = np.flatnonzero(asked.most)
        self.sums: Ints = np.concatenate([[0], np.cumsum(asked.most[usable])])
        begins = np.flatnonzero(np.diff(usable, prepend=-2) > 1).tolist()
        self.runs = list(zip(begins, [*begins[1:], len(usable)], strict=True)) if len(usable) else []
        self._ends = [end for _, end in self.runs]

    def runs_of(self, first: int, end: int) -> int:
        return bisect_left(self._ends, end) - bisect_right(self._ends, first) + 1

    def runs_with(self, nodes: Ints) -> int:
        """Number of runs that hold any of these nodes."""
        return len({bisect_right(self._ends, place) for place in np.searchsorted(self.usable, nodes).tolist()})

    def from_first(self, first: int, end: int) -> tuple[int, int] | None:
        units, exact = self.asked.part.units, self.asked.exact
        behind = first + exact if exact else int(np.searchsorted(self.sums, self.sums[first] + units))
        return (first, behind) if behind <= end and self.sums[behind] - self.sums[first] >= units else None

    def to_end(self, first: int, end: int) -> tuple[int, int] | None:
        units, exact = self.asked.part.units, self.asked.exact
        begin = end - exact if exact else int(np.searchsorted(self.sums, self.sums[end] - units, side="right")) - 1
        return (begin, end) if begin >= first and self.sums[end] - self.sums[begin] >= units else None

    def tightest(self) -> list[tuple[int, int]]:
        enough = [(a, b) for a, b in self.runs if self.sums[b] - self.sums[a] >= self.asked.part.units]
        return sorted(enough, key=lambda run: (int(self.sums[run[1]] - self.sums[run[0]]), run))


def _aligned_windows(windows: _Windows, turn: int) -> Iterator[tuple[int, int]]:
    for at, (first, end) in enumerate(windows.tightest()):
        both = [windows.from_first(first, end), windows.to_end(first, end)]
        yield from (window for window in (both if (at + turn) % 2 == 0 else both[::-1]) if window is not None)


def _inner_windows(windows: _Windows, cursor: int) -> Iterator[tuple[int, int]]:
    usable = windows.usable
    found: list[tuple[int, int]] = []
    for first, end in windows.tightest():
        start = first + 1
        while start < end:
            window = windows.from_first(start, end)
            if window is None and windows.asked.exact:  # later nodes may hold more
                start += 1
                continue
            if window is None or window[1] >= end:
                break
            found.append(window)
            start = window[1]
    yield from sorted(found, key=lambda window: (int(usable[window[0]]) < cursor, int(usable[window[0]])))


def _spanning_windows(windows: _Windows) -> Iterator[tuple[int, int]]:
    """Windows of class C: fewest runs, then smallest span.

    Bids of cores also take all nodes of the runs, to fill fragments.
    """
    asked, usable = windows.asked, windows.usable
    ends = [end for _, end in windows.runs]
    found: set[tuple[int, int]] = set()
    for at, (first, end) in enumerate(windows.runs):
        begins = [first]
        if asked.exact and not asked.single:  # only the middle nodes may hold the job
            begins += range(max(0, end - asked.exact + 1), end)
        tried = [windows.to_end(0, end), *(windows.from_first(begin, len(usable)) for begin in begins)]
        found.update(window for window in tried if window is not None)
        for beyond in ends[at + 1 :] if not asked.exact else ():
            if beyond - first > asked.part.units:
                break
            if windows.sums[beyond] - windows.sums[first] >= asked.part.units:
                found.add((first, beyond))
                break

    def order(window: tuple[int, int]) -> tuple[int, int, int]:
        first, end = window
        return windows.runs_of(first, end), int(usable[end - 1] - usable[first]), first

    yield from sorted((window for window in found if order(window)[0] > 1), key=order)


def _emptiest_nodes(windows: _Windows) -> Ints | None:
    """Nodes with most free units, in the tightest run or else in all runs (type 2); None if they do not suffice."""
    asked = windows.asked
    for first, end in [*windows.tightest(), (0, len(windows.usable))] if asked.exact else ():
        nodes = windows.usable[first:end]
        best: Ints = np.sort(nodes[np.argsort(-asked.most[nodes], kind="stable")[: asked.exact]])
        if len(best) == asked.exact and int(asked.most[best].sum()) >= asked.part.units:
            return best
    return None


def slurm_nodes(asked: SinglePartRequest, most: Ints) -> Ints | None:
    """Nodes of Slurm's best fit; None if too few, or not contiguous as requested.

    The smallest sufficient run, else all of the largest run, then again for the rest. If the nodes of a job of type 2
    hold too few units, again without the nodes that hold least: a heuristic, which may find none for a job that fits.
    """
    least = np.unique(most[most > 0]).tolist() if asked.exact else [1]
    tried = (_best_fit(asked, np.where(most < at_least, 0, most)) for at_least in least)
    return next((nodes for nodes in tried if nodes is not None), None)


def _best_fit(asked: SinglePartRequest, free: Ints) -> Ints | None:
    left, left_nodes = asked.part.units, asked.exact
    taken: list[Ints] = []
    while left_nodes > 0 or (not asked.exact and left > 0):
        found = [(int(free[a:b].sum()), a, b) for a, b in zip(*runs(free > 0), strict=True)]
        enough = [(held, a, b) for held, a, b in found if held >= left and b - a >= left_nodes]
        if not found or (asked.contiguous and not enough):
            return None
        _, first, end = min(enough) if enough else max(found, key=lambda run: (run[0], -run[1]))
        count = min(left_nodes or int(np.searchsorted(np.cumsum(free[first:end]), left)) + 1, end - first)
        taken.append(np.arange(first, first + count))
        left -= int(free[first : first + count].sum())
        left_nodes = max(0, left_nodes - count)
        free[first : first + count] = 0
    return np.sort(np.concatenate(taken)) if left <= 0 else None


@dataclass(frozen=True)
class FreeLevels:
    """Free capacity `amounts[l]` (nodes, kinds) for `until[l]` s.

    `until` ascends, amounts fall. 001 has a single level (eq. 5 and 6), without closures.
    """

    until: tuple[int, ...]
    amounts: Ints
    """(levels, nodes, kinds)"""

    @classmethod
    def of_steps(cls, steps: list[tuple[Ints, Ints]], longest: int) -> FreeLevels:
        """Build from the steps of `Machine.free`; `longest`: longest duration."""
        least = [(time, np.minimum.accumulate(value, axis=0)) for time, value in steps]
        drops = sorted(
            {
                int(time[i])
                for time, value in least
                for i in range(1, len(time))
                if time[i] < longest and (value[i] < value[i - 1]).any()
            }
        )
        since = [0, *drops]
        amounts = [
            [value[int(np.searchsorted(time, moment, side="right")) - 1] for time, value in least] for moment in since
        ]
        return cls((*drops, longest), np.maximum(np.array(amounts, dtype=np.int64), 0))

    def level(self, duration: int) -> int:
        """Level for a duration."""
        return int(np.searchsorted(self.until, duration))


class Nodeset(NamedTuple):
    """First and last node, free cores, and minimum of other kinds."""

    first: int
    last: int
    cores: int
    others: tuple[int, ...]


def nodesets(free: Ints, levels: list[tuple[int, ...]]) -> list[Nodeset]:
    """All nodesets by level and node: longest runs with a core and `levels[i]` of other kinds.

    `free`: (nodes, kinds), cores first.
    """
    found = []
    for others in levels:
        holds = (free[:, 0] > 0) & (free[:, 1:] >= np.array(others, dtype=np.int64)).all(axis=1)
        found += [
            Nodeset(first, end - 1, int(free[first:end, 0].sum()), others)
            for first, end in zip(*runs(holds), strict=True)
        ]
    return found


def runs(holds: Bools) -> tuple[list[int], list[int]]:
    """Runs of true values: first nodes, and nodes after the last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]]))).tolist()
    return edges[::2], edges[1::2]
