"""Jobs with shapes: parts, exact numbers of nodes, adjacent nodes, or alternatives.

The parts of a job take the first suitable nodes in row order; a single part's nodes are chosen.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.common_starts import NONE
from dardis.kernels.fitting import may_use
from dardis.kernels.heap import sift_down
from dardis.kernels.jit import bare, inlined, kernel
from dardis.kernels.job_queue import (
    ADJACENT,
    GROUPS,
    HELD,
    HOLD,
    NODES,
    OTHER,
    PART,
    REQUEST,
    SPAN,
    START,
    UNITS,
    PassBuffers,
    QueueArrays,
    Rules,
)
from dardis.kernels.node_search import SPACE_SHORT, opens, release_job, release_row, take
from dardis.kernels.profile import DONE, FULL, REFUSED
from dardis.kernels.rows import Rows, find, next_rise
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, NO_TIME
from dardis.model.offer_rows import BEST_FIT, CONTIGUOUS, FIRST_FIT


@inlined
def units_during(rows: Rows, node: int, request: Ints, start: int, until: int, units: int) -> int:
    """Units, up to `units`, that fit during `[start, until)`."""
    most = units
    place = max(find(rows, node, start), rows.head[node])
    stop = rows.head[node] + rows.size[node]
    while place < stop and most > 0 and rows.time[place] < until:
        for k in range(len(request)):
            if request[k] > 0 and rows.value[place, k] < request[k] * most:
                most = max(rows.value[place, k], 0) // request[k]
        place += 1
    return most


@bare
def write_most(rows: Rows, member: Ints, table: Ints, part: int, start: int, most: Ints) -> None:
    """Write how many units of a part each node has room for."""
    request = table[part, REQUEST:]
    for node in range(len(member)):
        most[node] = 0
        if may_use(member, node, table[part, GROUPS]):
            most[node] = units_during(rows, node, request, start, start + table[part, SPAN], np.int64(1) << 31)


@bare
def first_of_run(most: Ints, count: int, units: int, exact: int, limit: int, tightest: bool) -> int:
    """First of adjacent nodes that hold `units` together, or NONE.

    `exact`: number of nodes; 0: any. `limit`: largest use of a node. In the first sufficient run, or in the `tightest`,
    which has room for fewest units.
    """
    best, best_sum = NONE, FOREVER
    low, length, total, run_sum = NONE, 0, 0, 0
    for node in range(count + 1):
        if node == count or most[node] == 0:
            if low != NONE and run_sum < best_sum:
                best, best_sum = low, run_sum
            if best != NONE and not tightest:
                return best
            low, length, total, run_sum = NONE, 0, 0, 0
            continue
        length += 1
        total += min(most[node], limit)
        run_sum += most[node]
        if exact > 0 and length > exact:
            total -= min(most[node - exact], limit)
            length = exact
        if low == NONE and total >= units and exact in (0, length):
            low = node - length + 1
    return best


@bare
def mark_by_units(most: Ints, count: int, exact: int, units: int, limit: int, fewest: bool, work: Ints) -> bool:
    """Mark `exact` nodes for `units`: those with most room, or the first that suffice in order of room (`fewest`).

    `limit`: largest use of a node. False: no nodes suffice.
    """
    marked, node, keys, heap, order = work[0], work[1], work[2], work[3], work[4]
    size = 0
    for at in range(count):
        marked[at], node[at], keys[at] = 0, at, most[at] if fewest else -min(most[at], limit)
        if most[at] > 0:
            heap[size] = at
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, keys, node, at)
    taken = total = 0
    while size > 0:
        order[taken] = heap[0]
        total += min(most[heap[0]], limit)
        taken += 1
        size -= 1
        heap[0] = heap[size]
        sift_down(heap, size, keys, node, np.int64(0))
        if taken > exact:
            total -= min(most[order[taken - exact - 1]], limit)
        if taken >= exact and total >= units:
            for at in range(taken - exact, taken):
                marked[order[at]] = 1
            return True
        if taken == exact and not fewest:
            return False
    return False


@bare
def mark_runs(most: Ints, count: int, exact: int, units: int, limit: int, least: int, marked: Ints) -> bool:
    """Mark `exact` nodes with room for `least` units, in few runs; False: they hold too few units.

    `limit`: largest use of a node. The first of the smallest sufficient run, else all of the largest, and again.
    """
    marked[:count] = 0
    nodes_left, left = exact, units
    while nodes_left > 0:
        best_low, best_high, best_sum, best_fits = 0, 0, 0, False
        low = total = 0
        for node in range(count + 1):
            if node < count and most[node] >= least and marked[node] == 0:
                total += most[node]
                continue
            fits = total >= left and node - low >= nodes_left
            better = total < best_sum if fits else total > best_sum
            if total > 0 and ((fits and not best_fits) or (fits == best_fits and better)):
                best_low, best_high, best_sum, best_fits = low, node, total, fits
            low, total = node + 1, 0
        if best_sum == 0:
            return False
        for node in range(best_low, min(best_high, best_low + nodes_left)):
            marked[node] = 1
            left -= min(most[node], limit)
            nodes_left -= 1
    return left <= 0


@bare
def mark_best_runs(most: Ints, count: int, exact: int, units: int, limit: int, marked: Ints) -> bool:
    """`mark_runs`, without the nodes that hold least until it succeeds."""
    least = 1
    while least < FOREVER:
        if mark_runs(most, count, exact, units, limit, least, marked):
            return True
        following = FOREVER
        for node in range(count):
            if most[node] > least:
                following = min(following, most[node])
        least = following
    return False


@bare
def choose(
    most: Ints, count: int, table: Ints, part: int, rules: Rules, choice: int, work: Ints, nodes: Ints, units: Ints
) -> int:  # fmt: skip
    """Write a part's nodes, ascending, and units; return how many, or 0.

    Exact numbers take at least one unit each.
    """
    left, exact = table[part, UNITS], table[part, NODES]
    limit = 1 if rules.distinct else left
    marked = work[0]
    if table[part, ADJACENT] != 0 or exact == 0:
        low = 0
        if table[part, ADJACENT] != 0:
            low = first_of_run(most, count, left, exact, limit, choice in (BEST_FIT, CONTIGUOUS))
            if low == NONE:
                return 0
        for node in range(count):
            marked[node] = node >= low and most[node] > 0
    elif not mark_by_units(most, count, exact, left, limit, choice == BEST_FIT, work):
        return 0
    elif choice == CONTIGUOUS and not mark_best_runs(most, count, exact, left, limit, marked):
        mark_by_units(most, count, exact, left, limit, False, work)
    chosen = 0
    for node in range(count):
        if marked[node] == 0:
            continue
        nodes[chosen] = node
        units[chosen] = min(most[node], limit, left - max(exact - chosen - 1, 0))
        left -= units[chosen]
        chosen += 1
        if left == 0 or chosen == exact:
            break
    return chosen if left == 0 else 0


@bare
def release_parts(rows: Rows, queue: QueueArrays, slot: int, now: int) -> int:
    """Release all parts of a job."""
    table = queue.table
    first = table[slot, OTHER]
    while first != 0:
        part = first
        while part != 0:
            if table[part - 1, START] != NO_TIME and release_row(rows, queue, part - 1, now) == FULL:
                return FULL
            part = table[part - 1, PART]
        first = table[first - 1, OTHER]
    return DONE


@bare
def place(
    rows: Rows, member: Ints, queue: QueueArrays, slot: int, first: int, rules: Rules, room: PassBuffers, start: int,
    now: int
) -> int:  # fmt: skip
    """Take nodes for all parts of the request in row `first`.

    Returns DONE, REFUSED (nothing taken) or FULL (then call `release_parts`).
    """
    table = queue.table
    most = room.out[:, 0]
    # The order of parts was found with the first suitable nodes.
    choice = rules.choice if table[first, PART] == 0 else FIRST_FIT
    part = first + 1
    while part != 0:
        row = part - 1
        write_most(rows, member, table, row, start, most)
        low = table[row, HOLD]
        nodes, units = queue.hold_node[low:], queue.hold_units[low:]
        chosen = choose(most, len(member), table, row, rules, choice, room.work, nodes, units)
        if chosen == 0:
            return FULL if release_parts(rows, queue, slot, now) == FULL else REFUSED
        table[row, HELD] = chosen
        taken = take(rows, queue, row, start, now)
        if taken != DONE:
            return taken
        part = table[row, PART]
    return DONE


@bare
def write_summed_request(table: Ints, slot: int, first: int) -> None:
    """Write the summed request in row `first` into the job's row, as one unit."""
    table[slot, SPAN] = table[first, SPAN]
    for k in range(REQUEST, table.shape[1]):
        table[slot, k] = 0
    part = first + 1
    while part != 0:
        for k in range(REQUEST, table.shape[1]):
            table[slot, k] += table[part - 1, k] * table[part - 1, UNITS]
        part = table[part - 1, PART]


