"""Compiles the kernels ahead of the first run (`python -m dardis.kernels.warm`), so that runs find them on disk.

`python -m dardis.kernels.warm past plan late` compiles only those that are named (`ROOTS`).
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import wraps
from inspect import signature
from multiprocessing.synchronize import Lock
from typing import TYPE_CHECKING, Final, TypeVar, cast

import numba
import numpy as np

from dardis.kernels import offers, profile, queue, selection
from dardis.kernels.jit import TELLER, compiled_by_one
from dardis.kernels.openings import NO_CHANGES, NO_OPENINGS
from dardis.kernels.rows import Rows, make_rows
from dardis.model.arrays import Ints
from dardis.model.asks import Asks
from dardis.model.codes import BEST_FIT, FIRST, FIRST_FIT, HOST_RESERVES, MIN_START, UNIFORM
from dardis.model.job import FOREVER, NO_TIME
from dardis.model.offer_rows import BEST_COLUMNS, OFFER_COLUMNS, STEP_COLUMNS

if TYPE_CHECKING:
    from dardis.kernels.sums import Tree

Warmed = TypeVar("Warmed", bound=Callable[..., None])


def _by_one(warm: Warmed) -> Warmed:
    """Let one process compile what `warm` calls, and others wait for it."""

    @wraps(warm)
    def alone(**options: bool) -> None:
        bound = signature(warm).bind(**options)
        bound.apply_defaults()
        what = "-".join([warm.__name__, *(name for name, stated in bound.arguments.items() if stated)])
        with compiled_by_one(what):
            warm(**options)

    return cast("Warmed", alone)


def _two_nodes() -> Rows:
    """The profiles of two empty nodes."""
    rows = make_rows(2, 1, 8, np.int32)
    rows.time[rows.head] = NO_TIME
    rows.value[rows.head] = 4
    rows.size[:] = 1
    return rows


_CHOICE: Final = selection.Choice(MIN_START, BEST_FIT, distinct=False, grain=60, seed=1)


def _question(rows: Rows, kind: int, grain: int) -> offers.Question:
    """What one job asks two nodes, on one of which it holds something."""
    node, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    asks = Asks(
        job=one, draw_key=one, first=0 * one, last=99 * one, walltime=3 * one, units=one, quota=2 * one, groups=one,
        request=np.ones((1, 1), dtype=np.int64),
    )  # fmt: skip
    ends = np.array([0, 1], dtype=np.int64)
    held = offers.Held(ends, node, one, np.array([5], dtype=np.int64), np.array([9], dtype=np.int64))
    member, none = np.ones((2, 1), dtype=np.int64), np.zeros(0, dtype=np.int64)
    asked = offers.Asked(ends[:0], node[:0], node[:0])
    nodes, batch = offers.Nodes(rows, member, 0, none, none), offers.Batch(asks, held, asked)
    rules = offers.OfferRules(binds=False, kind=kind, grain=grain, seed=1)
    out, offset = np.empty((16, OFFER_COLUMNS), dtype=np.int64), np.empty(2, dtype=np.int64)
    return offers.Question(nodes, batch, rules, 0, offers.make_scratch(8, rows, 2, 2), out, offset)


@_by_one
def warm_pool() -> None:
    """Call the kernels of nodes and of who asks them, once, with the types that they get (from disk where they lie)."""
    rows = _two_nodes()
    capacity = np.full((2, 1), 4, dtype=np.int64)
    node, one, request = (np.array([value], dtype=np.int64) for value in (0, 1, 1))
    profile.reserve(rows, node, one, request, 5, 9, 0)
    profile.ends(rows, capacity, node[:0])
    for kind, grain in ((FIRST, 1), (UNIFORM, 60)):
        question = _question(rows, kind, grain)
        offers.answer_to(question)
    out, offset = question.out, question.offset
    result = np.empty(3, dtype=np.int64)
    selection.first_start(out[: offset[1]], offset, question.batch.asks, 0, _CHOICE, node.copy(), one.copy(), result)
    profile.release(rows, node, one, request, 5, 9, 0)
    books = make_rows(2, 1, 4, np.int64)
    profile.book(books, node, 7, 5, 0)
    profile.later_jobs(books, node, 0, one, out[0])
    profile.unbook(books, node, 7, 5)


@_by_one
def warm_at_once() -> None:
    """The same for rounds that a host with all nodes holds by itself, beside `warm_pool`."""
    from dardis.kernels import at_once

    rows, zero, one = _two_nodes(), np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    question, books = _question(rows, FIRST, 1), make_rows(2, 1, 4, np.int64)
    at = np.array([0, 1], dtype=np.int64)
    found = at_once.Found(zero.copy(), zero.copy(), zero.copy(), zero.copy(), at, zero.copy(), zero.copy(), one)
    pool = at_once.Pool(books, np.full((2, 1), 4, dtype=np.int64), _CHOICE, NO_CHANGES, NO_OPENINGS)
    at_once.run(question, pool, found, 0)


@_by_one
def warm_reach() -> None:
    """The same for task managers that sum offers up a tree, or ask some nodes only, beside `warm_pool`."""
    from dardis.kernels import ranked, sample, sums

    question = _question(_two_nodes(), FIRST, 1)
    node, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    steps, best = np.zeros((64, STEP_COLUMNS), np.int64), np.ones((64, BEST_COLUMNS), np.int64)
    tree = sums.Tree(1, np.array([1, 0]), np.zeros(2, dtype=np.int64))
    sums.sum_offers(question, tree, True, False, steps)
    sums.choose_of_sums(steps, question.offset, one, MIN_START, 1, one, one, node.copy())
    ranked.rank_nodes(question, tree, _CHOICE, one, 0, best)
    ranked.take_best(best[:1], 1, BEST_FIT, node.copy(), one.copy())
    _warm_relayed(question, tree, steps)
    sample.draw_sample(1, 1, 1, node, 4 * one, np.zeros(8, dtype=np.int64), node.copy())


def _warm_relayed(question: offers.Question, tree: Tree, steps: Ints) -> None:
    """The same for what is handed on in blocks."""
    from dardis.kernels import relayed

    block = np.zeros(8, dtype=np.int64)
    nodes, held = question.nodes, question.batch.held
    relayed.answer_block(
        block, *nodes.rows, nodes.member, 0, nodes.ready, nodes.boot, 0 * nodes.member, *question.scratch,
        question.out, steps, tree.children, tree.counted, tree.block, *held, False, 1, 0, 0, 0,
    )  # fmt: skip
    relayed.join_blocks(block, block)


def _two_wait(strict: bool) -> tuple[Rows, Ints, queue.Queue, queue.Rules, queue.Room]:
    """Two nodes, and two jobs of which the second never fits; they have just arrived."""
    rows, member = _two_nodes(), np.ones((2, 1), dtype=np.int64)
    waiting = queue.make_queue(2, 1)
    room = queue.make_room(1, offers.make_scratch(8, rows, 0, 0), 16, 2)
    rules = queue.Rules(strict, True, 1, queue.UNBOUND, False, False, FIRST_FIT, 1)
    for slot, units in enumerate((2, 8)):
        waiting.table[slot] = (slot, 0, 5, units, 1, FOREVER, 0, 0, 0, 1, NO_TIME, 0, 0, 0, 0, 0, 0, 0, 1)
        waiting.lists[queue.ARRIVED, slot] = slot
    waiting.size[queue.ARRIVED] = 2
    return rows, member, waiting, rules, room


def _warm_wishes(rows: Rows, member: Ints, waiting: queue.Queue, rules: queue.Rules, room: queue.Room) -> None:
    """Call what looks at who waits beside a desired profile."""
    from dardis.kernels import passes, search

    search.find(rows, member, waiting, rules, room, 1, queue.UNBOUND, 0, FOREVER, 0)
    passes.withdraw(rows, waiting, 1, 0)


@_by_one
def warm_pass() -> None:
    """The same for a pass over a queue, by which the past is replayed that a plan looks at."""
    from dardis.kernels import passes

    passes.pass_over(*_two_wait(strict=True), 0)


@_by_one
def warm_queue(*, wished: bool = True) -> None:
    """The same for a run of a central dispatcher, with what only a desired profile needs if one is `wished`."""
    from dardis.kernels import passes, shapes

    nodes_and_jobs = _two_wait(strict=True)
    passes.pass_over(*nodes_and_jobs, 0)
    shapes.holds_alone(*nodes_and_jobs, 1, 0)
    if wished:
        _warm_wishes(*nodes_and_jobs)


@_by_one
def warm_replan(*, wished: bool = True) -> None:
    """The same for a run of a dispatcher that plans who waits anew."""
    from dardis.kernels import replan
    from dardis.kernels.ahead import make_ahead

    nodes_and_jobs = _two_wait(strict=False)
    base = np.array([NO_TIME], dtype=np.int64), np.array([[8]], dtype=np.int64)
    ahead = make_ahead(*base, 2, 2)
    replan.pass_over(*nodes_and_jobs, replan.Planning(2, 2, False, False), ahead, 0)
    replan.adopt(ahead, nodes_and_jobs[2].table, np.arange(2), 0)
    if wished:
        _warm_wishes(*nodes_and_jobs)


@_by_one
def warm_asking(*, wished: bool = True) -> None:
    """The same for a run of a dispatcher that asks models: the pass, and the answers that come first."""
    from dardis.kernels import chosen, passes, search
    from dardis.kernels.ahead import schedule_or_postpone

    nodes_and_jobs = _two_wait(strict=False)
    rows, _, waiting, rules, room = nodes_and_jobs
    chosen.open_pass(*nodes_and_jobs, 0)
    chosen.anybody_could_start(*nodes_and_jobs, 0)
    chosen.begin_if_it_fits(*nodes_and_jobs, 0, 0)
    waiting.hold_node[1], waiting.hold_units[1] = 1, 1
    waiting.table[1, queue.HOLD], waiting.table[1, queue.HELD] = 1, 1
    chosen.begin_there(rows, waiting, room, 1, 0)
    room.state[queue.STARTED] = 0
    chosen.begin_parts_there(rows, waiting, room, 1, 0, 0)
    passes.close(waiting, rules, room, 0)
    steps = np.zeros((8, 1), dtype=np.int64)
    one = np.ones((1, 1), dtype=np.int64)
    schedule_or_postpone(steps[:, 0].copy(), steps, 1, one, one[0], one[0].copy())
    warm_first()
    warm_positions()
    if wished:
        search.binding_of(rules, waiting.table, 1, 0)
        _warm_wishes(*_two_wait(strict=False))


@_by_one
def warm_late() -> None:
    """The same for a run that binds late, beside `warm_pool`."""
    from dardis.kernels import late, passes, search, view

    rows, member, node = _two_nodes(), np.ones((2, 1), dtype=np.int64), np.zeros(1, dtype=np.int64)
    waiting = queue.make_queue(2, 1)
    room = queue.make_room(1, offers.make_scratch(8, rows, 0, 0), 16, 2)
    rules = queue.Rules(False, False, 1, queue.UNBOUND, False, False, BEST_FIT, 1)
    waiting.table[0] = (0, 0, 5, 2, 1, FOREVER, 0, 0, 0, 1, NO_TIME, 0, 0, 0, 0, 0, 0, 0, 1)
    passes.count_free(rows, room.free, 0)
    search.fits_now(rows, member, waiting.table, 0, rules, 0, 0)
    late.put_in_order(waiting.table, waiting.lists[queue.RULE, :1], waiting.keys, 0, 0, -1, node.copy())
    tried = np.empty((1, late.SAID + 2), dtype=np.int64)
    late.list_tried(waiting.table, waiting.lists[queue.RULE, :1], 0, True, tried, node)
    late.end_turns(waiting.table, waiting.lists[queue.RULE, :1])
    books, at, changed = make_rows(2, 1, 4, np.int64), np.zeros(9, dtype=np.int64), np.zeros(2, dtype=np.bool_)
    at[late.HEAD] = -1
    got = np.zeros((2, 5), dtype=np.int64)
    wanted = late.Wanted(books, changed, at, got, 0, tried, HOST_RESERVES, False)
    late.bind(rows, member, waiting, rules, room, wanted, 0)
    view.tell(rows, 0, 0, changed)
    late.take_turn(rows, member, waiting, rules, room, member, 0, 1, 1)
    offset, time, value = np.empty(3, dtype=np.int64), np.empty(8, dtype=np.int64), np.empty((8, 1), dtype=np.int64)
    nodes = np.arange(2)
    steps = view.publish(rows, nodes, 0, offset, time, value)
    view.accept(rows, nodes, offset, time[:steps], value[:steps])
    view.mark_passed(rows, 0, 1, np.zeros(2, dtype=np.bool_))


@_by_one
def warm_planner() -> None:
    """The same for the planner: placing jobs, and rebuilding a plan."""
    from dardis.kernels import day_profit, rebuild, search

    rows, member = _two_nodes(), np.ones((2, 1), dtype=np.int64)
    jobs = queue.make_queue(1, 1)
    room = queue.make_room(1, offers.make_scratch(8, rows, 0, 0), 16, 1)
    rules = queue.Rules(True, True, 0, queue.UNBOUND, False, False, BEST_FIT, 1)
    jobs.table[0] = (0, 0, 5, 1, 1, FOREVER, 0, 0, 0, 1, NO_TIME, 0, 0, 0, 0, 0, 0, 0, 1)
    search.find(rows, member, jobs, rules, room, 0, queue.UNBOUND, 0, FOREVER, 0)
    search.take(rows, jobs, 0, 0, 0)
    grid = day_profit.Grid(np.array([0, 99], dtype=np.int64), np.zeros(1), np.zeros((1, 2)), np.ones(1))
    what = day_profit.DayProfit(grid, grid, np.ones(1), np.ones(1), np.zeros(1, dtype=np.int64), np.zeros(1))
    torn = rebuild.Torn(*np.zeros((4, 1), dtype=np.int64))
    groups = rebuild.Groups(np.arange(2), np.zeros(1, dtype=np.int64), np.zeros(4, dtype=np.int64), np.zeros(2))
    rebuild.rebuild(rows, member, jobs, rules, room, what, 60, 0, groups, torn)


def warm_first() -> None:
    """The same for a dispatcher that asks a constraint solver: the answer that comes first."""
    from dardis.kernels import postpone

    rows, member = _two_nodes(), np.ones((2, 1), dtype=np.int64)
    node, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    postpone.take_all(rows, node, 0 * one, 7 * one, one.reshape(1, 1), 0)
    waiting = queue.make_queue(4, 1)
    room = queue.make_room(1, offers.make_scratch(8, rows, 0, 0), 16, 2)
    rules = queue.Rules(False, False, 0, queue.UNBOUND, False, False, BEST_FIT, 1)
    for slot, units in enumerate((2, 8)):
        waiting.table[slot] = (slot, 0, 5, units, 1, FOREVER, 0, 0, 0, 1, NO_TIME, 2 * slot, 0, 0, 0, 0, 0, 0, 1)
    slots = np.arange(2)
    postpone.earliest_starts(rows, member, waiting, rules, room, 0, slots, slots.copy(), FOREVER)
    walk = np.array([0, 0, 2], dtype=np.int64)
    postpone.start_or_postpone(rows, member, waiting, rules, room, slots, slots.copy(), walk)
    postpone.start_in_turn(rows, member, waiting, rules, room, slots, 0)


def warm_positions() -> None:
    """The same for a dispatcher that gives units positions: two jobs, one after the other beside one that runs."""
    from dardis.kernels import positions

    two, none = np.full(2, 4, dtype=np.int64).reshape(2, 1), np.zeros(2, dtype=np.int64)
    pool = positions.make_pool(2, 1, 3)
    node, end = none[:1], np.array([5], dtype=np.int64)
    positions.load(pool, node, node, node, node + 1, node, end)
    shapes = positions.Shapes(two[:1].copy(), none[:1] + 1, none[:1] + 1)
    waiting = positions.Queue(none, none + 1, none + 3, np.arange(2))
    plan = positions.Plan(none.copy(), none.copy(), two.copy())
    machine = positions.Machine(two, two, False)
    positions.schedule(pool, 1, machine, shapes, waiting, plan, end, node, np.zeros(2, dtype=np.bool_))


@_by_one
def warm_known() -> None:
    """The same for the bound on what could have been done with all jobs known."""
    from dardis.kernels import relaxed

    job, need, prices = np.ones(1), np.ones((1, 1)), np.zeros((2, 1))
    relaxed.relaxed_starts(job, job, need, job, prices, 1.0, job.copy())
    relaxed.add_use(job, job, need, 1.0, prices)


def _warm_task_managers() -> None:
    """What binds late."""
    warm_pool()
    warm_late()


def _warm_planned() -> None:
    """What plans, in one process or over ranks."""
    warm_pool()
    warm_at_once()


ROOTS: Final[dict[str, Callable[[], None]]] = {
    "past": warm_pass,
    "plan": warm_planner,
    "late": _warm_task_managers,
    "planned": _warm_planned,
    "reach": warm_reach,
    "queue": warm_queue,
    "replan": warm_replan,
    "asking": warm_asking,
    "known": warm_known,
}
"""What is compiled by itself: plans of days (`past` and `plan`), task managers, central dispatchers by how they go over
the queue, and what sets them beside clairvoyance.

They share some small kernels; what they share is compiled again by each that begins before the other has ended.
"""


def _share_turns(turns: Mapping[str, Lock]) -> None:
    """Say what the processes have to say once, together."""
    TELLER.turns = turns


def _warm_root(name: str) -> None:
    """Compile one of them, in whichever process."""
    ROOTS[name]()


def warm(names: Sequence[str]) -> None:
    """Compile those of `ROOTS` in two processes, if there are two cores. Raises KeyError for another name."""
    roots = {name: ROOTS[name] for name in names}
    if len(roots) == 1 or len(os.sched_getaffinity(0)) == 1 or numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        for root in roots.values():
            root()
        return
    spawning = multiprocessing.get_context("spawn")
    turns = {line: spawning.Lock() for line in TELLER.turns}
    with ProcessPoolExecutor(2, spawning, _share_turns, (turns,)) as processes:
        list(processes.map(_warm_root, roots))  # raises what one of them has raised


if __name__ == "__main__":
    warm(sys.argv[1:] or list(ROOTS))
