"""Who starts when and on which positions: the kernel's plan, and what an answer says of a plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.dispatch.cp.positions.taken import Taken, first_positions
from dardis.dispatch.cp.problem import Problem
from dardis.kernels import positions
from dardis.model.arrays import Ints
from dardis.model.job import NO_TIME


@dataclass(frozen=True, slots=True)
class Placed:
    """When a job starts, in s from the decision's instant, and where its units are."""

    start: int
    nodes: Ints
    """(units,), ascending."""
    offsets: Ints
    """(units, kinds): first position within the node, ascending within a node; −1: it asks for none."""


Plan = dict[int, Placed]
"""By the jobs' places in the problem's `waiting`, in the order of their priorities."""


def by_priority(problem: Problem) -> list[int]:
    """Places of the waiting jobs by their priorities."""
    return sorted(range(len(problem.waiting)), key=lambda place: problem.waiting[place].priority(problem.now))


def first_plan(problem: Problem, taken: Taken) -> Plan:
    """The kernel's plan of all jobs that fit now beside what is taken, each by itself; the others are not in it."""
    places = by_priority(problem)
    platform, jobs = problem.platform, [problem.waiting[place] for place in places]
    later = taken.later(platform.node_count)
    spans = later.any()
    asked = [(*job.job.request, platform.sets.code(job.job.groups), job.duration if spans else 1) for job in jobs]
    number = {what: shape for shape, what in enumerate(dict.fromkeys(asked))}
    kinds = len(platform.kinds)
    table = np.array(list(number), dtype=np.int64).reshape(-1, kinds + 2)
    shapes = positions.Shapes(
        np.ascontiguousarray(table[:, :kinds]), table[:, kinds].copy(), table[:, kinds + 1].copy()
    )
    units = np.array([job.job.units for job in jobs], dtype=np.int64)
    queue = positions.Queue(
        np.array([number[what] for what in asked], dtype=np.int64),
        units,
        np.array([job.duration for job in jobs], dtype=np.int64),
        np.cumsum(units) - units,
    )
    count = int(units.sum())
    plan = positions.Plan(
        np.empty(len(jobs), dtype=np.int64), np.empty(count, dtype=np.int64), np.empty((count, kinds), dtype=np.int64)
    )
    pool = positions.make_pool(platform.node_count, kinds, len(taken.rows) + count * kinds)
    positions.load(pool, *(np.ascontiguousarray(column) for column in taken.rows.T))
    machine = positions.Machine(platform.capacity, platform.sets.member, problem.distinct)
    positions.schedule(pool, len(taken.rows), machine, shapes, queue, plan, *taken.ends, later)
    placed = {}
    for row, place in enumerate(places):
        if plan.start[row] != NO_TIME:
            some = slice(queue.first[row], queue.first[row] + units[row])
            placed[place] = Placed(int(plan.start[row]), plan.node[some], plan.offset[some])
    return placed


def on_nodes(placed: Placed) -> tuple[Ints, Ints]:
    """The nodes of a job, ascending, and its units on each."""
    nodes, units = np.unique(placed.nodes, return_counts=True)
    return nodes, units.astype(np.int64)


def on_machine(problem: Problem, placed: Placed) -> Ints:
    """A job's positions within the machine, shape (kinds, units), as `Running` has them."""
    base = first_positions(problem.platform)[placed.nodes]
    return np.ascontiguousarray(np.where(placed.offsets < 0, -1, base + placed.offsets).T)
