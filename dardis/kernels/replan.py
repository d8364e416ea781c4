"""A plan of those who wait, on what all nodes together have: who of them starts now.

A list schedule in the order of weights, then chance exchanges two jobs, or moves one, and what makes the weighted sum
of starts less is kept. Whoever is to start now by the plan is put on nodes; who fits on none waits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.chance import below, mix
from dardis.kernels.jit import Fields, bare, folded, inlined, kernel
from dardis.kernels.offers import Scratch
from dardis.kernels.passes import (
    BEGUN,
    CLEAR,
    IN_ORDER,
    STAYS,
    begin,
    clear,
    close,
    reserve_earliest,
    take_in,
)
from dardis.kernels.profile import DONE, FULL
from dardis.kernels.queue import (
    GONE,
    PHASE,
    PLACE,
    REQUEST,
    RESERVED,
    RULE,
    SPAN,
    START,
    SUBMIT,
    UNBOUND,
    UNITS,
    WHOLE,
    Queue,
    Room,
    Rules,
)
from dardis.kernels.rows import Rows
from dardis.kernels.search import binding_of, fits_now
from dardis.model.arrays import Floats, Ints
from dardis.model.job import FOREVER, NO_TIME

COUNT, OVERDUE = range(2)
"""Entries of a plan's `size`: how many are to be tried, and how many of these, the first, have waited for too long."""


class Planning(NamedTuple):
    """Bounds of a plan: who is looked at, exchanges that are tried, since when, in s, somebody goes first."""

    jobs: int
    exchanges: int
    overdue_s: int
    head_start_s: int
    """What everybody is taken to have waited for beside what he has."""
    power: int
    by_time: bool
    """Whether weights are 1 / time alone."""


class Ahead(NamedTuple):
    """What a plan is made of and in. `base_time`, `base_value`: what the empty machine has, and from when on.

    Columns are those of the nodes' profiles, summed. The plan's own profile before its i-th job is `time[i]`,
    `value[i]`, `steps[i]`; the last of them is where others are tried.
    """

    base_time: Ints
    base_value: Ints
    time: Ints
    value: Ints
    steps: Ints
    need: Ints
    """What each job takes of each column, by its place in the plan."""
    span: Ints
    later: Ints
    """1: not in the first step, as no nodes hold it now."""
    weight: Floats
    order: Ints
    tried: Ints
    slots: Ints
    """The slots of those who are planned, by place; then who is to be tried."""
    chosen: Ints
    start: Ints
    size: Ints


