"""What a host of a tree does with a question that others ask as well: from block to block, without reading it.

A block is a message as it is on the wire (`dardis.model.blocks`). Who can't make out a block says so, by an answer
without anything in it: then it is to be read like any other message.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.jit import folded, inlined, kernel
from dardis.kernels.offers import OUT_OF_SPACE, Asked, Batch, Held, Nodes, OfferRules, Question, Scratch
from dardis.kernels.profile import ends
from dardis.kernels.ranked import best_of, rank_nodes
from dardis.kernels.rows import Rows
from dardis.kernels.selection import Choice
from dardis.kernels.sums import Tree, add_up, sum_offers
from dardis.model.arrays import Ints
from dardis.model.asks import Asks
from dardis.model.blocks import (
    AS_IF_UP, ASK_ARRAYS, ASK_NUMBERS, ASK_TAG, BINDS, CANDIDATES_NUMBERS, CANDIDATES_TAG, CHOICE, DISTINCT, DOWN_UNTIL,
    DRAW_KEY, FIRST_START, GENERATOR, GRAIN, GROUPS, HELD_ONLY, HORIZON, HOSTS, JOB, LAST_END, LAST_START, LENGTH,
    NEEDED, NUMBERS, POLICY, QUOTA, REQUEST, ROUND, SAMPLE, SAMPLE_OFFSET, START, SUMS_NUMBERS, SUMS_TAG, TAG, UNITS,
    WALLTIME, WANT,
)  # fmt: skip
from dardis.model.codes import CANDIDATES, FIRST, MIN_START, SUMS
from dardis.model.job import NO_TIME
from dardis.model.offer_rows import BEST_COLUMNS, STEP_COLUMNS

_JOBS = NUMBERS + ASK_NUMBERS + 2 * ASK_ARRAYS + 1
"""Where the first array of an ask begins; all have one dimension, but one of them two."""
_ADDED = (SUMS, CANDIDATES)


@inlined
def find_arrays(block: Ints, begin: Ints, size: Ints) -> int:
    """Write where an ask's arrays begin and how long they are; return how many asks it holds, -1 if it makes no sense."""
    at = NUMBERS + ASK_NUMBERS
    if len(block) < at or block[TAG] != ASK_TAG or block[LENGTH] != len(block) or block[GRAIN] < 1:
        return -1
    for array in range(ASK_ARRAYS):
        dimensions = 2 if array == REQUEST else 1
        if at + dimensions >= len(block) or block[at] != dimensions:
            return -1
        size[array] = 1
        for place in range(at + 1, at + 1 + dimensions):
            if block[place] < 0 or block[place] > len(block):
                return -1
            size[array] *= block[place]
        at += 1 + dimensions
    asks = size[JOB]
    for array in range(ASK_ARRAYS):
        begin[array] = at
        at += size[array]
        as_many = array <= GROUPS or (array == START and block[WANT] == CANDIDATES)
        if as_many and size[array] != asks:
            return -1
    return asks if at == len(block) and asks > 0 else -1


def adds_up(block: Ints) -> bool:
    """Whether it is an ask of which the answers of many nodes are added up; kernels look at the rest."""
    return len(block) > _JOBS and block[TAG] == ASK_TAG and block[WANT] in _ADDED


def jobs_of(ask: Ints) -> Ints:
    """The jobs that an ask is about; none where it makes no sense."""
    return ask[_JOBS : _JOBS + max(int(ask[NUMBERS + ASK_NUMBERS + 1]), 0)]


@folded
def blank(block: Ints, asks: int, rows: int) -> tuple[Ints, int]:
    """An answer with room for so many rows, all said but what it holds; and where its offsets begin."""
    of_sums = block[WANT] == SUMS
    numbers, columns = (SUMS_NUMBERS, STEP_COLUMNS) if of_sums else (CANDIDATES_NUMBERS, BEST_COLUMNS)
    shapes = NUMBERS + numbers
    offset = shapes + 5
    answer = np.empty(offset + asks + 1 + rows * columns, dtype=np.int64)
    answer[TAG] = SUMS_TAG if of_sums else CANDIDATES_TAG
    answer[LENGTH] = len(answer)
    answer[ROUND] = block[ROUND]
    answer[shapes] = 1
    answer[shapes + 1] = asks + 1
    answer[shapes + 2] = 2
    answer[shapes + 3] = rows
    answer[shapes + 4] = columns
    return answer, offset


