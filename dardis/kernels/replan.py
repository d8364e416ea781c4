"""Queue pass by a new plan: jobs planned for now start if nodes are free.

Weights are `(wait + 10 h) / (duration · √cores)`, and far larger after a day of waiting.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.chance import PURPOSE_PLAN, draw_key
from dardis.kernels.jit import Fields, bare, folded, inlined, kernel
from dardis.kernels.job_queue import (
    BOUND_THROUGHOUT,
    GONE,
    LEVEL,
    NUMBER,
    OTHER,
    PHASE,
    PLACE,
    REQUEST,
    RESERVED,
    RULE,
    SPAN,
    START,
    SUBMIT,
    UNITS,
    WHOLE,
    PassBuffers,
    QueueArrays,
    Rules,
)
from dardis.kernels.list_schedule import (
    PlanBuffers,
    cost_before,
    exchange,
    merge_orders,
    put_all,
    put_cheaper,
    write_least,
)
from dardis.kernels.node_search import AT_ONCE, binding_of, fits_now
from dardis.kernels.offers import Scratch
from dardis.kernels.passes import (
    BEGUN,
    CLEAR,
    IN_ORDER,
    STAYS,
    begin,
    begin_pass,
    end_pass,
    process_events,
    reserve_earliest,
    try_shape,
)
from dardis.kernels.profile import DONE, FULL
from dardis.kernels.rows import Rows
from dardis.kernels.shape_kernels import write_likely_request
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, NO_TIME

HEAD_START_S, DAY_S = 36_000, 86_400
# With 2, means are as good but the longest wait on SDSC-BLUE is 2.1 times EASY's; with 12, means are worse. Strict
# precedence after a day costs a tenth of the mean wait where many wait so long (KTH, Curie).
STEEPNESS = 6
"""Exponent of the days of wait in weights after a day."""


PER_LEVEL = 32.0
"""Factor of weights per priority level."""


class Planning(NamedTuple):
    """Jobs planned, orders tried, and the weight rule."""

    jobs: int
    exchanges: int
    short_first: bool
    """Weights are 1 / duration."""
    pauses: bool
    """Pause after planning, so another search can improve it."""


PLANNED = 64


@inlined
def weight_of(table: Ints, slot: int, planning: Planning, now: int) -> float:
    """Cost of a second of wait."""
    waited = now - table[slot, SUBMIT]
    if planning.short_first:
        weight = 1.0 / table[slot, SPAN]
    else:
        cores = max(table[slot, REQUEST] * table[slot, UNITS], 1)
        weight = (waited + HEAD_START_S) / (table[slot, SPAN] * np.sqrt(cores))
    if table[slot, LEVEL] > 0:
        weight *= PER_LEVEL ** table[slot, LEVEL]
    return weight * (waited / DAY_S) ** STEEPNESS if waited > DAY_S else weight


@inlined
def fits_free_sums(table: Ints, slot: int, room: PassBuffers) -> bool:
    """Whether the free sums suffice for a job."""
    for k in range(len(room.free)):
        if table[slot, REQUEST + k] * table[slot, UNITS] > room.free[k]:
            return False
    return True


@inlined
def can_any_fit(queue: QueueArrays, room: PassBuffers) -> bool:
    """Whether the free sums suffice for any job."""
    for place in range(queue.size[RULE]):
        if fits_free_sums(queue.table, queue.lists[RULE, place], room):
            return True
    return False


@folded
def choose_weightiest(queue: QueueArrays, rules: Rules, planning: Planning, ahead: PlanBuffers, now: int) -> int:
    """Write the planned jobs, heaviest first."""
    table = queue.table
    waiting = queue.size[RULE]
    lightness = np.empty(waiting, dtype=np.float64)
    for place in range(waiting):
        lightness[place] = -weight_of(table, queue.lists[RULE, place], planning, now)
    by_weight = np.argsort(lightness, kind="mergesort")
    count = min(waiting, planning.jobs)
    kinds = table.shape[1] - REQUEST
    for i in range(count):
        slot = queue.lists[RULE, by_weight[i]]
        ahead.slots[i] = slot
        ahead.order[i] = i
        ahead.span[i] = table[slot, SPAN]
        ahead.weight[i] = -lightness[by_weight[i]]
        # A profile binding only at the start is checked then; a plan would apply it to the whole run.
        bound = binding_of(rules, table, slot, now) == BOUND_THROUGHOUT
        for c in range(ahead.need.shape[1]):
            free = c < kinds
            ahead.need[i, c] = table[slot, REQUEST + c % kinds] * table[slot, UNITS] if free or bound else 0
    return count


@bare
def write_free(ahead: PlanBuffers, table: Ints, running: Ints, ends: Ints, now: int) -> None:
    """Write the free capacity from now on.

    `running`: slots, by `ends`.
    """
    time, value = ahead.time[0], ahead.value[0]
    kinds = table.shape[1] - REQUEST
    base = 0
    last = len(ahead.base_time) - 1
    while base < last and ahead.base_time[base + 1] <= now:
        base += 1
    for c in range(value.shape[1]):
        value[0, c] = ahead.base_value[base, c]
        for slot in running:
            value[0, c] -= table[slot, REQUEST + c % kinds] * table[slot, UNITS]
    time[0] = now
    steps = 1
    ended = 0
    while ended < len(running) or base < last:
        moment = ends[ended] if ended < len(running) else FOREVER
        if base < last:
            moment = min(moment, ahead.base_time[base + 1])
        time[steps] = moment
        for c in range(value.shape[1]):
            value[steps, c] = value[steps - 1, c]
        while ended < len(running) and ends[ended] == moment:
            slot = running[ended]
            for c in range(value.shape[1]):
                value[steps, c] += table[slot, REQUEST + c % kinds] * table[slot, UNITS]
            ended += 1
        if base < last and ahead.base_time[base + 1] == moment:
            for c in range(value.shape[1]):
                value[steps, c] += ahead.base_value[base + 1, c] - ahead.base_value[base, c]
            base += 1
        steps += 1
    ahead.steps[0] = steps


@folded
def begin_profile(ahead: PlanBuffers, table: Ints, now: int) -> None:
    """Write the free capacity beside running jobs."""
    count = 0
    for slot in range(len(table)):
        count += table[slot, GONE] == 1 and table[slot, START] != NO_TIME
    running, ends = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    place = 0
    for slot in range(len(table)):
        if table[slot, GONE] == 1 and table[slot, START] != NO_TIME:
            running[place] = slot
            ends[place] = table[slot, START] + table[slot, SPAN]
            place += 1
    by_end = np.argsort(ends, kind="mergesort")
    write_free(ahead, table, running[by_end], ends[by_end], now)


@folded
def begin_order(ahead: PlanBuffers, table: Ints, count: int, now: int) -> float:
    """Plan by weight or the last plan's order, whichever is cheaper; return the cost."""
    cost = put_all(ahead, 0, count, now)
    places = np.full(count, FOREVER, dtype=np.int64)
    known = 0
    for i in range(count):
        slot = ahead.slots[i]
        if ahead.last[slot, 0] == table[slot, NUMBER]:
            places[i] = ahead.last[slot, 1]
            known += 1
    if known == 0:
        return cost
    ahead.kept[:count] = ahead.order[:count]
    merge_orders(ahead, np.argsort(places, kind="mergesort"), known, count)
    return put_cheaper(ahead, count, cost, now)


