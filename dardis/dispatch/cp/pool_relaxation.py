"""Relaxation of the model with nodes: the nodes of a set of groups become one pool.

Per node, a unit that fits beside no other counts as the full node, as does a node whose rest holds no unit. So the
pool also limits units that exclude each other by different kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from dardis.dispatch.cp import variables
from dardis.dispatch.cp.first_answer import JobWork, NodePlan
from dardis.dispatch.cp.node_model import (
    Limits,
    Subproblem,
    limit_pool,
    post_objective,
    request_literals,
    row_runs,
)
from dardis.model.step_function import sum_of_columns
from dardis.solver.cpsat import new_model

if TYPE_CHECKING:
    from dardis.dispatch.cp.objectives import Objective, PostedObjective
    from dardis.model.arrays import Bools, Ints
    from dardis.solver.cpsat import CpModel, IntVar


MOST_SHARES = 1 << 32
"""Maximum shares of a node; a pool of nodes with other capacities is left out."""


@dataclass(frozen=True)
class RaisedPool:
    """Pool in `scale` equal shares of each node: demand by row, and free shares from `time[i]` on."""

    demand: Mapping[int, int]
    capacity: int
    time: Ints
    free: Ints
    """(steps,)"""

    def work(self, task: Subproblem) -> JobWork:
        """Work of the jobs in the pool; the least over the requests of each."""
        by_request: dict[tuple[int, int], int] = {}
        for row, of in enumerate(task.rows):
            key = of.job, of.request
            by_request[key] = by_request.get(key, 0) + self.demand.get(row, 0)
        need = np.full(len(task.jobs), np.iinfo(np.int64).max)
        for (job, _), amount in by_request.items():
            need[job] = min(need[job], amount)
        duration = np.array([waiting.least_duration for waiting in task.jobs], dtype=np.int64)
        return JobWork(duration, need[:, None], self.time, self.free[:, None])


def raised_pools(task: Subproblem) -> Iterator[RaisedPool]:
    """Pools whose demand exceeds that of the amounts, for each kind."""
    platform = task.problem.platform
    group_of = platform.group_of_node
    groups = sorted({*group_of.tolist()})
    capacity = {group: platform.capacity[int(np.argmax(group_of == group))] for group in groups}
    able = [[group for group in groups if task.problem.groups_of(row.demand) >> group & 1] for row in task.rows]
    kinds = len(platform.kinds)
    demand = np.array([row.demand.request for row in task.rows], dtype=np.int64).reshape(len(task.rows), kinds)
    inside = {group: np.array([group in of for of in able], dtype=np.bool_) for group in groups}
    units = {group: np.unique(demand[inside[group]], axis=0) for group in groups}
    used = {node: capacity[int(group_of[node])] - value for node, (_, value) in enumerate(task.free)}
    alone = {group: _alone(demand, inside[group], units[group], capacity[group], [
        used[node] for node in np.flatnonzero(group_of == group).tolist()
    ]) for group in groups}  # fmt: skip
    for pool in sorted({task.problem.groups_of(row.demand) for row in task.rows}):
        members = [group for group in groups if pool >> group & 1]
        rows = [row for row, of in enumerate(able) if {*of} <= {*members}]
        for kind in range(kinds):
            counted = {
                group: kind if capacity[group][kind] else int(np.argmax(capacity[group] > 0)) for group in members
            }
            scale = lcm(*(int(capacity[group][counted[group]]) for group in members))
            if scale > MOST_SHARES:
                continue
            share = {group: scale // int(capacity[group][counted[group]]) for group in members}
            asks = {
                row: task.rows[row].demand.units * min(
                    scale if alone[group][row] else int(demand[row, counted[group]]) * share[group]
                    for group in able[row]
                )
                for row in rows
            }  # fmt: skip
            nodes = [node for group in members for node in np.flatnonzero(group_of == group).tolist()]
            steps = []
            for node in nodes:
                group, (time, value) = int(group_of[node]), task.free[node]
                fits: Bools = np.all(value[:, None] >= units[group], axis=2)
                holds = fits.any(axis=1)
                left = np.clip(value[:, counted[group]] * share[group], 0, scale)
                steps.append((time, np.where(holds, left, 0)[:, None]))
            time, free = sum_of_columns(steps)
            yield RaisedPool({row: ask for row, ask in asks.items() if ask}, scale * len(nodes), time, free[:, 0])


def _alone(demand: Ints, inside: Bools, units: Ints, capacity: Ints, used: Sequence[Ints]) -> Bools:
    """Whether a unit of each row fits beside no other unit and no use of a node of the group, (rows,)."""
    taken = np.unique(np.concatenate([units, *used]), axis=0)
    taken = taken[taken.any(axis=1)]
    fits: Bools = np.all(demand[:, None] + taken <= capacity, axis=2)
    found: Bools = inside & ~fits.any(axis=1)
    return found


def least(task: Subproblem, pools: Sequence[RaisedPool], objective: Objective, first: Ints) -> float:
    """Lower bound of the objective."""
    return max((objective.least(first, pool.work(task)) for pool in pools), default=objective.value(first))


@dataclass(frozen=True)
class PoolModel:
    """Relaxation to solve."""

    model: CpModel
    start: Sequence[IntVar]
    posted: PostedObjective


def build(
    task: Subproblem,
    pools: Sequence[RaisedPool],
    objective: Objective,
    limits: Limits,
    first: Ints,
    hint: NodePlan | None,
) -> PoolModel:
    """Build the relaxation; arguments as of the model with nodes."""
    model = new_model()
    at = None if hint is None else hint.starts
    runs = variables.add_runs(model, task.durations, first, task.latest, at, task.hours(first))
    of_rows = row_runs(model, task, runs, request_literals(model, task, hint))
    for groups in sorted({task.problem.groups_of(row.demand) for row in task.rows}):
        limit_pool(model, task, groups, of_rows)
    for pool in pools:
        if sum(pool.demand.values()) > int(pool.free.min()):
            ends = [*pool.time.tolist()[1:], task.end]
            taken = [
                (start, end, pool.capacity - free)
                for start, end, free in zip(pool.time.tolist(), ends, pool.free.tolist(), strict=True)
                if free < pool.capacity and start < end
            ]
            intervals = [of_rows.interval[row] for row in pool.demand]
            variables.cumulative(model, intervals, list(pool.demand.values()), taken, pool.capacity)
    return PoolModel(model, runs.start, post_objective(model, task, objective, limits, runs, at))
