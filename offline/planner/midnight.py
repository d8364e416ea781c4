"""What the planner is told when a day begins: what runs and where, what waits, nothing later; jobs as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dardis.model.arrays import Floats, Integers, Ints
from dardis.model.job import NO_TIME, Job
from dardis.model.placements import Placements
from dardis.model.platform import Platform
from dardis.model.resources import CORES, POWER
from dardis.model.schedule import Schedule
from dardis.power.nodes import MachinePower
from dardis.predict.recent import LastTwo
from offline.planner.problem import Expected, PlanJobs, Running


@dataclass(frozen=True)
class State:
    """The machine at `now`: what runs, with its nodes and when it is expected to end; and the jobs that wait."""

    now: int
    running: Running
    waiting: list[Expected]


def state_at(schedule: Schedule, jobs: Sequence[Job], platform: Platform, now: int, predictor: LastTwo) -> State:
    """The state at `now` of a schedule of these jobs, in their order, of which only what began before is looked at."""
    submitted = schedule.ran & (schedule.submit < now)
    walltime = _walltimes_known(schedule, now).tolist()
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
        Expected(replace(jobs[i], walltime=walltime[i]), predictor.runtime(jobs[i].user, walltime[i], now))
        for i in waits.tolist()
    ]
    return State(now, running, waiting)


def running_of(schedule: Schedule, on: Ints, finish: Ints, jobs: Sequence[Job], platform: Platform) -> Running:
    """Those of a schedule's jobs that are at `on` in it, as running, with the times at which they are to end."""
    request, placed = schedule.request[on], schedule.placed.take(on)
    return Running(
        number=schedule.number[on], submit=schedule.submit[on], start=schedule.start[on], finish=finish,
        request=request, core_w=_running_core_watts(request, placed, platform),
        income=incomes([jobs[i] for i in on.tolist()], platform), placed=placed,
    )  # fmt: skip


def _walltimes_known(schedule: Schedule, now: int) -> Ints:
    """The walltimes of all jobs, shape (jobs,); those of a trace that states none are runtimes, which nobody knows yet.

    In their place stands the mean of the jobs that have ended by `now`, or twice as long as the job has run.
    """
    length, ended = schedule.finish - schedule.start, schedule.ran & (schedule.finish <= now)
    if not ended.any() or (length != schedule.walltime)[ended].any():
        return schedule.walltime
    runs = np.where(schedule.ran & (schedule.start < now), now - schedule.start, 0)
    return np.asarray(np.maximum(int(length[ended].mean()), 2 * runs))


def core_watts(jobs: Sequence[Job], platform: Platform) -> Floats:
    """What each core of a job adds to its node's power, its share of the job's devices with it, W.

    It is the mean over the nodes that may run it.
    """
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
    """The same of jobs that run, on the nodes that they have; shape (jobs,)."""
    machine = MachinePower.of_platform(platform)
    found = np.zeros(len(request))
    for job in range(len(request)):
        nodes, units = placed.of(job)
        watts = _added_by_core(nodes, request[job].tolist(), machine, platform)
        found[job] = np.average(watts, weights=units)
    return found


def _added_by_core(nodes: Integers, request: Sequence[int], machine: MachinePower, platform: Platform) -> Floats:
    """What a core of a unit adds to each of some nodes; watts that a job states have its part of idle power in them."""
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
    """What a core-hour of each job earns: by its queue, where the platform says so."""
    by_queue, other = platform.income_by_queue, platform.income_per_core_h
    return np.array([by_queue.get(job.queue, other) for job in jobs], dtype=np.float64)


def plan_jobs(jobs: Sequence[Expected], platform: Platform, now: int) -> PlanJobs:
    """Jobs to plan from `now` on, in (submit, number) order."""
    told = sorted(jobs, key=lambda job: (job.asked.submit, job.asked.number))
    rows = [job.asked for job in told]

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