@bare
def record_request(table: Ints, slot: int, first: int, start: int) -> None:
    """Record start and request in the job's row."""
    write_summed_request(table, slot, first)
    table[slot, START] = start
    table[slot, PART] = first + 1


@bare
def write_likely_request(table: Ints, slot: int, free: Ints) -> None:
    """Represent a waiting job by the first request within `free`, else the first."""
    first = table[slot, OTHER]
    while first != 0:
        write_summed_request(table, slot, first - 1)
        holds = True
        for k in range(len(free)):
            holds = holds and table[slot, REQUEST + k] <= free[k]
        if holds:
            return
        first = table[first - 1, OTHER]
    write_summed_request(table, slot, table[slot, OTHER] - 1)


@bare
def could_begin(
    rows: Rows, member: Ints, queue: QueueArrays, slot: int, rules: Rules, room: PassBuffers, start: int
) -> bool:
    """Whether each part of a request would fit alone."""
    table = queue.table
    most = room.out[:, 0]
    first = table[slot, OTHER]
    while first != 0:
        part = first
        while part != 0:
            row = part - 1
            write_most(rows, member, table, row, start, most)
            low = table[row, HOLD]
            nodes, units = queue.hold_node[low:], queue.hold_units[low:]
            if choose(most, len(member), table, row, rules, FIRST_FIT, room.work, nodes, units) == 0:
                break
            part = table[row, PART]
        if part == 0:
            return True
        first = table[first - 1, OTHER]
    return False


