"""Machine's state, and packing of jobs on real nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dardis.kernels import job_queue, neighbourhood_search, node_search, profile
from dardis.kernels.day_profit import DayProfit
from dardis.kernels.placer import Placer
from dardis.kernels.profile import NodeProfiles
from dardis.model.arrays import Floats, Integers, Ints
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.model.offer_rows import BEST_FIT
from dardis.model.placements import Placements, indexes_of, offsets_of
from dardis.model.platform import Platform
from dardis.model.resources import CORES, POWER
from dardis.model.schedule import Schedule
from dardis.power.node_power import MachinePower
from dardis.predict.recent import LastTwoRuntimes
from offline.planner.day_problem import DayProblem, ExpectedJob, Plan, PlanJobs, RunningJobs

GRAIN_S = 900
"""Grid of candidate starts between changes."""


class Packing:
    """Places jobs by index; times in s of the trace's clock."""

    def __init__(self, problem: DayProblem, seed: int = 1) -> None:
        platform, jobs, running = problem.platform, problem.jobs, problem.running
        self._now = problem.conditions.start
        self._nodes = NodeProfiles(platform, 0, platform.node_count, None)
        for nodes, units, request, begin, end in running.holdings(platform, self._now):
            if not self._nodes.reserve(nodes, units, request, begin, end, NO_TIME):
                raise ValueError(f"nodes {nodes.tolist()} do not fit their running jobs")
        self.soonest: Ints = np.maximum(jobs.earliest, self._now)
        most = np.minimum(jobs.units, platform.node_count)
        count, kinds = jobs.request.shape
        held_most = int(most.sum()) + 1
        self._queue = job_queue.make_queue(count, kinds)._replace(
            hold_node=np.zeros(held_most, np.int64), hold_units=np.zeros(held_most, np.int64)
        )
        table = self._queue.table
        table[:, job_queue.NUMBER], table[:, job_queue.SUBMIT] = jobs.number, jobs.submit
        table[:, job_queue.SPAN], table[:, job_queue.UNITS] = jobs.duration, jobs.units
        table[:, job_queue.GROUPS] = [platform.sets.code(bits) for bits in jobs.groups.tolist()]
        table[:, job_queue.LATEST] = np.where(jobs.latest == NO_TIME, FOREVER, jobs.latest)
        table[:, job_queue.START], table[:, job_queue.HOLD] = NO_TIME, np.cumsum(most) - most
        table[:, job_queue.REQUEST :] = jobs.request
        rules = job_queue.Rules(True, True, 0, job_queue.UNBOUND, False, False, BEST_FIT, seed)
        self._placer = Placer(self._nodes, rules, kinds)

    @property
    def start(self) -> Ints:
        """Copy of all starts, `NO_TIME` if unplaced."""
        return self._queue.table[:, job_queue.START].copy()

    def placed(self) -> Placements:
        """Nodes of all jobs; none for unplaced jobs."""
        held, low = self._queue.table[:, job_queue.HELD], self._queue.table[:, job_queue.HOLD]
        place = indexes_of(low, held)
        return Placements(offsets_of(held), self._queue.hold_node[place], self._queue.hold_units[place])

    def put(self, job: int, first: int | None = None) -> int:
        """Place a job at its earliest free start from `first` on. ValueError: no node fits."""
        placer, soonest = self._placer, int(self.soonest[job])
        first = soonest if first is None else max(first, soonest)
        if not placer.find(self._queue, job, job_queue.UNBOUND, first, FOREVER, self._now):
            raise ValueError(f"job {self._queue.table[job, job_queue.NUMBER]} is too large for the machine")
        start = int(placer.room.result[1])
        placer.change(node_search.take, self._queue, job, start, self._now)
        return start

    def place_as_planned(self, plan: Plan, jobs: Iterable[int]) -> None:
        """Place jobs as in a plan of the same problem."""
        table = self._queue.table
        for job in jobs:
            nodes, units = plan.placed.of(job)
            low = table[job, job_queue.HOLD]
            table[job, job_queue.HELD] = len(nodes)
            self._queue.hold_node[low : low + len(nodes)] = nodes
            self._queue.hold_units[low : low + len(nodes)] = units
            if self._placer.change(node_search.take, self._queue, job, int(plan.start[job]), self._now) != profile.DONE:
                raise ValueError(f"job {table[job, job_queue.NUMBER]} does not fit on its planned nodes")

    def rebuild(self, profit: DayProfit, groups: list[Ints]) -> float:
        """Remove each group of placed jobs and reinsert its jobs at best places.

        Worse results are undone. Returns the gain by `profit`, which is updated.
        """
        sizes = [len(group) for group in groups]
        offsets = offsets_of(sizes)
        slots = np.concatenate([np.zeros(0, dtype=np.int64), *groups])
        most, room = max(sizes, default=0), len(self._queue.hold_node)
        torn = neighbourhood_search.GroupBackup(*(np.zeros(size, dtype=np.int64) for size in (most, most, room, room)))
        work = neighbourhood_search.JobGroups(offsets, slots, np.zeros(4, dtype=np.int64), np.zeros(2))
        done = self._placer.run(neighbourhood_search.rebuild, self._queue, profit, GRAIN_S, self._now, work, torn)
        if done != profile.DONE:
            raise ValueError("a placed job is too large for the machine")
        return float(work.gains[neighbourhood_search.TOTAL])


