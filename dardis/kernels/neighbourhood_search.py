"""Neighbourhood search on real nodes: removes groups of jobs, and re-inserts each most profitably."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dardis.kernels.common_starts import CandidateStart, NodeSelection, choose_nodes, common_starts
from dardis.kernels.day_profit import DayProfit, add, extra, fill_before, income_of
from dardis.kernels.jit import folded, kernel
from dardis.kernels.job_queue import (
    HELD,
    HOLD,
    LATEST,
    NUMBER,
    SPAN,
    START,
    UNBOUND,
    UNITS,
    PassBuffers,
    QueueArrays,
    Rules,
)
from dardis.kernels.node_search import (
    FIRST_START,
    FOUND,
    LAST_START,
    NOTHING,
    SPACE_SHORT,
    batch_of_job,
    find,
    release_job,
    take,
)
from dardis.kernels.offers import OUT_OF_SPACE, Nodes, OfferRules, OfferTask, write_offers
from dardis.kernels.profile import DONE, FULL
from dardis.kernels.rows import Rows
from dardis.model.arrays import Floats, Ints
from dardis.model.job import FOREVER
from dardis.model.offer_rows import FIRST

GROUP, PHASE, PLACE, KEPT = range(4)
"""State: group, phase, place in the group, improved groups."""
OUT, BACK, UNDO, RESTORE = range(4)
"""Phases: remove, re-insert; to undo, remove again, restore."""
GAIN, TOTAL = range(2)
"""Gains: of the group, of all kept groups."""
SAME = 1e-9
"""Smallest difference in money."""


class JobGroups(NamedTuple):
    """Jobs of group i: `slots[offset[i]:offset[i+1]]`; progress and gains."""

    offset: Ints
    slots: Ints
    state: Ints
    gains: Floats


class GroupBackup(NamedTuple):
    """Old starts, node counts, nodes and units of a group."""

    start: Ints
    held: Ints
    node: Ints
    units: Ints


@kernel
def best_of_spans(spans: Ints, found: int, first: int, duration: int, slot: int, profit: DayProfit, grain: int) -> int:
    """Most profitable start in `spans[:found]` (from `first`), or -1 if none gains."""
    # Tried: span ends, multiples of `grain` s, and segment edges at the job's start or end.
    edges = profit.hours.edges
    watts = profit.added_w[slot]
    before = np.empty(len(edges), dtype=np.float64)
    fill_before(profit.hours, watts, before)
    before_limits = np.empty(len(profit.limits.edges), dtype=np.float64)
    fill_before(profit.limits, watts, before_limits)
    best, best_at = 0.0, np.int64(-1)
    for s in range(found):
        at = spans[s, 0] + first
        last = spans[s, 1] + first - 1
        while True:
            end = at + duration
            gain = income_of(profit, slot, at, end) - extra(profit.hours, before, at, end, watts)
            gain -= extra(profit.limits, before_limits, at, end, watts)
            if gain > best + SAME:
                best, best_at = gain, at
            if at == last:
                break
            following = at - (at - edges[0]) % grain + grain
            place = np.searchsorted(edges, at, side="right")
            if place < len(edges):
                following = min(following, edges[place])
            place = np.searchsorted(edges, end, side="right")
            if place < len(edges):
                following = min(following, edges[place] - duration)
            at = min(following, last)
    return best_at


@folded
def find_best(
    rows: Rows,
    member: Ints,
    queue: QueueArrays,
    slot: int,
    rules: Rules,
    room: PassBuffers,
    profit: DayProfit,
    grain: int,
    now: int,
) -> int:
    """Find the day's most profitable start; write `room.result` and nodes. Return FOUND, NOTHING or SPACE_SHORT."""
    table = queue.table
    longest = np.int64(0)
    for node in range(len(member)):
        longest = max(longest, rows.size[node])
    if longest + 4 > len(room.scratch.time):
        return SPACE_SHORT
    first = profit.soonest[slot]
    last = min(profit.hours.edges[-1] - 1, table[slot, LATEST])
    if first > last:
        return NOTHING
    none = room.ask[:0]
    room.ask[FIRST_START] = first
    room.ask[LAST_START] = last
    nodes, how = Nodes(rows, member, 0, none, none), OfferRules(False, FIRST, 1, rules.seed)
    count = write_offers(
        OfferTask(nodes, batch_of_job(table, slot, room), how, now, room.scratch, room.out, room.offset)
    )
    if count == OUT_OF_SPACE:
        return SPACE_SHORT
    offers = room.out[:count]
    spans = np.empty((2 * count + 1, 3), dtype=np.int64)
    found = common_starts(offers, table[slot, UNITS], rules.distinct, spans)
    best = best_of_spans(spans, found, first, table[slot, SPAN], slot, profit, grain)
    if best < 0:
        return NOTHING
    room.result[1] = best
    hold = table[slot, HOLD]
    start = CandidateStart(best - first, first, table[slot, SPAN], table[slot, UNITS], table[slot, NUMBER], 0)
    choice = NodeSelection(rules.choice, rules.distinct, 1, rules.seed)
    table[slot, HELD] = choose_nodes(offers, start, choice, queue.hold_node[hold:], queue.hold_units[hold:])
    return FOUND


