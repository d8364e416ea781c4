"""Pool's arrays: profiles and reservations."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dardis.kernels import common_starts, offers, profile, published_profiles, ranking, round_kernel
from dardis.kernels.common_starts import NodeSelection
from dardis.kernels.free_capacity_index import NO_CHANGES, NO_INDEX, Changes, FreeCapacityIndex
from dardis.kernels.offers import (
    HeldReservations,
    Nodes,
    OfferRules,
    OfferTask,
    QueriedNodes,
    QueryBatch,
    Scratch,
    make_scratch,
)
from dardis.kernels.placer import FIRST_LONGEST
from dardis.kernels.profile import NodeProfiles
from dardis.kernels.ranking import Tree
from dardis.kernels.relay_blocks import answer_block
from dardis.kernels.round_kernel import RoundResults
from dardis.kernels.rows import Rows, grown, make_rows
from dardis.model.addresses import JobId, child_counts
from dardis.model.arrays import Ints, value
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, NO_TIME
from dardis.model.local_queries import BindQuery, BindResponse, ImproveQuery, SeekQuery
from dardis.model.offer_rows import BEST_COLUMNS, FIRST, OFFER_COLUMNS, STEP_COLUMNS, SUMS, WANT, QueryArrays
from dardis.model.platform import Platform
from dardis.model.schedule import boot_and_shutdown
from dardis.model.target import DesiredProfile
from dardis.node_manager.pool_buffers import FreeCapacityIndexes, GrowingRows, SingleSeek, make_results
from dardis.wire.messages import OfferQuery, Switch

if TYPE_CHECKING:
    from dardis.node_manager.late_binding import PoolLateBinder

FEWEST_LATER = 1024
MANY_LATER = 128
_ALL_UP: Ints = np.zeros(0, dtype=np.int64)
_NONE: Ints = np.zeros(0, dtype=np.int64)


@value(frozen=True, slots=True)
class Claim:
    """Reservation of a job's attempt; local node numbers, ascending."""

    attempt: int
    nodes: Ints
    units: Ints
    request: Ints
    start: int
    end: int
    committed: bool


@dataclass(frozen=True, slots=True)
class VirtualHosts:
    """Tree of virtual hosts with `block` nodes each, for sums of offers."""

    block: int = 64
    arity: int = 8


