"""The bids of jobs (001, sections 4 and 5) on nodesets: classes A, B and C, and those of Slurm's best fit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dardis.model.arrays import Bools, Ints

if TYPE_CHECKING:
    from dardis.dispatch.cp.decision_problem import Held, Problem
    from dardis.model.arrays import Ints
    from dardis.model.job import Part, Request


class Class(StrEnum):
    """Of a bid: what its nodes are."""

    A = "A"
    """Side by side, at the beginning or end of a run of free nodes."""
    B = "B"
    """Side by side, in the middle of one."""
    C = "C"
    """Of several neighbouring runs."""
    SLURM = "slurm"
    """Those that Slurm's best fit would take."""


_WEIGHTS = {
    (True, Class.A): (0.0, 0.25, 0.0),
    (True, Class.B): (0.25, 0.25, 0.0),
    (True, Class.C): (0.5, 0.25, 0.25),
    (False, Class.A): (0.0, 0.0, 0.0),
    (False, Class.B): (0.5, 0.0, 0.0),
    (False, Class.C): (0.5, 0.0, 0.5),
}
"""k₁, k₂ and k₃ (table 3) by whether the job asks for cores alone (type 1), and class."""


def preference(of: Class, *, cores_only: bool, nodes: int, of_nodes: int, sets: int, of_sets: int) -> float:
    """F of a bid (eq. 12): on `nodes` of all nodes, which are of so many of all nodesets."""
    k1, k2, k3 = (0.0, 0.0, 0.0) if of is Class.SLURM else _WEIGHTS[cores_only, of]
    return 1.0 - k1 - k2 * nodes / (of_nodes + 1) - k3 * sets / (of_sets + 1)


@dataclass(frozen=True)
class Bid:
    """Nodes on which a job might run, all of them."""

    job: int
    """Its place in the window."""
    request: int
    """As which of its requests."""
    of: Class
    preference: float
    level: int
    """Whose amounts hold for as long as it would run (`Free`)."""
    nodes: Ints
    """Ascending."""
    fixed: Ints
    """What it takes of each of them in any case, (nodes, kinds)."""
    spare: int
    """Units of `unit` that it takes beside, on whichever of them (r of the paper)."""
    unit: tuple[int, ...]
    held: Held | None
    """Its units on each node; None: they are what the programme makes of `spare`."""

    def put(self, more: Ints) -> Held:
        """Its units on each node, where `more` are the spare ones."""
        return self.request, ((self.nodes, more + 1),)


@dataclass(frozen=True)
class Asked:
    """One request, of one part, of a job of the window, and what each node could hold of it now."""

    job: int
    request: int
    part: Part
    level: int
    contiguous: bool
    exact: int
    """On so many nodes (types 2 and 3); 0: on any number (type 1)."""
    single: bool
    """Whether a node holds one unit at most."""
    most: Ints
    """Units that each node could hold, (nodes,)."""

    @property
    def flexible(self) -> bool:
        """Whether units may be spread by the programme: where each is one core, or one of something else."""
        return sum(self.part.request) == 1 and not self.single

    @property
    def cores_only(self) -> bool:
        """Whether it is of type 1."""
        return self.exact == 0

    def bid(self, of: Class, nodes: Ints, worth: float, left: Ints | None = None) -> Bid | None:
        """A bid on all of these nodes, which have room for the units; None: there are more nodes than units.

        `left`: units that each node holds beside others, (nodes,), where the bid says how units are spread.
        """
        units, count = self.part.units, len(nodes)
        if count > units:
            return None
        request = np.array(self.part.request, dtype=np.int64)
        most = self.most[nodes]
        if self.flexible and count < units < int(most.sum()):  # else there is one way to spread them
            on, held = np.ones(count, dtype=np.int64), None
        else:
            on = spread(most if left is None else left[nodes], units)
            held = self.request, ((nodes, on),)
        spare = units - int(on.sum())
        return Bid(
            self.job, self.request, of, worth, self.level, nodes, on[:, None] * request, spare, self.part.request, held
        )


def spread(most: Ints, units: int) -> Ints:
    """So many units on nodes that hold so many each, at least one on each, the first nodes first."""
    left = units - len(most)
    taken = np.minimum(np.cumsum(most - 1), left)
    spread_out: Ints = np.diff(taken, prepend=0) + 1
    return spread_out


