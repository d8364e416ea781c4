"""Plays past days under EASY, from the jobs at midnight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dardis.dispatch import CENTRAL_SETUPS, CentralDispatcher
from dardis.model.addresses import JobId
from dardis.model.arrays import Bools, Ints
from dardis.model.events import Change
from dardis.model.job import ActualJob, Job
from dardis.model.platform import Maintenance, Platform
from dardis.model.schedule import Downtime, Schedule, boot_and_shutdown
from dardis.model.target import Switching
from dardis.node_manager.switching import Switcher
from dardis.sim.simulation import Simulation
from dardis.turns import CentralTurns
from dardis.wire.effects import Placed, Rejected, Solved
from offline.site.calendar import DAY_S
from offline.site.history import PastSchedule

Absence = tuple[int, int, int]
"""(from, to, node)."""


@dataclass(frozen=True)
class PlayedDay:
    """Day's result; `boot_delay`, `is_of_day` (submitted in the day): (jobs,)."""

    machine: Platform
    past: PastSchedule
    """Schedule until the last job's end."""
    downtime: Downtime
    boot_delay: Ints
    is_of_day: Bools

    @property
    def schedule(self) -> Schedule:
        """Day's schedule."""
        return self.past.schedule


@dataclass(frozen=True)
class _RunningJob:
    job: ActualJob
    nodes: Ints
    units: Ints


class _EasyWithRunningJobs:
    def __init__(self, easy: CentralDispatcher, runs: Sequence[_RunningJob]) -> None:
        self._easy = easy
        self._runs = {one.job.number: one for one in runs}
        self._begun: list[Placed] = []

    def submit(self, job: Job, now: int) -> Rejected | None:
        one = self._runs.get(job.number)
        if one is None:
            return self._easy.submit(job, now)
        self._easy.adopt_running(job, now, 0, [(one.nodes, one.units)], now)
        self._begun.append(Placed(job.number, now, one.nodes, one.units))
        return None

    def ended(self, number: JobId, now: int) -> None:
        self._easy.ended(number, now)

    def changed(self, change: Change, now: int) -> None:
        self._easy.changed(change, now)

    def decide(self, now: int) -> list[Placed | Rejected | Solved]:
        begun, self._begun = self._begun, []
        return [*begun, *self._easy.decide(now)]

    def wake(self) -> int:
        return self._easy.wake()


def play_day(
    before: PastSchedule, arrivals: Sequence[ActualJob], platform: Platform, start: int, *, switching: Switching
    | None = None,
    closed: Sequence[Absence] = (),
) -> PlayedDay:  # fmt: skip
    """Play the day from `start` on, after `before`, with all nodes up.

    `switching`: rule for nodes on. `closed`: planned downtime; running jobs end first.
    """
    runs = _jobs_at_midnight(before, start)
    beside = _closures_beside_jobs(closed, runs, platform)
    runs = [_cut_at_runtime(one, closed) for one in runs]
    closed = _delay_closures(closed, runs)
    machine = replace(platform, maintenance=(*platform.maintenance, *_windows(closed), *beside))
    switcher = None if switching is None else Switcher(machine, switching, start)
    lead_s = 0 if switcher is None else switcher.longest_s
    jobs = sorted(
        [one.job for one in runs] + _pending_jobs(before, arrivals, start), key=lambda job: (job.submit, job.number)
    )
    runs = _cut_to_capacity([_cut_at_closure(one, machine, lead_s) for one in runs], machine)
    clipped = {one.job.number: one.job for one in runs}
    easy = CENTRAL_SETUPS["easy"].checked()
    dispatcher = _EasyWithRunningJobs(CentralDispatcher(easy, machine, None, seed=1), runs)
    known = [clipped.get(job.number, job) for job in jobs]
    simulation = Simulation(known, CentralTurns(easy.event_order, dispatcher, switcher))
    simulation.run()
    recorder = simulation.recorder
    came = {job.number for job in arrivals}
    of_day = np.array([job.number in came for job in jobs], dtype=np.bool_)
    return PlayedDay(
        machine,
        PastSchedule(recorder.schedule(simulation.jobs, platform.kinds), jobs, ""),
        _downtime(closed, machine) if switcher is None else recorder.downtime(),
        np.array(recorder.boot_delay, dtype=np.int64),
        of_day,
    )


def arrivals_of(past: PastSchedule, start: int) -> list[ActualJob]:
    """Jobs submitted in the day from `start` on that ran."""
    schedule = past.schedule
    comes = schedule.ran & (schedule.submit >= start) & (schedule.submit < start + DAY_S)
    return [past.jobs[place] for place in np.flatnonzero(comes).tolist()]


def _jobs_at_midnight(past: PastSchedule, start: int) -> list[_RunningJob]:
    schedule, runs = past.schedule, []
    for place in np.flatnonzero(schedule.ran & (schedule.start < start) & (schedule.finish > start)).tolist():
        job, finish = past.jobs[place], int(schedule.finish[place])
        left = max(int(schedule.start[place]) + job.walltime, finish) - start
        asked = replace(job.job, submit=start, earliest=start, latest=None, walltime=left)
        nodes, units = (column.astype(np.int64) for column in schedule.placed.of(place))
        runs.append(_RunningJob(ActualJob(asked, finish - start), nodes, units))
    return runs