def make_ahead(base_time: Ints, base_value: Ints, jobs: int, running: int) -> Ahead:
    """Return room for plans of `jobs` jobs beside `running` ones."""
    columns = base_value.shape[1]
    longest = len(base_time) + running + 2 * jobs + 4
    return Ahead(
        base_time,
        base_value,
        np.empty((jobs + 2, longest), dtype=np.int64),
        np.empty((jobs + 2, longest, columns), dtype=np.int64),
        np.empty(jobs + 2, dtype=np.int64),
        np.empty((jobs, columns), dtype=np.int64),
        np.empty(jobs, dtype=np.int64),
        np.empty(jobs, dtype=np.int64),
        np.empty(jobs, dtype=np.float64),
        np.empty(jobs, dtype=np.int64),
        np.empty(jobs, dtype=np.int64),
        np.empty(jobs, dtype=np.int64),
        np.empty(jobs, dtype=np.int64),
        np.empty(jobs, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )


@inlined
def earliest(time: Ints, value: Ints, steps: int, need: Ints, span: int, first: int) -> int:
    """The first step, `first` or later, from which on there is enough for `span` s; `steps` if there never is."""
    for place in range(first, steps):
        if first < place and time[place] >= time[first] + span:
            return first
        for c in range(len(need)):
            if need[c] > 0 and value[place, c] < need[c]:
                first = place + 1
                break
    return first


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
def copy_steps(ahead: Ahead, source: int, target: int) -> None:
    """Make one of the plan's profiles what another is."""
    steps = ahead.steps[source]
    for place in range(steps):
        ahead.time[target, place] = ahead.time[source, place]
        for c in range(ahead.value.shape[2]):
            ahead.value[target, place, c] = ahead.value[source, place, c]
    ahead.steps[target] = steps


@inlined
def put(ahead: Ahead, profile: int, job: int) -> int:
    """Let a job start as early as it can in a profile; return when (FOREVER: never)."""
    time, value, need = ahead.time[profile], ahead.value[profile], ahead.need[job]
    steps = ahead.steps[profile]
    first = earliest(time, value, steps, need, ahead.span[job], min(ahead.later[job], steps - 1))
    if first == steps:
        return FOREVER
    start = time[first]
    ahead.steps[profile] = use(time, value, steps, need, first, start + ahead.span[job])
    return start


@bare
def begin_profile(ahead: Ahead, table: Ints, running: Ints, ends: Ints, count: int, now: int) -> None:
    """Write what is free from now on beside those who run: `running` are their slots, by their `ends`, ascending."""
    time, value = ahead.time[0], ahead.value[0]
    kinds = table.shape[1] - REQUEST
    columns = value.shape[1]
    base = 0
    while base + 1 < len(ahead.base_time) and ahead.base_time[base + 1] <= now:
        base += 1
    for c in range(columns):
        value[0, c] = ahead.base_value[base, c]
        for r in range(count):
            value[0, c] -= table[running[r], REQUEST + c % kinds] * table[running[r], UNITS]
    time[0] = now
    steps = 1
    r = 0
    while r < count or base + 1 < len(ahead.base_time):
        moment = ends[r] if r < count else FOREVER
        if base + 1 < len(ahead.base_time):
            moment = min(moment, ahead.base_time[base + 1])
        time[steps] = moment
        for c in range(columns):
            value[steps, c] = value[steps - 1, c]
        while r < count and ends[r] == moment:
            for c in range(columns):
                value[steps, c] += table[running[r], REQUEST + c % kinds] * table[running[r], UNITS]
            r += 1
        if base + 1 < len(ahead.base_time) and ahead.base_time[base + 1] == moment:
            for c in range(columns):
                value[steps, c] += ahead.base_value[base + 1, c] - ahead.base_value[base, c]
            base += 1
        steps += 1
    ahead.steps[0] = steps


@bare
def put_all(ahead: Ahead, first: int, count: int, now: int) -> float:
    """Place the jobs from `first` on in their order, and keep the profiles; return what their starts cost."""
    cost = 0.0
    for i in range(first, count):
        job = ahead.order[i]
        copy_steps(ahead, i, i + 1)
        start = put(ahead, i + 1, job)
        ahead.start[job] = start
        if start != FOREVER:
            cost += ahead.weight[job] * (start - now)
    return cost


@inlined
def cost_before(ahead: Ahead, count: int, now: int) -> float:
    """What the starts of the first `count` cost."""
    cost = 0.0
    for i in range(count):
        job = ahead.order[i]
        if ahead.start[job] != FOREVER:
            cost += ahead.weight[job] * (ahead.start[job] - now)
    return cost


@bare
def exchange(ahead: Ahead, first: int, count: int, tries: int, key: int, cost: float, now: int) -> None:
    """Try other orders from place `first` on: two jobs exchanged, or one moved to the front of another."""
    scratch = len(ahead.steps) - 1
    order, tried = ahead.order, ahead.tried
    for t in range(tries):
        if cost <= 0.0:
            return
        a = first + below(key, 3 * t, count - first - 1)
        b = a + 1 + below(key, 3 * t + 1, count - a - 1)
        for i in range(a, count):
            tried[i] = order[i]
        tried[a] = order[b]
        if below(key, 3 * t + 2, 2) == 0:
            tried[b] = order[a]
        else:
            for i in range(a + 1, b + 1):
                tried[i] = order[i - 1]
        copy_steps(ahead, a, scratch)
        new = cost_before(ahead, a, now)
        for i in range(a, count):
            start = put(ahead, scratch, tried[i])
            if start != FOREVER:
                new += ahead.weight[tried[i]] * (start - now)
            if new >= cost:
                break
        if new < cost:
            for i in range(a, count):
                order[i] = tried[i]
            cost = cost_before(ahead, a, now) + put_all(ahead, a, count, now)


@folded
def weigh(queue: Queue, rules: Rules, planning: Planning, slots: Ints, keys: Floats, now: int) -> int:
    """Write the slots of those who wait, and what puts them in order, the least first; return how many are overdue."""
    table = queue.table
    overdue = 0
    for place in range(queue.size[RULE]):
        slot = queue.lists[RULE, place]
        waited = now - table[slot, SUBMIT]
        slots[place] = slot
        if waited > planning.overdue_s:
            keys[place] = -_weight(table, slot, planning, waited)
        else:
            keys[place] = -_weight(table, slot, planning, waited)
    return overdue


@inlined
def _weight(table: Ints, slot: int, planning: Planning, waited: int) -> float:
    """What a second of a job's wait costs."""
    if planning.by_time and False:
        return 1.0 / table[slot, SPAN]
    cores = max(table[slot, REQUEST] * table[slot, UNITS], 1)
    weight = (waited + planning.head_start_s) / (table[slot, SPAN] * np.sqrt(cores))
    if waited > planning.overdue_s:
        weight *= (waited / planning.overdue_s) ** planning.power
    return weight


@folded
def look_ahead(
    rows: Rows, group: Ints, queue: Queue, rules: Rules, room: Room, planning: Planning, ahead: Ahead, now: int
) -> None:  # fmt: skip
    """Plan those who wait; write to `chosen` who is to be tried now, in the order of the plan."""
    table = queue.table
    waiting = queue.size[RULE]
    ahead.size[COUNT] = ahead.size[OVERDUE] = 0
    columns = ahead.need.shape[1]
    kinds = table.shape[1] - REQUEST
    some = False
    for place in range(waiting):
        slot = queue.lists[RULE, place]
        fits = True
        for k in range(kinds):
            fits = fits and table[slot, REQUEST + k] * table[slot, UNITS] <= room.free[k]
        some = some or fits
    if not some:
        return
    all_slots = np.empty(waiting, dtype=np.int64)
    keys = np.empty(waiting, dtype=np.float64)
    overdue = weigh(queue, rules, planning, all_slots, keys, now)
    by_key = np.argsort(keys, kind="mergesort")
    count = min(waiting, planning.jobs)
    overdue = min(overdue, count, rules.depth)
    for i in range(count):
        slot = all_slots[by_key[i]]
        ahead.slots[i] = slot
        ahead.order[i] = i
        ahead.span[i] = table[slot, SPAN]
        fits = True
        for k in range(kinds):
            fits = fits and table[slot, REQUEST + k] * table[slot, UNITS] <= room.free[k]
        ahead.later[i] = 0 if planning.by_time or (fits and fits_now(rows, group, table, slot, rules, now, 0)) else 1
        ahead.weight[i] = _weight(table, slot, planning, now - table[slot, SUBMIT])
        bound = binding_of(rules, table, slot, now) != UNBOUND
        for c in range(columns):
            ahead.need[i, c] = table[slot, REQUEST + c % kinds] * table[slot, UNITS] if c < kinds or bound else 0
    runs = 0
    for slot in range(len(table)):
        runs += table[slot, GONE] == 1 and table[slot, START] != NO_TIME
    slots, ends = np.empty(runs, dtype=np.int64), np.empty(runs, dtype=np.int64)
    runs = 0
    for slot in range(len(table)):
        if table[slot, GONE] == 1 and table[slot, START] != NO_TIME:
            slots[runs] = slot
            ends[runs] = table[slot, START] + table[slot, SPAN]
            runs += 1
    by_end = np.argsort(ends, kind="mergesort")
    begin_profile(ahead, table, slots[by_end], ends[by_end], runs, now)
    cost = put_all(ahead, 0, count, now)
    if count - (overdue) > 1:
        key = mix(mix(np.uint64(rules.seed), np.uint64(now)), np.uint64(5))
        exchange(ahead, overdue, count, planning.exchanges, key, cost, now)
    for i in range(count):
        job = ahead.order[i]
        if ahead.start[job] == now or i < overdue:
            if i < overdue:
                ahead.size[OVERDUE] += 1
            ahead.chosen[ahead.size[COUNT]] = ahead.slots[job]
            ahead.size[COUNT] += 1


@folded
def _one_pass(
    rows: Rows, group: Ints, queue: Queue, rules: Rules, room: Room, planning: Planning, ahead: Ahead, now: int
) -> int:  # fmt: skip
    table, state = queue.table, room.state
    if state[PHASE] == CLEAR:
        taken = take_in(rows, queue, room, now)
        if taken != DONE:
            return taken
        state[WHOLE] = 1
        if clear(rows, queue, rules, room, now) == FULL:
            return FULL
        look_ahead(rows, group, queue, rules, room, planning, ahead, now)
        state[PHASE] = IN_ORDER
        state[PLACE] = 0
    while state[PHASE] == IN_ORDER and state[PLACE] < ahead.size[COUNT]:
        slot = ahead.chosen[state[PLACE]]
        outcome = STAYS
        if fits_now(rows, group, table, slot, rules, now, 0):
            outcome = begin(rows, group, queue, slot, rules, room, now)
        elif state[RESERVED] < 1:
            outcome = reserve_earliest(rows, group, queue, slot, rules, room, now)
        if outcome not in (BEGUN, STAYS):
            return outcome
        state[PLACE] += 1
    close(queue, rules, room, now)
    state[PHASE] = CLEAR
    return DONE


def pass_over(
    rows: Rows, group: Ints, queue: Queue, rules: Rules, room: Room, planning: Planning, ahead: Ahead, now: int
) -> int:  # fmt: skip
    """Plan, and start who is to start now. Answers DONE, or FULL or ROOM: then give it that and call it again."""
    return _pass_over(
        tuple(rows), group, tuple(queue), tuple(rules), room[:-1], tuple(room.scratch), tuple(planning), tuple(ahead),
        now,
    )  # fmt: skip


@kernel
def _pass_over(
    rows: Fields, group: Ints, queue: Fields, rules: Fields, room: Fields, scratch: Fields, planning: Fields,
    ahead: Fields, now: int,
) -> int:  # fmt: skip
    """`pass_over` with the fields of its arguments."""
    fields = room + (Scratch(*scratch),)  # noqa: RUF005 (Numba adds tuples, but can't unpack two into one)
    return _one_pass(
        Rows(*rows), group, Queue(*queue), Rules(*rules), Room(*fields), Planning(*planning), Ahead(*ahead), now
    )
