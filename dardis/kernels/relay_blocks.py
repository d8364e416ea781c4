"""Answers of a tree's host to common asks, without decoding.

A block is a message in wire form (`dardis.model.offer_rows`). An empty result means: decode the message.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.common_starts import NodeSelection
from dardis.kernels.jit import folded, inlined, kernel
from dardis.kernels.offers import (
    OUT_OF_SPACE,
    HeldReservations,
    Nodes,
    OfferRules,
    OfferTask,
    QueriedNodes,
    QueryBatch,
    Scratch,
)
from dardis.kernels.profile import ends
from dardis.kernels.ranking import Tree, add_up, best_of, rank_nodes, sum_offers
from dardis.kernels.rows import Rows
from dardis.model import offer_rows
from dardis.model.arrays import Ints
from dardis.model.job import NO_TIME
from dardis.model.offer_rows import BEST_COLUMNS, CANDIDATES, FIRST, STEP_COLUMNS, SUMS, QueryArrays

_JOBS = offer_rows.NUMBERS + offer_rows.QUERY_NUMBERS + 2 * offer_rows.QUERY_ARRAYS + 1
"""Begin of an ask's first array."""
_ADDED = (SUMS, CANDIDATES)


@inlined
def find_arrays(block: Ints, begin: Ints, size: Ints) -> int:
    """Write begins and lengths of an ask's arrays; return the number of asks, or -1 if malformed."""
    at = offer_rows.NUMBERS + offer_rows.QUERY_NUMBERS
    if (
        len(block) < at
        or block[offer_rows.TAG] != offer_rows.QUERY_TAG
        or block[offer_rows.LENGTH] != len(block)
        or block[offer_rows.GRAIN] < 1
    ):
        return -1
    for array in range(offer_rows.QUERY_ARRAYS):
        dimensions = 2 if array == offer_rows.REQUEST else 1
        if at + dimensions >= len(block) or block[at] != dimensions:
            return -1
        size[array] = 1
        for place in range(at + 1, at + 1 + dimensions):
            if block[place] < 0 or block[place] > len(block):
                return -1
            size[array] *= block[place]
        at += 1 + dimensions
    asks = size[offer_rows.JOB]
    for array in range(offer_rows.QUERY_ARRAYS):
        begin[array] = at
        at += size[array]
        as_many = array <= offer_rows.GROUPS or (array == offer_rows.START and block[offer_rows.WANT] == CANDIDATES)
        if as_many and size[array] != asks:
            return -1
    if at != len(block) or asks <= 0:
        return -1
    for i in range(asks):
        if block[begin[offer_rows.UNITS] + i] < 1 or block[begin[offer_rows.WALLTIME] + i] < 1:
            return -1
    return asks


@folded
def array_of(block: Ints, begin: Ints, length: Ints, array: int) -> Ints:
    """Ask's array."""
    return block[begin[array] : begin[array] + length[array]]


def is_summable(block: Ints) -> bool:
    """Whether a block is an ask with summable answers; kernels check the rest."""
    return len(block) > _JOBS and block[offer_rows.TAG] == offer_rows.QUERY_TAG and block[offer_rows.WANT] in _ADDED


def jobs_of(ask: Ints) -> Ints:
    """Ask's jobs; none if malformed."""
    return ask[_JOBS : _JOBS + max(int(ask[offer_rows.NUMBERS + offer_rows.QUERY_NUMBERS + 1]), 0)]


@folded
def empty_answer(block: Ints, asks: int, rows: int) -> tuple[Ints, int]:
    """Answer with `rows` empty rows, and the begin of its offsets."""
    of_sums = block[offer_rows.WANT] == SUMS
    numbers, columns = (
        (offer_rows.SUMS_NUMBERS, STEP_COLUMNS) if of_sums else (offer_rows.CANDIDATES_NUMBERS, BEST_COLUMNS)
    )
    shapes = offer_rows.NUMBERS + numbers
    offset = shapes + 5
    answer = np.empty(offset + asks + 1 + rows * columns, dtype=np.int64)
    answer[offer_rows.TAG] = offer_rows.SUMS_TAG if of_sums else offer_rows.CANDIDATES_TAG
    answer[offer_rows.LENGTH] = len(answer)
    answer[offer_rows.ROUND] = block[offer_rows.ROUND]
    answer[shapes] = 1
    answer[shapes + 1] = asks + 1
    answer[shapes + 2] = 2
    answer[shapes + 3] = rows
    answer[shapes + 4] = columns
    return answer, offset


