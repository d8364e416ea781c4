"""What a job would cost beyond the ranks at hand: one machine on ever more of them, and machines that grow with them.

Every rank has a core of its own. The network is the one that was measured between most ranks. What a message costs is
the largest experiment's of the same arity; what a node and a host cost is a line's through all of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dardis.model.loggp import JobCost, LogGP, flat_round_ns, tree_round_ns
from dardis.sim.scale import Row

STRONG, WEAK = "strong", "weak"
RANKS = tuple(first * 10**power for power in range(7) for first in (1, 2, 5) if 1 < first * 10**power <= 1_000_000)


@dataclass(frozen=True, slots=True)
class Predicted:
    """One line of predictions.csv. With STRONG scaling the nodes stay as they are, with WEAK those of a rank."""

    scaling: str
    nodes: int
    ranks: int
    arity: int | str
    predicted_s_per_job: float
    """Of one round a job; through a tree that is for sums and for candidates."""
    measured_nodes: int
    """The experiment that the costs are taken from, or the largest of them."""
    measured_ranks: int
    network_ranks: int


def predictions(rows: Sequence[Row], networks: Sequence[LogGP]) -> list[Predicted]:
    """Predict from the experiments over ranks in which one job at a time has asked all nodes."""
    known = [row for row in rows if row.sample == "all" and row.node_ns is not None and row.message_ns is not None]
    if not networks or not known:
        return []
    network = max(networks, key=lambda one: one.ranks)
    nodes, per_rank = max(row.nodes for row in known), max(row.nodes // row.ranks for row in known)
    found = []
    for arity in sorted({row.arity for row in known}, key=str):
        mine = [row for row in known if row.arity == arity]
        last = max(mine, key=lambda row: (row.nodes, row.ranks))
        for scaling in (STRONG, WEAK):
            for ranks in RANKS:
                size = nodes if scaling == STRONG else per_rank * ranks
                if size < ranks:
                    continue
                cost = _cost(mine, last, size / ranks)
                if isinstance(arity, int):
                    round_ns = tree_round_ns(network, cost, ranks, arity, size)
                else:
                    round_ns = flat_round_ns(network, cost, ranks, size)
                found.append(
                    Predicted(scaling, size, ranks, arity, round_ns / 1e9, last.nodes, last.ranks, network.ranks)
                )
    return found


def _cost(rows: Sequence[Row], last: Row, nodes: float) -> JobCost:
    """What a round costs where a rank has so many nodes; a flat answer has rows of each of them."""
    of_a_rank = [row.nodes / row.ranks for row in rows]
    host_ns, node_ns = _line(of_a_rank, [(row.node_ns or 0.0) * x for row, x in zip(rows, of_a_rank, strict=True)])
    answer = last.answer_bytes or 0.0
    if not isinstance(last.arity, int):
        fixed, each = _line(of_a_rank, [row.answer_bytes or 0.0 for row in rows])
        answer = fixed + each * nodes
    return JobCost(node_ns, last.message_ns or 0.0, last.ask_bytes or 0.0, answer, host_ns=host_ns)


def _line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """What y is at 0 and how it grows, neither less than 0; it grows from 0 where all x are the same.

    Relative errors are alike, so each point counts by its own size.
    """
    if len(set(x)) > 1:
        slope, begin = np.polyfit(x, y, 1, w=1 / np.maximum(y, 1e-9)).tolist()
        if slope >= 0 and begin >= 0:
            return begin, slope
    return 0.0, float(np.mean(y)) / float(np.mean(x))
