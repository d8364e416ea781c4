"""Allocation rounds in one call, for a task manager and nodes that share a process."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dardis.kernels.common_starts import NONE, CandidateStart, NodeSelection, choose_nodes, earliest_start
from dardis.kernels.free_capacity_index import (
    BASE,
    HEAP,
    LATER,
    WHOLE,
    Changes,
    FreeCapacityIndex,
    catch_up,
    units_of_empty,
)
from dardis.kernels.jit import Fields, bare, folded, inlined, kernel
from dardis.kernels.node_search import last_change, rounds_until
from dardis.kernels.offers import (
    OUT_OF_SPACE,
    HeldReservations,
    Nodes,
    OfferRules,
    OfferTask,
    QueriedNodes,
    QueryBatch,
    Scratch,
    append_offers,
    may_run,
    up_from,
)
from dardis.kernels.profile import DONE, FULL, REFUSED, book, bring_forward, rebook, release, reserve, unbook
from dardis.kernels.rows import Rows, ensure_space, find, forget_before
from dardis.kernels.startable_jobs import UNKNOWN, SelectedNodes, find_later_nodes, latest_of, nodes_now
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER
from dardis.model.offer_rows import QueryArrays

PROFILES_FULL, BOOKS_FULL, NOTHING = 20, 21, 22
"""Results: enlarge these rows and call again; no start found."""
AS_IT_IS = 23
BEFORE: Final = np.int64(0)
"""Offers in `out` before the job's."""


class RoundPool(NamedTuple):
    """Reservations, capacity (nodes, kinds), selection rule and free-capacity index."""

    books: Rows
    capacity: Ints
    choice: NodeSelection
    changes: Changes
    index: FreeCapacityIndex


class RoundResults(NamedTuple):
    """Results by job: start (NONE: none), nodes, rounds, refusing node.

    Job i's nodes and units begin at `at[i]`. `place` (1,) is the next job.
    """

    start: Ints
    count: Ints
    rounds: Ints
    refuser: Ints
    """Place among the job's nodes; negative: unknown."""
    at: Ints
    nodes: Ints
    units: Ints
    place: Ints


@folded
def _instant_of(question: OfferTask, i: int, count: int, choice: NodeSelection) -> int:
    return earliest_start(question.out[:count], question.batch.asks.units[i], choice.distinct)


@folded
def _take_at(question: OfferTask, i: int, count: int, instant: int, choice: NodeSelection, found: RoundResults) -> None:
    asks = question.batch.asks
    start = CandidateStart(instant, asks.first[i], asks.walltime[i], asks.units[i], asks.job[i], asks.draw_key[i])
    nodes, node_units = found.nodes[found.at[i] : found.at[i + 1]], found.units[found.at[i] : found.at[i + 1]]
    found.count[i] = choose_nodes(question.out[:count], start, choice, nodes, node_units)
    found.start[i] = asks.first[i] + instant


@folded
def _start_now(question: OfferTask, pool: RoundPool, found: RoundResults) -> int:
    nodes, asks, now = question.nodes, question.batch.asks, question.now
    catch_up(nodes.rows, nodes.member, pool.capacity, pool.changes, pool.index, asks.request[0], asks.groups[0], now)
    if asks.first[0] != now:
        return UNKNOWN
    start = CandidateStart(np.int64(0), now, asks.walltime[0], asks.units[0], asks.job[0], asks.draw_key[0])
    taken = SelectedNodes(found.nodes, found.units)
    return nodes_now(nodes, pool.changes, pool.index, start, asks.request[0], pool.choice, taken)


