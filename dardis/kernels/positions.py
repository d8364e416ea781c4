"""Schedule-or-postpone on positions (PCP'20, section 3 "Search"): the answer that a solver starts from.

Decides who starts when and which positions each unit takes; never goes back. Time goes from one end to the next: at
each, who goes first by priority and finds room starts, its units on the highest positions that are free.

What is taken is a box: positions `[low, high)` of a kind within a node, during `[start, end)`. Those of a node and kind
are a chain in the order of `low`; the chains lie in one pool, for every unit takes its boxes once. Times are counted
from the decision's instant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.fitting import may_use
from dardis.kernels.jit import bare, kernel
from dardis.model.arrays import Bools, Ints
from dardis.model.job import FOREVER, NO_TIME

NOBODY = -1
"""No box comes after, or no position is free."""


class Pool(NamedTuple):
    """Boxes in chains: the first of each node and kind, and of each box the next, its positions and its time."""

    head: Ints
    """(nodes, kinds)"""
    after: Ints
    low: Ints
    high: Ints
    start: Ints
    end: Ints


class Machine(NamedTuple):
    """What empty nodes hold, shape (nodes, kinds), the sets they are in, and whether units of a job are kept apart."""

    capacity: Ints
    member: Ints
    distinct: bool


class Shapes(NamedTuple):
    """What jobs ask for that are alike: a unit's request, shape (shapes, kinds), node groups, and for how long.

    `span` is 1 for all where no box begins later: then how long a job runs does not matter to where it fits.
    """

    request: Ints
    groups: Ints
    span: Ints


class Queue(NamedTuple):
    """Jobs in the order of their priorities: their shapes, units and durations, and the first of their units' rows."""

    shape: Ints
    units: Ints
    duration: Ints
    first: Ints


class Plan(NamedTuple):
    """What is decided. A job that fits nowhere now starts at NO_TIME; then its units' rows mean nothing."""

    start: Ints
    node: Ints
    """Of every unit: ascending within a job."""
    offset: Ints
    """(units, kinds): first position within the node, ascending within a job and node; −1: it asks for none."""


class Counts(NamedTuple):
    """How many units of each shape find room now."""

    on_node: Ints
    """(shapes, nodes)"""
    total: Ints
    waiting: Ints
    """Jobs of each shape that have not started: counts of a shape without any are not kept."""


def make_pool(nodes: int, kinds: int, boxes: int) -> Pool:
    """A pool with room for so many boxes, all chains empty."""
    head = np.full((nodes, kinds), NOBODY, dtype=np.int64)
    return Pool(head, *(np.empty(max(boxes, 1), dtype=np.int64) for _ in range(5)))


@bare
def put(pool: Pool, box: int, node: int, kind: int) -> None:
    """Link a box that is written into its chain."""
    before, at = NOBODY, pool.head[node, kind]
    while at != NOBODY and pool.low[at] < pool.low[box]:
        before, at = at, pool.after[at]
    pool.after[box] = at
    if before == NOBODY:
        pool.head[node, kind] = box
    else:
        pool.after[before] = box


@bare
def runs_fit(pool: Pool, node: int, kind: int, now: int, span: int, request: int, capacity: int) -> int:
    """How often `request` positions in a row are free over `[now, now + span)`; boxes that are past are unlinked."""
    before, at = NOBODY, pool.head[node, kind]
    free_from, fits = 0, 0
    while at != NOBODY:
        following = pool.after[at]
        if pool.end[at] <= now:
            if before == NOBODY:
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
def highest(pool: Pool, node: int, kind: int, now: int, span: int, request: int, capacity: int) -> int:
    """The highest first of `request` positions in a row that are free over `[now, now + span)`, or NOBODY."""
    at, free_from, found = pool.head[node, kind], 0, NOBODY
    while at != NOBODY:
        if pool.end[at] > now and pool.start[at] < now + span:
            if pool.low[at] - free_from >= request:
                found = pool.low[at] - request
            free_from = max(free_from, pool.high[at])
        at = pool.after[at]
    return capacity - request if capacity - free_from >= request else found


@bare
def units_fit(pool: Pool, machine: Machine, shapes: Shapes, shape: int, node: int, now: int) -> int:
    """How many units of a shape a node holds from now on."""
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
def recount(pool: Pool, machine: Machine, shapes: Shapes, counts: Counts, node: int, now: int) -> None:
    """Count anew what a node holds."""
    for shape in range(len(counts.total)):
        if counts.waiting[shape] > 0:
            fits = units_fit(pool, machine, shapes, shape, node, now)
            counts.total[shape] += fits - counts.on_node[shape, node]
            counts.on_node[shape, node] = fits


@bare
def take(
    pool: Pool,
    boxes: int,
    machine: Machine,
    shapes: Shapes,
    counts: Counts,
    queue: Queue,
    plan: Plan,
    job: int,
    now: int,
) -> int:
    """Start a job for whose units there is room, on the highest positions; answers how many boxes there are then."""
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
                plan.offset[unit, kind] = NOBODY
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
def next_end(ends: Ints, ended: int, queue: Queue, plan: Plan, now: int) -> int:
    """When something ends next: what is given, of which so many have ended, or a job that has started."""
    soonest = ends[ended] if ended < len(ends) else FOREVER
    for job in range(len(plan.start)):
        end = plan.start[job] + queue.duration[job]
        if plan.start[job] != NO_TIME and now < end < soonest:
            soonest = end
    return soonest


@kernel
def load(pool: Pool, node: Ints, kind: Ints, low: Ints, high: Ints, start: Ints, end: Ints) -> None:
    """Put boxes into an empty pool."""
    count = len(node)
    pool.low[:count], pool.high[:count], pool.start[:count], pool.end[:count] = low, high, start, end
    for box in range(count):
        put(pool, box, node[box], kind[box])


@bare
def mark_ended(queue: Queue, plan: Plan, before: int, now: int, stale: Bools) -> None:
    """Mark the nodes of the jobs that end during `(before, now]`."""
    for job in range(len(queue.shape)):
        if plan.start[job] != NO_TIME and before < plan.start[job] + queue.duration[job] <= now:
            for unit in range(queue.first[job], queue.first[job] + queue.units[job]):
                stale[plan.node[unit]] = True


@bare
def keep_fitting(counts: Counts, queue: Queue, plan: Plan, fits: Bools) -> int:
    """Note who fits now by himself, and forget the others; answers how many do."""
    fitting = 0
    for job in range(len(queue.shape)):
        plan.start[job] = NO_TIME
        fits[job] = queue.units[job] <= counts.total[queue.shape[job]]
        fitting += fits[job]
        counts.waiting[queue.shape[job]] -= not fits[job]
    return fitting


@kernel
def schedule(
    pool: Pool,
    boxes: int,
    machine: Machine,
    shapes: Shapes,
    queue: Queue,
    plan: Plan,
    ends: Ints,
    which: Ints,
    later: Bools,
) -> None:
    """Start all jobs that fit now, now or later, beside the first `boxes` of the pool.

    `ends` ascend, `which` node each is of; `later`, shape (nodes,), is where boxes begin after now.
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