class PoolState(NodeProfiles):
    """Profiles and reservations of nodes `[first, last)`."""

    def __init__(
        self, platform: Platform, first: int, last: int, desired: DesiredProfile | None,
        virtual_hosts: VirtualHosts | None = None,
    ) -> None:  # fmt: skip
        self._changed = np.ones(last - first, dtype=np.bool_)
        self._ready = self._boot = _ALL_UP
        """Earliest time each node is up, and boot time from now on (0: not off); empty before the first switch."""
        self._boot_s = boot_and_shutdown(platform)[0][first:last].copy()
        self._open_nodes = FreeCapacityIndexes(last - first)
        self._touched: list[Ints] = []
        """Changed nodes; many cost as much as one."""
        self._added = 0
        self._longest_seen = 1
        """Limit of breakpoints; counting visits all nodes."""
        super().__init__(platform, first, last, desired)
        self._longest_seen = int(self.profiles.size.max(initial=1))
        self.books = make_rows(self.count, 1, 4, np.int64)
        self._scratch_longest = FIRST_LONGEST
        self._scratch = make_scratch(FIRST_LONGEST, self.profiles, 0, 0)
        self._out, self._steps, self._best = (
            GrowingRows(OFFER_COLUMNS),
            GrowingRows(STEP_COLUMNS),
            GrowingRows(BEST_COLUMNS),
        )
        self._single = SingleSeek(self.capacity.shape[1], 0)
        self._later = np.empty(FEWEST_LATER, dtype=np.int64)
        self.virtual_hosts = virtual_hosts or VirtualHosts()
        self.sent: Ints = np.zeros(2, dtype=np.int64)
        """Rows from virtual hosts in the last sum, and most to the root."""
        self._child_counts: Ints = np.zeros(0, dtype=np.int64)
        self._published = NO_TIME
        self._turns: PoolLateBinder | None = None

    def adopt_state(self, profiles: Rows, books: Rows) -> None:
        """Adopt profiles and reservation lists."""
        self.profiles, self.books = profiles, books
        self._longest_seen = int(profiles.size.max(initial=1))
        self._open_nodes = FreeCapacityIndexes(self.count)

    def _note_changed(self, nodes: Ints, added: int = 2) -> None:
        self._touched.append(nodes)
        self._added += added

    def _update_changed(self) -> None:
        touched = self._touched
        if not touched:
            return
        nodes = touched[0] if len(touched) == 1 else np.concatenate(touched)
        touched.clear()
        self._added = 0
        self._changed[nodes] = True
        self._open_nodes.note_changed(nodes)
        self._longest_seen = max(self._longest_seen, int(np.maximum.reduce(self.profiles.size.take(nodes))))

    def switch(self, switch: Switch) -> None:
        """Record nodes shut down or booted."""
        if len(self._ready) == 0:
            self._ready, self._boot = np.full(self.count, NO_TIME), np.zeros(self.count, dtype=np.int64)
        nodes = switch.node - self.first
        self._ready[nodes] = switch.ready
        self._boot[nodes] = 0 if switch.up else self._boot_s[nodes]
        self._changed[nodes] = True

    def down_until(self, nodes: Ints, now: int) -> int:
        """When all nodes (empty: the pool) can be up; `NO_TIME`: all are."""
        if len(self._ready) == 0:
            return NO_TIME
        those = nodes if len(nodes) else slice(None)
        soonest = int(np.maximum(self._ready[those], now + self._boot[those]).max(initial=now))
        return soonest if soonest > now else NO_TIME

    def reserve(self, nodes: Ints, units: Ints, request: Ints, start: int, end: int, now: int) -> bool:
        """Reserve all, or nothing and return False."""
        if len(self._ready) and (start < np.maximum(self._ready[nodes], now + self._boot[nodes])).any():
            return False
        done = super().reserve(nodes, units, request, start, end, now)
        self._note_changed(nodes)
        return done

    def release(self, nodes: Ints, units: Ints, request: Ints, start: int, end: int, now: int) -> None:
        """Release a reservation."""
        super().release(nodes, units, request, start, end, now)
        self._note_changed(nodes)

    def published(self, now: int, *, whole: bool) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
        """Changed or `whole` profiles, as in `Published`."""
        self._update_changed()
        last, self._published = self._published, now
        self._changed |= whole
        published_profiles.mark_changed(self.profiles, last, now, self._changed)
        nodes = np.flatnonzero(self._changed)
        self._changed[nodes] = False
        ready, boot = (array[nodes] if len(array) else _ALL_UP for array in (self._ready, self._boot))
        offset = np.empty(len(nodes) + 1, dtype=np.int64)
        columns = self.profiles.value.shape[1]
        steps = 2 * len(nodes) + 16
        while True:
            time, value = np.empty(steps, dtype=np.int64), np.empty((steps, columns), dtype=np.int64)
            count = published_profiles.publish(self.profiles, nodes, now, offset, time, value)
            if count >= 0:
                return nodes + self.first, offset, time[:count], value[:count], ready, boot
            steps = -count

    def count_due(self, now: int) -> int:
        """Count nodes due to publish, and reset."""
        self._update_changed()
        last, self._published = self._published, now
        return published_profiles.count_changed(self.profiles, last, now, self._changed)

    def bind(self, question: BindQuery, told: int, seed: int, now: int) -> BindResponse:
        """Start late-binding jobs, and reserve for the first other; `told` nodes have published."""
        if self._turns is None:
            from dardis.node_manager.late_binding import PoolLateBinder

            self._turns = PoolLateBinder(self, self.capacity.shape[1])
        self._update_changed()
        since, self._published = self._published, now
        turns = self._turns
        blocked = turns.take(question, self._changed, since, seed, now)
        jobs, nodes, units, rounds, more_told, longest = turns.outcome()
        self._longest_seen = max(self._longest_seen, longest)
        self._open_nodes.note_changed(nodes)
        return BindResponse(jobs, nodes, units, rounds, blocked, told + more_told, self.next_change(now))

    def next_change(self, now: int) -> int:
        """Next change of capacity or desired profile."""
        place = bisect_right(self.changes, now)
        return self.changes[place] if place < len(self.changes) else FOREVER

    def grow_books(self) -> None:
        """Enlarge the reservation lists."""
        self.books = grown(self.books)

    def book(self, nodes: Ints, job: JobId, start: int, now: int) -> None:
        """Record a job's start on its nodes."""
        while profile.book(self.books, nodes, job, start, now) == profile.FULL:
            self.grow_books()

    def unbook(self, nodes: Ints, job: JobId, start: int) -> None:
        """Remove a job from its nodes' lists."""
        profile.unbook(self.books, nodes, job, start)

    def later_jobs(self, nodes: Ints, now: int, depth: int) -> tuple[Ints, int]:
        """First `depth` jobs after `now` on the nodes, ascending; and the count with repeats.

        Negative: each node's cores.
        """
        depths = self.capacity[:, 0].take(nodes) if depth < 0 else np.full(len(nodes), depth)
        count = profile.later_jobs(self.books, nodes, now, depths, self._later)
        if count < 0:
            self._later = np.empty(-2 * count, dtype=np.int64)
            count = profile.later_jobs(self.books, nodes, now, depths, self._later)
        found = self._later[:count]
        # For few numbers a Python set takes a fifth of the time.
        return np.unique(found) if count > MANY_LATER else np.array(sorted({*found.tolist()}), dtype=np.int64), count

    def offers(self, ask: OfferQuery, held: HeldReservations, seed: int, now: int) -> tuple[Ints, Ints]:
        """Return (rows, offset) of the offers."""
        return self._put(ask, held, seed, now, offers.run_write_offers)

    def seek(self, seek: SeekQuery, seed: int, now: int) -> tuple[int, Ints, Ints, int]:
        """Reserve and book a job's earliest start; return start, nodes (none: not found), units and rounds."""
        single, needed = self._single, min(seek.units, self.count)
        if needed > single.nodes:
            single = self._single = SingleSeek(self.capacity.shape[1], min(2 * needed, self.count))
        single.put(seek)
        self._update_changed()
        # A node that is down may be up by the start.
        known = (
            self._open_nodes.index_of(seek.request, seek.groups) if len(self._ready) == 0 else (NO_CHANGES, NO_INDEX)
        )
        found = single.found
        outcome = self._run_round(seek, single.batch, found, seed, now, seek.span, *known)
        if outcome == round_kernel.NOTHING:
            return 0, _NONE, _NONE, 0
        count = int(found.count[0])
        nodes, units = found.nodes[:count].copy(), found.units[:count].copy()
        self._note_changed(nodes if self.first == 0 else nodes - self.first)
        return int(found.start[0]), nodes, units, int(found.rounds[0])

    def improve(
        self, improve: ImproveQuery, held: HeldReservations, refuser: Ints, seed: int, now: int
    ) -> RoundResults:
        """Move jobs to earlier starts on their nodes; `start` is `NONE` for others.

        `refuser`: by job, place of the node that last refused.
        """
        jobs = len(improve.job)
        walltime = held.end - held.start
        asks = QueryArrays(
            improve.job, improve.first, improve.first, improve.last, walltime, improve.units,
            np.full(jobs, -1, dtype=np.int64), improve.groups, improve.request,
        )  # fmt: skip
        found = make_results(held.offset, refuser)
        batch = QueryBatch(asks, held, QueriedNodes(held.offset, held.node, np.zeros(jobs, dtype=np.int64)))
        self._run_round(improve, batch, found, seed, now, 0, NO_CHANGES, NO_INDEX)
        for i in np.flatnonzero(found.start != common_starts.NONE).tolist():
            self._note_changed(held.node[held.offset[i] : held.offset[i + 1]], added=4)
        return found

    def _run_round(
        self, how: SeekQuery | ImproveQuery, batch: QueryBatch, found: RoundResults, seed: int, now: int, span: int,
        changes: Changes,
        openings: FreeCapacityIndex,
    ) -> int:  # fmt: skip
        rules = OfferRules(binds=False, kind=FIRST, grain=1, seed=seed)
        choice = NodeSelection(how.choice, how.distinct, 1, seed)
        offset = np.empty(len(found.start) + 1, dtype=np.int64)
        while True:
            nodes = Nodes(self.profiles, self.member, self.first, self._ready, self._boot)
            question = OfferTask(nodes, batch, rules, now, self._scratch_as_long(), self._out.rows, offset)
            pool = round_kernel.RoundPool(self.books, self.capacity, choice, changes, openings)
            outcome = round_kernel.run(question, pool, found, span)
            if outcome == offers.OUT_OF_SPACE:
                self._longest_seen = int(self.profiles.size.max())
                if self._longest_seen <= self._scratch_longest:
                    self._out.double()
            elif outcome == round_kernel.PROFILES_FULL:
                self.grow()
            elif outcome == round_kernel.BOOKS_FULL:
                self.grow_books()
            elif outcome == profile.REFUSED:
                raise ProtocolError("a start offered by all its nodes does not fit")
            else:
                return outcome

    def sums(self, ask: OfferQuery, held: HeldReservations, seed: int, now: int) -> tuple[Ints, Ints]:
        """Return (rows, offset) of summed offers."""
        return self._put(
            ask, held, seed, now, ranking.sum_offers, self._steps, self._tree(), ask.earliest, ask.distinct
        )

    def candidates(
        self, ask: OfferQuery, held: HeldReservations, seed: int, now: int, incarnation: int
    ) -> tuple[Ints, Ints]:
        """Return (rows, offset) of the best nodes for selected starts."""
        choice = NodeSelection(ask.choice, ask.distinct, ask.grain, seed)
        more = self._tree(), choice, ask.start, incarnation
        return self._put(ask, held, seed, now, ranking.rank_nodes, self._best, *more)

    def answer_block(self, block: Ints, held: HeldReservations, seed: int, now: int, incarnation: int) -> Ints:
        """`sums` or `candidates` in wire form; empty: decode the block."""
        rows = self.profiles
        tree, scratch = self._tree(), self._scratch_as_long()
        into = self._steps if block[WANT] == SUMS else self._best
        down_until = self.down_until(_NONE, now)
        while True:
            answer = answer_block(
                block, rows.base, rows.slots, rows.head, rows.size, rows.tail, rows.time, rows.value, self.member,
                self.first, self._ready, self._boot, self.capacity, scratch.pieces, scratch.weights, scratch.queue,
                scratch.chosen, scratch.next_free, scratch.time, scratch.value, self._out.rows, into.rows,
                tree.children, tree.counted, tree.block, held.offset, held.node, held.units, held.start, held.end,
                self.has_desired, seed, now, incarnation, down_until,
            )  # fmt: skip
            if len(answer) != 1:
                return answer
            for space in (self._out, into):
                space.double()

    def _tree(self) -> Tree:
        block = self.virtual_hosts.block
        if len(self._child_counts) == 0:
            self._child_counts = child_counts(-(-self.count // block), self.virtual_hosts.arity)
        return Tree(block, self._child_counts, self.sent)

    def _put(
        self, ask: OfferQuery, held: HeldReservations, seed: int, now: int, kernel: Callable[..., int],
        into: GrowingRows | None = None,
        *more: object,
    ) -> tuple[Ints, Ints]:  # fmt: skip
        if ask.held_only:
            asked = QueriedNodes(held.offset, held.node, ask.needed)
        else:
            asked = QueriedNodes(
                ask.sample_offset, ask.sample - self.first if len(ask.sample) else ask.sample, ask.needed
            )
        ready, boot = (_ALL_UP, _ALL_UP) if ask.as_if_up else (self._ready, self._boot)
        nodes = Nodes(self.profiles, self.member, self.first, ready, boot)
        rules = OfferRules(ask.desired_binds and self.has_desired, ask.generator, ask.grain, seed)
        batch, scratch = QueryBatch(ask.columns, held, asked), self._scratch_for(ask)
        offset = np.empty(len(ask.job) + 1, dtype=np.int64)
        answer = into or self._out
        while True:
            self.sent[:] = 0
            question = OfferTask(nodes, batch, rules, now, scratch, self._out.rows, offset)
            count = kernel(question, *more, answer.rows) if into else kernel(question)
            if count != offers.OUT_OF_SPACE:
                return answer.rows[:count].copy(), offset
            for space in {self._out, answer}:
                space.double()

    def _scratch_for(self, ask: OfferQuery) -> Scratch:
        quota = 0 if ask.generator == FIRST else int(ask.quota.max())
        instants = int((ask.last - ask.first).max()) // ask.grain + 1 if quota > 1 else 0
        return self._scratch_as_long(quota, instants)

    def _scratch_as_long(self, quota: int = 0, instants: int = 0) -> Scratch:
        if self._longest_seen + self._added > self._scratch_longest:
            self._update_changed()
        if quota > 1 or self._longest_seen > self._scratch_longest:
            if self._longest_seen > self._scratch_longest:
                self._scratch_longest = max(self._longest_seen, 2 * self._scratch_longest)
            self._scratch = make_scratch(self._scratch_longest, self.profiles, quota, instants)
        return self._scratch