@kernel
def answer_block(  # noqa: PLR0913 (as is said below)
    block: Ints, base: Ints, slots: Ints, head: Ints, size: Ints, tail: Ints, time: Ints, value: Ints, member: Ints,
    first: int, ready: Ints, boot: Ints, capacity: Ints, pieces: Ints, weights: Ints, chain: Ints, chosen: Ints,
    next_free: Ints, own_time: Ints, own_value: Ints, out: Ints, rows: Ints, children: Ints, counted: Ints,
    hosts_of: int, held_offset: Ints, held_node: Ints, held_units: Ints, held_start: Ints, held_end: Ints,
    has_desired: bool, seed: int, now: int, incarnation: int, down_until: int,
) -> Ints:  # fmt: skip
    """Answer of a pool to an ask for sums or candidates; [OUT_OF_SPACE]: `out` or `rows` is too short."""
    # Separate fields of Rows, Nodes, Scratch, Tree and Held: unpacking named tuples takes longer than all other work
    # before the nodes.
    begin, length = np.empty(offer_rows.QUERY_ARRAYS, dtype=np.int64), np.empty(offer_rows.QUERY_ARRAYS, dtype=np.int64)
    asks = find_arrays(block, begin, length)
    alike = (
        asks > 0
        and block[offer_rows.HELD_ONLY] == 0
        and block[offer_rows.AS_IF_UP] == 0
        and block[offer_rows.GENERATOR] == FIRST
    )
    if not alike or length[offer_rows.SAMPLE_OFFSET] > 0 or length[offer_rows.REQUEST] != asks * capacity.shape[1]:
        return block[:0].copy()  # asks to some nodes, and draws, need other space
    column = QueryArrays(
        array_of(block, begin, length, offer_rows.JOB), array_of(block, begin, length, offer_rows.DRAW_KEY),
        array_of(block, begin, length, offer_rows.FIRST_START), array_of(block, begin, length, offer_rows.LAST_START),
        array_of(block, begin, length, offer_rows.WALLTIME), array_of(block, begin, length, offer_rows.UNITS),
        array_of(block, begin, length, offer_rows.QUOTA), array_of(block, begin, length, offer_rows.GROUPS),
        array_of(block, begin, length, offer_rows.REQUEST).reshape((asks, capacity.shape[1])),
    )  # fmt: skip
    profiles = Rows(base, slots, head, size, tail, time, value)
    nobody = block[:0]
    question = OfferTask(
        Nodes(profiles, member, first, ready, boot),
        QueryBatch(
            column, HeldReservations(held_offset, held_node, held_units, held_start, held_end),
            QueriedNodes(nobody, nobody, array_of(block, begin, length, offer_rows.NEEDED)),
        ),
        OfferRules(
            block[offer_rows.BINDS] != 0 and has_desired, block[offer_rows.GENERATOR], block[offer_rows.GRAIN], seed
        ), now,
        Scratch(pieces, weights, chain, chosen, next_free, own_time, own_value), out,
        np.empty(asks + 1, dtype=np.int64),
    )  # fmt: skip
    tree, distinct = Tree(hosts_of, children, counted), block[offer_rows.DISTINCT] != 0
    if block[offer_rows.WANT] == SUMS:
        count = sum_offers(question, tree, block[offer_rows.EARLIEST] != 0, distinct, rows)
    else:
        choice = NodeSelection(block[offer_rows.CHOICE], distinct, block[offer_rows.GRAIN], seed)
        count = rank_nodes(question, tree, choice, array_of(block, begin, length, offer_rows.START), incarnation, rows)
    if count == OUT_OF_SPACE:
        return np.full(1, OUT_OF_SPACE, dtype=np.int64)
    answer, at = empty_answer(block, asks, count)
    answer[offer_rows.HOSTS] = 1
    if block[offer_rows.WANT] == SUMS:
        horizon, last_end = ends(profiles, capacity, nobody)
        answer[offer_rows.HORIZON] = max(horizon, down_until)
        answer[offer_rows.LAST_END] = max(last_end, down_until)
        answer[offer_rows.DOWN_UNTIL] = down_until
    answer[at : at + asks + 1] = question.offset
    answer[at + asks + 1 :] = rows[:count].ravel()
    return answer


