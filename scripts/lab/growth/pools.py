"""What a round costs by the nodes of a pool, and by the reservations on each: found and reserved in one call."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from scripts.lab.growth.points import Point
from scripts.lab.kit import busy_pool
from scripts.lab.kit.busy_pool import BusyPool

OVER_NODES, OVER_RESERVATIONS = "nodes", "reservations a node"
KINDS: Final = {
    "starts now": busy_pool.NOW, "fits a gap": busy_pool.LATER, "fits no gap": busy_pool.LAST,
}  # fmt: skip
RESERVATIONS: Final = 4
"""On each node, where nodes grow."""
NODES: Final = 10_000
"""Where reservations grow."""
FEWEST, MOST = 5, 300
"""Jobs that are placed in a turn."""
LOOKED_AT: Final = 3_000_000
"""Nodes of all jobs of a turn together, about."""


def over_nodes(sizes: Sequence[int], turns: int) -> list[Point]:
    """Points of each size of a pool."""
    return [one for size in sizes for one in _points(OVER_NODES, size, size, RESERVATIONS, turns)]


def over_reservations(sizes: Sequence[int], turns: int) -> list[Point]:
    """Points of each number of reservations."""
    return [one for size in sizes for one in _points(OVER_RESERVATIONS, size, NODES, size, turns)]


def _points(over: str, size: int, nodes: int, reservations: int, turns: int) -> list[Point]:
    """One of each kind of job; the first turn touches what nobody has touched yet, and does not count."""
    pool = BusyPool(nodes, reservations)
    count = min(max(FEWEST, LOOKED_AT // nodes // (1 + reservations // RESERVATIONS)), MOST)
    costs: dict[str, list[float]] = {name: [] for name in KINDS}
    for _ in range(turns + 1):
        for name, ask in KINDS.items():
            costs[name].append(pool.cpu_of(ask, count))
    points = [Point.of(over, name, size, of[1:]) for name, of in costs.items()]
    sys.stderr.write(f"{size} {over}: {', '.join(f'{one.what} {one.cost_us} µs' for one in points)}\n")
    return points