@folded
def _start_later(question: OfferTask, pool: RoundPool, found: RoundResults, span: int) -> int:
    # The index limits asks to nodes that can hold a unit in time.
    nodes, asks, openings, choice = question.nodes, question.batch.asks, pool.index, pool.choice
    none = question.batch.queried.node
    knows = len(openings.key) > 0
    could = when = none
    needed = np.int64(1)
    earliest, attempt = asks.first[0], asks.draw_key[0]
    first, last, limit = earliest, earliest + span - 1, np.int64(NONE)
    if knows:
        could = np.empty(len(openings.key), dtype=np.int64)
        when = np.empty(len(openings.key), dtype=np.int64)
        needed = asks.units[0] if choice.distinct else -(-asks.units[0] // max(openings.about[WHOLE], 1))
        if needed <= HEAP:
            last = openings.about[BASE] + LATER - 1
    outcome = np.int64(NOTHING)
    while True:
        asked = question.batch.queried
        if knows:
            soonest = needed if limit == NONE and needed <= HEAP else np.int64(0)
            able = find_later_nodes(
                nodes.rows, openings, asks.request[0], asks.walltime[0], first, last, question.now, soonest, could, when
            )
            if soonest > 0 and able >= needed:
                last = latest_of(when, able)
            asked = QueriedNodes(np.array([0, able if able >= needed else 0]), could[:able], none)
        asks.first[0], asks.last[0] = first, last
        some = OfferTask(
            nodes, QueryBatch(asks, question.batch.held, asked), question.rules, question.now, question.scratch,
            question.out, question.offset,
        )  # fmt: skip
        count = append_offers(some, 0, np.int64(0), len(nodes.member), BEFORE)
        if count == OUT_OF_SPACE:
            outcome = OUT_OF_SPACE
            break
        instant = _instant_of(question, 0, count, choice)
        if instant != NONE:
            found.rounds[0] = rounds_until(first + instant, earliest, span)
            asks.draw_key[0] = attempt + found.rounds[0] - 1
            _take_at(question, 0, count, instant, choice, found)
            outcome = DONE
            break
        if limit == NONE:
            limit = max(last_change(nodes.rows), earliest)
        if last >= limit:
            break
        first, last = last + 1, min(limit, last + max(2 * (last + 1 - first), span))
    asks.first[0], asks.draw_key[0] = earliest, attempt
    return outcome


@folded
def _seek(question: OfferTask, pool: RoundPool, found: RoundResults, span: int) -> int:
    nodes, asks, now = question.nodes, question.batch.asks, question.now
    rows = nodes.rows
    found.start[0] = NONE
    found.rounds[0] = 0
    count = _start_now(question, pool, found) if len(pool.index.key) > 0 else UNKNOWN
    if count > 0:
        found.start[0], found.count[0], found.rounds[0] = now, count, 1
    else:
        outcome = _start_later(question, pool, found, span)
        if outcome != DONE:
            return outcome
    mine = found.nodes[: found.count[0]] - nodes.first
    units, start = found.units[: found.count[0]], found.start[0]
    for i in range(len(mine)):
        if not ensure_space(pool.books, mine[i], np.int64(1)):
            return BOOKS_FULL
    done = reserve(rows, mine, units, asks.request[0], start, start + asks.walltime[0], now)
    if done != DONE:
        return PROFILES_FULL if done == FULL else REFUSED
    book(pool.books, mine, asks.job[0], start, now)
    return DONE


@inlined
def needs_all(question: OfferTask, pool: RoundPool, i: int, refuser: int) -> bool:
    """Whether the job needs all units its nodes hold, or a refuser is known."""
    asks, held = question.batch.asks, question.batch.held
    if refuser >= 0 or held.offset[i + 1] - held.offset[i] == 1:
        return True
    most = np.int64(0)
    for place in range(held.offset[i], held.offset[i + 1]):
        whole = units_of_empty(pool.capacity, held.node[place], asks.request[i])
        most += min(whole, 1) if pool.choice.distinct else whole
    return most == asks.units[i]


@inlined
def holds_from(rows: Rows, node: int, request: Ints, units: int, first: int, walltime: int, before: int) -> int:
    """First time from `first` on when a node holds the units for `walltime` s.

    None before `before`: no earlier result.
    """
    begin = first
    place = np.uint64(max(find(rows, node, first), rows.head[node]))
    stop = np.uint64(rows.head[node] + rows.size[node])
    while place < stop and rows.time[place] < min(begin + walltime, before):
        fits = True
        for k in range(len(request)):
            fits &= rows.value[place, k] >= request[k] * units
        place += np.uint64(1)
        if not fits:
            begin = rows.time[place] if place < stop else FOREVER
    return begin


@bare
def start_of_all(question: OfferTask, i: int, refuser: Ints) -> int:
    """First earlier start offered by all the job's nodes, or NONE."""
    # The node in `refuser` is tried first, as it mostly refuses again.
    nodes, asks, held = question.nodes, question.batch.asks, question.batch.held
    low, count = held.offset[i], held.offset[i + 1] - held.offset[i]
    walltime, last, own = asks.walltime[i], asks.last[i], held.start[i]
    begin, agreed = asks.first[i], np.int64(0)
    place = refuser[i] if 0 <= refuser[i] < count else np.int64(0)
    while agreed < count:
        node = held.node[low + place]
        up = up_from(nodes, node, question.now)
        start = np.int64(FOREVER)
        if may_run(question, i, node, up):
            units = held.units[low + place]
            start = holds_from(nodes.rows, node, asks.request[i], units, max(begin, up), walltime, own)
        if start > last:
            refuser[i] = place
            return NONE
        agreed = agreed + 1 if start == begin else np.int64(1)
        begin = start
        place = place + 1 if place + 1 < count else np.int64(0)
    return begin


@folded
def _find_earlier(question: OfferTask, pool: RoundPool, found: RoundResults, i: int) -> int:
    asks, held, rows = question.batch.asks, question.batch.held, question.nodes.rows
    low, high = held.offset[i], held.offset[i + 1]
    found.start[i] = NONE
    if asks.last[i] < held.start[i] and needs_all(question, pool, i, found.refuser[i]):
        found.start[i] = start_of_all(question, i, found.refuser)
        if found.start[i] == NONE:
            return NOTHING
        found.count[i] = high - low
        for place in range(low, high):
            found.nodes[place], found.units[place] = held.node[place] + question.nodes.first, held.units[place]
        return AS_IT_IS
    for place in range(low, high):  # moves of other jobs may have made the profile longer
        if rows.size[held.node[place]] + 4 > len(question.scratch.time):
            return OUT_OF_SPACE
    count = append_offers(question, i, np.int64(0), len(question.nodes.member), BEFORE)
    if count == OUT_OF_SPACE:
        return OUT_OF_SPACE
    instant = _instant_of(question, i, count, pool.choice) if count > 0 else NONE
    if instant == NONE:
        return NOTHING
    _take_at(question, i, count, instant, pool.choice, found)
    return DONE


@folded
def _move(question: OfferTask, pool: RoundPool, found: RoundResults, i: int) -> int:
    asks, held, now = question.batch.asks, question.batch.held, question.now
    rows, books = question.nodes.rows, pool.books
    low, high = held.offset[i], held.offset[i + 1]
    for place in range(low, high):
        # Release and reserve below use the same nodes.
        if not ensure_space(rows, held.node[place], np.int64(4)):
            return PROFILES_FULL
        if not ensure_space(books, held.node[place], np.int64(1)):
            return BOOKS_FULL
    old, old_units = held.node[low:high], held.units[low:high]
    unbook(books, old, asks.job[i], held.start[i])
    begin = max(held.start[i], now)
    if begin < held.end[i]:
        release(rows, old, old_units, asks.request[i], begin, held.end[i], now)
    mine = found.nodes[low : low + found.count[i]] - question.nodes.first
    units, start = found.units[low : low + found.count[i]], found.start[i]
    if reserve(rows, mine, units, asks.request[i], start, start + asks.walltime[i], now) != DONE:
        return REFUSED
    book(books, mine, asks.job[i], start, now)
    return DONE


@folded
def _move_as_it_is(question: OfferTask, pool: RoundPool, found: RoundResults, i: int) -> int:
    asks, held, rows = question.batch.asks, question.batch.held, question.nodes.rows
    low, high = held.offset[i], held.offset[i + 1]
    mine, units = held.node[low:high], held.units[low:high]
    for place in range(low, high):
        forget_before(rows, held.node[place], question.now)
        if not ensure_space(rows, held.node[place], np.int64(4)):
            return PROFILES_FULL
    bring_forward(rows, mine, units, asks.request[i], held.start[i], held.end[i], found.start[i])
    return rebook(pool.books, mine, asks.job[i], held.start[i], found.start[i])


@folded
def _improve(question: OfferTask, pool: RoundPool, found: RoundResults) -> int:
    while found.place[0] < len(question.batch.asks.job):
        i = found.place[0]
        outcome = _find_earlier(question, pool, found, i)
        if outcome == DONE:
            outcome = _move(question, pool, found, i)
        elif outcome == AS_IT_IS:
            outcome = _move_as_it_is(question, pool, found, i)
        if outcome not in (DONE, NOTHING):
            return outcome
        found.place[0] += 1
    return DONE


@kernel
def _run(
    nodes: Fields, batch: Fields, rules: Fields, now: int, scratch: Fields, out: Ints, offset: Ints, pool: Fields,
    found: Fields, span: int,
) -> int:  # fmt: skip
    (rows, member, first, ready, boot), (asks, held, asked), (books, capacity, choice, changes, openings) = (
        nodes,
        batch,
        pool,
    )
    question = OfferTask(
        Nodes(Rows(*rows), member, first, ready, boot),
        QueryBatch(QueryArrays(*asks), HeldReservations(*held), QueriedNodes(*asked)),
        OfferRules(*rules), now, Scratch(*scratch), out, offset,
    )  # fmt: skip
    kept = RoundPool(Rows(*books), capacity, NodeSelection(*choice), Changes(*changes), FreeCapacityIndex(*openings))
    return (
        _seek(question, kept, RoundResults(*found), span)
        if span > 0
        else _improve(question, kept, RoundResults(*found))
    )


def run(question: OfferTask, pool: RoundPool, found: RoundResults, span: int) -> int:
    """Reserve one job's earliest start (`span` > 0), or move jobs earlier on their nodes from `place` on (0).

    Windows begin at the ask's `first` with `span` starts, and double up to the last change. Rounds key the draws.
    Returns DONE or NOTHING; REFUSED is a defect.
    """
    nodes, (asks, held, asked), rules, now, scratch, out, offset = question
    plain = tuple(asks), tuple(held), tuple(asked)
    books, capacity, choice, changes, openings = pool
    return _run(
        (tuple(nodes.rows), *nodes[1:]), plain, tuple(rules), now, tuple(scratch), out, offset,
        (tuple(books), capacity, tuple(choice), tuple(changes), tuple(openings)), tuple(found), span,
    )  # fmt: skip
