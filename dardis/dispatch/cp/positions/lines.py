"""Lines of positions by kind (PCP'20, 003), and the kernel's plan.

Amounts are divided by the greatest common divisor. On adjacent equal nodes, a position is `capacity * node + shift`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dardis.dispatch.cp.decision_problem import DecisionProblem
from dardis.dispatch.cp.positions.fixed_boxes import FixedBoxes, first_positions
from dardis.kernels import positions
from dardis.model.arrays import Bools, Ints
from dardis.model.job import NO_TIME, Job

Box = tuple[int, int, int, int]
"""First position, position after the last, start and end."""
Row = tuple[int, int]
"""First and last of adjacent equal nodes."""


class Lines:
    """Lines of requested kinds."""

    def __init__(self, problem: DecisionProblem, taken: FixedBoxes, jobs: list[Job]) -> None:
        platform = problem.platform
        self._sets = platform.sets
        asked = np.array([job.request for job in jobs])
        self.kinds: list[int] = np.flatnonzero(asked.any(axis=0)).tolist()
        rows = taken.rows
        units = [
            np.gcd.reduce([*platform.group_capacity[:, k], *asked[:, k], *rows[rows[:, 1] == k, 2:4].ravel()])
            for k in range(len(platform.kinds))
        ]
        self._unit = np.maximum(units, 1)
        """(kinds,)"""
        self._capacity = platform.capacity // self._unit
        self._base = np.cumsum(self._capacity, axis=0) - self._capacity
        """First positions, (nodes, kinds)."""
        usable = np.logical_or.reduce([self._able(job) for job in jobs])
        self.total: Ints = self._capacity[usable].sum(axis=0)
        """Capacity of candidate nodes, (kinds,)."""
        self._taken = rows[usable[rows[:, 0]]]
        self._boxes = {kind: self._joined(kind) for kind in self.kinds}
        self._asked = sum(job.units * np.count_nonzero(job.request) for job in jobs)

    @property
    def box_count(self) -> int:
        """Boxes of all lines, with jobs."""
        return int(self._asked) + sum(map(len, self._boxes.values()))

    @property
    def positions(self) -> int:
        """Positions of the longest line."""
        return int(self._capacity.sum(axis=0).max())

    def request(self, job: Job) -> Ints:
        """Unit's demand, (kinds,)."""
        request: Ints = np.array(job.request) // self._unit
        return request

    def rows(self, job: Job) -> list[Row]:
        """Candidate nodes as rows."""
        able = np.flatnonzero(self._able(job))
        held = self._capacity[np.ix_(able, np.flatnonzero(job.request))]
        new = (np.diff(able) > 1) | (held[1:] != held[:-1]).any(axis=1)
        cuts = [0, *(np.flatnonzero(new) + 1).tolist(), len(able)]
        return [(int(able[low]), int(able[high - 1])) for low, high in pairwise(cuts)]

    def map(self, kind: int, row: Row) -> tuple[int, int]:
        """Capacity and shift of a row."""
        capacity = int(self._capacity[row[0], kind])
        return capacity, int(self._base[row[0], kind]) - capacity * row[0]

    def boxes(self, kind: int) -> list[Box]:
        """Merged use of a line."""
        return self._boxes[kind]

    def position(self, kind: int, node: Ints, offset: Ints) -> Ints:
        """Position of an unscaled offset in a node."""
        at: Ints = self._base[node, kind] + offset // self._unit[kind]
        return at

    def place(self, kind: int, position: Ints) -> tuple[Ints, Ints]:
        """Node and unscaled offset of a position."""
        node = np.searchsorted(self._base[:, kind], position, side="right") - 1
        return node, (position - self._base[node, kind]) * self._unit[kind]

    def _able(self, job: Job) -> Bools:
        able: Bools = self._sets.nodes(job.groups) & (self._capacity >= self.request(job)).all(axis=1)
        return able

    def _joined(self, kind: int) -> list[Box]:
        rows = self._taken[self._taken[:, 1] == kind]
        if not len(rows):
            return []
        low, high = (self.position(kind, rows[:, 0], rows[:, column]) for column in (2, 3))
        found = np.column_stack([low, high, rows[:, 4], rows[:, 5]])
        found = found[np.lexsort((low, rows[:, 5], rows[:, 4]))]
        apart = (found[1:, 0] != found[:-1, 1]) | (found[1:, 2:] != found[:-1, 2:]).any(axis=1)
        firsts = np.flatnonzero(np.append(True, apart))
        found[firsts, 1] = found[np.append(firsts[1:], len(found)) - 1, 1]
        return [(low, high, start, end) for low, high, start, end in found[firsts].tolist()]