@kernel
def answer_block(
    block: Ints, base: Ints, slots: Ints, head: Ints, size: Ints, tail: Ints, time: Ints, value: Ints, group: Ints,
    first: int, ready: Ints, boot: Ints, capacity: Ints, pieces: Ints, weights: Ints, chain: Ints, chosen: Ints,
    next_free: Ints, own_time: Ints, own_value: Ints, out: Ints, rows: Ints, children: Ints, counted: Ints, hosts_of: int,
    held_offset: Ints, held_node: Ints, held_units: Ints, held_start: Ints, held_end: Ints, has_desired: bool,
    seed: int, now: int, incarnation: int, down_until: int,
) -> Ints:  # fmt: skip
    """What a pool answers to an ask for sums or candidates; [OUT_OF_SPACE] where `out` or `rows` is too short.

    They stand one by one, since to look into named tuples takes longer than all else that is done before the nodes are
    asked: the fields of Rows, Nodes, Scratch, Tree and Held.
    """
    begin, length = np.empty(ASK_ARRAYS, dtype=np.int64), np.empty(ASK_ARRAYS, dtype=np.int64)
    asks = find_arrays(block, begin, length)
    alike = asks > 0 and block[HELD_ONLY] == 0 and block[AS_IF_UP] == 0 and block[GENERATOR] == FIRST
    if not alike or length[SAMPLE_OFFSET] > 0 or length[REQUEST] != asks * capacity.shape[1]:
        return block[:0].copy()  # some nodes are asked, or starts are drawn: that needs room of other sizes
    column = Asks(
        block[begin[JOB] : begin[JOB] + asks], block[begin[DRAW_KEY] : begin[DRAW_KEY] + asks],
        block[begin[FIRST_START] : begin[FIRST_START] + asks], block[begin[LAST_START] : begin[LAST_START] + asks],
        block[begin[WALLTIME] : begin[WALLTIME] + asks], block[begin[UNITS] : begin[UNITS] + asks],
        block[begin[QUOTA] : begin[QUOTA] + asks], block[begin[GROUPS] : begin[GROUPS] + asks],
        block[begin[REQUEST] : begin[REQUEST] + length[REQUEST]].reshape((asks, capacity.shape[1])),
    )  # fmt: skip
    profiles = Rows(base, slots, head, size, tail, time, value)
    nobody = block[:0]
    question = Question(
        Nodes(profiles, group, first, ready, boot),
        Batch(
            column, Held(held_offset, held_node, held_units, held_start, held_end),
            Asked(nobody, nobody, block[begin[NEEDED] : begin[NEEDED] + length[NEEDED]]),
        ),
        OfferRules(block[BINDS] != 0 and has_desired, block[GENERATOR], block[GRAIN], seed), now,
        Scratch(pieces, weights, chain, chosen, next_free, own_time, own_value), out, np.empty(asks + 1, dtype=np.int64),
    )  # fmt: skip
    tree, distinct = Tree(hosts_of, children, counted), block[DISTINCT] != 0
    if block[WANT] == SUMS:
        count = sum_offers(question, tree, block[POLICY] == MIN_START, distinct, rows)
    else:
        choice = Choice(block[POLICY], block[CHOICE], distinct, block[GRAIN], seed)
        count = rank_nodes(question, tree, choice, block[begin[START] : begin[START] + asks], incarnation, rows)
    if count == OUT_OF_SPACE:
        return np.full(1, OUT_OF_SPACE, dtype=np.int64)
    answer, at = blank(block, asks, count)
    answer[HOSTS] = 1
    if block[WANT] == SUMS:
        horizon, last_end = ends(profiles, capacity, nobody)
        answer[HORIZON] = max(horizon, down_until)
        answer[LAST_END] = max(last_end, down_until)
        answer[DOWN_UNTIL] = down_until
    answer[at : at + asks + 1] = question.offset
    answer[at + asks + 1 :] = rows[:count].ravel()
    return answer


@kernel
def join_blocks(block: Ints, said: Ints) -> Ints:
    """What several hosts have `said` to an ask for sums or candidates, block after block, as one answer of them all."""
    begin, length = np.empty(ASK_ARRAYS, dtype=np.int64), np.empty(ASK_ARRAYS, dtype=np.int64)
    asks = find_arrays(block, begin, length)
    nothing = block[:0].copy()
    if asks < 0:
        return nothing
    total = np.int64(0)
    whole, offset = blank(block, asks, 0)
    columns = whole[offset - 1]
    at = np.int64(0)
    while at < len(said):
        if at + offset > len(said) or said[at + TAG] != whole[TAG]:
            return nothing
        for place in range(offset - 5, offset):
            if place != offset - 2 and said[at + place] != whole[place]:
                return nothing
        count, size = said[at + offset - 2], said[at + LENGTH]
        if count < 0 or count > len(said) or size != len(whole) + count * columns or at + size > len(said):
            return nothing
        if said[at + offset] != 0 or said[at + offset + asks] != count:
            return nothing
        for i in range(asks):
            if said[at + offset + i] > said[at + offset + i + 1]:
                return nothing
        total += count
        at += size
    rows, held = np.empty((total, columns), dtype=np.int64), np.zeros(asks + 1, dtype=np.int64)
    of_sums, end = block[WANT] == SUMS, np.int64(0)
    for i in range(asks):
        low, at = end, np.int64(0)
        while at < len(said):
            first = at + offset + asks + 1 + said[at + offset + i] * columns
            for row in range(said[at + offset + i + 1] - said[at + offset + i]):
                for c in range(columns):
                    rows[end, c] = said[first + row * columns + c]
                end += 1
            at += said[at + LENGTH]
        units = block[begin[UNITS] + i]
        if of_sums:
            end = add_up(rows, low, end, units, block[POLICY] == MIN_START)
        else:
            end = best_of(rows, low, end, units, block[CHOICE])
        held[i + 1] = end
    answer, offset = blank(block, asks, end)
    answer[HOSTS] = 0
    if of_sums:
        answer[HORIZON : DOWN_UNTIL + 1] = NO_TIME
    at = np.int64(0)
    while at < len(said):
        answer[HOSTS] += said[at + HOSTS]
        if of_sums:
            for place in range(HORIZON, DOWN_UNTIL + 1):
                answer[place] = max(answer[place], said[at + place])
        at += said[at + LENGTH]
    answer[offset : offset + asks + 1] = held
    answer[offset + asks + 1 :] = rows[:end].ravel()
    return answer
