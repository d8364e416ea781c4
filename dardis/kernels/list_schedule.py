"""A plan of jobs on what all nodes together have: a list schedule, and exchanges that make its weighted starts less.

It is a plan for a machine whose nodes are one: a job may find no nodes at the time that it is given here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.chance import below
from dardis.kernels.jit import bare, inlined, kernel
from dardis.model.arrays import Floats, Ints
from dardis.model.job import FOREVER


class Ahead(NamedTuple):
    """What a plan is made of and in.

    What is free before the i-th job of the plan is placed, and after the last one, is `value[i]` (steps, columns) from
    `time[i]` (steps,) on, `steps[i]` of them; the last of these profiles is where others are tried. Columns are those
    of the nodes' profiles, summed.
    """

    base_time: Ints
    base_value: Ints
    """What the empty machine has, and from when on."""
    time: Ints
    value: Ints
    steps: Ints
    slots: Ints
    """The slot of each planned job, in the order of weights; the other arrays are by its place here."""
    need: Ints
    """What it takes of each column."""
    span: Ints
    weight: Floats
    """What a second of its wait costs."""
    soonest: Ints
    """When it starts if nobody else is planned: the search for its start begins there."""
    least: Floats
    """What that start costs."""
    start: Ints
    order: Ints
    """The order of the plan, and two more to try and to keep one."""
    tried: Ints
    kept: Ints
    last: Ints
    """By slot: the number of the job that was planned last in it, and its place in that plan's order."""
    chosen: Ints
    """Slots of those who are to start now, then of the others, each in the order of the plan."""
    count: Ints
    """Shape (2,): how many of these are tried, and how many there are."""


def make_ahead(base_time: Ints, base_value: Ints, jobs: int, slots: int) -> Ahead:
    """Return room for plans of `jobs` jobs, of which, with those who run, there are at most `slots`."""
    columns = base_value.shape[1]
    profiles, longest = jobs + 2, len(base_time) + slots + jobs + 4
    slots_of, span, soonest, start, order, tried, kept, chosen = np.zeros((8, jobs), dtype=np.int64)
    return Ahead(
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
    """The first step, from `begin` on, from which on there is enough for `span` s; `steps` if there never is."""
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
    """Whether there is enough for `span` s from a step on."""
    for place in range(first, steps):
        if first < place and time[place] >= time[first] + span:
            break
        for c in range(len(need)):
            if need[c] > 0 and value[place, c] < need[c]:
                return False
    return True


@inlined
def use(time: Ints, value: Ints, steps: int, need: Ints, first: int, end: int) -> int:
    """Take what a job needs from step `first` on until `end`; return how many steps there are then."""
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
    """The first step that begins at that time or later."""
    low, high = np.int64(0), np.int64(steps)
    while low < high:
        middle = (low + high) >> 1
        if time[middle] < moment:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def put(ahead: Ahead, profile: int, job: int) -> int:
    """Let a job start as early as it can in a profile; return when (FOREVER: it never can)."""
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
def copy_profile(ahead: Ahead, source: int, target: int) -> None:
    """Make one of the plan's profiles what another is."""
    steps = ahead.steps[source]
    for place in range(steps):
        ahead.time[target, place] = ahead.time[source, place]
        for c in range(ahead.value.shape[2]):
            ahead.value[target, place, c] = ahead.value[source, place, c]
    ahead.steps[target] = steps


@inlined
def cost_of(ahead: Ahead, job: int, start: int, now: int) -> float:
    """What it costs that a job starts then; nothing if it never can."""
    return 0.0 if start == FOREVER else ahead.weight[job] * (start - now)


@bare
def cost_before(ahead: Ahead, count: int, now: int) -> float:
    """What the starts of the first `count` of the order cost."""
    cost = 0.0
    for i in range(count):
        cost += cost_of(ahead, ahead.order[i], ahead.start[ahead.order[i]], now)
    return cost


@bare
def put_all(ahead: Ahead, first: int, count: int, now: int) -> float:
    """Place the jobs from place `first` of the order on, and keep the profiles; return what all starts cost."""
    cost = cost_before(ahead, first, now)
    for i in range(first, count):
        job = ahead.order[i]
        copy_profile(ahead, i, i + 1)
        ahead.start[job] = put(ahead, i + 1, job)
        cost += cost_of(ahead, job, ahead.start[job], now)
    return cost


@bare
def put_cheaper(ahead: Ahead, count: int, cost: float, now: int) -> float:
    """Place all jobs in the order, or again in the one that was kept if `cost`, which that has, is less; the cost."""
    again = put_all(ahead, 0, count, now)
    if again <= cost:
        return again
    for i in range(count):
        ahead.order[i] = ahead.kept[i]
    return put_all(ahead, 0, count, now)


@bare
def write_least(ahead: Ahead, count: int, now: int) -> None:
    """Write when each job starts if nobody else is planned, and what that costs."""
    time, steps = ahead.time[0], ahead.steps[0]
    for job in range(count):
        first = earliest(time, ahead.value[0], 0, steps, ahead.need[job], ahead.span[job])
        ahead.soonest[job] = FOREVER if first == steps else time[first]
        ahead.least[job] = cost_of(ahead, job, ahead.soonest[job], now)


@inlined
def other_order(ahead: Ahead, count: int, key: int, draw: int) -> int:
    """Write to `tried` the order with two jobs exchanged, or one moved; return the first place that differs.

    The first is drawn twice, and the nearer to the front taken: who starts now is decided there.
    """
    order, tried = ahead.order, ahead.tried
    a = min(below(key, 4 * draw, count - 1), below(key, 4 * draw + 1, count - 1))
    b = a + 1 + below(key, 4 * draw + 2, count - a - 1)
    for i in range(a, count):
        tried[i] = order[i]
    tried[a] = order[b]
    if below(key, 4 * draw + 3, np.int64(2)) == 0:
        tried[b] = order[a]
    else:
        for i in range(a + 1, b + 1):
            tried[i] = order[i - 1]
    return a


@bare
def exchange(ahead: Ahead, count: int, tries: int, key: int, cost: float, now: int) -> None:
    """Try so many other orders, drawn with a key, and keep each that costs less than the one before."""
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
def merge_orders(ahead: Ahead, by_last: Ints, known: int, count: int) -> None:
    """Write to `order` that of the last plan, and put in by weight who was not in it.

    `by_last` has the `known` jobs of the last plan in its order, then the others by weight.
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
    """Start whoever can start first, and of these the first (PCP'19, section 2.2): writes `start`, FOREVER for never.

    `time` and `value` need room for a step more a job. Jobs are in the order of their priorities.
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
