"""Simulation of one queue that stops whenever an agent picks the next job.

The queue's list holds the picked job only, the list of backfilling all waiting jobs. A pass thus starts the picked job,
or blocks it and fills in behind it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dardis.kernels.jit import Fields, bare, inlined
from dardis.kernels.job_queue import (
    ARRIVED,
    BACK,
    FREED,
    FRESH,
    REQUEST,
    RULE,
    SPAN,
    START,
    STARTED,
    SUBMIT,
    UNITS,
    WHOLE,
    JobKeys,
    PassBuffers,
    QueueArrays,
    Rules,
)
from dardis.kernels.node_search import AT_ONCE, fits_now
from dardis.kernels.offers import Scratch
from dardis.kernels.passes import pass_kernel, process_events
from dardis.kernels.profile import DONE, NodeProfiles
from dardis.kernels.queue_simulation import (
    IN_PASS,
    NODES_FULL,
    NOW,
    RUNNING,
    WAKE,
    QueuedJobs,
    QueueSimulation,
    next_instant,
    run_started,
    take_events,
)
from dardis.kernels.rows import Rows
from dardis.kernels.sorted_lists import insert
from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.job import FOREVER, NO_TIME, SLOWDOWN_TAU_S

DECISION_DUE: Final = 42
"""Result: a job is to be picked."""
IN_EVENTS: Final = 2
"""`IN_PASS`: the events of an instant are being processed."""
WAIT, WALLTIME, EXPECTED, SHARE, FITS = range(5)
"""Columns of a waiting job: scaled times, share of the machine, whether it fits now."""
YEAR_S: Final = 365 * 86_400
WAITED, SLOWED = range(2)
"""Sums over started jobs: waits (s), bounded slowdowns."""
Float32s = NDArray[np.float32]


class QueueView(NamedTuple):
    """What an agent sees. `known`: `WALLTIME` to `SHARE` of all jobs; `horizon`: s from now; `sums`: of started jobs.

    `jobs`: (places, 5), the first waiting jobs. `free`: (horizon, kinds), shares that are free if no job starts.
    """

    jobs: Float32s
    free: Float32s
    mask: Bools
    known: Float32s
    horizon: Ints
    total: Ints
    sums: Floats


def scaled(seconds: Any) -> Any:  # noqa: ANN401 (numbers or arrays)
    """Seconds on a logarithmic scale: 0 to 1 at a year and more."""
    return np.minimum(np.log1p(seconds) / np.log1p(float(YEAR_S)), 1.0)


@inlined
def _write_free(
    table: Ints, at: Ints, finish: Ints, heap: Ints, duration: Ints, view_free: Float32s, horizon: Ints, total: Ints
) -> None:  # fmt: skip
    last = len(horizon)
    for k in range(len(total)):
        for h in range(last):
            view_free[h, k] = total[k]
    for place in range(at[RUNNING]):
        slot = heap[place]
        end = finish[slot] - duration[slot] + table[slot, SPAN]
        for k in range(len(total)):
            amount = table[slot, REQUEST + k] * table[slot, UNITS]
            h = 0
            while amount > 0 and h < last and at[NOW] + horizon[h] < end:
                view_free[h, k] -= amount
                h += 1


@inlined
def _write_jobs(
    rows: Rows, member: Ints, queue: QueueArrays, rules: Rules, now: int, view_jobs: Float32s, view_free: Float32s,
    mask: Bools, known: Float32s,
) -> None:  # fmt: skip
    table = queue.table
    for place in range(len(mask)):
        mask[place] = place < queue.size[BACK]
        if not mask[place]:
            view_jobs[place] = 0
            continue
        slot = queue.lists[BACK, place]
        view_jobs[place, WAIT] = min(np.log1p(np.float64(now - table[slot, SUBMIT])) / np.log1p(float(YEAR_S)), 1.0)
        view_jobs[place, WALLTIME] = known[slot, 0]
        view_jobs[place, EXPECTED] = known[slot, 1]
        view_jobs[place, SHARE] = known[slot, 2]
        fits = True
        for k in range(view_free.shape[1]):
            fits = fits and table[slot, REQUEST + k] * table[slot, UNITS] <= view_free[0, k]
        if fits:
            fits = fits_now(rows, member, table, slot, rules, now, AT_ONCE)
        view_jobs[place, FITS] = fits


@inlined
def _observe(
    rows: Fields, member: Ints, fields: Fields, rules: Fields, jobs: Fields, loop: Fields, view: Fields
) -> None:  # fmt: skip
    queue, (duration, _, _), (at, finish, heap, _) = QueueArrays(*fields), jobs, loop
    view_jobs, view_free, mask, known, horizon, total, _ = view
    _write_free(queue.table, at, finish, heap, duration, view_free, horizon, total)
    _write_jobs(Rows(*rows), member, queue, Rules(*rules), at[NOW], view_jobs, view_free, mask, known)
    for k in range(len(total)):
        for h in range(len(horizon)):
            view_free[h, k] = view_free[h, k] / max(total[k], 1)


@inlined
def _add_started(table: Ints, started: Ints, count: int, duration: Ints, sums: Floats, now: int) -> None:
    for place in range(count):
        slot = started[place]
        wait = now - table[slot, SUBMIT]
        sums[WAITED] += wait
        ratio = np.float64(wait + duration[slot]) / np.float64(max(duration[slot], SLOWDOWN_TAU_S))
        sums[SLOWED] += max(ratio, 1.0)


@inlined
def _insert_arrived(queue: QueueArrays) -> None:
    for place in range(queue.size[ARRIVED]):
        insert(queue, np.int64(BACK), queue.lists[ARRIVED, place])
    queue.size[ARRIVED] = 0


@inlined
def _next_reserved_start(queue: QueueArrays) -> int:
    """First reserved start of the waiting jobs, all of which have been tried."""
    start = FOREVER
    for place in range(queue.size[BACK]):
        slot = queue.lists[BACK, place]
        queue.table[slot, FRESH] = 0
        if queue.table[slot, START] != NO_TIME:
            start = min(start, queue.table[slot, START])
    return start


@bare
def _advance(  # noqa: C901 (one loop, as in the simulation)
    rows: Fields, member: Ints, fields: Fields, rules: Fields, room: Fields, scratch: Fields, jobs: Fields,
    loop: Fields, view: Fields, pick: int,
) -> int:  # fmt: skip
    queue, state, started = QueueArrays(*fields), room[0], room[1]
    (duration, most, number), (at, finish, heap, _), sums = jobs, loop, view[-1]
    table, lists, size = queue.table, queue.lists, queue.size
    if pick >= 0:
        lists[RULE, 0] = lists[BACK, pick]
        size[RULE] = state[WHOLE] = at[IN_PASS] = 1
    while True:
        if at[IN_PASS] == 0:
            now = next_instant(table, at, finish, heap)
            if now == FOREVER:
                return DONE
            if not take_events(queue, at, finish, heap, most, number, now):
                return NODES_FULL
            _insert_arrived(queue)
            if now >= at[WAKE]:
                state[WHOLE] = 1
            at[NOW], at[IN_PASS] = now, IN_EVENTS
        now = at[NOW]
        if at[IN_PASS] == IN_EVENTS:
            buffers = PassBuffers(*(room + (Scratch(*scratch),)))  # noqa: RUF005 (Numba adds tuples)
            outcome = process_events(Rows(*rows), queue, buffers, now)
            if outcome != DONE:
                return outcome
            at[IN_PASS] = 1 if size[RULE] > 0 else 0
        if at[IN_PASS] == 1:
            freed = state[FREED]
            outcome = pass_kernel(rows, member, fields, rules, room, scratch, now)
            if outcome != DONE:
                return outcome
            run_started(table, started, state[STARTED], at, finish, heap, most, duration, number, now)
            _add_started(table, started, state[STARTED], duration, sums, now)
            at[IN_PASS], at[WAKE] = 0, _next_reserved_start(queue)
            if size[RULE] == 0:  # reservations may still improve in the next pass of this instant
                state[FREED] = freed
        if size[RULE] == 0 and size[BACK] > 0:
            return DECISION_DUE


@bare
def _pick(
    rows: Fields, member: Ints, fields: Fields, rules: Fields, room: Fields, scratch: Fields, jobs: Fields,
    loop: Fields, view: Fields, pick: int,
) -> int:  # fmt: skip
    outcome = _advance(rows, member, fields, rules, room, scratch, jobs, loop, view, pick)
    if outcome in (DONE, DECISION_DUE):
        _observe(rows, member, fields, rules, jobs, loop, view)
    return outcome


class QueueDecisions(QueueSimulation):
    """Jobs of one queue in which an agent picks the next job whenever jobs wait and none is picked."""

    def __init__(self, nodes: NodeProfiles, rules: Rules, jobs: QueuedJobs, keys: JobKeys, view: QueueView) -> None:
        """`view` is written at each decision."""
        super().__init__(nodes, rules, jobs, keys)
        self.view = view
        view.sums[:] = 0
        self._call = self._arrays()

    def advance(self, place: int = -1) -> bool:
        """Pick the waiting job at a place (-1: none) and go on to the next decision; return whether there is one."""
        view = tuple(self.view)
        while True:
            answer = _pick(*self._call, self._jobs, self._loop, view, place)  # type: ignore[call-arg]
            if answer in (DONE, DECISION_DUE):
                return bool(answer == DECISION_DUE)
            self._enlarge(answer)
            self._call, place = self._arrays(), -1
