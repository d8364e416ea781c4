"""Boxes fixed before a decision: running jobs and blocked capacity.

Resources of a kind form a line (PCP'20, section 3, figure 2). A position: node and offset; times: s from the decision.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from dardis.dispatch.cp.decision_problem import BlockedCapacity, DecisionProblem, RunningJobPart
from dardis.model.arrays import Bools, Ints
from dardis.model.platform import Platform

Piece = tuple[int, int, int, int]
"""Positions `[low, high)` of a node and kind during `[start, end)`."""
_FIELDS = 6


@dataclass(frozen=True)
class FixedBoxes:
    """Disjoint boxes: node, kind, first offset, offset after the last, start, end."""

    rows: Ints
    """(boxes, 6)"""

    @classmethod
    def of_problem(cls, problem: DecisionProblem) -> FixedBoxes:
        """Boxes of running jobs and blocks.

        Running jobs without positions get the lowest free offsets, by job number; blocks the highest, or those free
        first.
        """
        base = first_positions(problem.platform)
        known = [_running_boxes(job, problem.now, base) for job in problem.running if job.positions is not None]
        rows = np.concatenate([np.empty((0, _FIELDS), dtype=np.int64), *known])
        unknown = sorted((job for job in problem.running if job.positions is None), key=lambda job: job.job.number)
        if unknown or problem.blocked:
            spare = _FreePositions(problem, rows)
            for job in unknown:
                spare.add_running(job)
            spare.add_blocked(problem.blocked)
            rows = spare.rows
        return cls(rows)

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Ends of boxes, ascending, with nodes."""
        order = np.argsort(self.rows[:, 5], kind="stable")
        return self.rows[order, 5], self.rows[order, 0]

    def later(self, nodes: int) -> Bools:
        """Whether nodes have boxes that begin later, (nodes,)."""
        there = np.zeros(nodes, dtype=bool)
        there[self.rows[self.rows[:, 4] > 0, 0]] = True
        return there

    def free_of(self, platform: Platform, groups: int) -> tuple[Ints, Ints]:
        """Total free capacity of groups over time."""
        inside = platform.sets.nodes(groups)
        rows = self.rows[inside[self.rows[:, 0]]]
        kind, amount = rows[:, 1], rows[:, 3] - rows[:, 2]
        time, place = np.unique(np.concatenate([[0], rows[:, 4], rows[:, 5]]), return_inverse=True)
        change = np.zeros((len(time), platform.capacity.shape[1]), dtype=np.int64)
        change[0] = platform.capacity[inside].sum(axis=0)
        np.add.at(change, (place[1 : len(rows) + 1], kind), -amount)
        np.add.at(change, (place[len(rows) + 1 :], kind), amount)
        return time, np.cumsum(change, axis=0)


def first_positions(platform: Platform) -> Ints:
    """First positions, (nodes, kinds)."""
    return np.cumsum(platform.capacity, axis=0) - platform.capacity


def _running_boxes(running: RunningJobPart, now: int, base: Ints) -> Ints:
    assert running.positions is not None
    node = np.repeat(running.nodes, running.units)
    parts = []
    for kind, request in enumerate(running.job.request):
        if request:
            part = np.zeros((len(node), _FIELDS), dtype=np.int64)
            part[:, 0], part[:, 1], part[:, 5] = node, kind, running.end - now
            part[:, 2] = running.positions[kind] - base[node, kind]
            part[:, 3] = part[:, 2] + request
            parts.append(part)
    return np.concatenate(parts)


class _FreePositions:
    def __init__(self, problem: DecisionProblem, rows: Ints) -> None:
        self._now = problem.now
        self._capacity = problem.platform.capacity
        self._pieces: dict[tuple[int, int], list[Piece]] = defaultdict(list)
        for node, kind, *piece in rows.tolist():
            self._pieces[node, kind].append((piece[0], piece[1], piece[2], piece[3]))
        for pieces in self._pieces.values():
            pieces.sort()

    @property
    def rows(self) -> Ints:
        rows = [(*where, *piece) for where, pieces in sorted(self._pieces.items()) for piece in pieces]
        return np.array(rows, dtype=np.int64).reshape(-1, _FIELDS)

    def add_running(self, running: RunningJobPart) -> None:
        for node in np.repeat(running.nodes, running.units).tolist():
            for kind, request in enumerate(running.job.request):
                gaps = _gaps(self._pieces[node, kind], int(self._capacity[node, kind]))
                long = next((low for low, high in gaps if high - low >= request), None)
                chosen = _first(gaps, request) if long is None else [(long, long + request)]
                end = running.end - self._now
                self._pieces[node, kind].extend((low, high, 0, end) for low, high in chosen if high > low)
                self._pieces[node, kind].sort()

    def add_blocked(self, blocked: Iterable[BlockedCapacity]) -> None:
        """Give blocks positions; simultaneous amounts add up."""
        of_node: dict[int, list[BlockedCapacity]] = defaultdict(list)
        for block in blocked:
            of_node[block.node].append(block)
        for node, blocks in of_node.items():
            cuts = sorted({max(time - self._now, 0) for block in blocks for time in (block.start, block.end)})
            for kind in range(self._capacity.shape[1]):
                added: list[Piece] = []
                for start, end in pairwise(cuts):
                    time = start + self._now
                    amount = sum(block.amounts[kind] for block in blocks if block.start <= time < block.end)
                    added += self._blocking(node, kind, amount, start, end)
                self._pieces[node, kind] = sorted(self._pieces[node, kind] + added)

    def _blocking(self, node: int, kind: int, amount: int, start: int, end: int) -> list[Piece]:
        pieces, capacity = self._pieces[node, kind], int(self._capacity[node, kind])
        spaces = [(start, low, high) for low, high in _gaps(pieces, capacity)]
        spaces += [(max(start, until), low, high) for low, high, _, until in pieces if until < end]
        chosen = []
        for free_from, low, high in sorted(spaces, key=lambda space: (space[0], -space[1])):
            most = min(amount, high - low)
            amount -= most
            if most:
                chosen.append((high - most, high, free_from, end))
        return chosen


def _gaps(pieces: list[Piece], capacity: int) -> list[tuple[int, int]]:
    gaps, low = [], 0
    for first, after, *_ in (*pieces, (capacity, capacity)):
        if first > low:
            gaps.append((low, first))
        low = max(low, after)
    return gaps


def _first(gaps: list[tuple[int, int]], amount: int) -> list[tuple[int, int]]:
    chosen = []
    for low, high in gaps:
        most = min(amount, high - low)
        amount -= most
        chosen.append((low, low + most))
    return chosen