def _pending_jobs(past: PastSchedule, arrivals: Sequence[ActualJob], start: int) -> list[ActualJob]:
    schedule = past.schedule
    waits = schedule.ran & (schedule.submit < start) & (schedule.start >= start)
    told = [past.jobs[place] for place in np.flatnonzero(waits).tolist()]
    return [
        replace(job, job=replace(job.job, earliest=max(job.earliest, start), latest=None), after=None)
        for job in (*told, *arrivals)
    ]


def _delay_closures(closed: Sequence[Absence], runs: Sequence[_RunningJob]) -> list[Absence]:
    over: dict[int, int] = {}
    for one in runs:
        for node in one.nodes.tolist():
            over[node] = max(over.get(node, 0), one.job.submit + one.job.duration)
    later = ((max(begin, over.get(node, begin)), end, node) for begin, end, node in closed)
    return [(begin, end, node) for begin, end, node in later if begin < end]


def _closures_beside_jobs(
    closed: Sequence[Absence], runs: Sequence[_RunningJob], platform: Platform
) -> list[Maintenance]:
    windows = []
    for begin, end, node in closed:
        here = [
            (one.job.submit + one.job.duration, units * np.array(one.job.job.request))
            for one in runs for where, units in zip(one.nodes.tolist(), one.units.tolist(), strict=True)
            if where == node
        ]  # fmt: skip
        ends = sorted({min(over, end) for over, _ in here if over > begin})
        for since, until in pairwise([begin, *ends]):
            less = platform.capacity[node] - sum(amounts for over, amounts in here if over > since)
            less = np.maximum(less - _closed_amounts(node, since, until, platform), 0)
            if less.any():
                windows.append(Maintenance((node,), since, until, tuple(less.tolist())))
    return windows


def _closed_amounts(node: int, start: int, end: int, platform: Platform) -> Ints:
    capacity = platform.capacity[node]
    windows = [one for one in platform.maintenance if node in one.nodes and one.start < end and start < one.end]
    kept = [
        sum(capacity if one.less is None else np.array(one.less) for one in windows if one.start <= at < one.end)
        for at in {max(one.start, start) for one in windows}
    ]  # fmt: skip
    return np.asarray(np.max([np.zeros_like(capacity), *kept], axis=0))


def _cut_at_runtime(one: _RunningJob, closed: Sequence[Absence]) -> _RunningJob:
    over = one.job.submit + one.job.duration
    if not any(begin < over < end and node in one.nodes for begin, end, node in closed):
        return one
    asked = one.job.job
    return replace(one, job=replace(one.job, job=replace(asked, walltime=min(asked.walltime, one.job.duration))))


def _windows(closed: Sequence[Absence]) -> list[Maintenance]:
    nodes: dict[tuple[int, int], list[int]] = {}
    for begin, end, node in closed:
        nodes.setdefault((begin, end), []).append(node)
    return [Maintenance(tuple(sorted(who)), *span) for span, who in sorted(nodes.items())]


def _downtime(closed: Sequence[Absence], platform: Platform) -> Downtime:
    boot_s, shutdown_s = boot_and_shutdown(platform)
    return Downtime.of((node, a, b) for a, b, node in closed if b - a >= shutdown_s[node] + boot_s[node])


def _cut_at_closure(one: _RunningJob, platform: Platform, lead_s: int) -> _RunningJob:
    asked = one.job.job
    begins = [begin for node in one.nodes.tolist() for begin, _ in platform.closed_spans(node) if begin > asked.submit]
    left = min([asked.walltime, *(begin - lead_s - asked.submit for begin in begins)])
    return replace(one, job=replace(one.job, job=replace(asked, walltime=max(left, 1))))


def _cut_to_capacity(runs: Sequence[_RunningJob], platform: Platform) -> list[_RunningJob]:
    """Cut walltimes of running jobs where a node lacks room.

    Each job takes its nodes for its runtime; then each reservation, in the order of `runs`, extends as far as possible.
    """
    room: dict[int, list[tuple[int, int, Ints]]] = {}
    """By node: (from, to, resources in use)."""
    used = {node for one in runs for node in one.nodes.tolist()}
    for window in platform.maintenance:
        for node in used.intersection(window.nodes):
            less = platform.capacity[node] if window.less is None else np.array(window.less)
            room.setdefault(node, []).append((window.start, window.end, less))
    walltimes = [one.job.walltime for one in runs]
    for whole in (False, True):
        for place, one in enumerate(runs):
            begin = one.job.submit
            since = begin + min(one.job.duration, walltimes[place]) if whole else begin
            end = begin + (walltimes[place] if whole else min(one.job.duration, walltimes[place]))
            parts = [
                (node, units * np.array(one.job.job.request))
                for node, units in zip(one.nodes.tolist(), one.units.tolist(), strict=True)
            ]
            until = min(
                [
                    end,
                    *(
                        _first_shortage(room.get(node, []), platform.capacity[node] - amounts, since, end)
                        for node, amounts in parts
                    ),
                ]
            )
            if until < end:
                walltimes[place] = max(until - begin, 1)
            for node, amounts in parts:
                room.setdefault(node, []).append((since, until, amounts))
    return [
        replace(one, job=replace(one.job, job=replace(one.job.job, walltime=walltime)))
        for one, walltime in zip(runs, walltimes, strict=True)
    ]


def _first_shortage(taken: Sequence[tuple[int, int, Ints]], most: Ints, start: int, end: int) -> int:
    near = [one for one in taken if one[0] < end and start < one[1]]
    for at in sorted({max(start, since) for since, _, _ in near}):
        if (sum(less for since, until, less in near if since <= at < until) > most).any():
            return at
    return end
