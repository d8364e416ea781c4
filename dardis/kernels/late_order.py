"""Turns of task managers with late binding."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dardis.kernels.jit import Fields, bare, folded, inlined, kernel
from dardis.kernels.job_queue import (
    FRESH,
    GONE,
    HELD,
    HOLD,
    LATEST,
    LEVEL,
    LOOKED_AT,
    NUMBER,
    PLACE,
    REMEMBERED,
    REQUEST,
    RULE,
    SPAN,
    START,
    STARTED,
    SUBMIT,
    UNBOUND,
    UNITS,
    WHOLE,
    PassBuffers,
    QueueArrays,
    Rules,
)
from dardis.kernels.limit_row import charge, permits
from dardis.kernels.node_search import AT_ONCE, FOUND, find, fits_now, may_exceed, rounds_until, take
from dardis.kernels.offers import Scratch
from dardis.kernels.passes import BEGUN, STAYS, begin, cannot_start, count_free
from dardis.kernels.profile import DONE, FULL, book
from dardis.kernels.published_profiles import count_changed
from dardis.kernels.rows import Rows, ensure_space
from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.job import FOREVER, SHORTEST_WINDOW_S
from dardis.model.offer_rows import HOST_RESERVES, MANAGER_RESERVES

BLOCKED, ASLEEP = 30, 31
"""Results: the job may reserve; the job waits for sleeping nodes."""
BOOKS_FULL, NODES_FULL, LIMIT_FULL = 32, 33, 34
"""Results: enlarge reservations, nodes of jobs, or the shared limit."""
HEAD_START_S = 21_600
"""Added to each wait: no key is 0."""
SIZE: Final = 1
"""Column of `keys`: expected runtime times cores^(3/4)."""
COPIED_COLUMNS: Final = LATEST + 1
"""Leading columns in `list_tried`; `START` and request follow."""

# ----------------------------------------------------------------------------------------------------------------------
# The order.


@inlined
def goes_before(table: Ints, keys: Floats, a: int, b: int, oldest: int) -> bool:
    """Whether job a precedes b."""
    if table[a, NUMBER] == oldest or table[b, NUMBER] == oldest:
        return table[a, NUMBER] == oldest
    if table[a, LEVEL] != table[b, LEVEL]:
        return table[a, LEVEL] > table[b, LEVEL]
    if keys[a, 0] != keys[b, 0]:
        return keys[a, 0] > keys[b, 0]
    if table[a, SUBMIT] != table[b, SUBMIT]:
        return table[a, SUBMIT] < table[b, SUBMIT]
    return table[a, NUMBER] < table[b, NUMBER]


@bare
def put_in_order(table: Ints, slots: Ints, keys: Floats, now: int, oldest: int, spare: Ints) -> int:
    """Sort waiting jobs, `oldest` first; return the first new job's place.

    Key: (wait + 6 h) over the job's `SIZE`. Sorted runs stay in place.
    """
    count = len(slots)
    for slot in slots:
        keys[slot, 0] = np.float64(now - table[slot, SUBMIT] + HEAD_START_S) / keys[slot, SIZE]
    width = 1
    while width < count:
        for low in range(0, count - width, 2 * width):
            middle, high = low + width, min(low + 2 * width, count)
            if goes_before(table, keys, slots[middle], slots[middle - 1], oldest):
                for place in range(low, middle):
                    spare[place] = slots[place]
                left, right, place = low, middle, low
                while left < middle:
                    if right < high and goes_before(table, keys, slots[right], spare[left], oldest):
                        slots[place] = slots[right]
                        right += 1
                    else:
                        slots[place] = spare[left]
                        left += 1
                    place += 1
        width *= 2
    for place in range(count):
        if table[slots[place], FRESH] != 0:
            return place
    return count


@bare
def list_tried(table: Ints, slots: Ints, begin: int, whole: bool, rows: Ints, places: Ints) -> int:
    """Write rows and places of jobs with a turn, from place `begin` on.

    `whole`: all jobs, else new jobs.
    """
    count = 0
    for place in range(begin, len(slots)):
        slot = slots[place]
        if whole or table[slot, FRESH] != 0:
            for c in range(COPIED_COLUMNS):
                rows[count, c] = table[slot, c]
            rows[count, COPIED_COLUMNS] = table[slot, START]
            for k in range(table.shape[1] - REQUEST):
                rows[count, COPIED_COLUMNS + 1 + k] = table[slot, REQUEST + k]
            places[count] = place
            count += 1
    return count


@bare
def write_tried(table: Ints, rows: Ints) -> None:
    """Write the rows of `list_tried` to another table."""
    for place in range(len(rows)):
        for c in range(COPIED_COLUMNS):
            table[place, c] = rows[place, c]
        for c in range(COPIED_COLUMNS, REQUEST):
            table[place, c] = 0
        table[place, START] = rows[place, COPIED_COLUMNS]
        for k in range(table.shape[1] - REQUEST):
            table[place, REQUEST + k] = rows[place, COPIED_COLUMNS + 1 + k]


@bare
def end_turns(table: Ints, slots: Ints) -> int:
    """Remove started jobs from the list; return how many stay."""
    kept = 0
    for slot in slots:
        table[slot, FRESH] = 0
        if table[slot, GONE] == 0:
            slots[kept] = slot
            kept += 1
    return kept


# ----------------------------------------------------------------------------------------------------------------------
# Turns of a task manager, on published profiles.


@inlined
def some_sleep(member: Ints, awake: Ints) -> bool:
    """Whether nodes sleep."""
    for node in range(len(member)):
        for word in range(member.shape[1]):
            if awake[node, word] != member[node, word]:
                return True
    return False


@folded
def _take_turn(
    rows: Rows,
    member: Ints,
    queue: QueueArrays,
    rules: Rules,
    room: PassBuffers,
    limit: Rows,
    need: Ints,
    awake: Ints,
    now: int,
    stop: int,
    reserving: int,
) -> int:
    table, state = queue.table, room.state
    sleeps, limited = some_sleep(member, awake), len(limit.size) > 0
    while state[PLACE] < stop:
        slot = queue.lists[RULE, state[PLACE]]
        if table[slot, GONE] == 0 and (state[WHOLE] or table[slot, FRESH]):
            starts = not cannot_start(table, slot, room)
            if starts and limited and not may_exceed(rules, table, slot, now):
                starts = permits(limit, need[slot], now, now + table[slot, SPAN])
            if starts and not fits_now(rows, awake, table, slot, rules, now, AT_ONCE):
                if sleeps and fits_now(rows, member, table, slot, rules, now, AT_ONCE):
                    return ASLEEP
                room.failed[state[LOOKED_AT] % REMEMBERED] = slot
                state[LOOKED_AT] += 1
                starts = False
            if starts:
                if limited and not ensure_space(limit, 0, 2):
                    return LIMIT_FULL
                outcome = begin(rows, awake, queue, slot, rules, room, now)
                if outcome != BEGUN:
                    return outcome
                if limited:
                    charge(limit, need[slot], now, now + table[slot, SPAN], 1)
            elif state[PLACE] < reserving:
                return BLOCKED
        state[PLACE] += 1
    return DONE


@kernel
def _turn(
    rows: Fields, member: Ints, queue: Fields, rules: Fields, room: Fields, scratch: Fields, limit: Fields,
    awake: Ints, now: int, stop: int, reserving: int,
) -> int:  # fmt: skip
    fields = room + (Scratch(*scratch),)  # noqa: RUF005 (Numba adds tuples, but can't unpack two into one)
    return _take_turn(
        Rows(*rows), member, QueueArrays(*queue), Rules(*rules), PassBuffers(*fields), Rows(*limit[:-1]), limit[-1],
        awake, now, stop, reserving,
    )  # fmt: skip


def take_turn(
    rows: Rows,
    member: Ints,
    queue: QueueArrays,
    rules: Rules,
    room: PassBuffers,
    limit: Rows,
    need: Ints,
    awake: Ints,
    now: int,
    stop: int,
    reserving: int,
) -> int:
    """Continue a turn to place `stop`; return DONE, BLOCKED, ASLEEP, FULL, LIMIT_FULL or ROOM.

    Jobs before place `reserving` may reserve. `awake`: `member` without sleeping nodes. `limit`: rest of a shared limit
    (no rows: none); `need`: taken of it by slot.
    """
    plain = tuple(rows), member, tuple(queue), tuple(rules), room[:-1], tuple(room.scratch)
    return _turn(*plain, (*limit, need), awake, now, stop, reserving)


# ----------------------------------------------------------------------------------------------------------------------
# All turns of an instant at once, on the nodes themselves.

GOT_PLACE, GOT_NUMBER, GOT_START, GOT_END, GOT_COUNT = range(5)
"""Columns: place in the request, number, start, end, number of nodes."""
AT, USED, BOOKED, PUBLISHED_NODES, HEAD, ROUNDS, LONGEST, OPENED, HAS_PUBLISHED = range(9)
"""`BindTask.at`: next job, node entries in use, jobs booked, nodes due to publish, job with reservation (or negative),
rounds, most breakpoints, begun, published.
"""


class BindTask(NamedTuple):
    """Task of `bind` and its results.

    `jobs`: rows. `reserves`: reserving side. `behind`: jobs without a turn follow. Nodes in `changed` changed after
    `since`.
    """

    books: Rows
    changed: Bools
    at: Ints
    got: Ints
    since: int
    jobs: Ints
    reserves: int
    behind: bool


@folded
def _reserve(
    rows: Rows, member: Ints, queue: QueueArrays, slot: int, rules: Rules, room: PassBuffers, at: Ints, now: int
) -> int:
    table, state = queue.table, room.state
    before = table[slot, START]
    span = before - now + 1 if before > now else max(table[slot, SPAN], SHORTEST_WINDOW_S)
    found = find(rows, member, queue, rules, room, slot, UNBOUND, now, FOREVER, now)
    if found != FOUND:
        return found
    start = room.result[1]
    taken = take(rows, queue, slot, start, now)
    if taken != DONE:
        return taken
    at[HEAD] = slot
    at[ROUNDS] = rounds_until(start, now, span)
    room.started[state[STARTED]] = slot
    state[STARTED] += 1
    return DONE


@bare
def note_taken(rows: Rows, queue: QueueArrays, room: PassBuffers, wanted: BindTask, now: int) -> int:
    """Book the jobs that got nodes."""
    table, at = queue.table, wanted.at
    while at[BOOKED] < room.state[STARTED]:
        slot = room.started[at[BOOKED]]
        mine = queue.hold_node[table[slot, HOLD] : table[slot, HOLD] + table[slot, HELD]]
        if book(wanted.books, mine, table[slot, NUMBER], table[slot, START], now) == FULL:
            return BOOKS_FULL
        for node in mine:
            wanted.changed[node] = True
            at[LONGEST] = max(at[LONGEST], rows.size[node])
        row = wanted.got[at[BOOKED]]
        row[GOT_PLACE], row[GOT_NUMBER], row[GOT_COUNT] = slot, table[slot, NUMBER], len(mine)
        row[GOT_START], row[GOT_END] = table[slot, START], table[slot, START] + table[slot, SPAN]
        at[USED] += len(mine)
        at[BOOKED] += 1
    return DONE


@folded
def _start(rows: Rows, member: Ints, queue: QueueArrays, slot: int, rules: Rules, room: PassBuffers, now: int) -> int:
    if cannot_start(queue.table, slot, room):
        return STAYS
    if fits_now(rows, member, queue.table, slot, rules, now, AT_ONCE):
        return begin(rows, member, queue, slot, rules, room, now)
    room.failed[room.state[LOOKED_AT] % REMEMBERED] = slot
    room.state[LOOKED_AT] += 1
    return STAYS


@folded
def _bind(
    rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, room: PassBuffers, wanted: BindTask, now: int
) -> int:
    # Nodes publish first, and after a reservation if jobs follow.
    table, at, count = queue.table, wanted.at, len(wanted.jobs)
    if at[OPENED] == 0:
        at[OPENED] = 1
        write_tried(table, wanted.jobs)
        at[PUBLISHED_NODES] += count_changed(rows, wanted.since, now, wanted.changed)
        count_free(rows, room.free, now)
        room.state[STARTED] = room.state[LOOKED_AT] = 0
    while True:
        if note_taken(rows, queue, room, wanted, now) == BOOKS_FULL:
            return BOOKS_FULL
        if at[HEAD] >= 0 and at[HAS_PUBLISHED] == 0:
            at[HAS_PUBLISHED] = 1
            at[PUBLISHED_NODES] += (
                count_changed(rows, now, now, wanted.changed) if wanted.behind or at[AT] < count else 0
            )
        if at[AT] == count:
            return DONE
        slot = at[AT]
        if at[USED] + min(table[slot, UNITS], len(member)) > len(queue.hold_node):
            return NODES_FULL
        table[slot, HOLD] = at[USED]
        outcome = _start(rows, member, queue, slot, rules, room, now)
        if outcome == STAYS and wanted.reserves == MANAGER_RESERVES:
            return BLOCKED
        if outcome == STAYS and wanted.reserves == HOST_RESERVES and at[HEAD] < 0:
            outcome = _reserve(rows, member, queue, slot, rules, room, at, now)
        if outcome not in (BEGUN, STAYS, DONE):
            return outcome
        at[AT] += 1


@kernel
def _bind_all(
    rows: Fields, member: Ints, queue: Fields, rules: Fields, room: Fields, scratch: Fields, books: Fields,
    wanted: Fields, now: int,
) -> int:  # fmt: skip
    fields = room + (Scratch(*scratch),)  # noqa: RUF005 (Numba adds tuples, but can't unpack two into one)
    rest = (Rows(*books),) + wanted  # noqa: RUF005
    return _bind(Rows(*rows), member, QueueArrays(*queue), Rules(*rules), PassBuffers(*fields), BindTask(*rest), now)


def bind(
    rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, room: PassBuffers, wanted: BindTask, now: int
) -> int:
    """Start jobs that fit; the first other job reserves.

    Returns DONE, BLOCKED (the asker reserves) or NOTHING (a defect).
    """
    plain = tuple(rows), member, tuple(queue), tuple(rules), room[:-1], tuple(room.scratch)
    return _bind_all(*plain, tuple(wanted.books), wanted[1:], now)
