"""A second search for nodes of jobs with parts, exact or neighbouring nodes, on arrays of one entry a second."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np
from kit.dense import DenseNode

from dardis.model.choices import NodeChoice
from dardis.model.job import Part, Request
from dardis.model.platform import Platform
from dardis.model.queues import PermittedStarts

Pieces = list[tuple[tuple[int, ...], dict[int, int]]]
"""Of each part what a unit asks for, and node to units."""


class ShapeSearch:
    """Looks for nodes on dense ones, which it leaves as they are."""

    def __init__(self, platform: Platform, choice: NodeChoice, *, distinct: bool) -> None:
        self._platform = platform
        self._choice = choice
        self._distinct = distinct
        self._group = platform.group_of_node.tolist()
        self._orders: dict[Request, list[int] | None] = {}

    def order(self, request: Request) -> list[int] | None:
        """The order of parts, the hardest first or one after that, in which all find nodes on the empty machine."""
        nodes = [DenseNode(capacity, request.walltime) for capacity in self._platform.capacity]
        hardest = sorted(range(len(request.parts)), key=lambda at: self._ease(request.parts[at]))
        orders = [*permutations(hardest)][:24]
        return next((list(order) for order in orders if self._place(request, list(order), nodes, 0)), None)

    def place(self, request: Request, nodes: Sequence[DenseNode], start: int) -> Pieces | None:
        """Where each part, as stated, may be from `start` on; None: not all find nodes."""
        if request not in self._orders:
            self._orders[request] = self.order(request)
        order = self._orders[request]
        return None if order is None else self._place(request, order, nodes, start)

    def _place(self, request: Request, order: list[int], nodes: Sequence[DenseNode], start: int) -> Pieces | None:
        free = [node.free[start : start + request.walltime].copy() for node in nodes]
        found: dict[int, dict[int, int]] = {}
        for at in order:
            part = request.parts[at]
            most = [self._most(part, node, window) for node, window in enumerate(free)]
            choice = self._choice if len(order) == 1 else NodeChoice.FIRST_FIT
            limit = 1 if self._distinct else part.units
            where = _where(part, most, limit, choice, side_by_side=request.contiguous)
            if where is None:
                return None
            found[at] = where
            for node, units in where.items():
                free[node] -= units * np.array(part.request)
        return [(part.request, found[at]) for at, part in enumerate(request.parts)]

    def earliest(
        self, request: Request, nodes: Sequence[DenseNode], starts: PermittedStarts, now: int, until: int
    ) -> int | None:
        """The first start from `now` on, of now and the seconds at which a node becomes freer, in open hours."""
        rises = {now}
        for node in nodes:
            rises |= set((np.flatnonzero((np.diff(node.free, axis=0) > 0).any(axis=1)) + 1).tolist())
        tried = sorted({starts.opens(second) for second in rises if second >= now})
        return next((s for s in tried if s < until and self.place(request, nodes, s) is not None), None)

    def _ease(self, part: Part) -> tuple[int, float]:
        """The parts that fit on few nodes come first, then those of large units."""
        holding, share = 0, 0.0
        for node, capacity in enumerate(self._platform.capacity.tolist()):
            asked = [(need, have) for need, have in zip(part.request, capacity, strict=True) if need]
            if part.groups >> self._group[node] & 1 and all(need <= have for need, have in asked):
                holding += 1
                share = max([share, *(need / have for need, have in asked)])
        return holding, -share

    def _most(self, part: Part, node: int, window: np.ndarray) -> int:
        if not part.groups >> self._group[node] & 1:
            return 0
        fits = [int(window[:, kind].min()) // need for kind, need in enumerate(part.request) if need]
        return max(min(fits), 0)


def _where(part: Part, most: list[int], limit: int, choice: NodeChoice, *, side_by_side: bool) -> dict[int, int] | None:
    """The nodes of a part: of all sets that may be, that which comes first."""
    able = [node for node, units in enumerate(most) if units]
    if side_by_side:
        runs = [list(range(low, high)) for low, high in combinations(range(len(most) + 1), 2)]
        sets = [run for run in runs if set(run) <= set(able) and len(run) == (part.nodes or len(run))]
        tight = choice in {NodeChoice.BEST_FIT, NodeChoice.CONTIGUOUS}
        sets.sort(key=lambda run: (tight * sum(_block(most, run[0]).values()), run[0], len(run)))
    elif part.nodes:
        fewest = choice is NodeChoice.BEST_FIT
        ranked = sorted(able, key=lambda node: (most[node] if fewest else -min(most[node], limit), node))
        sets = [sorted(ranked[low : low + part.nodes]) for low in range(max(1, len(ranked) - part.nodes + 1))]
        if choice is NodeChoice.CONTIGUOUS:
            sets.insert(0, slurm_best_fit(most, part.units, part.nodes) or [])
    else:
        sets = [able[:count] for count in range(1, len(able) + 1)]
    for chosen in sets:
        if sum(min(most[node], limit) for node in chosen) >= part.units >= len(chosen) == (part.nodes or len(chosen)):
            return _handed_out(part.units, chosen, [min(room, limit) for room in most])
    return None


def _block(most: list[int], node: int) -> dict[int, int]:
    """All nodes with units around one, with their units."""
    low = max((at + 1 for at in range(node) if not most[at]), default=0)
    high = min((at for at in range(node, len(most)) if not most[at]), default=len(most))
    return {at: most[at] for at in range(low, high)}


def slurm_best_fit(most: list[int], units: int, exact: int, *, contiguous: bool = False) -> list[int] | None:
    """Of runs of free nodes the least that is enough, else all of the largest, and so on; then without small nodes."""
    for least in sorted({*most} - {0}) if exact else [1]:
        left, nodes, taken = units, exact or len(most), list[int]()
        free = {node: held for node, held in enumerate(most) if held >= least}
        while free and (nodes if exact else left > 0):
            runs: list[list[int]] = []
            for node in sorted(free):
                if runs and runs[-1][-1] == node - 1:
                    runs[-1].append(node)
                else:
                    runs.append([node])
            sums = {run[0]: sum(free[node] for node in run) for run in runs}
            enough = [run for run in runs if sums[run[0]] >= left and (not exact or len(run) >= nodes)]
            if contiguous and not enough:
                break
            for node in min(enough, key=lambda run: sums[run[0]]) if enough else max(runs, key=lambda r: sums[r[0]]):
                if nodes and (exact or left > 0):
                    left, nodes = left - free.pop(node), nodes - 1
                    taken.append(node)
        if left <= 0 and (not exact or not nodes):
            return sorted(taken)
    return None


def _handed_out(units: int, nodes: list[int], most: list[int]) -> dict[int, int]:
    """Each node takes as much as leaves one for all that follow."""
    where = {}
    for place, node in enumerate(nodes):
        where[node] = min(most[node], units - sum(where.values()) - (len(nodes) - place - 1))
    return where
