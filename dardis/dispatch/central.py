"""The central dispatcher: rules, EASY and conservative backfilling as one algorithm over real nodes.

A job starts only where its units fit on nodes, beside all that is reserved there, for its whole walltime. What a pass
over the queue decides is in `kernels.queue`; here is what it must be told, and when it is worth while.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import heappop, heappush

import numpy as np

from dardis.dispatch.orders import rule_of
from dardis.dispatch.setups import CentralSetUp, Ordering, ProfileCheck
from dardis.kernels import queue as kernel
from dardis.kernels import selection
from dardis.kernels.profile import DONE, FULL
from dardis.kernels.profiles import NodeProfiles
from dardis.kernels.rows import Ints
from dardis.model.capacity import could_hold, too_large
from dardis.model.choices import EventOrder, NodeChoice, ProfileRule, Switch, UnitsPerNode
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile
from dardis.wire.effects import Placed, Rejected

_CHOICES = {
    NodeChoice.BEST_FIT: selection.BEST_FIT, NodeChoice.WORST_FIT: selection.WORST_FIT,
    NodeChoice.RANDOM: selection.ANY_NODE, NodeChoice.FIRST_FIT: selection.FIRST_FIT,
    NodeChoice.CONTIGUOUS: selection.CONTIGUOUS,
}  # fmt: skip
_WISHES = {ProfileCheck.INSTANT: kernel.WISH_INSTANT, ProfileCheck.SPAN: kernel.WISH_SPAN}
FIRST_SLOTS = 256


class CentralDispatcher:
    """Serves all jobs of a machine, by the set-up."""

    def __init__(self, setup: CentralSetUp, platform: Platform, desired: DesiredProfile | None, seed: int) -> None:
        """Hold empty nodes and an empty queue."""
        self._setup = setup
        self._platform = platform
        self._capacity = platform.group_capacity.tolist()
        self._counts = [group.count for group in platform.groups]
        self._distinct = setup.units_per_node is UnitsPerNode.DISTINCT
        self._rules = kernel.Rules(
            strict=setup.ordering is Ordering.STRICT,
            backfill=setup.backfill is Switch.ON,
            depth=setup.backfill_depth,
            wish=kernel.WISH_OFF
            if desired is None or setup.profile is ProfileRule.OFF
            else _WISHES[setup.profile_check],
            soft=setup.profile is ProfileRule.SOFT,
            distinct=self._distinct,
            choice=_CHOICES[setup.node_choice],
            seed=seed,
        )
        self._always_whole = setup.event_order is EventOrder.PER_EVENT
        self._order = (rule_of(setup.rule, platform), rule_of(setup.order, platform))
        self._nodes = NodeProfiles(platform, 0, platform.node_count, desired)
        self._alone = NodeProfiles(platform, 0, platform.node_count, desired) if self._rules.wish else None
        """The empty machine."""
        self._changes: list[int] = np.unique(self._times_of(self._nodes)).tolist()[1:]
        """When capacity or what is wished changes by itself."""
        kinds = len(platform.kinds)
        self._queue = kernel.make_queue(FIRST_SLOTS, kinds)
        self._room = kernel.make_room(kinds, self._nodes.scratch, max(1024, 2 * self._nodes.count), FIRST_SLOTS)
        self._unused = list(range(FIRST_SLOTS - 1, -1, -1))
        self._held = 0
        """How much of the queue's room for nodes is given away."""
        self._most: dict[tuple[tuple[int, ...], int], int] = {}
        """Units that the empty machine would hold, by request and node groups."""
        self._jobs: dict[int, Job] = {}
        """The waiting jobs, by slot."""
        self._running: dict[int, int] = {}
        """The slots of the running jobs, by number."""
        self._passing: set[int] = set()
        """Slots of the jobs that find no start within the desired profile once it changes no more."""
        self._lost: list[int] = []
        """Numbers of the jobs that waited for too long: no start is left within the hard desired profile."""
        self._early: list[tuple[int, int, int]] = []
        """Earliest start, number and slot of the jobs that may not start yet."""
        self._arrived: list[int] = []
        self._ended: list[int] = []
        """Slots of the jobs that no pass has been told of."""
        self._wake = FOREVER
        self._asked_at = NO_TIME

    @staticmethod
    def _times_of(nodes: NodeProfiles) -> Ints:
        rows = nodes.profiles
        return np.concatenate([rows.time[head : head + size] for head, size in zip(rows.head, rows.size, strict=True)])

    def submit(self, job: Job, now: int) -> Rejected | None:
        """Take a new job; say if it can never run."""
        if job.units > self._could_hold(job):
            return Rejected(job.number, too_large(job, self._platform.kinds, self._could_hold(job)))
        if not self._unused:
            self._enlarge()
        most = min(job.units, self._nodes.count)
        if self._held + most > len(self._queue.hold_node):
            self._pack(most)
        slot, queue = self._unused.pop(), self._queue
        latest = FOREVER if job.latest is None else job.latest
        queue.table[slot] = (
            job.number, job.submit, job.walltime, job.units, job.groups, latest, 0, 1, NO_TIME, self._held, 0, 0,
            *job.request,
        )  # fmt: skip
        soonest = max(job.earliest, now)
        if self._alone is not None and not self._fits_alone(slot, max([soonest, *self._changes[-1:]]), now):
            if self._fits_alone(slot, soonest, now):
                self._passing.add(slot)
            elif self._rules.soft:
                queue.table[slot, kernel.IGNORES] = 1
            else:
                self._unused.append(slot)
                how = f"as it is split over nodes (profile_split={self._setup.profile_split})"
                return Rejected(job.number, f"no start within the hard desired profile, {how}")
        rule, back = self._order
        queue.keys[slot] = rule(job, self._platform), back(job, self._platform)
        self._held += most
        self._jobs[slot] = job
        if soonest > now:
            heappush(self._early, (soonest, job.number, slot))
        else:
            self._arrived.append(slot)
        return None

    def _could_hold(self, job: Job) -> int:
        """Units of the job that the empty machine would hold."""
        unit = (job.request, job.groups)
        if unit not in self._most:
            self._most[unit] = could_hold(job, self._counts, self._capacity, distinct=self._distinct)
        return self._most[unit]

    def _fits_alone(self, slot: int, first: int, now: int) -> bool:
        """Whether the job would find a start from `first` on within the desired profile were it alone."""
        assert self._alone is not None
        table = self._queue.table
        walltime = int(table[slot, kernel.WALLTIME])
        if self._rules.wish == kernel.WISH_INSTANT:
            table[slot, kernel.WALLTIME] = 1
        rows, group = self._alone.profiles, self._alone.group
        while True:
            wish = kernel.WISH_SPAN
            found = kernel.find(rows, group, self._queue, slot, self._rules, self._room, wish, first, FOREVER, now)
            if found != kernel.ROOM:
                break
            self._enlarge_room()
        table[slot, kernel.WALLTIME] = walltime
        return found == kernel.FOUND

    def ended(self, number: int, now: int) -> None:  # noqa: ARG002 (a pass frees it from its own time on)
        """A job has ended, at its walltime or before."""
        self._ended.append(self._running.pop(number))

    def decide(self, now: int) -> list[Placed]:
        """Say which waiting jobs start now, and where."""
        while self._early and self._early[0][0] <= now:
            self._arrived.append(heappop(self._early)[2])
        if self._passing and bisect_right(self._changes, now) > bisect_right(self._changes, self._asked_at):
            self._see_to_passing(now)
        self._asked_at = now
        whole = self._always_whole or now >= self._wake
        started: list[int] = []
        if self._arrived or ((whole or self._ended) and self._queue.size[kernel.RULE]):
            started = self._pass_over(whole, now)
        self._wake = self._next_change(now)
        return [self._begun(slot, now) for slot in started]

    def _pass_over(self, whole: bool, now: int) -> list[int]:
        """Tell the kernel what has happened, and let it decide whose slots start."""
        queue, state, nodes = self._queue, self._room.state, self._nodes
        for which, slots in ((kernel.ARRIVED, self._arrived), (kernel.ENDED, self._ended)):
            if slots:
                queue.lists[which, : len(slots)] = slots
                queue.size[which] = len(slots)
        if whole:
            state[kernel.WHOLE] = 1
        while True:
            answer = kernel.pass_over(nodes.profiles, nodes.group, queue, self._rules, self._room, now)
            if answer == DONE:
                break
            if answer == FULL:
                nodes.grow()
            else:
                self._enlarge_room()
        self._unused += self._ended
        self._arrived.clear()
        self._ended.clear()
        started: list[int] = self._room.started[: state[kernel.STARTED]].tolist()
        return started

    def _see_to_passing(self, now: int) -> None:
        """Let nobody wait for what will not come: a soft profile binds no more, a hard one takes the job off the queue.

        There it would be in the way of the others for ever.
        """
        queue = self._queue
        waiting = queue.lists[kernel.RULE, : queue.size[kernel.RULE]]
        for slot in self._passing.intersection(waiting.tolist()):
            if self._fits_alone(slot, now, now):
                continue
            self._passing.remove(slot)
            if self._rules.soft:
                queue.table[slot, kernel.IGNORES] = 1
                continue
            while kernel.withdraw(self._nodes.profiles, queue, slot, now) == FULL:
                self._nodes.grow()
            self._room.state[kernel.FREED] = 1
            self._unused.append(slot)
            self._lost.append(self._jobs.pop(slot).number)

    def _begun(self, slot: int, now: int) -> Placed:
        job, table = self._jobs.pop(slot), self._queue.table
        low = int(table[slot, kernel.HOLD])
        high = low + int(table[slot, kernel.HELD])
        self._running[job.number] = slot
        self._passing.discard(slot)
        return Placed(job.number, now, self._queue.hold_node[low:high].copy(), self._queue.hold_units[low:high].copy())

    def _next_change(self, now: int) -> int:
        soonest = self._early[0][0] if self._early else FOREVER
        if self._queue.size[kernel.RULE]:
            place = bisect_right(self._changes, now)
            soonest = min(soonest, int(self._room.state[kernel.WAKE]), *self._changes[place : place + 1])
        return soonest

    def wake(self) -> int:
        """The next time at which something changes without an event (FOREVER: never), so that it is asked then."""
        return self._wake

    def give_up(self) -> list[int]:
        """Forget the jobs that wait and have no start any more; return their numbers."""
        lost, self._lost = self._lost, []
        return lost

    def _enlarge(self) -> None:
        """Make room for twice as many waiting jobs."""
        slots = len(self._queue.table)
        self._queue = kernel.wider_queue(self._queue, 2 * slots)
        self._unused = list(range(2 * slots - 1, slots - 1, -1))
        self._room = self._room._replace(started=np.zeros(2 * slots, dtype=np.int64))

    def _enlarge_room(self) -> None:
        """Give the kernels room for the longest profile, or, where they have it, for twice as many offers."""
        before = self._nodes.scratch
        self._nodes.make_scratch()
        if self._nodes.scratch is before:
            self._room = self._room._replace(out=np.empty((2 * len(self._room.out), 6), np.int64))
        else:
            self._room = self._room._replace(scratch=self._nodes.scratch)

    def _pack(self, more: int) -> None:
        """Make room for the nodes of a job of at most `more`, and drop that of the jobs that have ended."""
        old, table = self._queue, self._queue.table
        sizes = {slot: min(job.units, self._nodes.count) for slot, job in self._jobs.items()}
        sizes |= {slot: int(table[slot, kernel.HELD]) for slot in (*self._running.values(), *self._ended)}
        total = max(len(old.hold_node), 2 * (sum(sizes.values()) + more))
        node, units = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
        self._held = 0
        for slot, size in sizes.items():
            low = int(table[slot, kernel.HOLD])
            node[self._held : self._held + size] = old.hold_node[low : low + size]
            units[self._held : self._held + size] = old.hold_units[low : low + size]
            table[slot, kernel.HOLD] = self._held
            self._held += size
        self._queue = old._replace(hold_node=node, hold_units=units)