def asked_of(problem: Problem, free: Free, place: int, job: int) -> Iterator[Asked]:
    """The requests of one part of a job that waits in `place`, which is `job` of the window."""
    for at, request in problem.waiting[place].requests:
        if len(request.parts) == 1:
            yield _asked(problem, free, request, job, at)


def _asked(problem: Problem, free: Free, request: Request, job: int, at: int) -> Asked:
    part, level = request.parts[0], free.level(request.walltime)
    need = np.array(part.request, dtype=np.int64)
    kinds = need > 0
    most = (free.amounts[level][:, kinds] // need[kinds]).min(axis=1)
    most[~problem.platform.sets.nodes(part.groups)] = 0
    single = problem.distinct or part.nodes == part.units
    exact = part.units if problem.distinct else part.nodes
    most = np.minimum(most, 1 if single else part.units)
    return Asked(job, at, part, level, request.contiguous, exact, single, most)


@dataclass(frozen=True)
class Worth:
    """What preferences go by."""

    nodes: int
    """Of the machine."""
    sets: int
    """All nodesets of the instant."""

    def of(self, what: Class, *, cores_only: bool, nodes: int, sets: int) -> float:
        """The preference of a bid on so many runs of nodes.

        These may be more than there are nodesets, which say nothing of cores beyond the first: a preference is above 0.
        """
        of_sets = max(self.sets, sets)
        return preference(what, cores_only=cores_only, nodes=nodes, of_nodes=self.nodes, sets=sets, of_sets=of_sets)


def bids_of(asked: Asked, worth: Worth, count: int, cursor: int, *, contiguous: bool) -> list[Bid]:
    """At most `count` bids of classes A, B and C, the preferred ones first, each on nodes of its own.

    The paper prints no order. Here the tightest runs come first, begin and end of each by turns; the middle is looked
    for from `cursor` on, which is different for each job: who bids for other nodes is in nobody's way. Of several, one
    at least is of class B and one of class C.
    """
    windows = _Windows(asked)
    lists = [list(_aligned(windows, cursor)), list(_inside(windows, cursor))]
    if not (contiguous or asked.contiguous):
        lists.append(list(_across(windows)))
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
    made = []
    for of, places in zip((Class.A, Class.B, Class.C), chosen, strict=False):
        for first, end in places:
            sets = windows.runs_of(first, end)
            value = worth.of(of, cores_only=asked.cores_only, nodes=end - first, sets=sets)
            bid = asked.bid(of, windows.usable[first:end], value)
            if bid is not None:
                made.append(bid)
    return made


class _Windows:
    """Windows over the nodes that hold any unit, named by the places of these nodes; none spans more than it needs."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.usable = usable = np.flatnonzero(asked.most)
        self.sums: Ints = np.concatenate([[0], np.cumsum(asked.most[usable])])
        begins = np.flatnonzero(np.diff(usable, prepend=-2) > 1).tolist()
        self.runs = list(zip(begins, [*begins[1:], len(usable)], strict=True)) if len(usable) else []
        self._ends = [end for _, end in self.runs]

    def runs_of(self, first: int, end: int) -> int:
        """Of how many runs the window `[first, end)` has nodes."""
        return bisect_left(self._ends, end) - bisect_right(self._ends, first) + 1

    def from_first(self, first: int, end: int) -> tuple[int, int] | None:
        """The window that begins there, if there is one before `end`."""
        units, exact = self.asked.part.units, self.asked.exact
        behind = first + exact if exact else int(np.searchsorted(self.sums, self.sums[first] + units))
        return (first, behind) if behind <= end and self.sums[behind] - self.sums[first] >= units else None

    def to_end(self, first: int, end: int) -> tuple[int, int] | None:
        """The window that ends there, if there is one not before `first`."""
        units, exact = self.asked.part.units, self.asked.exact
        begin = end - exact if exact else int(np.searchsorted(self.sums, self.sums[end] - units, side="right")) - 1
        return (begin, end) if begin >= first and self.sums[end] - self.sums[begin] >= units else None

    def tightest(self) -> list[tuple[int, int]]:
        """The runs with room enough, those first that leave least."""
        enough = [(a, b) for a, b in self.runs if self.sums[b] - self.sums[a] >= self.asked.part.units]
        return sorted(enough, key=lambda run: (int(self.sums[run[1]] - self.sums[run[0]]), run))


def _aligned(windows: _Windows, turn: int) -> Iterator[tuple[int, int]]:
    """Windows of class A."""
    for at, (first, end) in enumerate(windows.tightest()):
        both = [windows.from_first(first, end), windows.to_end(first, end)]
        yield from (window for window in (both if (at + turn) % 2 == 0 else both[::-1]) if window is not None)


def _inside(windows: _Windows, cursor: int) -> Iterator[tuple[int, int]]:
    """Windows of class B, the one first that begins at the cursor (a node) or next behind it."""
    usable = windows.usable
    found: list[tuple[int, int]] = []
    for first, end in windows.tightest():
        start = first + 1
        while start < end:
            window = windows.from_first(start, end)
            if window is None and windows.asked.exact:  # those behind may hold more on as many nodes
                start += 1
                continue
            if window is None or window[1] >= end:
                break
            found.append(window)
            start = window[1]
    yield from sorted(found, key=lambda window: (int(usable[window[0]]) < cursor, int(usable[window[0]])))


def _across(windows: _Windows) -> Iterator[tuple[int, int]]:
    """Windows of class C: of as few neighbouring runs as can be, then over as few nodes from first to last.

    One of a job of cores also takes all nodes of these runs, where it has a core for each: that fills what is left.
    """
    asked, usable = windows.asked, windows.usable
    ends = [end for _, end in windows.runs]
    found: set[tuple[int, int]] = set()
    for at, (first, end) in enumerate(windows.runs):
        begins = [first]
        if asked.exact and not asked.single:  # those in the middle may be the only ones that hold it
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


def slurm_nodes(asked: Asked, most: Ints) -> Ints | None:
    """The nodes that Slurm's best fit takes where each holds so many units; None: they are too few, or apart.

    It takes the run of free nodes that has least of those that have enough; where none does, all of the largest, and
    looks on for the rest.
    """
    free = np.minimum(most, 1) if asked.exact else most.copy()
    left = asked.exact or asked.part.units
    taken: list[Ints] = []
    while left > 0:
        found = [(int(free[a:b].sum()), a, b) for a, b in zip(*runs(free > 0), strict=True)]
        enough = [run for run in found if run[0] >= left]
        if not found or (asked.contiguous and not enough):
            return None
        _, first, end = min(enough) if enough else max(found, key=lambda run: (run[0], -run[1]))
        count = min(int(np.searchsorted(np.cumsum(free[first:end]), left)) + 1, end - first)
        taken.append(np.arange(first, first + count))
        left -= int(free[first : first + count].sum())
        free[first : first + count] = 0
    nodes: Ints = np.sort(np.concatenate(taken))
    return nodes if int(most[nodes].sum()) >= asked.part.units else None


@dataclass(frozen=True)
class Free:
    """`amounts[l]`, (nodes, kinds), is what nodes have free over all of the first `until[l]` s.

    `until` ascends, and each has less than the one before somewhere. The last holds for whatever is longer. In 001
    nodes have one such amount (eq. 5 and 6): nothing is closed there.
    """

    until: tuple[int, ...]
    amounts: Ints
    """(levels, nodes, kinds)"""

    @classmethod
    def of_steps(cls, steps: list[tuple[Ints, Ints]], longest: int) -> Free:
        """For each node since when, from 0 on, it has what free (`Machine.free`); no job runs longer than `longest`."""
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
        """Whose amounts hold for a job that runs so long."""
        return int(np.searchsorted(self.until, duration))


class Nodeset(NamedTuple):
    """The first and last node, what cores they have free together, and what each has of the other kinds at least."""

    first: int
    last: int
    cores: int
    others: tuple[int, ...]


def nodesets(free: Ints, levels: list[tuple[int, ...]]) -> list[Nodeset]:
    """All of them, by level and then by node: the longest runs of nodes with a core, and `levels[i]` of the others.

    `free` has shape (nodes, kinds); cores come first.
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
    """The runs of nodes that hold something: the first node of each, and the one behind its last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]]))).tolist()
    return edges[::2], edges[1::2]