@dataclass(frozen=True, slots=True)
class PositionedJob:
    """Start, in s from the decision, and units of a job."""

    start: int
    nodes: Ints
    """(units,), ascending."""
    offsets: Ints
    """(units, kinds), ascending within the node; −1 without demand."""


PositionedPlan = dict[int, PositionedJob]
"""By place in `waiting`, in order of priority."""


def by_priority(problem: DecisionProblem) -> list[int]:
    """Places of waiting jobs by priority."""
    return sorted(range(len(problem.waiting)), key=lambda place: problem.waiting[place].priority(problem.now))


def first_plan(problem: DecisionProblem, taken: FixedBoxes) -> PositionedPlan:
    """Kernel's plan of jobs that each fit now."""
    places = by_priority(problem)
    platform, jobs = problem.platform, [problem.waiting[place] for place in places]
    later = taken.later(platform.node_count)
    spans = later.any()
    asked = [(*job.job.request, platform.sets.code(job.job.groups), job.duration if spans else 1) for job in jobs]
    number = {what: shape for shape, what in enumerate(dict.fromkeys(asked))}
    kinds = len(platform.kinds)
    table = np.array(list(number), dtype=np.int64).reshape(-1, kinds + 2)
    shapes = positions.RequestShapes(
        np.ascontiguousarray(table[:, :kinds]), table[:, kinds].copy(), table[:, kinds + 1].copy()
    )
    units = np.array([job.job.units for job in jobs], dtype=np.int64)
    queue = positions.JobPriorities(
        np.array([number[what] for what in asked], dtype=np.int64),
        units,
        np.array([job.duration for job in jobs], dtype=np.int64),
        np.cumsum(units) - units,
    )
    count = int(units.sum())
    plan = positions.PositionPlan(
        np.empty(len(jobs), dtype=np.int64), np.empty(count, dtype=np.int64), np.empty((count, kinds), dtype=np.int64)
    )
    pool = positions.make_pool(platform.node_count, kinds, len(taken.rows) + count * kinds)
    positions.load(pool, *(np.ascontiguousarray(column) for column in taken.rows.T))
    machine = positions.MachineCapacity(platform.capacity, platform.sets.member, problem.distinct)
    positions.schedule(pool, len(taken.rows), machine, shapes, queue, plan, *taken.ends, later)
    placed = {}
    for row, place in enumerate(places):
        if plan.start[row] != NO_TIME:
            some = slice(queue.first[row], queue.first[row] + units[row])
            placed[place] = PositionedJob(int(plan.start[row]), plan.node[some], plan.offset[some])
    return placed


def units_on_nodes(placed: PositionedJob) -> tuple[Ints, Ints]:
    """Nodes, ascending, and units on each."""
    nodes, units = np.unique(placed.nodes, return_counts=True)
    return nodes, units.astype(np.int64)


def machine_positions(problem: DecisionProblem, placed: PositionedJob) -> Ints:
    """Positions on the machine, as in `Running`."""
    base = first_positions(problem.platform)[placed.nodes]
    return np.ascontiguousarray(np.where(placed.offsets < 0, -1, base + placed.offsets).T)
