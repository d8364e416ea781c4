"""Jobs that ask for more than units on any nodes: parts that start together, on so many nodes, side by side, or else.

The parts of a request take their nodes one after the other, in the order of their rows, before the next looks for its
own; so they may fail although other nodes would hold all of them. Nodes are the first that will do.
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
    Queue,
    Room,
    Rules,
)
from dardis.kernels.node_search import ROOM, give_back, give_back_row, opens, take
from dardis.kernels.profile import DONE, FULL, REFUSED
from dardis.kernels.rows import Rows, find, next_rise
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, NO_TIME


@inlined
def units_during(rows: Rows, node: int, request: Ints, start: int, until: int, units: int) -> int:
    """Units, `units` at most, that the node can hold over all of `[start, until)`."""
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
    """Write how many units of a part each node could hold from `start` on."""
    request = table[part, REQUEST:]
    units = 1 if distinct else table[part, UNITS]
    for node in range(len(member)):
        most[node] = 0
        if may_use(member, node, table[part, GROUPS]):
            most[node] = units_during(rows, node, request, start, start + table[part, SPAN], units)


@bare
def first_run(most: Ints, count: int, units: int, exact: int) -> int:
    """The first node of neighbours that hold `units` together, each some (`exact`: so many; 0: as many as it takes).

    Of `count` nodes. NONE: there are none.
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
    """The most that each of `exact` nodes can hold at least, up to `units`; 0: so many hold nothing."""
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
    """Write the nodes of a part, ascending, and their units; return how many, 0 if there are too few.

    On an exact number of nodes those are that hold most, and each has at least one unit.
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
def clear_parts(rows: Rows, queue: Queue, slot: int, now: int) -> int:
    """Give back whatever the parts of any request of a job hold. Answers DONE or FULL."""
    table = queue.table
    first = table[slot, OTHER]
    while first != 0:
        part = first
        while part != 0:
            if table[part - 1, START] != NO_TIME and give_back_row(rows, queue, part - 1, now) == FULL:
                return FULL
            part = table[part - 1, PART]
        first = table[first - 1, OTHER]
    return DONE


@bare
def place(
    rows: Rows, member: Ints, queue: Queue, slot: int, first: int, distinct: bool, room: Room, start: int, now: int
) -> int:  # fmt: skip
    """Take nodes from `start` on for all parts of the request that begins in the row `first`.

    Answers DONE; REFUSED, and nothing is taken; or FULL: then call `clear_parts` before anything else.
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
            return FULL if clear_parts(rows, queue, slot, now) == FULL else REFUSED
        table[row, HELD] = chosen
        taken = take(rows, queue, row, start, now)
        if taken != DONE:
            return taken
        part = table[row, PART]
    return DONE


@bare
def ask_as(table: Ints, slot: int, first: int) -> None:
    """Write into the job's own row what the request asks for as a whole that begins in the row `first`, as one unit."""
    table[slot, SPAN] = table[first, SPAN]
    for k in range(REQUEST, table.shape[1]):
        table[slot, k] = 0
    part = first + 1
    while part != 0:
        for k in range(REQUEST, table.shape[1]):
            table[slot, k] += table[part - 1, k] * table[part - 1, UNITS]
        part = table[part - 1, PART]


@bare
def settle(table: Ints, slot: int, first: int, start: int) -> None:
    """Note in the job's own row that it has its nodes from `start` on as that request, and what that asks for."""
    ask_as(table, slot, first)
    table[slot, START] = start
    table[slot, PART] = first + 1


@bare
def suppose(table: Ints, slot: int, free: Ints) -> None:
    """Let a job that waits count as the first of its requests that asks for no more than is free, else as the first."""
    first = table[slot, OTHER]
    while first != 0:
        ask_as(table, slot, first - 1)
        holds = True
        for k in range(len(free)):
            holds = holds and table[slot, REQUEST + k] <= free[k]
        if holds:
            return
        first = table[first - 1, OTHER]
    ask_as(table, slot, table[slot, OTHER] - 1)


@bare
def could_begin(rows: Rows, member: Ints, queue: Queue, slot: int, distinct: bool, room: Room, start: int) -> bool:
    """Whether each part of one of its requests by itself would find nodes from `start` on.

    If not, the job can't begin then, however its parts are put; if so, all but those of several parts can.
    """
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
def earliest_alone(rows: Rows, member: Ints, queue: Queue, slot: int, distinct: bool, room: Room, now: int) -> int:
    """The first time from `now` on, within its queue's hours, at which a job `could_begin` (FOREVER: never)."""
    start = opens(queue, slot, now)
    while start < FOREVER and not could_begin(rows, member, queue, slot, distinct, room, start):
        start = next_moment(rows, queue, slot, start)
    return start


@bare
def take_there(rows: Rows, queue: Queue, slot: int, first: int, now: int) -> int:
    """Take from now on the nodes that are written for the parts of the request that begins in the row `first`.

    Answers DONE, REFUSED, and nothing is taken, or FULL.
    """
    if clear_parts(rows, queue, slot, now) == FULL:
        return FULL
    part = first + 1
    while part != 0:
        taken = take(rows, queue, part - 1, now, now)
        if taken != DONE:
            return FULL if taken == FULL or clear_parts(rows, queue, slot, now) == FULL else REFUSED
        part = queue.table[part - 1, PART]
    settle(queue.table, slot, first, now)
    return DONE


@bare
def take_now(rows: Rows, member: Ints, queue: Queue, slot: int, distinct: bool, room: Room, now: int) -> int:
    """Take nodes from now on for the first request, in the order stated, that finds them.

    Answers DONE, REFUSED: none does, FULL or ROOM.
    """
    if len(room.out) < len(member):
        return ROOM
    if clear_parts(rows, queue, slot, now) == FULL:
        return FULL
    first = queue.table[slot, OTHER]
    while first != 0:
        done = place(rows, member, queue, slot, first - 1, distinct, room, now, now)
        if done == DONE:
            settle(queue.table, slot, first - 1, now)
        if done != REFUSED:
            return done
        first = queue.table[first - 1, OTHER]
    return REFUSED


@bare
def next_moment(rows: Rows, queue: Queue, slot: int, time: int) -> int:
    """When a job may next find what it did not at `time`: a node has become freer, and its queue lets it start."""
    following = FOREVER
    for node in range(len(rows.size)):
        following = min(following, next_rise(rows, node, time))
    return opens(queue, slot, following) if following < FOREVER else FOREVER


@bare
def take_earliest(rows: Rows, member: Ints, queue: Queue, slot: int, distinct: bool, room: Room, now: int) -> int:
    """Take nodes for the request that ends first, each as early as it finds them; of equals, the first stated.

    Answers DONE, REFUSED: none ever does, FULL or ROOM.
    """
    if len(room.out) < len(member):
        return ROOM
    if clear_parts(rows, queue, slot, now) == FULL:
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
                if clear_parts(rows, queue, slot, now) == FULL:
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
        settle(queue.table, slot, best - 1, start)
    return done


@kernel
def holds_alone(rows: Rows, member: Ints, queue: Queue, rules: Rules, room: Room, slot: int, now: int) -> int:
    """Whether a job finds nodes now: DONE or REFUSED, FULL or ROOM. Nothing is taken."""
    done = take_now(rows, member, queue, slot, rules.distinct, room, now)
    if done == DONE and give_back(rows, queue, slot, now) == FULL:
        return FULL
    return done
