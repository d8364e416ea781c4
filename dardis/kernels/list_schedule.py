"""List schedule on the nodes' summed capacity, and exchanges that lower its cost.

Single nodes are ignored: a job may find none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.chance import draw_below
from dardis.kernels.jit import bare, inlined, kernel
from dardis.model.arrays import Floats, Ints
from dardis.model.job import FOREVER


class PlanBuffers(NamedTuple):
    """Inputs and work space of a plan.

    Profile i, the free capacity before job i: `value[i]` (steps, columns) from `time[i]` on, `steps[i]` steps; the last
    is for trials.
    """

    base_time: Ints
    base_value: Ints
    """Capacity and times of the empty machine."""
    time: Ints
    value: Ints
    steps: Ints
    slots: Ints
    """Of planned jobs, by weight; other arrays share the index."""
    need: Ints
    span: Ints
    weight: Floats
    """Cost of a second of wait."""
    soonest: Ints
    """Start without other planned jobs."""
    least: Floats
    start: Ints
    order: Ints
    """Orders: of the plan, on trial, kept."""
    tried: Ints
    kept: Ints
    last: Ints
    """By slot: number of the last planned job, and its place."""
    chosen: Ints
    """Slots to start now, then others."""
    count: Ints
    """(2,): number of slots tried, of all slots."""


def make_plan_buffers(base_time: Ints, base_value: Ints, jobs: int, slots: int) -> PlanBuffers:
    """Space for plans of `jobs` jobs, with at most `slots` waiting and running."""
    columns = base_value.shape[1]
    profiles, longest = jobs + 2, len(base_time) + slots + jobs + 4
    slots_of, span, soonest, start, order, tried, kept, chosen = np.zeros((8, jobs), dtype=np.int64)
    return PlanBuffers(
        base_time,
        base_value,
        np.empty((profiles, longest), dtype=np.int64),
        np.empty((profiles, longest, columns), dtype=np.int64),
        np.zeros(profiles, dtype=np.int64),
        slots_of,
        np.zeros((jobs, columns), dtype=np.int64),
        span,
        np.zeros(jobs, dtype=np.float64),
        soonest,
        np.zeros(jobs, dtype=np.float64),
        start,
        order,
        tried,
        kept,
        np.full((slots, 2), -1, dtype=np.int64),
        chosen,
        np.zeros(2, dtype=np.int64),
    )


@inlined
def earliest(time: Ints, value: Ints, begin: int, steps: int, need: Ints, span: int) -> int:
    """First step from `begin` with enough for `span` s, or `steps`."""
    first = begin
    for place in range(begin, steps):
        if first < place and time[place] >= time[first] + span:
            return first
        for c in range(len(need)):
            if need[c] > 0 and value[place, c] < need[c]:
                first = place + 1
                break
    return first


@inlined
def fits_from(time: Ints, value: Ints, first: int, steps: int, need: Ints, span: int) -> bool:
    """Whether capacity suffices for `span` s from a step on."""
    for place in range(first, steps):
        if first < place and time[place] >= time[first] + span:
            break
        for c in range(len(need)):
            if need[c] > 0 and value[place, c] < need[c]:
                return False
    return True


@inlined
def use(time: Ints, value: Ints, steps: int, need: Ints, first: int, end: int) -> int:
    """Subtract a job's request from step `first` to `end`."""
    last = first + 1
    while last < steps and time[last] < end:
        last += 1
    if last == steps or time[last] > end:
        for place in range(steps, last, -1):
            time[place] = time[place - 1]
            for c in range(len(need)):
                value[place, c] = value[place - 1, c]
        time[last] = end
        for c in range(len(need)):
            value[last, c] = value[last - 1, c]
        steps += 1
    for place in range(first, last):
        for c in range(len(need)):
            value[place, c] -= need[c]
    return steps


@inlined
def step_at(time: Ints, steps: int, moment: int) -> int:
    """First step at or after `moment`."""
    low, high = np.int64(0), np.int64(steps)
    while low < high:
        middle = (low + high) >> 1
        if time[middle] < moment:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def put(ahead: PlanBuffers, profile: int, job: int) -> int:
    """Place a job as early as possible; return its start, or FOREVER."""
    time, value, need = ahead.time[profile], ahead.value[profile], ahead.need[job]
    steps = ahead.steps[profile]
    if ahead.soonest[job] == FOREVER:
        return FOREVER
    begin = step_at(time, steps, ahead.soonest[job])
    first = earliest(time, value, begin, steps, need, ahead.span[job])
    if first == steps:
        return FOREVER
    start = time[first]
    ahead.steps[profile] = use(time, value, steps, need, first, start + ahead.span[job])
    return start