@folded
def plan_queue(
    queue: QueueArrays, rules: Rules, room: PassBuffers, planning: Planning, ahead: PlanBuffers, now: int
) -> None:
    """Plan waiting jobs, and write `chosen`."""
    ahead.count[:] = 0
    for place in range(queue.size[RULE]):
        if queue.table[queue.lists[RULE, place], OTHER] != 0:
            write_likely_request(queue.table, queue.lists[RULE, place], room.free)
    if not can_any_fit(queue, room):
        return
    table = queue.table
    count = choose_weightiest(queue, rules, planning, ahead, now)
    begin_profile(ahead, table, now)
    write_least(ahead, count, now)
    cost = begin_order(ahead, table, count, now)
    if count > 1:
        key = draw_key(rules.seed, now, np.int64(0), np.int64(0), PURPOSE_PLAN)
        exchange(ahead, count, planning.exchanges, key, cost, now)
    choose(ahead, table, count, now)


@folded
def choose(ahead: PlanBuffers, table: Ints, count: int, now: int) -> None:
    """Write `chosen`, and the plan's order."""
    ahead.count[0] = 0
    for i in range(count):
        job = ahead.order[i]
        slot = ahead.slots[job]
        ahead.last[slot, 0] = table[slot, NUMBER]
        ahead.last[slot, 1] = i
        if ahead.start[job] == now:
            ahead.chosen[ahead.count[0]] = slot
            ahead.count[0] += 1
    ahead.count[1] = ahead.count[0]
    for i in range(count):
        job = ahead.order[i]
        if ahead.start[job] != now:
            ahead.chosen[ahead.count[1]] = ahead.slots[job]
            ahead.count[1] += 1