@dataclass(frozen=True)
class MachineState:
    """Running jobs with expected ends, and waiting jobs."""

    now: int
    running: RunningJobs
    waiting: list[ExpectedJob]


def state_at(
    schedule: Schedule, jobs: Sequence[Job], platform: Platform, now: int, predictor: LastTwoRuntimes
) -> MachineState:
    """State at `now` of a schedule of `jobs`, from earlier events."""
    submitted = schedule.ran & (schedule.submit < now)
    walltime = _known_walltimes(schedule, now).tolist()
    on = np.flatnonzero(submitted & (schedule.start < now) & (schedule.finish > now))
    waits = np.flatnonzero(submitted & (schedule.start >= now))
    expected = np.array(
        [
            schedule.start[i] + predictor.runtime(schedule.user[i], walltime[i], now, now - int(schedule.start[i]))
            for i in on.tolist()
        ],
        dtype=np.int64,
    )
    running = running_of(schedule, on, expected, jobs, platform)
    waiting = [
        ExpectedJob(replace(jobs[i], walltime=walltime[i]), predictor.runtime(jobs[i].user, walltime[i], now))
        for i in waits.tolist()
    ]
    return MachineState(now, running, waiting)


def running_of(schedule: Schedule, on: Ints, finish: Ints, jobs: Sequence[Job], platform: Platform) -> RunningJobs:
    """Jobs at indices `on` as running, with the given ends."""
    request, placed = schedule.request[on], schedule.placed.take(on)
    return RunningJobs(
        number=schedule.number[on], submit=schedule.submit[on], start=schedule.start[on], finish=finish,
        request=request, core_w=_running_core_watts(request, placed, platform),
        income=incomes([jobs[i] for i in on.tolist()], platform), placed=placed,
    )  # fmt: skip


def _known_walltimes(schedule: Schedule, now: int) -> Ints:
    """Walltimes (jobs,); equal to still unknown runtimes: mean of ended jobs, or twice the elapsed time."""
    length, ended = schedule.finish - schedule.start, schedule.ran & (schedule.finish <= now)
    if not ended.any() or (length != schedule.walltime)[ended].any():
        return schedule.walltime
    runs = np.where(schedule.ran & (schedule.start < now), now - schedule.start, 0)
    return np.asarray(np.maximum(int(length[ended].mean()), 2 * runs))


def core_watts(jobs: Sequence[Job], platform: Platform) -> Floats:
    """Mean power each core of a job adds, with its share of devices, W."""
    machine = MachinePower.of_platform(platform)
    known: dict[tuple[int, tuple[int, ...]], float] = {}
    found = []
    for job in jobs:
        key = job.groups, tuple(job.request)
        if key not in known:
            may = np.flatnonzero(platform.sets.nodes(job.groups))
            known[key] = float(_added_by_core(may, key[1], machine, platform).mean()) if len(may) else 0.0
        found.append(known[key])
    return np.array(found, dtype=np.float64)


def _running_core_watts(request: Ints, placed: Placements, platform: Platform) -> Floats:
    machine = MachinePower.of_platform(platform)
    found = np.zeros(len(request))
    for job in range(len(request)):
        nodes, units = placed.of(job)
        watts = _added_by_core(nodes, request[job].tolist(), machine, platform)
        found[job] = np.average(watts, weights=units)
    return found


def _added_by_core(nodes: Integers, request: Sequence[int], machine: MachinePower, platform: Platform) -> Floats:
    cores = request[platform.kinds.index(CORES)]
    stated = request[platform.kinds.index(POWER)] if POWER in platform.kinds else 0
    if not (stated and cores):
        added = machine.core_w[nodes]
        for kind, watts in machine.device_w.items():
            added = added + watts[nodes] * request[platform.kinds.index(kind)] / max(cores, 1)
        return added
    idle_w = machine.idle_w[nodes] / platform.capacity[nodes, platform.kinds.index(CORES)]
    return np.asarray(np.maximum(stated / cores - idle_w, 0.0))


def incomes(jobs: Sequence[Job], platform: Platform) -> Floats:
    """Income of a core-hour of jobs, by queue if stated."""
    by_queue, other = platform.income_by_queue, platform.income_per_core_h
    return np.array([by_queue.get(job.queue, other) for job in jobs], dtype=np.float64)


def plan_jobs(jobs: Sequence[ExpectedJob], platform: Platform, now: int) -> PlanJobs:
    """Jobs to plan from `now` on."""
    told = sorted(jobs, key=lambda job: (job.job.submit, job.job.number))
    rows = [job.job for job in told]

    def column(values: list[int]) -> Ints:
        return np.array(values, dtype=np.int64)

    return PlanJobs(
        number=column([job.number for job in rows]),
        submit=column([job.submit for job in rows]),
        earliest=column([max(job.earliest, now) for job in rows]),
        latest=column([NO_TIME if job.latest is None else job.latest for job in rows]),
        duration=column([job.duration for job in told]),
        units=column([job.units for job in rows]),
        request=np.array([job.request for job in rows], dtype=np.int64).reshape(len(rows), len(platform.kinds)),
        groups=np.array([job.groups for job in rows], dtype=object),
        core_w=core_watts(rows, platform),
        income=incomes(rows, platform),
    )