@inlined
def copy_profile(ahead: PlanBuffers, source: int, target: int) -> None:
    """Copy one profile to another."""
    steps = ahead.steps[source]
    for place in range(steps):
        ahead.time[target, place] = ahead.time[source, place]
        for c in range(ahead.value.shape[2]):
            ahead.value[target, place, c] = ahead.value[source, place, c]
    ahead.steps[target] = steps


@inlined
def cost_of(ahead: PlanBuffers, job: int, start: int, now: int) -> float:
    """Start's cost, 0 for FOREVER."""
    return 0.0 if start == FOREVER else ahead.weight[job] * (start - now)


@bare
def cost_before(ahead: PlanBuffers, count: int, now: int) -> float:
    """Cost of the first `count` jobs."""
    cost = 0.0
    for i in range(count):
        cost += cost_of(ahead, ahead.order[i], ahead.start[ahead.order[i]], now)
    return cost


@bare
def put_all(ahead: PlanBuffers, first: int, count: int, now: int) -> float:
    """Place jobs from place `first` of the order on; return the total cost."""
    cost = cost_before(ahead, first, now)
    for i in range(first, count):
        job = ahead.order[i]
        copy_profile(ahead, i, i + 1)
        ahead.start[job] = put(ahead, i + 1, job)
        cost += cost_of(ahead, job, ahead.start[job], now)
    return cost


@bare
def put_cheaper(ahead: PlanBuffers, count: int, cost: float, now: int) -> float:
    """Place all jobs in the new or kept order, whichever is cheaper; return the cost."""
    again = put_all(ahead, 0, count, now)
    if again <= cost:
        return again
    for i in range(count):
        ahead.order[i] = ahead.kept[i]
    return put_all(ahead, 0, count, now)


@bare
def write_least(ahead: PlanBuffers, count: int, now: int) -> None:
    """Write each job's soonest start and its cost."""
    time, steps = ahead.time[0], ahead.steps[0]
    for job in range(count):
        first = earliest(time, ahead.value[0], 0, steps, ahead.need[job], ahead.span[job])
        ahead.soonest[job] = FOREVER if first == steps else time[first]
        ahead.least[job] = cost_of(ahead, job, ahead.soonest[job], now)


@inlined
def other_order(ahead: PlanBuffers, count: int, key: int, draw: int) -> int:
    """Write an order with two jobs exchanged or one moved; return the first changed place."""
    # Places near the front are preferred: they decide the starts now.
    order, tried = ahead.order, ahead.tried
    a = min(draw_below(key, 4 * draw, count - 1), draw_below(key, 4 * draw + 1, count - 1))
    b = a + 1 + draw_below(key, 4 * draw + 2, count - a - 1)
    for i in range(a, count):
        tried[i] = order[i]
    tried[a] = order[b]
    if draw_below(key, 4 * draw + 3, np.int64(2)) == 0:
        tried[b] = order[a]
    else:
        for i in range(a + 1, b + 1):
            tried[i] = order[i - 1]
    return a


@bare
def exchange(ahead: PlanBuffers, count: int, tries: int, key: int, cost: float, now: int) -> None:
    """Try `tries` drawn orders, and keep cheaper ones."""
    scratch = len(ahead.steps) - 1
    for draw in range(tries):
        if cost <= 0.0:  # all start now
            return
        first = other_order(ahead, count, key, draw)
        copy_profile(ahead, first, scratch)
        new = cost_before(ahead, first, now)
        for i in range(first, count):
            new += ahead.least[ahead.tried[i]]
        for i in range(first, count):
            job = ahead.tried[i]
            new += cost_of(ahead, job, put(ahead, scratch, job), now) - ahead.least[job]
            if new >= cost:
                break
        if new < cost:
            for i in range(first, count):
                ahead.order[i] = ahead.tried[i]
            cost = put_all(ahead, first, count, now)


@bare
def merge_orders(ahead: PlanBuffers, by_last: Ints, known: int, count: int) -> None:
    """Insert new jobs into the last plan's order, by weight.

    `by_last`: the `known` jobs of the last plan in order, then others by weight.
    """
    a, b = 0, known
    for i in range(count):
        if b == count or (a < known and ahead.weight[by_last[a]] >= ahead.weight[by_last[b]]):
            ahead.order[i] = by_last[a]
            a += 1
        else:
            ahead.order[i] = by_last[b]
            b += 1


@kernel
def schedule_or_postpone(time: Ints, value: Ints, steps: int, need: Ints, span: Ints, start: Ints) -> None:
    """At each step, start all jobs that fit, in priority order (PCP'19, section 2.2).

    Writes `start`, FOREVER for never. `time` and `value` need a spare step per job.
    """
    count = len(span)
    start[:] = FOREVER
    left = count
    place = 0
    while place < steps and left > 0:
        for job in range(count):
            if start[job] == FOREVER and fits_from(time, value, place, steps, need[job], span[job]):
                start[job] = time[place]
                steps = use(time, value, steps, need[job], place, time[place] + span[job])
                left -= 1
        place += 1