@folded
def _one_pass(
    rows: Rows,
    member: Ints,
    queue: QueueArrays,
    rules: Rules,
    room: PassBuffers,
    planning: Planning,
    ahead: PlanBuffers,
    now: int,
) -> int:
    state = room.state
    if state[PHASE] == CLEAR:
        taken = process_events(rows, queue, room, now)
        if taken != DONE:
            return taken
        state[WHOLE] = 1
        if begin_pass(rows, queue, rules, room, now) == FULL:
            return FULL
        plan_queue(queue, rules, room, planning, ahead, now)
        state[PHASE] = IN_ORDER
        state[PLACE] = 0
        if planning.pauses:
            return PLANNED
    while state[PLACE] < ahead.count[0]:
        slot = ahead.chosen[state[PLACE]]
        outcome = STAYS
        if queue.table[slot, OTHER] != 0:
            outcome = try_shape(rows, member, queue, slot, rules, room, now)
        elif fits_free_sums(queue.table, slot, room) and fits_now(rows, member, queue.table, slot, rules, now, AT_ONCE):
            outcome = begin(rows, member, queue, slot, rules, room, now)
        elif state[RESERVED] < rules.depth:
            # Free capacity is scattered: reserve nodes, or the job might wait for ever.
            outcome = reserve_earliest(rows, member, queue, slot, rules, room, now)
        if outcome not in (BEGUN, STAYS):
            return outcome
        if outcome == STAYS:
            ahead.count[0] = ahead.count[1]  # other jobs may use its planned share
        state[PLACE] += 1
    end_pass(queue, rules, room, now)
    state[PHASE] = CLEAR
    return DONE


def run_plan_pass(
    rows: Rows,
    member: Ints,
    queue: QueueArrays,
    rules: Rules,
    room: PassBuffers,
    planning: Planning,
    ahead: PlanBuffers,
    now: int,
) -> int:
    """Plan, and start jobs; PLANNED is a pause: call again."""
    plain = tuple(rows), member, tuple(queue), tuple(rules), room[:-1], tuple(room.scratch)
    return _run_plan_pass(*plain, tuple(planning), tuple(ahead), now)


@kernel
def _run_plan_pass(
    rows: Fields, member: Ints, queue: Fields, rules: Fields, room: Fields, scratch: Fields, planning: Fields,
    ahead: Fields, now: int,
) -> int:  # fmt: skip
    fields = room + (Scratch(*scratch),)  # noqa: RUF005 (Numba adds tuples, but can't unpack two into one)
    return _one_pass(
        Rows(*rows),
        member,
        QueueArrays(*queue),
        Rules(*rules),
        PassBuffers(*fields),
        Planning(*planning),
        PlanBuffers(*ahead),
        now,
    )


def adopt(ahead: PlanBuffers, table: Ints, order: Ints, now: int) -> None:
    """Adopt another order during a pause, unless costlier."""
    _adopt(tuple(ahead), table, order, now)


@kernel
def _adopt(fields: Fields, table: Ints, order: Ints, now: int) -> None:
    ahead, count = PlanBuffers(*fields), len(order)
    cost = cost_before(ahead, count, now)
    ahead.kept[:count] = ahead.order[:count]
    ahead.order[:count] = order
    put_cheaper(ahead, count, cost, now)
    choose(ahead, table, count, now)
