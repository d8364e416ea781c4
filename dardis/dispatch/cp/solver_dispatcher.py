"""Runs a decision model whenever a waiting job could start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Final

import numpy as np

from dardis.dispatch.cp.decision_problem import (
    BlockedCapacity,
    Decision,
    DecisionModel,
    DecisionProblem,
    Placement,
    RunningJobPart,
    WaitingJob,
)
from dardis.dispatch.queue_orders import RULES
from dardis.dispatch.queue_pass import check_done
from dardis.engine.clock import cpu_timed
from dardis.kernels import node_search, passes, selected_jobs
from dardis.kernels.job_queue import ARRIVED, ENDED, FOLLOWING, GONE, OUTRUN, RULE, SPAN, START, STARTED, UNBOUND
from dardis.kernels.job_table import JobTable
from dardis.kernels.placer import Placer
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.model.platform import Platform
from dardis.model.resources import UNKNOWN_END
from dardis.wire.effects import Solved


@dataclass(frozen=True, slots=True)
class _PlannedStart:
    job: Job
    where: Placement | None
    positions: Ints | None


class ModelPass:
    """Passes over a queue with a decision model."""

    keys: Final = (RULES["fcfs"][1], RULES["fcfs"][1])
    weighs_levels: Final = False
    strict: Final = False
    backfill: Final = False
    depth: Final = 1
    window: Final = 0

    def __init__(
        self,
        model: DecisionModel,
        seed: int,
        *,
        distinct: bool,
        shortcuts: bool,
        takes_time: bool,
        keeps_closed: bool = False,
        again_s: int | None = None,
        fills_idle: bool = True,
    ) -> None:
        """Set the options.

        `distinct`: units of a job are on different nodes. `shortcuts`: run only if a job could start. `takes_time`:
        starts wait for the deterministic seconds. `keeps_closed`: include closed queues. `again_s`: repeat after a
        start, for a window of jobs. `fills_idle`: on an idle machine, jobs that fit start, as the model may start none.
        """
        self._platform: Platform
        self._model = model
        self._seed = seed
        self._distinct = distinct
        self._shortcuts = shortcuts
        self._takes_time = takes_time
        self.keeps_closed: Final = keeps_closed
        self._again_s = again_s
        self._fills_idle = fills_idle
        self._blocked: list[BlockedCapacity] = []
        self._positions: dict[JobId, Ints] = {}
        self._due: list[_PlannedStart] | None = None
        """Starts of the pending decision, if any."""
        self._asked_at = NO_TIME

    def prepare(self, platform: Platform, placer: Placer) -> None:
        """Read the blocked capacity."""
        self._platform = platform
        self._blocked = _blocked(placer, platform.capacity)
        self._positions = {}

    def run_pass(self, placer: Placer, jobs: JobTable, now: int) -> Sequence[Solved]:
        """Run the model and start jobs."""
        queue = jobs.queue
        due, self._due = self._due, None
        # A decision that takes effect covers all waiting jobs, except after new events.
        decides = due is None or bool(queue.size[[ARRIVED, ENDED, OUTRUN]].any()) or self._has_changed(now)
        opened, opened_cpu_s = cpu_timed(lambda: placer.run(selected_jobs.open_pass, queue, now))
        check_done(opened)
        if due is not None:
            self._start_jobs(placer, jobs, due, now)
        told = self._decide(placer, jobs, now) if decides else ()
        told = tuple(replace(one, update_cpu_s=one.update_cpu_s + opened_cpu_s) for one in told)
        if self._fills_idle:
            self._start_on_idle_machine(placer, jobs, now)
        passes.end_pass(queue, placer.rules, placer.room, now)
        if self._again_s is not None and placer.room.state[STARTED] > 0:
            placer.room.state[FOLLOWING] = now + self._again_s
        return told

    @property
    def is_busy(self) -> bool:
        """Whether a decision is pending."""
        return self._due is not None

    def _has_changed(self, now: int) -> bool:
        if self.keeps_closed and any(one.changes(self._asked_at) <= now for one in self._platform.hours.values()):
            return True
        return any(self._asked_at < edge <= now for block in self._blocked for edge in (block.start, block.end))

    def _decide(self, placer: Placer, jobs: JobTable, now: int) -> tuple[Solved, ...]:
        queue, started = jobs.queue, placer.room.state
        table = queue.table
        waiting = [slot for slot in queue.lists[RULE, : queue.size[RULE]].tolist() if not table[slot, GONE]]
        bound = waiting if placer.rules.binding == UNBOUND else self._profile_bound_slots(placer, jobs, waiting, now)
        if not self._model.knows_shapes:
            bound = [slot for slot in bound if not jobs.jobs[slot].requests]
        # Jobs exempt from the desired profile have waited too long; the model does not know the others.
        held = {*bound}
        for slot in waiting:
            if slot not in held:
                placer.run(selected_jobs.start_if_fits, queue, slot, now)
        self._asked_at = now
        if not bound or (self._shortcuts and not self._could_start(placer, jobs, now)):
            return ()
        before = int(started[STARTED])
        problem, update_cpu_s = cpu_timed(lambda: self._problem(jobs, bound, now))
        answer, cpu_s = cpu_timed(lambda: self._model.decide(problem, self._seed))
        begins = self._planned_starts(jobs, bound, answer, now)
        if self._takes_time and answer.deterministic_s > 0:
            self._due = begins
            return (replace(decision_record(problem, answer, cpu_s, len(begins)), update_cpu_s=update_cpu_s),)
        _, commit_cpu_s = cpu_timed(lambda: self._start_jobs(placer, jobs, begins, now))
        solved = decision_record(problem, answer, cpu_s, int(started[STARTED]) - before)
        return (replace(solved, update_cpu_s=update_cpu_s, commit_cpu_s=commit_cpu_s),)

    def _start_on_idle_machine(self, placer: Placer, jobs: JobTable, now: int) -> None:
        """If the machine is idle, start jobs that fit, by arrival.

        Otherwise no job might ever start.
        """
        queue, table = jobs.queue, jobs.queue.table
        runs = any(table[slot, GONE] and table[slot, START] != NO_TIME for slot in jobs.jobs)
        if self._due is None and not runs:
            for slot in queue.lists[RULE, : queue.size[RULE]].tolist():
                placer.run(selected_jobs.start_if_fits, queue, slot, now)

    def _profile_bound_slots(self, placer: Placer, jobs: JobTable, waiting: list[int], now: int) -> list[int]:
        table = jobs.queue.table
        return [slot for slot in waiting if node_search.binding_of(placer.rules, table, slot, now) != UNBOUND]

    def _could_start(self, placer: Placer, jobs: JobTable, now: int) -> bool:
        return placer.run(selected_jobs.find_startable_job, jobs.queue, now) == node_search.FOUND

    def _problem(self, jobs: JobTable, slots: list[int], now: int) -> DecisionProblem:
        table = jobs.queue.table
        running: list[RunningJobPart] = []
        for slot, job in jobs.jobs.items():
            if table[slot, GONE] and table[slot, START] != NO_TIME:
                start = int(table[slot, START])
                end, positions = start + int(table[slot, SPAN]), self._positions.get(job.number)
                if job.requests:
                    running += _running_parts(job, jobs.parts_of(slot), start)
                else:
                    running.append(RunningJobPart(job, end, start + job.expected, *jobs.nodes_of(slot), positions))
        waiting = tuple(_waiting_job(jobs, slot) for slot in slots)
        running.sort(key=lambda job: (job.job.number, job.part))
        blocked = tuple(block for block in self._blocked if block.end > now)
        problem = DecisionProblem(
            self._platform, now, tuple(running), waiting, blocked, self._distinct, self.keeps_closed
        )
        return problem if self.keeps_closed else problem.cut(replace(problem, blocked=()).horizon)

    def _planned_starts(self, jobs: JobTable, slots: list[int], answer: Decision, now: int) -> list[_PlannedStart]:
        where, positions = answer.where or {}, answer.positions or {}
        return [
            _PlannedStart(jobs.jobs[slots[place]], where.get(place), positions.get(place))
            for place, start in answer.starts.items()
            if start == now
        ]

    def _is_closed(self, slot: int, jobs: JobTable, now: int) -> bool:
        return self._platform.starts_of(jobs.jobs[slot].queue).opens(now) > now

    def _start_jobs(self, placer: Placer, jobs: JobTable, begins: list[_PlannedStart], now: int) -> None:
        queue = jobs.queue
        running = {job.number for job in jobs.jobs.values()} if self._positions else set()
        self._positions = {job: at for job, at in self._positions.items() if job in running}
        waiting = {jobs.jobs[slot].number: slot for slot in queue.lists[RULE, : queue.size[RULE]].tolist()}
        for begin in begins:
            slot = waiting.get(begin.job.number)
            if slot is None or jobs.jobs[slot] != begin.job or self._is_closed(slot, jobs, now):
                continue  # cancelled, changed, or queue closed
            # The desired profile may have changed since the decision.
            if begin.where is None or (now > self._asked_at and placer.rules.binding != UNBOUND):
                placer.run(selected_jobs.start_if_fits, queue, slot, now)
                continue
            first = jobs.write_nodes(slot, *begin.where)
            if jobs.jobs[slot].requests:
                outcome = placer.change(
                    selected_jobs.start_parts_on_written_nodes, queue, placer.room, slot, first, now
                )
            else:
                outcome = placer.change(selected_jobs.start_on_written_nodes, queue, placer.room, slot, now)
            if outcome != selected_jobs.BEGUN:
                if now == self._asked_at:
                    raise ProtocolError(f"job {begin.job.number} does not fit on the nodes of its model")
                placer.run(selected_jobs.start_if_fits, queue, slot, now)
            elif begin.positions is not None:
                self._positions[begin.job.number] = begin.positions


def _waiting_job(jobs: JobTable, slot: int) -> WaitingJob:
    job, orders = jobs.jobs[slot], jobs.orders_of(slot)
    if not job.requests:
        return WaitingJob(job, int(jobs.queue.table[slot, SPAN]))
    return WaitingJob(job, max(job.requests[place].walltime for place in orders), orders)


def _running_parts(job: Job, held: Placement, start: int) -> Iterator[RunningJobPart]:
    taken, places = held
    request = job.requests[taken]
    for place, (part, (nodes, units)) in enumerate(zip(request.parts, places, strict=True)):
        alone = replace(
            job, walltime=request.walltime, units=part.units, request=part.request, groups=part.groups, requests=()
        )
        end = start + request.walltime
        yield RunningJobPart(alone, end, end, nodes, units, part=place)


def _blocked(placer: Placer, capacity: Ints) -> list[BlockedCapacity]:
    rows, kinds = placer.nodes.profiles, capacity.shape[1]
    found = []
    for node, (head, size) in enumerate(zip(rows.head.tolist(), rows.size.tolist(), strict=True)):
        value = rows.value[head : head + size].astype(np.int64)
        free = value[:, :kinds] if value.shape[1] == kinds else np.minimum(value[:, :kinds], value[:, kinds:])
        less = capacity[node] - np.maximum(free, 0)
        # An unknown end counts as permanent.
        starts = [time for time in rows.time[head : head + size].tolist() if time < UNKNOWN_END]
        ends = [*starts[1:], FOREVER]
        found += [
            BlockedCapacity(node, start, end, tuple(amounts))
            for start, end, amounts in zip(starts, ends, less.tolist(), strict=False)
            if any(amounts)
        ]
    return found


def decision_record(problem: DecisionProblem, answer: Decision, cpu_s: float, started: int) -> Solved:
    """Decision's record; `cpu_s` excludes the solver."""
    result = answer.result
    return Solved(
        waiting=len(problem.waiting),
        planned=len(answer.starts),
        started=started,
        status="" if result is None else str(result.status),
        ended="" if result is None else str(result.ended),
        objective=answer.objective if isfinite(answer.objective) else None,
        bound=answer.bound if isfinite(answer.bound) else None,
        variables=answer.variables,
        deterministic_s=answer.deterministic_s,
        check_cpu_s=answer.check_cpu_s,
        first_cpu_s=cpu_s - answer.check_cpu_s - answer.build_cpu_s,
        build_cpu_s=answer.build_cpu_s,
        solver_cpu_s=answer.solver_cpu_s,
        too_large=answer.too_large,
        problem=problem,
    )
