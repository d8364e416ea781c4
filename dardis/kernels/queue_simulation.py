"""Simulation of one queue in a compiled loop: arrivals, ends and passes, in the order of `dardis.sim.simulation`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from dardis.kernels.heap import sift_down, sift_up
from dardis.kernels.jit import Fields, bare, elapsed_ns, inlined
from dardis.kernels.job_queue import (
    ARRIVED,
    BACK,
    ENDED,
    FOLLOWING,
    FRESH,
    GONE,
    GROUPS,
    HELD,
    HOLD,
    LATEST,
    LEVEL,
    NUMBER,
    REQUEST,
    RULE,
    SPAN,
    START,
    STARTED,
    SUBMIT,
    UNITS,
    WHOLE,
    JobKeys,
    QueueArrays,
    Rules,
    make_queue,
)
from dardis.kernels.passes import pass_kernel
from dardis.kernels.placer import Placer
from dardis.kernels.profile import DONE, NodeProfiles
from dardis.kernels.sorted_lists import goes_before
from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, NO_TIME
from dardis.model.offer_rows import CALLED, CUBED, STATIC
from dardis.model.placements import Placements, indexes_of, offsets_of

NODES_FULL, PAUSED, KEYS_DUE = 40, 41, 43
"""Results: pack the nodes of jobs; the time stamps are full; compute the keys of a pass."""
AWAITS_KEYS: Final = 2
"""`IN_PASS`: the keys of the pass are being computed."""
NOW, NEXT, RUNNING, WAKE, USED, IN_PASS, DECISIONS = range(7)
"""Loop's state: time, next arrival, running jobs, next decision without event, node entries in use, whether a pass has
begun, decisions of this call.
"""
STAMPS: Final = 4096
"""Decisions of a call."""
LONGEST_CALL_NS: Final = 100_000_000
"""Time after which a call ends, so that progress and interrupts come."""


class QueuedJobs(NamedTuple):
    """Jobs in order of arrival (jobs,). Times are s.

    `request`: (jobs, kinds). `groups`: codes of node sets. Jobs that are not `accepted` arrive and are gone.
    """

    number: Ints
    submit: Ints
    span: Ints
    duration: Ints
    units: Ints
    request: Ints
    groups: Ints
    latest: Ints
    level: Ints
    accepted: Bools


SortKeys = Callable[[Ints, int], Floats]
"""Keys of jobs by slot, at a time."""


@inlined
def sort_aged(queue: QueueArrays, which: int, mode: int, a: Floats, b: Floats, now: int) -> bool:
    """Compute the keys of the waiting and the arrived jobs, and sort; return whether places changed."""
    table, keys, slots = queue.table, queue.keys, queue.lists[which]
    for place in range(queue.size[which] + queue.size[ARRIVED] if mode != CALLED else 0):
        known = queue.size[which]
        slot = slots[place] if place < known else queue.lists[ARRIVED, place - known]
        share = np.float64(now - table[slot, SUBMIT]) / a[slot, which]
        keys[slot, which] = -(share * share * share * b[slot, which]) if mode == CUBED else -share
    moved = False
    for place in range(1, queue.size[which]):
        slot, to = slots[place], place
        while to > 0 and goes_before(queue, which, slot, slots[to - 1]):
            slots[to] = slots[to - 1]
            to -= 1
            moved = True
        slots[to] = slot
    return moved


@inlined
def age_queue(queue: QueueArrays, mode: Ints, a: Floats, b: Floats, now: int) -> bool:
    """Sort both lists by the keys of now; return whether places changed."""
    moved = False
    for which in range(2):
        if mode[which] != STATIC:
            moved = sort_aged(queue, which, mode[which], a, b, now) or moved
    return moved


@inlined
def is_pass_due(size: Ints, at: Ints, now: int) -> bool:
    """Whether jobs have arrived, or jobs wait and capacity or time may let one start."""
    return size[ARRIVED] > 0 or ((size[ENDED] > 0 or now >= at[WAKE]) and size[RULE] > 0)


@inlined
def next_instant(table: Ints, at: Ints, finish: Ints, heap: Ints) -> int:
    """Time of the next arrival, end or decision (FOREVER: none)."""
    now = at[WAKE]
    if at[NEXT] < len(finish):
        now = min(now, table[at[NEXT], SUBMIT])
    if at[RUNNING] > 0:
        now = min(now, finish[heap[0]])
    return now


@inlined
def take_events(queue: QueueArrays, at: Ints, finish: Ints, heap: Ints, most: Ints, number: Ints, now: int) -> bool:
    """Note the ends and arrivals of an instant; return whether the nodes of jobs have space."""
    table, lists, size = queue.table, queue.lists, queue.size
    while at[NEXT] < len(finish) and table[at[NEXT], SUBMIT] == now:
        slot = at[NEXT]
        if at[USED] + most[slot] > len(queue.hold_node):
            return False
        if most[slot] > 0:
            table[slot, HOLD] = at[USED]
            at[USED] += most[slot]
            lists[ARRIVED, size[ARRIVED]] = slot
            size[ARRIVED] += 1
        at[NEXT] += 1
    while at[RUNNING] > 0 and finish[heap[0]] == now:
        lists[ENDED, size[ENDED]] = heap[0]
        size[ENDED] += 1
        at[RUNNING] -= 1
        heap[0] = heap[at[RUNNING]]
        sift_down(heap, at[RUNNING], finish, number, np.int64(0))
    return True


@inlined
def run_started(
    table: Ints, started: Ints, count: int, at: Ints, finish: Ints, heap: Ints, most: Ints, duration: Ints,
    number: Ints, now: int,
) -> None:  # fmt: skip
    """Set the ends of started jobs."""
    for place in range(count):
        slot = started[place]
        finish[slot] = now + duration[slot]
        if table[slot, HOLD] + most[slot] == at[USED]:
            at[USED] = table[slot, HOLD] + table[slot, HELD]
        heap[at[RUNNING]] = slot
        at[RUNNING] += 1
        sift_up(heap, at[RUNNING] - 1, finish, number)


@bare
def _simulate(
    rows: Fields, member: Ints, fields: Fields, rules: Fields, room: Fields, scratch: Fields, keys: Fields,
    jobs: Fields, loop: Fields,
) -> int:  # fmt: skip
    queue, state, started = QueueArrays(*fields), room[0], room[1]
    (_, mode, a, b), (duration, most, number), (at, finish, heap, stamps) = keys, jobs, loop
    size = queue.size
    at[DECISIONS] = 0
    stamps[0] = elapsed_ns(stamps[-2:])
    while True:
        if at[IN_PASS] == 0:
            now = next_instant(queue.table, at, finish, heap)
            if now == FOREVER:
                return DONE
            if at[DECISIONS] == len(stamps) - 3 or stamps[at[DECISIONS]] - stamps[0] > LONGEST_CALL_NS:
                return PAUSED
            if not take_events(queue, at, finish, heap, most, number, now):
                return NODES_FULL
            at[NOW] = now
            if is_pass_due(size, at, now):
                at[IN_PASS] = AWAITS_KEYS
                if mode[RULE] == CALLED or mode[BACK] == CALLED:
                    return KEYS_DUE
        now = at[NOW]
        if at[IN_PASS] == AWAITS_KEYS:
            if age_queue(queue, mode, a, b, now) or now >= at[WAKE]:
                state[WHOLE] = 1
            at[IN_PASS] = 1
        if at[IN_PASS] == 1:
            outcome = pass_kernel(rows, member, fields, rules, room, scratch, now)
            if outcome != DONE:
                return outcome
            run_started(queue.table, started, state[STARTED], at, finish, heap, most, duration, number, now)
            at[IN_PASS] = 0
        at[WAKE] = state[FOLLOWING] if size[RULE] > 0 else FOREVER
        at[DECISIONS] += 1
        stamps[at[DECISIONS]] = elapsed_ns(stamps[-2:])


class QueueSimulation:
    """Jobs of one queue on nodes without closings, simulated in one compiled loop."""

    def __init__(self, nodes: NodeProfiles, rules: Rules, jobs: QueuedJobs, keys: JobKeys) -> None:
        """Start with no job arrived."""
        count, kinds = jobs.request.shape
        self._queue = queue = make_queue(max(count, 1), kinds)
        table = queue.table[:count]
        for column, values in (
            (NUMBER, jobs.number), (SUBMIT, jobs.submit), (SPAN, jobs.span), (UNITS, jobs.units),
            (GROUPS, jobs.groups), (LATEST, jobs.latest), (LEVEL, jobs.level), (FRESH, 1), (START, NO_TIME),
        ):  # fmt: skip
            table[:, column] = values
        table[:, REQUEST:] = jobs.request
        queue.keys[:count] = keys.key
        self._placer = Placer(nodes, rules, kinds, max(count, 1))
        self._most = np.where(jobs.accepted, np.minimum(jobs.units, len(nodes.member)), 0)
        self._keys = keys
        self._jobs = jobs.duration, self._most, jobs.number
        self._at = np.zeros(7, dtype=np.int64)
        self._at[WAKE] = FOREVER
        self.finish = np.full(count, NO_TIME)
        """End of each job, s (NO_TIME: not started)."""
        self._loop = self._at, self.finish, np.zeros(count, dtype=np.int64), np.zeros(STAMPS + 3, dtype=np.int64)

    def run(self, account: Callable[[Ints, int], None], keys: SortKeys | None = None) -> None:
        """Run to the end. `account` gets the elapsed time of decisions, ns, and the number of settled jobs.

        `keys`: computes keys of mode CALLED.
        """
        while True:
            answer = _simulate(*self._arrays(), tuple(self._keys), self._jobs, self._loop)  # type: ignore[call-arg]
            waiting = self._queue.size[[RULE, ARRIVED, ENDED]].sum()
            settled = int(self._at[NEXT] - self._at[RUNNING] - waiting)
            account(np.diff(self._loop[-1][: self._at[DECISIONS] + 1]), max(settled, 0))
            if answer == DONE:
                return
            if answer == KEYS_DUE and keys is not None:
                self._call_for_keys(keys)
            elif answer != PAUSED:
                self._enlarge(answer)

    def _arrays(self) -> tuple[Any, ...]:
        """Nodes, queue, rules and work space, as plain tuples."""
        room, nodes = self._placer.room, self._placer.nodes
        return (
            tuple(nodes.profiles), nodes.member, tuple(self._queue), tuple(self._placer.rules), room[:-1],
            tuple(room.scratch),
        )  # fmt: skip

    def _enlarge(self, answer: int) -> None:
        if answer == NODES_FULL:
            self._pack()
        elif not self._placer.enlarge(answer):  # a defect
            raise ProtocolError(f"at {self._at[NOW]} s a queue pass ends with {answer}")

    def _call_for_keys(self, keys: SortKeys) -> None:
        queue, mode = self._queue, self._keys.mode
        arrived = queue.lists[ARRIVED, : queue.size[ARRIVED]]
        called = [which for which in (RULE, BACK) if mode[which] == CALLED]
        slots = np.concatenate([queue.lists[called[0], : queue.size[called[0]]], arrived])
        queue.keys[slots[:, None], called] = keys(slots, int(self._at[NOW]))[:, None]

    def _pack(self) -> None:
        old, table = self._queue, self._queue.table[: len(self._most)]
        arrived = np.arange(len(table)) < self._at[NEXT]
        sizes = np.where(table[:, GONE] == 1, table[:, HELD], self._most) * arrived
        places, offsets = indexes_of(table[:, HOLD], sizes), offsets_of(sizes)
        total = 2 * (int(offsets[-1]) + int(self._most.max(initial=0))) + STAMPS
        node, units = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
        node[: offsets[-1]], units[: offsets[-1]] = old.hold_node[places], old.hold_units[places]
        table[:, HOLD] = offsets[:-1]
        self._at[USED] = offsets[-1]
        self._queue = old._replace(hold_node=node, hold_units=units)

    @property
    def start(self) -> Ints:
        """Start of each job, s (NO_TIME: not started)."""
        return np.where(self.finish == NO_TIME, NO_TIME, self.finish - self._jobs[0])

    @property
    def placements(self) -> Placements:
        """Nodes and units of all jobs, after the run."""
        table = self._queue.table[: len(self._most)]
        counts = table[:, HELD] * (self.finish != NO_TIME)
        places = indexes_of(table[:, HOLD], counts)
        return Placements(offsets_of(counts), self._queue.hold_node[places], self._queue.hold_units[places])
