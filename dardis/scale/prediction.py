"""Predicted costs on more ranks.

Each rank has its own core. Costs are lines through experiments that differ only in nodes and ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from dardis.model.choices import Scaling
from dardis.model.csv_table import CsvTable
from dardis.model.loggp import JobCost, flat_round_ns, tree_round_ns
from dardis.scale.experiment import RankGroup
from dardis.scale.row import ExperimentRow

RANKS = tuple(first * 10**power for power in range(7) for first in (1, 2, 5) if 1 < first * 10**power <= 1_000_000)


@dataclass(frozen=True, slots=True)
class Predicted:
    """One line of predictions.csv."""

    scaling: Annotated[Scaling, "`strong`: constant nodes; `weak`: constant nodes per rank"]
    nodes: Annotated[int, "nodes of the machine"]
    ranks: Annotated[int, "ranks, each with a core of its own"]
    task_managers: Annotated[int, "task managers"]
    arity: Annotated[int | str, "children of a host in the tree, or `flat`"]
    window_s: Annotated[int, "window of the jobs"]
    reservations: Annotated[int, "reservations on each node"]
    predicted_s_per_job: Annotated[
        float,
        "time of a job that finds its place in one round (through a tree: sums and candidates, so twice "
        "`wall_s_per_round`)",
    ]
    measured_nodes: Annotated[int, "nodes of the experiment with the costs, the largest"]
    measured_ranks: Annotated[int, "ranks of this experiment"]
    network_ranks: Annotated[int, "ranks of the network measurement"]
    node_ns: Annotated[float, "cost: CPU time of node managers per node"]
    host_ns: Annotated[float, "cost: CPU time of a host with any number of nodes"]
    message_ns: Annotated[float, "cost: CPU time to encode or decode a message of its size in this experiment"]
    select_ns: Annotated[float, "cost: CPU time of the task manager per round"]


PREDICTIONS: Final = CsvTable.of_fields("predictions.csv", Predicted, ".6g")


def predictions(rows: Sequence[ExperimentRow], grounds: Sequence[RankGroup]) -> list[Predicted]:
    """Predict from experiments over ranks in which single jobs queried all nodes."""
    known = [row for row in rows if row.sample == "all" and row.node_ns is not None and row.message_ns is not None]
    measured = {ground.network.ranks: ground for ground in grounds if ground.network is not None}
    if not measured or not known:
        return []
    roomy = [ranks for ranks, ground in measured.items() if ranks <= ground.cores]
    known = [row for row in known if row.ranks in roomy] or known
    ground = measured[max(roomy) if roomy else min(measured)]
    nodes, per_rank = max(row.nodes for row in known), max(row.nodes // row.ranks for row in known)
    alike: dict[tuple[int, str, int, int], list[ExperimentRow]] = {}
    for row in known:
        alike.setdefault((row.task_managers, str(row.arity), row.window_s, row.reservations), []).append(row)
    found = []
    for mine in alike.values():
        for scaling in Scaling:
            for ranks in RANKS:
                size = nodes if scaling is Scaling.STRONG else per_rank * ranks
                if size >= ranks:
                    found.append(_predicted(scaling, size, ranks, mine, ground))
    return found


def _predicted(scaling: Scaling, nodes: int, ranks: int, rows: Sequence[ExperimentRow], ground: RankGroup) -> Predicted:
    network = ground.network
    assert network is not None
    last = max(rows, key=lambda row: (row.nodes, row.ranks))
    cost = _cost(rows, nodes, ranks, ground.short_ns)
    if isinstance(last.arity, int):
        round_ns = tree_round_ns(network, cost, ranks, last.arity, nodes)
    else:
        round_ns = flat_round_ns(network, cost, ranks, nodes)
    return Predicted(
        scaling, nodes, ranks, last.task_managers, last.arity, last.window_s, last.reservations, round_ns / 1e9,
        last.nodes, last.ranks, network.ranks, cost.node_ns, cost.host_ns, cost.message_ns, cost.select_ns,
    )  # fmt: skip


def _cost(rows: Sequence[ExperimentRow], nodes: int, ranks: int, short_ns: float) -> JobCost:
    """Round's costs. Flat answers have rows of each node; tree answers have constant size."""
    of_a_rank = [row.nodes / row.ranks for row in rows]
    work = [(row.node_ns or 0.0) * x for row, x in zip(rows, of_a_rank, strict=True)]
    host_ns, node_ns = _line(of_a_rank, work)
    answers, handling = [row.answer_bytes or 0.0 for row in rows], [row.message_ns or 0.0 for row in rows]
    choosing = [row.select_ns or 0.0 for row in rows]
    asks = float(np.mean([row.ask_bytes or 0.0 for row in rows]))
    if isinstance(rows[0].arity, int):
        answer, message_ns, select_ns = (float(np.mean(figures)) for figures in (answers, handling, choosing))
    else:
        answer = _at(nodes / ranks, _line(of_a_rank, answers))
        a_byte = [max(taken - short_ns, 0.0) / max(size, 1.0) for taken, size in zip(handling, answers, strict=True)]
        message_ns = short_ns + float(np.mean(a_byte)) * answer
        select_ns = _at(nodes, _line([row.nodes for row in rows], choosing))
    return JobCost(node_ns, message_ns, asks, answer, select_ns, host_ns)


def _at(x: float, line: tuple[float, float]) -> float:
    begin, slope = line
    return begin + slope * x


def _line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    if len(set(x)) > 1:
        slope, begin = np.polyfit(x, y, 1, w=1 / np.maximum(y, 1e-9)).tolist()
        if slope >= 0 and begin >= 0:
            return begin, slope
        if slope < 0:
            return float(np.mean(y)), 0.0
    return 0.0, float(np.mean(y)) / float(np.mean(x))
