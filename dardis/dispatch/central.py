"""Central dispatcher: rules, EASY and conservative backfilling over nodes.

A job starts if its units fit beside all reservations for its expected duration (`kernels.passes`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from math import ceil

import numpy as np

from dardis.dispatch.job_shapes import ShapeChecker
from dardis.dispatch.queue_pass import SortKeys
from dardis.dispatch.setups import ProfileCheck, QueueSetUp
from dardis.kernels import job_queue, node_search, passes
from dardis.kernels.job_table import JobTable
from dardis.kernels.placer import Placer
from dardis.kernels.profile import NodeProfiles
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.capacity import could_hold, no_fit_reason, outside_profile_reason, too_large
from dardis.model.choices import Correction, EventOrder, Expecting, ProfileRule, UnitsPerNode
from dardis.model.errors import ProtocolError
from dardis.model.events import Change, LayoutChanged
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.model.offer_rows import NODE_CHOICES
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile
from dardis.predict.base import raise_prediction
from dardis.wire.effects import Placed, Rejected, Solved

_BINDINGS = {ProfileCheck.INSTANT: job_queue.BOUND_AT_START, ProfileCheck.SPAN: job_queue.BOUND_THROUGHOUT}


class CentralDispatcher:
    """Dispatcher of all jobs of a machine."""

    def __init__(self, setup: QueueSetUp, platform: Platform, desired: DesiredProfile | None, seed: int) -> None:
        self._setup = setup
        self._desired = desired
        self._seed = seed
        self._distinct = setup.units_per_node is UnitsPerNode.DISTINCT
        self._predicts = setup.expected is not Expecting.WALLTIME
        self._by_steps = setup.correction is Correction.STEPS
        self._always_whole = setup.event_order is EventOrder.PER_EVENT
        self._pass = setup.new_pass(platform, seed)
        self._numbering = SortKeys(self._pass.keys)
        self._lay_out(platform)
        self._wake = FOREVER
        self._asked_at = self._first = NO_TIME
        """Time of the last and first decision."""
        self._busy_until = NO_TIME
        """When the last decision takes effect."""

    def _lay_out(self, platform: Platform) -> None:
        setup, desired = self._setup, self._desired
        self._platform = platform
        self._rules = rules = job_queue.Rules(
            strict=self._pass.strict,
            backfill=self._pass.backfill,
            depth=self._pass.depth,
            binding=job_queue.UNBOUND
            if desired is None or setup.profile is ProfileRule.OFF
            else _BINDINGS[setup.profile_check],
            soft=setup.profile is ProfileRule.SOFT,
            distinct=self._distinct,
            choice=NODE_CHOICES[setup.node_choice],
            seed=self._seed,
            window=self._pass.window,
        )
        kinds = len(platform.kinds)
        self._nodes = NodeProfiles(platform, 0, platform.node_count, desired)
        self._changes = self._nodes.changes
        binds_all = desired is not None and setup.profile is ProfileRule.HARD and not setup.checks_starts_only
        self._binding = self._changes if binds_all else sorted({window.start for window in platform.maintenance})
        """When limits for running jobs may change."""
        self._table = JobTable(platform.sets, [*platform.hours.values()])
        self._probe = JobTable(platform.sets)
        """Single job to test."""
        self._placer = Placer(self._nodes, rules, kinds, self._table.slots)
        self._pass.prepare(platform, self._placer)
        self._alone = (
            Placer(NodeProfiles(platform, 0, platform.node_count, desired), rules, kinds) if rules.binding else None
        )
        """Empty machine."""
        self._shapes = ShapeChecker(platform, distinct=self._distinct)
        self._most: dict[tuple[tuple[int, ...], int], int] = {}
        self._running: dict[JobId, int] = {}
        self._expected_ends: list[tuple[int, JobId]] = []
        """Before the walltime; also of ended jobs."""
        self._durations = np.zeros((self._table.slots, 2), dtype=np.int64)
        """Expected duration and walltime by slot, in s."""
        self._passing: set[int] = set()
        """Slots of jobs without a start after the last change of the desired profile."""
        self._early: list[tuple[int, JobId, int]] = []
        """Start, number and slot of jobs outside the queue."""
        self._arrived: list[int] = []
        self._ended: list[int] = []
        """Slots not yet reported to a pass."""

    @property
    def _queue(self) -> job_queue.QueueArrays:
        return self._table.queue

    @property
    def _keeps_closed(self) -> bool:
        return self._pass.keeps_closed

    def occupy(self, nodes: Ints, units: Ints, request: Ints, start: int, end: int) -> None:
        """Reserve external use during `[start, end)`, before any submission."""
        if not self._nodes.reserve(nodes, units, request, start, end, start):
            raise ProtocolError("existing reservations do not fit")
        self._changes = sorted({*self._changes, end})

    def submit(self, job: Job, now: int) -> Rejected | None:
        """See `Decider.submit`."""
        self._numbering.on_submit(job)
        if job.requests:
            return self._submit_shaped(job, now)
        if job.units > self._could_hold(job):
            return Rejected(job.number, too_large(job, self._platform.kinds, self._could_hold(job)))
        soonest = max(job.earliest, now)
        passes_by = ignores = False
        if self._alone is not None and not self._fits_empty_machine(job, max([soonest, *self._changes[-1:]]), now):
            passes_by = self._fits_empty_machine(job, soonest, now)
            ignores = not passes_by and self._rules.soft
            if not passes_by and not ignores:
                return Rejected(job.number, outside_profile_reason(self._setup.profile_split))
        slot = self._add_to_table(job, job.expected)
        self._queue.table[slot, job_queue.IGNORES] = ignores
        if passes_by:
            self._passing.add(slot)
        self._enqueue(job, slot, soonest, now)
        return None

    def _enqueue(self, job: Job, slot: int, soonest: int, now: int) -> None:
        self._placer.ensure_slots(self._table.slots)
        self._numbering.set_keys(self._queue, slot, job, self._platform)
        if not self._keeps_closed:
            soonest = self._platform.starts_of(job.queue).opens(soonest)
        if soonest > now:
            heappush(self._early, (soonest, job.number, slot))
        else:
            self._arrived.append(slot)

    def _submit_shaped(self, job: Job, now: int) -> Rejected | None:
        if self._alone is not None or self._predicts or not self._setup.obeys_shapes:
            found = "parts, nodes, contiguous or alternatives, which the dispatcher does not obey"
            raise ProtocolError(f"job {job.number} has {found}")
        orders = self._shapes.feasible_orders(job)
        if not orders:
            return Rejected(job.number, no_fit_reason(job, self._platform.kinds))
        slot = self._table.add_shaped(job, orders, self._level_of(job), self._platform.hours_of(job.queue))
        self._enqueue(job, slot, max(job.earliest, now), now)
        return None

    def _add_to_table(self, job: Job, span: int) -> int:
        slot = self._table.add(job, span, self._level_of(job), self._platform.hours_of(job.queue))
        if self._predicts:
            if slot >= len(self._durations):
                self._durations = np.concatenate([self._durations, np.zeros_like(self._durations)])
            self._durations[slot] = job.expected, job.walltime
        return slot

    def _level_of(self, job: Job) -> int:
        return 0 if self._pass.weighs_levels else self._platform.level_of(job.queue)

    def _could_hold(self, job: Job) -> int:
        return could_hold(job, self._platform.sets, distinct=self._distinct)

    def _fits_empty_machine(self, job: Job, first: int, now: int) -> bool:
        assert self._alone is not None
        slot = self._probe.add(job, job.walltime)
        if self._rules.binding == job_queue.BOUND_AT_START:
            self._probe.queue.table[slot, job_queue.SPAN] = 1
        found = self._alone.find(self._probe.queue, slot, job_queue.BOUND_THROUGHOUT, first, FOREVER, now)
        self._probe.remove(slot)
        return found

    def ended(self, number: JobId, now: int) -> None:  # noqa: ARG002 (the pass knows the time)
        """See `Decider.ended`."""
        self._ended.append(self._running.pop(number))

    def changed(self, change: Change, now: int) -> None:
        """Withdraw jobs, or adopt a new node layout."""
        self._wake = now  # to consider all jobs
        if isinstance(change, LayoutChanged):
            self._adopt_layout(change.machine, now)
            return
        for number in change.jobs:
            if number in self._running:  # due to start at this time
                self.ended(number, now)
        waiting = {job.number: slot for slot, job in self._table.jobs.items() if slot not in self._ended}
        gone = {waiting[number] for number in change.jobs if number in waiting}
        self._early = [early for early in self._early if early[2] not in gone]
        heapify(self._early)
        for slot in sorted(gone):
            self._drop(slot, now)

    def _adopt_layout(self, machine: Platform, now: int) -> None:
        old = self._table
        held = [(old.jobs[slot], int(self._queue.table[slot, job_queue.START]), self._placement_of(slot)) for slot in
                self._running.values()]  # fmt: skip
        self._lay_out(machine)
        for job, start, (taken, parts) in held:
            self.adopt_running(job, start, taken, parts, now)

    def adopt_running(self, job: Job, start: int, taken: int, parts: Sequence[tuple[Ints, Ints]], now: int) -> None:
        """Adopt a running job with nodes and units of parts."""
        # No job may rely on an earlier end, since the window may differ.
        if job.requests:
            slot = self._table.add_shaped(job, {taken: range(len(parts))}, 0, 0)
        else:
            slot = self._add_to_table(job, job.walltime)
        self._placer.ensure_slots(self._table.slots)
        self._running[job.number] = slot
        end = start + job.with_request(taken).walltime
        rows = self._table.run_on(slot, start, taken, parts)
        for row, (nodes, units) in zip(rows, parts, strict=True):
            request = self._queue.table[row, job_queue.REQUEST :]
            if now < end and not self._nodes.reserve(nodes, units, request, now, end, now):
                raise ProtocolError(f"job {job.number} runs on closed nodes")

    def _placement_of(self, slot: int) -> tuple[int, tuple[tuple[Ints, Ints], ...]]:
        if self._table.jobs[slot].requests:
            return self._table.parts_of(slot)
        return 0, (self._table.nodes_of(slot),)

    def decide(self, now: int) -> list[Placed | Rejected | Solved]:
        """See `Decider.decide`."""
        if self._first == NO_TIME:
            self._first = now
        step = self._setup.step_s
        if now < (due := max(self._busy_until, self._first - (self._first - now) // step * step)):
            self._wake = due
            return []
        while self._early and self._early[0][0] <= now:
            self._arrived.append(heappop(self._early)[2])
        if self._platform.hours and not self._keeps_closed:
            self._withdraw_closed(now)
        lost: list[Rejected] = []
        has_changed = bisect_right(self._changes, now) > bisect_right(self._changes, self._asked_at)
        if self._passing and (has_changed or not self._passing.isdisjoint(self._arrived)):
            lost = self._handle_expired_starts(now)
        self._asked_at = now
        whole = self._always_whole or now >= self._wake
        begun: list[Placed | Solved] = []
        if self._arrived or ((whole or self._ended) and self._queue.size[job_queue.RULE]):
            begun = self._run_pass(whole, now)
        self._wake = self._next_change(now)
        if self._busy_until > now:
            self._wake = min(self._wake, self._busy_until)
        return [*lost, *begun]

    def _run_pass(self, whole: bool, now: int) -> list[Placed | Solved]:
        jobs, placer = self._queue, self._placer
        state = placer.room.state
        outrun: list[int] = []
        if self._predicts:
            # A reserved start has not come true: recompute all reservations.
            whole = whole or now >= state[job_queue.FOLLOWING]
            outrun = self._raise_spans(now)
            if self._binding:
                self._update_spans(now)
        whole = self._numbering.update_keys(self._table, self._arrived, now) or whole
        for which, slots in (
            (job_queue.ARRIVED, self._arrived),
            (job_queue.ENDED, self._ended),
            (job_queue.OUTRUN, outrun),
        ):
            for place, slot in enumerate(slots):  # rarely more than a few
                jobs.lists[which, place] = slot
            jobs.size[which] = len(slots)
        if whole:
            state[job_queue.WHOLE] = 1
        told = self._pass.run_pass(placer, self._table, now)
        if self._setup.takes_time:
            self._busy_until = now + sum(ceil(solved.deterministic_s) for solved in told)
        for slot in self._ended:
            self._table.remove(slot)
        for slot in outrun:
            self._expect_end(slot)
        self._arrived.clear()
        self._ended.clear()
        started: list[int] = placer.room.started[: state[job_queue.STARTED]].tolist()
        return [*[self._record_start(slot, now) for slot in started], *told]

    def _raise_spans(self, now: int) -> list[int]:
        slots = []
        while self._expected_ends and self._expected_ends[0][0] <= now:
            number = heappop(self._expected_ends)[1]
            if number in self._running:
                slot = self._running[number]
                self._queue.table[slot, job_queue.SPAN] = self._raised_span(slot, now)
                slots.append(slot)
        return slots

    def _raised_span(self, slot: int, now: int) -> int:
        elapsed = now - int(self._queue.table[slot, job_queue.START])
        if not self._by_steps:
            return elapsed + 1  # PCP'19, section 4
        expected, walltime = self._durations[slot].tolist()
        return max(raise_prediction(expected, walltime, elapsed), elapsed + 1)  # booting may exceed the walltime

    def _next_expiry(self) -> int:
        ends = self._expected_ends
        while ends and ends[0][1] not in self._running:
            heappop(ends)
        return ends[0][0] if ends else FOREVER

    def _update_spans(self, now: int) -> None:
        """Set spans of waiting jobs to expected durations.

        If the walltime might reach a limit, it is the span: no limit kills a job earlier.
        """
        jobs, state = self._queue, self._placer.room.state
        slots = np.concatenate(
            [jobs.lists[job_queue.RULE, : jobs.size[job_queue.RULE]], np.array(self._arrived, dtype=int)]
        )
        expected, walltime = self._durations[slots].T
        place = bisect_right(self._binding, now)
        bound = self._binding[place] if place < len(self._binding) else FOREVER
        spans = np.where(now + walltime > bound, walltime, expected)
        changed = jobs.table[slots, job_queue.SPAN] != spans
        for slot, span in zip(slots[changed].tolist(), spans[changed].tolist(), strict=True):
            if jobs.table[slot, job_queue.START] != NO_TIME:
                self._placer.change(node_search.release_job, jobs, slot, now)
            jobs.table[slot, job_queue.SPAN] = span
            state[job_queue.WHOLE] = state[job_queue.FREED] = 1

    def _expect_end(self, slot: int) -> None:
        start, span = self._queue.table[slot, [job_queue.START, job_queue.SPAN]].tolist()
        job = self._table.jobs[slot]
        if span < job.walltime:  # otherwise killed then
            heappush(self._expected_ends, (start + span, job.number))

    def _withdraw_closed(self, now: int) -> None:
        jobs = self._queue
        waiting = jobs.lists[job_queue.RULE, : jobs.size[job_queue.RULE]]
        for slot in waiting[jobs.table[waiting, job_queue.HOURS] > 0].tolist():
            opens = self._next_opening(slot, now)
            if opens > now:
                self._placer.change(passes.withdraw, jobs, slot, now)
                self._placer.room.state[job_queue.FREED] = 1
                jobs.table[slot, job_queue.FRESH] = 1
                heappush(self._early, (opens, self._table.jobs[slot].number, slot))
        # A job may have arrived while its queue was open, during a decision.
        for slot in [slot for slot in self._arrived if jobs.table[slot, job_queue.HOURS]]:
            opens = self._next_opening(slot, now)
            if opens > now:
                self._arrived.remove(slot)
                heappush(self._early, (opens, self._table.jobs[slot].number, slot))

    def _next_opening(self, slot: int, now: int) -> int:
        return self._platform.starts_of(self._table.jobs[slot].queue).opens(now)

    def _handle_expired_starts(self, now: int) -> list[Rejected]:
        """Handle jobs without future start: a soft profile stops binding, a hard profile rejects."""
        jobs, lost = self._queue, []
        waiting = jobs.lists[job_queue.RULE, : jobs.size[job_queue.RULE]]
        for slot in sorted(self._passing.intersection([*waiting.tolist(), *self._arrived])):
            job = self._table.jobs[slot]
            if self._fits_empty_machine(job, now, now):
                continue
            self._passing.remove(slot)
            if self._rules.soft:
                jobs.table[slot, job_queue.IGNORES] = 1
                continue
            self._drop(slot, now)
            lost.append(Rejected(job.number, outside_profile_reason(self._setup.profile_split)))
        return lost

    def _drop(self, slot: int, now: int) -> None:
        self._placer.change(passes.withdraw, self._queue, slot, now)
        self._placer.room.state[job_queue.FREED] = 1
        self._arrived = [other for other in self._arrived if other != slot]
        self._passing.discard(slot)
        self._table.remove(slot)

    def _record_start(self, slot: int, now: int) -> Placed:
        number = self._table.jobs[slot].number
        self._running[number] = slot
        self._passing.discard(slot)
        if self._predicts:
            self._expect_end(slot)
        if self._table.jobs[slot].requests:
            return self._record_parts_start(slot, now)
        return Placed(number, now, *self._table.nodes_of(slot))

    def _record_parts_start(self, slot: int, now: int) -> Placed:
        taken, parts = self._placement_of(slot)
        nodes, place = np.unique(np.concatenate([nodes for nodes, _ in parts]), return_inverse=True)
        units = np.bincount(place, np.concatenate([units for _, units in parts])).astype(np.int64)
        several = parts if len(parts) > 1 else ()
        return Placed(self._table.jobs[slot].number, now, nodes, units, taken=taken, parts=several)

    def _next_change(self, now: int) -> int:
        soonest = self._early[0][0] if self._early else FOREVER
        if self._queue.size[job_queue.RULE]:
            place = bisect_right(self._changes, now)
            state = self._placer.room.state
            soonest = min(soonest, int(state[job_queue.LAPSES]), *self._changes[place : place + 1])
            soonest = min([soonest, *(starts.changes(now) for starts in self._platform.hours.values())])
            if not self._predicts:  # otherwise reservations are recomputed at ends
                soonest = min(soonest, int(state[job_queue.FOLLOWING]))
            elif self._by_steps:  # a raised prediction moves reservations and may permit starts
                soonest = min(soonest, self._next_expiry())
        return soonest

    def wake(self) -> int:
        """See `Decider.wake`."""
        return self._wake
