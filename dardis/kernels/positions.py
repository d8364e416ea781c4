"""Schedule-or-postpone on positions (PCP'20, section 3 "Search"): first solution of a solver.

Jobs start by priority on the highest free positions, at event times, without backtracking. A box: positions `[low,
high)` of a node's kind during `[start, end)`. Chains of a node and kind ascend by `low`. Times count from the decision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.fitting import may_use
from dardis.kernels.jit import bare, kernel
from dardis.model.arrays import Bools, Ints
from dardis.model.job import FOREVER, NO_TIME

NO_BOX = -1
"""No further box, or no free position."""


class BoxChains(NamedTuple):
    """Boxes in chains: heads, links, positions, times."""

    head: Ints
    """(nodes, kinds)."""
    after: Ints
    low: Ints
    high: Ints
    start: Ints
    end: Ints


class MachineCapacity(NamedTuple):
    """Capacities and node sets; `distinct`: one unit per node."""

    capacity: Ints
    member: Ints
    distinct: bool


class RequestShapes(NamedTuple):
    """Distinct requests: (shapes, kinds), node groups, walltime.

    `span` is 1 if no box begins later, as walltimes then do not matter.
    """

    request: Ints
    groups: Ints
    span: Ints


class JobPriorities(NamedTuple):
    """Jobs by priority; `first`: first unit row."""

    shape: Ints
    units: Ints
    duration: Ints
    first: Ints


class PositionPlan(NamedTuple):
    """Result; jobs without a place start at NO_TIME."""

    start: Ints
    node: Ints
    """By unit, ascending within a job."""
    offset: Ints
    """(units, kinds): first position within the node, ascending within a job and node; −1: none requested."""


class Counts(NamedTuple):
    """Units that fit now, by shape."""

    on_node: Ints
    """(shapes, nodes)."""
    total: Ints
    waiting: Ints
    """Waiting jobs; without any, counts are outdated."""


def make_pool(nodes: int, kinds: int, boxes: int) -> BoxChains:
    """Empty chains for `boxes` boxes."""
    head = np.full((nodes, kinds), NO_BOX, dtype=np.int64)
    return BoxChains(head, *(np.empty(max(boxes, 1), dtype=np.int64) for _ in range(5)))


@bare
def put(pool: BoxChains, box: int, node: int, kind: int) -> None:
    """Link a box into its chain."""
    before, at = NO_BOX, pool.head[node, kind]
    while at != NO_BOX and pool.low[at] < pool.low[box]:
        before, at = at, pool.after[at]
    pool.after[box] = at
    if before == NO_BOX:
        pool.head[node, kind] = box
    else:
        pool.after[before] = box


@bare
def runs_fit(pool: BoxChains, node: int, kind: int, now: int, span: int, request: int, capacity: int) -> int:
    """Count free runs of `request` positions; unlink past boxes."""
    before, at = NO_BOX, pool.head[node, kind]
    free_from, fits = 0, 0
    while at != NO_BOX:
        following = pool.after[at]
        if pool.end[at] <= now:
            if before == NO_BOX:
                pool.head[node, kind] = following
            else:
                pool.after[before] = following
        else:
            if pool.start[at] < now + span:
                fits += max(pool.low[at] - free_from, 0) // request
                free_from = max(free_from, pool.high[at])
            before = at
        at = following
    return fits + max(capacity - free_from, 0) // request


@bare
def highest(pool: BoxChains, node: int, kind: int, now: int, span: int, request: int, capacity: int) -> int:
    """First position of the highest free run of `request` positions, or `NO_BOX`."""
    at, free_from, found = pool.head[node, kind], 0, NO_BOX
    while at != NO_BOX:
        if pool.end[at] > now and pool.start[at] < now + span:
            if pool.low[at] - free_from >= request:
                found = pool.low[at] - request
            free_from = max(free_from, pool.high[at])
        at = pool.after[at]
    return capacity - request if capacity - free_from >= request else found


@bare
def units_fit(pool: BoxChains, machine: MachineCapacity, shapes: RequestShapes, shape: int, node: int, now: int) -> int:
    """Units of a shape that fit a node from now on."""
    if not may_use(machine.member, node, shapes.groups[shape]):
        return 0
    fits = 1 if machine.distinct else FOREVER
    for kind in range(machine.capacity.shape[1]):
        request = shapes.request[shape, kind]
        if request > 0 and fits > 0:
            capacity = machine.capacity[node, kind]
            fits = min(fits, runs_fit(pool, node, kind, now, shapes.span[shape], request, capacity))
    return fits


@bare
def recount(
    pool: BoxChains, machine: MachineCapacity, shapes: RequestShapes, counts: Counts, node: int, now: int
) -> None:
    """Update a node's counts."""
    for shape in range(len(counts.total)):
        if counts.waiting[shape] > 0:
            fits = units_fit(pool, machine, shapes, shape, node, now)
            counts.total[shape] += fits - counts.on_node[shape, node]
            counts.on_node[shape, node] = fits


