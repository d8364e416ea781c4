"""Capacity limits summed over nodes: necessary, and nearly sufficient for packing.

Jobs restricted to node groups share their capacity. Units larger than half a node take separate nodes. Running jobs and
maintenance are subtracted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, pairwise
from operator import or_

import numpy as np

from dardis.model.arrays import Bools, Ints
from dardis.model.step_function import StepFunction
from offline.planner.day_problem import DayProblem

MOST_UNIONS = 31
"""Most unions of the jobs' node groups."""

_BEFORE_ALL = -(1 << 61)
_AFTER_ALL = 1 << 61


@dataclass(frozen=True)
class CapacityRow:
    """Concurrent jobs' total `demand` (jobs,) never exceeds `free`."""

    demand: Ints
    free: StepFunction

    def fixed(self) -> tuple[int, Ints, Ints, Ints]:
        """Maximum of `free`, and lower spans: start, end and missing amount, arrays (spans,)."""
        most = int(self.free.values.max())
        ends = np.append(self.free.times[1:], _AFTER_ALL)
        less = np.flatnonzero(self.free.values < most)
        return most, self.free.times[less], ends[less], most - self.free.values[less]

    def means(self, edges: Ints) -> Ints:
        """Integral of `free` over `[edges[i], edges[i+1])`."""
        return np.array([self.free.integral(int(a), int(b)) for a, b in pairwise(edges)])


def rows(problem: DayProblem) -> list[CapacityRow]:
    """Rows that some jobs could violate."""
    jobs, platform = problem.jobs, problem.platform
    capacity = platform.group_capacity
    able = able_groups(problem)
    taken = OccupiedSpans.of_problem(problem)
    found = []
    for union in _unions(able):
        inside = np.array([bits > 0 and bits & ~union == 0 for bits in able])
        nodes = platform.sets.nodes(union)
        most = capacity[platform.sets.groups(union)].max(axis=0)
        for kind in range(len(platform.kinds)):
            request = jobs.request[:, kind]
            demand = np.where(inside, jobs.units * request, 0)
            found.append(_row(demand, platform.capacity[:, kind], nodes, *taken.amounts(kind)))
            half = int(most[kind]) // 2
            large = np.where(inside & (request > half), jobs.units, 0)
            holds = (platform.capacity[:, kind] > half).astype(np.int64)
            found.append(_row(large, holds, nodes, *taken.blocked_spans(kind, half, platform.capacity[:, kind])))
    return [row for row in found if row is not None]


def able_groups(problem: DayProblem) -> list[int]:
    """Node groups able to run each job, as bits."""
    jobs = problem.jobs
    asked = [*zip(jobs.groups.tolist(), map(tuple, jobs.request.tolist()), strict=True)]
    able = {key: problem.platform.sets.able(*key) for key in {*asked}}
    return [able[key] for key in asked]


def _unions(able: Sequence[int]) -> list[int]:
    masks = sorted({*able} - {0})
    if 2 ** len(masks) - 1 > MOST_UNIONS:
        return sorted({*masks, reduce(or_, masks)})
    joined = (chosen for size in range(1, len(masks) + 1) for chosen in combinations(masks, size))
    return sorted({reduce(or_, chosen) for chosen in joined})


def _row(
    demand: Ints, capacity: Ints, nodes: Bools, node: Ints, start: Ints, end: Ints, amount: Ints
) -> CapacityRow | None:
    there = nodes[node]
    used = StepFunction.from_spans(start[there], end[there], amount[there])
    free = StepFunction(used.times, np.maximum(int(capacity[nodes].sum()) - used.values, 0))
    return CapacityRow(demand, free) if int(demand.sum()) > int(free.values.min()) else None


@dataclass(frozen=True)
class OccupiedSpans:
    """Disjoint spans `[start, end)` of nodes closed or in use."""

    closed: tuple[Ints, Ints, Ints]
    """Node, start, end."""
    used: tuple[Ints, Ints, Ints]
    request: Ints
    """(spans in use, kinds)."""
    capacity: Ints

    @classmethod
    def of_problem(cls, problem: DayProblem) -> OccupiedSpans:
        """Collect running jobs and maintenance."""
        platform, running = problem.platform, problem.running
        in_maintenance = sorted({node for window in platform.maintenance for node in window.nodes})
        spans = {node: platform.closed_spans(node) for node in in_maintenance}
        job = running.placed.job_of
        pieces = [
            (node, *piece, place)
            for place, node in enumerate(running.placed.nodes.tolist())
            for piece in _open_pieces(
                int(running.start[job[place]]), int(running.finish[job[place]]), spans.get(node, [])
            )
        ]
        node, start, end, place = np.array(pieces, dtype=np.int64).reshape(-1, 4).T
        closed = [(n, *span) for n, windows in spans.items() for span in windows]
        columns = np.array(closed, dtype=np.int64).reshape(-1, 3).T
        request = running.placed.units[place, None] * running.request[job[place]]
        return cls((columns[0], columns[1], columns[2]), (node, start, end), request, platform.capacity)

    def amounts(self, kind: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Node, start, end and used amount of a kind."""
        return self._join_spans(self.capacity[self.closed[0], kind], self.request[:, kind])

    def blocked_spans(self, kind: int, half: int, capacity: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Spans of nodes with more than `half` when empty, but not in the span."""
        large = capacity > half
        left = capacity[self.used[0]] - self.request[:, kind]
        alone = _first_of_node(*self.used, large[self.used[0]] & (left <= half))
        return self._join_spans(large[self.closed[0]].astype(np.int64), alone.astype(np.int64))

    def _join_spans(self, closed: Ints, used: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        node, start, end = (np.concatenate(pair) for pair in zip(self.closed, self.used, strict=True))
        return node, start, end, np.concatenate([closed, used])


def _first_of_node(node: Ints, start: Ints, end: Ints, blocks: Bools) -> Bools:
    kept = np.zeros(len(node), dtype=bool)
    busy_until: dict[int, int] = {}
    for place in np.lexsort((start, node)).tolist():
        if blocks[place] and start[place] >= busy_until.get(int(node[place]), _BEFORE_ALL):
            kept[place] = True
            busy_until[int(node[place])] = int(end[place])
    return kept


def _open_pieces(start: int, end: int, closed: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for begin, until in closed:
        if start < min(begin, end):
            yield start, min(begin, end)
        start = max(start, until)
    if start < end:
        yield start, end