@bare
def earliest_possible_start(
    rows: Rows, member: Ints, queue: QueueArrays, slot: int, rules: Rules, room: PassBuffers, now: int
) -> int:
    """First time when a job `could_begin`, or FOREVER."""
    start = opens(queue, slot, now)
    while start < FOREVER and not could_begin(rows, member, queue, slot, rules, room, start):
        start = next_moment(rows, queue, slot, start)
    return start


@bare
def take_written_nodes(rows: Rows, queue: QueueArrays, slot: int, first: int, now: int) -> int:
    """Take the written nodes of the request in row `first` now; return DONE, REFUSED or FULL."""
    if release_parts(rows, queue, slot, now) == FULL:
        return FULL
    part = first + 1
    while part != 0:
        taken = take(rows, queue, part - 1, now, now)
        if taken != DONE:
            return FULL if taken == FULL or release_parts(rows, queue, slot, now) == FULL else REFUSED
        part = queue.table[part - 1, PART]
    record_request(queue.table, slot, first, now)
    return DONE


@bare
def take_now(rows: Rows, member: Ints, queue: QueueArrays, slot: int, rules: Rules, room: PassBuffers, now: int) -> int:
    """Take nodes now for the first request that fits; return DONE, REFUSED, FULL or SPACE_SHORT."""
    if len(room.out) < len(member):
        return SPACE_SHORT
    if release_parts(rows, queue, slot, now) == FULL:
        return FULL
    first = queue.table[slot, OTHER]
    while first != 0:
        done = place(rows, member, queue, slot, first - 1, rules, room, now, now)
        if done == DONE:
            record_request(queue.table, slot, first - 1, now)
        if done != REFUSED:
            return done
        first = queue.table[first - 1, OTHER]
    return REFUSED


@bare
def next_moment(rows: Rows, queue: QueueArrays, slot: int, time: int) -> int:
    """Next time when a node gains capacity and the queue is open."""
    following = FOREVER
    for node in range(len(rows.size)):
        following = min(following, next_rise(rows, node, time))
    return opens(queue, slot, following) if following < FOREVER else FOREVER


@bare
def take_earliest(
    rows: Rows, member: Ints, queue: QueueArrays, slot: int, rules: Rules, room: PassBuffers, now: int
) -> int:
    """Take nodes for the request that ends first; return DONE, REFUSED, FULL or SPACE_SHORT."""
    if len(room.out) < len(member):
        return SPACE_SHORT
    if release_parts(rows, queue, slot, now) == FULL:
        return FULL
    best, best_end = 0, FOREVER
    first = queue.table[slot, OTHER]
    while first != 0:
        span = queue.table[first - 1, SPAN]
        start = opens(queue, slot, now)
        while start < FOREVER and start + span < best_end:
            done = place(rows, member, queue, slot, first - 1, rules, room, start, now)
            if done == DONE:
                best, best_end = first, start + span
                if release_parts(rows, queue, slot, now) == FULL:
                    return FULL
            elif done != REFUSED:
                return done
            else:
                start = next_moment(rows, queue, slot, start)
        first = queue.table[first - 1, OTHER]
    if best == 0:
        return REFUSED
    start = best_end - queue.table[best - 1, SPAN]
    done = place(rows, member, queue, slot, best - 1, rules, room, start, now)
    if done == DONE:
        record_request(queue.table, slot, best - 1, start)
    return done


@kernel
def can_hold_now(
    rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, room: PassBuffers, slot: int, now: int
) -> int:
    """DONE if a job fits now, else REFUSED, FULL or SPACE_SHORT."""
    done = take_now(rows, member, queue, slot, rules, room, now)
    if done == DONE and release_job(rows, queue, slot, now) == FULL:
        return FULL
    return done
