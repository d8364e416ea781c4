"""A pass over a queue by a plan that is made anew: those are started who start now by it, where nodes hold them.

The plan is one of sums (`ahead`). Its weights are `(wait + 10 h) / (duration · √cores)`, and for those who have waited
for over a day much more: whoever waits on has to come first some day. It begins with what costs less of two orders,
that of the weights and that of the last plan.
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
    Queue,
    Room,
    Rules,
)
from dardis.kernels.list_schedule import Ahead, cost_before, exchange, merge_orders, put_all, put_cheaper, write_least
from dardis.kernels.node_search import AT_ONCE, binding_of, fits_now
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
    try_shape,
)
from dardis.kernels.profile import DONE, FULL
from dardis.kernels.rows import Rows
from dardis.kernels.shape_kernels import suppose
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, NO_TIME

HEAD_START_S, DAY_S = 36_000, 86_400
STEEPNESS = 6
"""The power of the days of his wait by which whoever has waited for over a day weighs more.

With 2 the means are as good, but the longest wait on SDSC-BLUE is 2.1 times EASY's; with 12 the means are worse. To put
whoever has waited for over a day strictly first costs a tenth of the mean wait where many have (KTH, Curie).
"""


PER_LEVEL = 32.0
"""How many times as much those weigh whose priority is one level higher."""


class Planning(NamedTuple):
    """How much is planned: jobs that are looked at, orders that are tried, and what their weights go by."""

    jobs: int
    exchanges: int
    short_first: bool
    """Whether weights are 1 / duration."""
    pauses: bool
    """Whether the pass pauses once it has planned, so that somebody may look for a better plan."""


PLANNED = 64
"""What a pass that pauses answers: call it again to go on."""


@inlined
def weight_of(table: Ints, slot: int, planning: Planning, now: int) -> float:
    """What a second of a job's wait costs."""
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
def sums_hold(table: Ints, slot: int, room: Room) -> bool:
    """Whether all nodes together have enough free for a job."""
    for k in range(len(room.free)):
        if table[slot, REQUEST + k] * table[slot, UNITS] > room.free[k]:
            return False
    return True


@inlined
def anybody_fits(queue: Queue, room: Room) -> bool:
    """Whether all nodes together have enough free for anybody who waits."""
    for place in range(queue.size[RULE]):
        if sums_hold(queue.table, queue.lists[RULE, place], room):
            return True
    return False


@folded
def choose_weightiest(queue: Queue, rules: Rules, planning: Planning, ahead: Ahead, now: int) -> int:
    """Write those who are planned, the weightiest first; return how many."""
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
        # What binds at the start alone is seen to when it starts: a plan would have it hold for the whole run.
        bound = binding_of(rules, table, slot, now) == BOUND_THROUGHOUT
        for c in range(ahead.need.shape[1]):
            free = c < kinds
            ahead.need[i, c] = table[slot, REQUEST + c % kinds] * table[slot, UNITS] if free or bound else 0
    return count


@bare
def write_free(ahead: Ahead, table: Ints, running: Ints, ends: Ints, now: int) -> None:
    """Write what is free from now on: what the empty machine has, less what those take who run, until their `ends`.

    `running` are their slots, in the order of `ends`.
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
def begin_profile(ahead: Ahead, table: Ints, now: int) -> None:
    """Write what is free from now on beside those who run."""
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
def begin_order(ahead: Ahead, table: Ints, count: int, now: int) -> float:
    """Plan by weights, and in the order of the last plan, and keep what costs less; return that cost."""
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
def look_ahead(queue: Queue, rules: Rules, room: Room, planning: Planning, ahead: Ahead, now: int) -> None:
    """Plan those who wait, and write to `chosen` who is to start now."""
    ahead.count[:] = 0
    for place in range(queue.size[RULE]):
        if queue.table[queue.lists[RULE, place], OTHER] != 0:
            suppose(queue.table, queue.lists[RULE, place], room.free)
    if not anybody_fits(queue, room):
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
def choose(ahead: Ahead, table: Ints, count: int, now: int) -> None:
    """Write who is to start now by the plan, and after them the others; and the plan's order, for the next."""
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
    rows: Rows, member: Ints, queue: Queue, rules: Rules, room: Room, planning: Planning, ahead: Ahead, now: int
) -> int:
    state = room.state
    if state[PHASE] == CLEAR:
        taken = take_in(rows, queue, room, now)
        if taken != DONE:
            return taken
        state[WHOLE] = 1
        if clear(rows, queue, rules, room, now) == FULL:
            return FULL
        look_ahead(queue, rules, room, planning, ahead, now)
        state[PHASE] = IN_ORDER
        state[PLACE] = 0
        if planning.pauses:
            return PLANNED
    while state[PLACE] < ahead.count[0]:
        slot = ahead.chosen[state[PLACE]]
        outcome = STAYS
        if queue.table[slot, OTHER] != 0:
            outcome = try_shape(rows, member, queue, slot, rules, room, now)
        elif sums_hold(queue.table, slot, room) and fits_now(rows, member, queue.table, slot, rules, now, AT_ONCE):
            outcome = begin(rows, member, queue, slot, rules, room, now)
        elif state[RESERVED] < rules.depth:
            # Its turn has come, but what is free lies scattered: nodes are kept for it, or it would wait for ever.
            outcome = reserve_earliest(rows, member, queue, slot, rules, room, now)
        if outcome not in (BEGUN, STAYS):
            return outcome
        if outcome == STAYS:
            ahead.count[0] = ahead.count[1]  # what the plan gave to it is left to the others
        state[PLACE] += 1
    close(queue, rules, room, now)
    state[PHASE] = CLEAR
    return DONE


def pass_over(
    rows: Rows, member: Ints, queue: Queue, rules: Rules, room: Room, planning: Planning, ahead: Ahead, now: int
) -> int:
    """Plan, and start who is to start now. Answers DONE, or FULL or ROOM: then give it that and call it again.

    One that pauses answers PLANNED first.
    """
    plain = tuple(rows), member, tuple(queue), tuple(rules), room[:-1], tuple(room.scratch)
    return _pass_over(*plain, tuple(planning), tuple(ahead), now)


@kernel
def _pass_over(
    rows: Fields, member: Ints, queue: Fields, rules: Fields, room: Fields, scratch: Fields, planning: Fields,
    ahead: Fields, now: int,
) -> int:  # fmt: skip
    """`pass_over` with the fields of its arguments."""
    fields = room + (Scratch(*scratch),)  # noqa: RUF005 (Numba adds tuples, but can't unpack two into one)
    return _one_pass(
        Rows(*rows), member, Queue(*queue), Rules(*rules), Room(*fields), Planning(*planning), Ahead(*ahead), now
    )


def adopt(ahead: Ahead, table: Ints, order: Ints, now: int) -> None:
    """Plan in another order, while a pass pauses, unless that costs more."""
    _adopt(tuple(ahead), table, order, now)


@kernel
def _adopt(fields: Fields, table: Ints, order: Ints, now: int) -> None:
    """`adopt` with the fields of its arguments."""
    ahead, count = Ahead(*fields), len(order)
    cost = cost_before(ahead, count, now)
    ahead.kept[:count] = ahead.order[:count]
    ahead.order[:count] = order
    put_cheaper(ahead, count, cost, now)
    choose(ahead, table, count, now)
