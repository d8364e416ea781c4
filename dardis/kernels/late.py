"""A turn of a task manager in the late set-up: in order, who of its jobs starts now, by what nodes have published."""

from __future__ import annotations

from dardis.kernels.jit import Fields, folded, kernel
from dardis.kernels.offers import Scratch
from dardis.kernels.passes import BEGUN, begin, hopeless
from dardis.kernels.profile import DONE
from dardis.kernels.queue import FRESH, GONE, LOOKED_AT, PLACE, REMEMBERED, RULE, WHOLE, Queue, Room, Rules
from dardis.kernels.rows import Rows
from dardis.kernels.search import AT_ONCE, fits_now
from dardis.model.arrays import Ints

BLOCKED, ASLEEP = 30, 31
"""The job at the turn's place can't start, and may reserve; it could start if all nodes were up."""


@folded
def _take_turn(
    rows: Rows, group: Ints, queue: Queue, rules: Rules, room: Room, awake: Ints, now: int, stop: int, reserving: int
) -> int:
    """Go on over the list until its place `stop`. Answers DONE, BLOCKED, ASLEEP, or FULL or ROOM: then call it again.

    Jobs at places before `reserving` may reserve. A job that is started takes what it needs from the view. `awake` is
    `group`, but that nodes which can't start anything now are in no group.
    """
    table, state = queue.table, room.state
    sleeps = False
    for node in range(len(group)):
        sleeps = sleeps or awake[node] != group[node]
    while state[PLACE] < stop:
        slot = queue.lists[RULE, state[PLACE]]
        if table[slot, GONE] == 0 and (state[WHOLE] or table[slot, FRESH]):
            starts = not hopeless(table, slot, room)
            if starts and not fits_now(rows, awake, table, slot, rules, now, AT_ONCE):
                if sleeps and fits_now(rows, group, table, slot, rules, now, AT_ONCE):
                    return ASLEEP
                room.failed[state[LOOKED_AT] % REMEMBERED] = slot
                state[LOOKED_AT] += 1
                starts = False
            if starts:
                outcome = begin(rows, awake, queue, slot, rules, room, now)
                if outcome != BEGUN:
                    return outcome
            elif state[PLACE] < reserving:
                return BLOCKED
        state[PLACE] += 1
    return DONE


@kernel
def _turn(
    rows: Fields, group: Ints, queue: Fields, rules: Fields, room: Fields, scratch: Fields, awake: Ints, now: int,
    stop: int, reserving: int,
) -> int:  # fmt: skip
    fields = room + (Scratch(*scratch),)  # noqa: RUF005 (Numba adds tuples, but can't unpack two into one)
    return _take_turn(Rows(*rows), group, Queue(*queue), Rules(*rules), Room(*fields), awake, now, stop, reserving)


def take_turn(
    rows: Rows, group: Ints, queue: Queue, rules: Rules, room: Room, awake: Ints, now: int, stop: int, reserving: int
) -> int:
    """`_take_turn`, from Python."""
    plain = tuple(rows), group, tuple(queue), tuple(rules), room[:-1], tuple(room.scratch)
    return _turn(*plain, awake, now, stop, reserving)
