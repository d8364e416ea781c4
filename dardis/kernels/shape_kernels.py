"""Jobs with shapes: parts, exact numbers of nodes, adjacent nodes, or alternatives.

Parts take the first suitable nodes in row order.
"""

from __future__ import annotations

from dardis.kernels.common_starts import NONE
from dardis.kernels.fitting import may_use
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
def write_most(rows: Rows, member: Ints, table: Ints, part: int, distinct: bool, start: int, most: Ints) -> None:
    """Write each node's units for a part."""
    request = table[part, REQUEST:]
    units = 1 if distinct else table[part, UNITS]
    for node in range(len(member)):
        most[node] = 0
        if may_use(member, node, table[part, GROUPS]):
            most[node] = units_during(rows, node, request, start, start + table[part, SPAN], units)


@bare
def first_run(most: Ints, count: int, units: int, exact: int) -> int:
    """First of adjacent nodes that hold `units` together, or NONE.

    `exact`: number of nodes; 0: any.
    """
    length = total = 0
    for node in range(count):
        if most[node] == 0:
            length = total = 0
            continue
        length += 1
        total += most[node]
        if exact > 0 and length > exact:
            total -= most[node - exact]
            length = exact
        if total >= units and exact in (0, length):
            return node - length + 1
    return NONE


@bare
def level_of(most: Ints, count: int, exact: int, units: int) -> int:
    """Largest amount, up to `units`, that `exact` nodes hold each, or 0."""
    low, high = 0, units
    while low < high:
        middle = (low + high + 1) >> 1
        holding = 0
        for node in range(count):
            holding += most[node] >= middle
        if holding >= exact:
            low = middle
        else:
            high = middle - 1
    return low


@bare
def choose(most: Ints, count: int, table: Ints, part: int, nodes: Ints, units: Ints) -> int:
    """Write a part's nodes, ascending, and units; return how many, or 0.

    Exact numbers take the fullest nodes, at least one unit each.
    """
    left, exact = table[part, UNITS], table[part, NODES]
    low, high, least, ties = 0, count, 1, count
    if table[part, ADJACENT] != 0:
        low = first_run(most, count, left, exact)
        if low == NONE:
            return 0
    elif exact > 0:
        least = level_of(most, count, exact, left)
        if least == 0:
            return 0
        ties = exact
        for node in range(count):
            ties -= most[node] > least
    chosen = 0
    for node in range(low, high):
        if most[node] < least or (most[node] == least and ties == 0):
            continue
        ties -= most[node] == least
        nodes[chosen] = node
        units[chosen] = min(most[node], left - max(exact - chosen - 1, 0))
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
    rows: Rows, member: Ints, queue: QueueArrays, slot: int, first: int, distinct: bool, room: PassBuffers,
    start: int, now: int
) -> int:  # fmt: skip
    """Take nodes for all parts of the request in row `first`.

    Returns DONE, REFUSED (nothing taken) or FULL (then call `release_parts`).
    """
    table = queue.table
    most = room.out[:, 0]
    part = first + 1
    while part != 0:
        row = part - 1
        write_most(rows, member, table, row, distinct, start, most)
        low = table[row, HOLD]
        chosen = choose(most, len(member), table, row, queue.hold_node[low:], queue.hold_units[low:])
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
    rows: Rows, member: Ints, queue: QueueArrays, slot: int, distinct: bool, room: PassBuffers, start: int
) -> bool:
    """Whether each part of a request would fit alone."""
    table = queue.table
    most = room.out[:, 0]
    first = table[slot, OTHER]
    while first != 0:
        part = first
        while part != 0:
            row = part - 1
            write_most(rows, member, table, row, distinct, start, most)
            low = table[row, HOLD]
            if choose(most, len(member), table, row, queue.hold_node[low:], queue.hold_units[low:]) == 0:
                break
            part = table[row, PART]
        if part == 0:
            return True
        first = table[first - 1, OTHER]
    return False


@bare
def earliest_possible_start(
    rows: Rows, member: Ints, queue: QueueArrays, slot: int, distinct: bool, room: PassBuffers, now: int
) -> int:
    """First time when a job `could_begin`, or FOREVER."""
    start = opens(queue, slot, now)
    while start < FOREVER and not could_begin(rows, member, queue, slot, distinct, room, start):
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
def take_now(
    rows: Rows, member: Ints, queue: QueueArrays, slot: int, distinct: bool, room: PassBuffers, now: int
) -> int:
    """Take nodes now for the first request that fits; return DONE, REFUSED, FULL or SPACE_SHORT."""
    if len(room.out) < len(member):
        return SPACE_SHORT
    if release_parts(rows, queue, slot, now) == FULL:
        return FULL
    first = queue.table[slot, OTHER]
    while first != 0:
        done = place(rows, member, queue, slot, first - 1, distinct, room, now, now)
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
    rows: Rows, member: Ints, queue: QueueArrays, slot: int, distinct: bool, room: PassBuffers, now: int
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
            done = place(rows, member, queue, slot, first - 1, distinct, room, start, now)
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
    done = place(rows, member, queue, slot, best - 1, distinct, room, start, now)
    if done == DONE:
        record_request(queue.table, slot, best - 1, start)
    return done


@kernel
def can_hold_now(
    rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, room: PassBuffers, slot: int, now: int
) -> int:
    """DONE if a job fits now, else REFUSED, FULL or SPACE_SHORT."""
    done = take_now(rows, member, queue, slot, rules.distinct, room, now)
    if done == DONE and release_job(rows, queue, slot, now) == FULL:
        return FULL
    return done