@inlined
def rows_in(said: Ints, whole: Ints, offset: int, asks: int) -> int:
    """Count the answers' rows; -1: an answer does not match the blank `whole`."""
    total = at = np.int64(0)
    while at < len(said):
        if at + len(whole) > len(said) or said[at + offer_rows.TAG] != whole[offer_rows.TAG]:
            return -1
        for place in range(offset - 5, offset):
            if place != offset - 2 and said[at + place] != whole[place]:
                return -1
        count, size = said[at + offset - 2], said[at + offer_rows.LENGTH]
        if count < 0 or count > len(said) or size != len(whole) + count * whole[offset - 1] or at + size > len(said):
            return -1
        if said[at + offset] != 0 or said[at + offset + asks] != count:
            return -1
        for i in range(asks):
            if said[at + offset + i] > said[at + offset + i + 1]:
                return -1
        total += count
        at += size
    return total


@inlined
def take_rows(said: Ints, offset: int, asks: int, i: int, rows: Ints, end: int) -> int:
    """Append all answers to ask i."""
    at, columns = np.int64(0), rows.shape[1]
    while at < len(said):
        low, high = said[at + offset + i], said[at + offset + i + 1]
        first = at + offset + asks + 1 + low * columns
        for row in range(high - low):
            for c in range(columns):
                rows[end, c] = said[first + row * columns + c]
            end += 1
        at += said[at + offer_rows.LENGTH]
    return end


@kernel
def join_blocks(block: Ints, said: Ints) -> Ints:
    """Merge several hosts' answers into one."""
    begin, length = np.empty(offer_rows.QUERY_ARRAYS, dtype=np.int64), np.empty(offer_rows.QUERY_ARRAYS, dtype=np.int64)
    asks = find_arrays(block, begin, length)
    if asks < 0:
        return block[:0].copy()
    whole, offset = empty_answer(block, asks, 0)
    total = rows_in(said, whole, offset, asks)
    if total < 0:
        return block[:0].copy()
    rows, ends_at = np.empty((total, whole[offset - 1]), dtype=np.int64), np.zeros(asks + 1, dtype=np.int64)
    of_sums, end = block[offer_rows.WANT] == SUMS, np.int64(0)
    for i in range(asks):
        low, units = end, block[begin[offer_rows.UNITS] + i]
        end = take_rows(said, offset, asks, i, rows, low)
        if of_sums:
            end = add_up(rows, low, end, units, block[offer_rows.EARLIEST] != 0)
        else:
            end = best_of(rows, low, end, units, block[offer_rows.CHOICE])
        ends_at[i + 1] = end
    answer, offset = empty_answer(block, asks, end)
    last = offer_rows.DOWN_UNTIL if of_sums else offer_rows.HOSTS
    answer[offer_rows.HOSTS] = 0
    answer[offer_rows.HORIZON : last + 1] = NO_TIME
    at = np.int64(0)
    while at < len(said):
        answer[offer_rows.HOSTS] += said[at + offer_rows.HOSTS]
        for place in range(offer_rows.HORIZON, last + 1):
            answer[place] = max(answer[place], said[at + place])
        at += said[at + offer_rows.LENGTH]
    answer[offset : offset + asks + 1] = ends_at
    answer[offset + asks + 1 :] = rows[:end].ravel()
    return answer