@kernel
def account_for(queue: QueueArrays, slot: int, profit: DayProfit, sign: int) -> float:
    """Add a job to the grids (1) or remove it (-1); return the profit's change."""
    start = queue.table[slot, START]
    end = start + queue.table[slot, SPAN]
    watts = sign * profit.added_w[slot]
    gain = sign * income_of(profit, slot, start, end)
    if start > queue.table[slot, LATEST]:
        gain -= sign * profit.late[0]
    return gain - add(profit.hours, start, end, watts) - add(profit.limits, start, end, watts)


@folded
def put_best(
    rows: Rows,
    member: Ints,
    queue: QueueArrays,
    slot: int,
    rules: Rules,
    room: PassBuffers,
    profit: DayProfit,
    grain: int,
    now: int,
) -> int:
    """Reserve a job's best start, else after the day, or at any time if too late."""
    answered = find_best(rows, member, queue, slot, rules, room, profit, grain, now)
    if answered == NOTHING:
        day_end = profit.hours.edges[-1]
        soonest = profit.soonest[slot]
        if queue.table[slot, LATEST] >= day_end:
            soonest = max(soonest, day_end)
        answered = find(rows, member, queue, rules, room, slot, np.int64(UNBOUND), soonest, np.int64(FOREVER), now)
    if answered == SPACE_SHORT:
        return SPACE_SHORT
    return take(rows, queue, slot, room.result[1], now)


@folded
def remove_job(rows: Rows, queue: QueueArrays, slot: int, profit: DayProfit, now: int, gains: Floats) -> int:
    """Remove a job's reservation and profit."""
    start = queue.table[slot, START]
    if release_job(rows, queue, slot, now) == FULL:
        return FULL
    queue.table[slot, START] = start
    gains[GAIN] += account_for(queue, slot, profit, np.int64(-1))
    return DONE


@folded
def remember(queue: QueueArrays, slot: int, torn: GroupBackup, i: int) -> None:
    """Save job i of the group."""
    torn.start[i] = queue.table[slot, START]
    torn.held[i] = queue.table[slot, HELD]
    hold, base = queue.table[slot, HOLD], torn.held[:i].sum()
    for k in range(torn.held[i]):
        torn.node[base + k] = queue.hold_node[hold + k]
        torn.units[base + k] = queue.hold_units[hold + k]


@folded
def restore(rows: Rows, queue: QueueArrays, slot: int, torn: GroupBackup, i: int, now: int) -> int:
    """Restore job i of the group."""
    hold, base = queue.table[slot, HOLD], torn.held[:i].sum()
    queue.table[slot, HELD] = torn.held[i]
    for k in range(torn.held[i]):
        queue.hold_node[hold + k] = torn.node[base + k]
        queue.hold_units[hold + k] = torn.units[base + k]
    return take(rows, queue, slot, torn.start[i], now)


@kernel
def rebuild(
    rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, room: PassBuffers, profit: DayProfit, grain: int,
    now: int,
    groups: JobGroups, torn: GroupBackup,
) -> int:  # fmt: skip
    """Rebuild all groups, and restore worse ones."""
    offsets, slots, state, gains = groups
    while state[GROUP] < len(offsets) - 1:
        low = offsets[state[GROUP]]
        if state[PLACE] == offsets[state[GROUP] + 1] - low:
            state[PLACE] = 0
            phase = state[PHASE]
            state[PHASE] = phase + 1
            worse = gains[GAIN] < -SAME
            if phase == RESTORE or (phase == BACK and not worse):
                if phase == BACK:
                    gains[TOTAL] += gains[GAIN]
                    state[KEPT] += gains[GAIN] > SAME
                gains[GAIN] = 0.0
                state[PHASE] = OUT
                state[GROUP] += 1
            continue
        slot = slots[low + state[PLACE]]
        if state[PHASE] == OUT:
            remember(queue, slot, torn, state[PLACE])
        if state[PHASE] == OUT or state[PHASE] == UNDO:
            answered = remove_job(rows, queue, slot, profit, now, gains)
        else:
            if state[PHASE] == BACK:
                answered = put_best(rows, member, queue, slot, rules, room, profit, grain, now)
            else:
                answered = restore(rows, queue, slot, torn, state[PLACE], now)
            if answered == DONE:
                gains[GAIN] += account_for(queue, slot, profit, np.int64(1))
        if answered != DONE:
            return answered
        state[PLACE] += 1
    return DONE