@bare
def take(
    pool: BoxChains,
    boxes: int,
    machine: MachineCapacity,
    shapes: RequestShapes,
    counts: Counts,
    queue: JobPriorities,
    plan: PositionPlan,
    job: int,
    now: int,
) -> int:
    """Start a job that fits, on the highest positions."""
    shape, duration = queue.shape[job], queue.duration[job]
    left = queue.units[job]
    plan.start[job] = now
    counts.waiting[shape] -= 1
    node = len(machine.member)
    while left > 0:
        node -= 1
        here = min(counts.on_node[shape, node], left)
        for _ in range(here):
            left -= 1
            unit = queue.first[job] + left
            plan.node[unit] = node
            for kind in range(machine.capacity.shape[1]):
                request = shapes.request[shape, kind]
                plan.offset[unit, kind] = NO_BOX
                if request > 0:
                    capacity = machine.capacity[node, kind]
                    low = highest(pool, node, kind, now, duration, request, capacity)
                    plan.offset[unit, kind] = low
                    pool.low[boxes], pool.high[boxes] = low, low + request
                    pool.start[boxes], pool.end[boxes] = now, now + duration
                    put(pool, boxes, node, kind)
                    boxes += 1
        if here > 0:
            recount(pool, machine, shapes, counts, node, now)
    return boxes


@bare
def next_end(ends: Ints, ended: int, queue: JobPriorities, plan: PositionPlan, now: int) -> int:
    """Next end of a given box or a started job."""
    soonest = ends[ended] if ended < len(ends) else FOREVER
    for job in range(len(plan.start)):
        end = plan.start[job] + queue.duration[job]
        if plan.start[job] != NO_TIME and now < end < soonest:
            soonest = end
    return soonest


@kernel
def load(pool: BoxChains, node: Ints, kind: Ints, low: Ints, high: Ints, start: Ints, end: Ints) -> None:
    """Insert boxes into an empty pool."""
    count = len(node)
    pool.low[:count], pool.high[:count], pool.start[:count], pool.end[:count] = low, high, start, end
    for box in range(count):
        put(pool, box, node[box], kind[box])


@bare
def mark_ended(queue: JobPriorities, plan: PositionPlan, before: int, now: int, stale: Bools) -> None:
    """Mark the nodes of jobs that end during `(before, now]`."""
    for job in range(len(queue.shape)):
        if plan.start[job] != NO_TIME and before < plan.start[job] + queue.duration[job] <= now:
            for unit in range(queue.first[job], queue.first[job] + queue.units[job]):
                stale[plan.node[unit]] = True


@bare
def keep_fitting(counts: Counts, queue: JobPriorities, plan: PositionPlan, fits: Bools) -> int:
    """Keep jobs that fit alone."""
    fitting = 0
    for job in range(len(queue.shape)):
        plan.start[job] = NO_TIME
        fits[job] = queue.units[job] <= counts.total[queue.shape[job]]
        fitting += fits[job]
        counts.waiting[queue.shape[job]] -= not fits[job]
    return fitting


@kernel
def schedule(
    pool: BoxChains,
    boxes: int,
    machine: MachineCapacity,
    shapes: RequestShapes,
    queue: JobPriorities,
    plan: PositionPlan,
    ends: Ints,
    which: Ints,
    later: Bools,
) -> None:
    """Start all jobs that fit, now or later, beside the first `boxes` of the pool.

    `ends` ascend, on nodes `which`; `later`, (nodes,), marks boxes after now.
    """
    nodes, shape_count = len(machine.member), len(shapes.span)
    on_node = np.zeros((shape_count, nodes), dtype=np.int64)
    counts = Counts(on_node, np.zeros(shape_count, dtype=np.int64), np.zeros(shape_count, dtype=np.int64))
    for job in range(len(queue.shape)):
        counts.waiting[queue.shape[job]] += 1
    for node in range(nodes):
        recount(pool, machine, shapes, counts, node, 0)
    fits = np.empty(len(queue.shape), dtype=np.bool_)
    left = keep_fitting(counts, queue, plan, fits)
    stale = later.copy()
    ended, now = 0, 0
    while left > 0 and now < FOREVER:
        for job in range(len(queue.shape)):
            if fits[job] and plan.start[job] == NO_TIME and queue.units[job] <= counts.total[queue.shape[job]]:
                boxes = take(pool, boxes, machine, shapes, counts, queue, plan, job, now)
                left -= 1
        before, now = now, next_end(ends, ended, queue, plan, now)
        stale[:] = later
        while ended < len(ends) and ends[ended] <= now:
            stale[which[ended]] = True
            ended += 1
        mark_ended(queue, plan, before, now, stale)
        for node in range(nodes):
            if stale[node]:
                recount(pool, machine, shapes, counts, node, now)
