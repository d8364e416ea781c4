"""What is known when a day begins: how the machine was used, what runs, what waits. Promises nothing of the future."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dardis.dispatch import CENTRAL_SETUPS, CentralDispatcher
from dardis.dispatch.setups import checked
from dardis.model.capacity import could_hold
from dardis.model.job import NO_TIME, Job
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.model.series import Floats, Ints
from dardis.power.nodes import MachinePower
from dardis.predict.recent import LastTwo
from dardis.sim.central import CentralSimulation
from offline.planner.problem import PlanJobs, Running


def replayed(jobs: Sequence[Job], platform: Platform) -> Schedule:
    """What EASY backfilling makes of the jobs: the past of a machine whose own starts are not known."""
    setup = checked(CENTRAL_SETUPS["easy"])
    simulation = CentralSimulation(jobs, setup.event_order, CentralDispatcher(setup, platform, None, seed=1))
    simulation.run()
    return simulation.recorder.schedule(simulation.jobs, platform.kinds)


@dataclass(frozen=True)
class State:
    """The machine at `now`: what runs, with its nodes and when it is expected to end; and the jobs that wait.

    The runtimes of the jobs that wait are expected ones.
    """

    now: int
    running: Running
    waiting: list[Job]


def state_at(schedule: Schedule, jobs: Sequence[Job], platform: Platform, now: int, predictor: LastTwo) -> State:
    """The state at `now` of a schedule of these jobs, in their order, of which only what began before is looked at."""
    submitted = schedule.ran & (schedule.submit < now)
    on = np.flatnonzero(submitted & (schedule.start < now) & (schedule.finish > now))
    waits = np.flatnonzero(submitted & (schedule.start >= now))
    expected = np.array(
        [
            schedule.start[i]
            + predictor.runtime(schedule.user[i], int(schedule.walltime[i]), now, now - int(schedule.start[i]))
            for i in on.tolist()
        ],
        dtype=np.int64,
    )
    sizes = np.diff(schedule.offsets)[on]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    source = np.repeat(schedule.offsets[on] - offsets[:-1], sizes) + np.arange(offsets[-1])
    chosen = [jobs[i] for i in on.tolist()]
    running = Running(
        number=schedule.number[on], submit=schedule.submit[on], start=schedule.start[on], finish=expected,
        request=schedule.request[on], core_w=core_watts(chosen, platform), income=incomes(chosen, platform),
        offsets=offsets, nodes=schedule.nodes[source].astype(np.int64),
        node_units=schedule.node_units[source].astype(np.int64),
    )  # fmt: skip
    waiting = [replace(jobs[i], runtime=predictor.runtime(jobs[i].user, jobs[i].walltime, now)) for i in waits.tolist()]
    return State(now, running, waiting)


def predictor_of(schedule: Schedule) -> LastTwo:
    """Knows the runtimes of the schedule's jobs from their ends on."""
    ran = np.flatnonzero(schedule.ran)
    users = [schedule.user[i] for i in ran.tolist()]
    return LastTwo(schedule.finish[ran], (schedule.finish - schedule.start)[ran], users, schedule.walltime[ran])


def core_watts(jobs: Sequence[Job], platform: Platform) -> Floats:
    """What each core of a job adds to its node's power, W: the mean over the nodes that may run it."""
    machine = MachinePower.of_platform(platform)
    known: dict[int, float] = {}
    for job in jobs:
        if job.groups not in known:
            may = (job.groups >> platform.group_of_node) & 1 == 1
            known[job.groups] = float(machine.core_w[may].mean()) if may.any() else 0.0
    return np.array([known[job.groups] for job in jobs], dtype=np.float64)


def incomes(jobs: Sequence[Job], platform: Platform) -> Floats:
    """What a core-hour of each job earns: by its queue, where the platform says so."""
    by_queue, other = platform.income_by_queue, platform.income_per_core_h
    return np.array([by_queue.get(job.queue, other) for job in jobs], dtype=np.float64)


def plan_jobs(jobs: Sequence[Job], platform: Platform, now: int) -> PlanJobs:
    """Jobs to plan from `now` on, in (submit, number) order; what they run is their runtime, cut at the walltime."""
    rows = sorted(jobs, key=lambda job: (job.submit, job.number))

    def column(values: list[int]) -> Ints:
        return np.array(values, dtype=np.int64)

    return PlanJobs(
        number=column([job.number for job in rows]),
        submit=column([job.submit for job in rows]),
        earliest=column([max(job.earliest, now) for job in rows]),
        latest=column([NO_TIME if job.latest is None else job.latest for job in rows]),
        duration=column([job.duration for job in rows]),
        units=column([job.units for job in rows]),
        request=np.array([job.request for job in rows], dtype=np.int64).reshape(len(rows), len(platform.kinds)),
        groups=column([job.groups for job in rows]),
        core_w=core_watts(rows, platform),
        income=incomes(rows, platform),
    )


def that_fit(jobs: Sequence[Job], platform: Platform) -> list[Job]:
    """The jobs that the empty machine holds."""
    counts = [group.count for group in platform.groups]
    capacity = platform.group_capacity.tolist()
    return [job for job in jobs if could_hold(job, counts, capacity, distinct=False) >= job.units]
