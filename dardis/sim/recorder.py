"""Simulation's record, for the schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, NO_TIME, ActualJob, Status
from dardis.model.placements import Placements, indexes_of, offsets_of
from dardis.model.schedule import Downtime, PartsOfJobs, Schedule
from dardis.wire.effects import Plain, Solved

Keep = Callable[[int, Plain], None]
"""Called with decision number and problem."""
FIRST_PLACEMENTS = 1 << 14
_BLOCK = 1 << 14


class Recorder:
    """Run's record, by place of the job.

    One array holds all nodes and units, to save memory.
    """

    def __init__(self, count: int, keep: Keep | None = None) -> None:
        self._keep = keep
        self.start = [NO_TIME] * count
        self.finish = [NO_TIME] * count
        self.attempts = [0] * count
        self.reasons: dict[int, str] = {}
        self.decision_ns: list[int] = []
        self.upkeep_ns = 0
        """CPU time outside decisions."""
        self.predictor_ns = 0
        self.solved: list[tuple[int, Solved]] = []
        """Model decisions with times."""
        self.settled = 0
        self.expected = [NO_TIME] * count
        self.rules = [""] * count
        """Predicted durations, and their rules."""
        self.cut: dict[int, int] = {}
        """Duration of failed jobs, in s."""
        self.killed: list[int] = []
        """Jobs killed by their dispatcher."""
        self.registered: list[int] = []
        """Jobs registered by their dispatcher."""
        self.boot_delay = [0] * count
        """Seconds lost to sleeping nodes."""
        self.taken: dict[int, int] = {}
        """Index of the granted request."""
        self.parts: dict[int, tuple[tuple[Ints, Ints], ...]] = {}
        """Nodes and units of each part."""
        self._down: dict[int, int] = {}
        self._downtime: list[tuple[int, int, int]] = []
        self._first = np.zeros(count, dtype=np.int64)
        self._count = np.zeros(count, dtype=np.int64)
        self._placed = np.empty((2, FIRST_PLACEMENTS), dtype=np.int32)
        self._used = 0

    def add_job(self) -> None:
        """Add a job that a dispatcher registers."""
        self.registered.append(len(self.start))
        for times in (self.start, self.finish, self.expected):
            times.append(NO_TIME)
        for numbers in (self.attempts, self.boot_delay):
            numbers.append(0)
        self.rules.append("")
        self._first, self._count = np.append(self._first, 0), np.append(self._count, 0)

    def record_placement(self, place: int, start: int, nodes: Ints, units: Ints) -> None:
        """Record a reservation."""
        self.start[place] = start
        end = self._used + len(nodes)
        if end > self._placed.shape[1]:
            self._pack(len(nodes))
            end = self._used + len(nodes)
        self._placed[0, self._used : end] = nodes
        self._placed[1, self._used : end] = units
        self._first[place], self._count[place] = self._used, len(nodes)
        self._used = end

    def record_run(self, start: Ints, finish: Ints, placed: Placements) -> None:
        """Record the starts and ends of all jobs (NO_TIME: rejected)."""
        self.start, self.finish = start.tolist(), finish.tolist()
        self.attempts = (start != NO_TIME).astype(np.int64).tolist()
        self._first, self._count = placed.offsets[:-1], placed.counts
        self._placed = np.stack([placed.nodes, placed.units]).astype(np.int32)
        self._used = len(placed.nodes)
        self.settled = int((start != NO_TIME).sum()) + len(self.reasons)

    def drop_placement(self, place: int) -> None:
        """Drop a reservation."""
        self.start[place] = NO_TIME
        self._count[place] = 0
        self.taken.pop(place, None)
        self.parts.pop(place, None)

    def nodes_of(self, place: int) -> NDArray[np.int32]:
        """Reserved nodes, ascending."""
        first = self._first[place]
        return self._placed[0, first : first + self._count[place]]

    def placement(self, place: int) -> tuple[Ints, Ints]:
        """Reserved nodes and units."""
        span = slice(self._first[place], self._first[place] + self._count[place])
        nodes, units = self._placed[:, span].astype(np.int64)
        return nodes, units

    def record_switch(self, nodes: Ints, moments: Ints, *, up: bool) -> None:
        """Record shutdowns, or boots that end at these moments."""
        for node, moment in zip(nodes.tolist(), moments.tolist(), strict=True):
            if up:
                self._downtime.append((node, self._down.pop(node), moment))
            else:
                self._down[node] = moment

    @property
    def has_switched(self) -> bool:
        """Whether nodes were switched."""
        return bool(self._down or self._downtime)

    def downtime(self) -> Downtime:
        """Downtimes."""
        for_ever = [(node, since, FOREVER) for node, since in self._down.items()]
        spans = np.array(sorted([*self._downtime, *for_ever]), dtype=np.int64).reshape(-1, 3)
        return Downtime(*spans.T.copy())

    def record_prediction(self, place: int, duration: int, rule: str) -> None:
        """Record a predicted duration."""
        self.expected[place] = duration
        self.rules[place] = rule

    def record_decision(self, now: int, decision: Solved) -> None:
        """Record a decision."""
        if self._keep is not None and decision.problem is not None:
            self._keep(len(self.solved), decision.problem)
        self.solved.append((now, replace(decision, problem=None)))

    def record_end(self, place: int, now: int) -> None:
        """Record a job's end."""
        self.finish[place] = now
        self.settled += 1

    def record_failure(self, place: int, now: int) -> None:
        """Record a job's failure with its nodes."""
        self.cut[place] = now - self.start[place]
        self.record_end(place, now)

    def record_rejection(self, place: int, reason: str) -> None:
        """Record a rejection."""
        self.reasons[place] = reason
        self._count[place] = 0
        self.settled += 1

    def _pack(self, more: int) -> None:
        offsets = offsets_of(self._count)
        room = int(offsets[-1]) + more
        placed = np.empty((2, room + room // 4 + FIRST_PLACEMENTS), dtype=np.int32)
        for row in range(2):
            placed[row, : offsets[-1]] = self._gathered(row, offsets)
        self._placed, self._used = placed, int(offsets[-1])
        self._first = offsets[:-1].copy()

    def _gathered(self, row: int, offsets: Ints) -> NDArray[np.int32]:
        gathered = np.empty(offsets[-1], dtype=np.int32)
        for low in range(0, len(self._first), _BLOCK):
            jobs = slice(low, min(low + _BLOCK, len(self._first)))
            source = indexes_of(self._first[jobs], self._count[jobs])
            gathered[offsets[jobs.start] : offsets[jobs.stop]] = self._placed[row, source]
        return gathered

    def schedule(self, jobs: Sequence[ActualJob], kinds: tuple[str, ...]) -> Schedule:
        """Schedule of these jobs."""
        status = [
            Status.REJECTED
            if place in self.reasons
            else Status.KILLED
            if place in self.cut or job.runtime > job.walltime
            else Status.COMPLETED
            for place, job in enumerate(jobs)
        ]
        offsets = offsets_of(self._count)

        def column(values: list[int]) -> Ints:
            return np.array(values, dtype=np.int64)

        return Schedule(
            kinds=kinds,
            number=column([job.number for job in jobs]),
            submit=column([job.submit for job in jobs]),
            earliest=column([job.earliest for job in jobs]),
            latest=column([NO_TIME if job.latest is None else job.latest for job in jobs]),
            walltime=column([job.walltime for job in jobs]),
            units=column([job.units for job in jobs]),
            request=np.array([job.request for job in jobs], dtype=np.int64).reshape(len(jobs), len(kinds)),
            status=np.array(status, dtype=np.int8),
            start=column(self.start),
            finish=column(self.finish),
            attempts=column(self.attempts),
            placed=Placements(offsets, self._gathered(0, offsets), self._gathered(1, offsets)),
            queue=[job.queue for job in jobs],
            user=[job.user for job in jobs],
            parts=self._parts_of(jobs),
            taken=column([self.taken.get(place, -1) for place in range(len(jobs))]) if self._chose(jobs) else None,
        )

    def _chose(self, jobs: Sequence[ActualJob]) -> bool:
        return bool(self.taken) or any(len(job.job.requests) > 1 for job in jobs)

    def _parts_of(self, jobs: Sequence[ActualJob]) -> PartsOfJobs | None:
        of_jobs = [job.job.requests[0].parts if job.job.requests else () for job in jobs]
        if max(map(len, of_jobs), default=0) < 2:
            return None
        nothing = np.zeros(0, dtype=np.int64)
        where: list[tuple[Ints, Ints]] = []
        asked: list[tuple[int, tuple[int, ...]]] = []
        for place, (job, parts) in enumerate(zip(jobs, of_jobs, strict=True)):
            asked += [(part.units, part.request) for part in parts] or [(job.units, job.request)]
            if len(parts) > 1:
                where += self.parts.get(place, [(nothing, nothing)] * len(parts))
            else:
                mine = slice(self._first[place], self._first[place] + self._count[place])
                where.append((self._placed[0, mine].astype(np.int64), self._placed[1, mine].astype(np.int64)))
        nodes, units = (np.concatenate([nothing, *(pair[i] for pair in where)]) for i in range(2))
        return PartsOfJobs(
            offsets_of([max(len(parts), 1) for parts in of_jobs]),
            np.array([count for count, _ in asked], dtype=np.int64),
            np.array([request for _, request in asked], dtype=np.int64),
            Placements(offsets_of([len(pair[0]) for pair in where]), nodes, units),
        )
