"""Runs of one queue in a compiled loop, with the results of `Simulation`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from dardis.dispatch.queue_orders import WaitingJobs
from dardis.dispatch.queue_pass import PlainQueue, called_keys, compiled_keys
from dardis.engine.clock import cpu_ns
from dardis.kernels.job_queue import UNBOUND, JobKeys, Rules
from dardis.kernels.profile import NodeProfiles
from dardis.kernels.queue_simulation import QueuedJobs, QueueSimulation
from dardis.model.arrays import Bools, Ints
from dardis.model.capacity import could_hold, too_large
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, NO_TIME, ActualJob
from dardis.model.offer_rows import NODE_CHOICES
from dardis.model.platform import Platform
from dardis.sim.recorder import Recorder
from dardis.sim.simulation import Progress
from dardis.sim.site_state import SiteState


def may_compile(jobs: Sequence[ActualJob], site: Platform) -> bool:
    """Whether the jobs need only a queue: no shapes, predecessors, later starts, or reservations of the site."""
    return not site.reservations and all(
        job.after is None and not job.job.requests and job.job.earliest == job.job.submit for job in jobs
    )


def queued_jobs(actual: Sequence[ActualJob], accepted: Bools, machine: Platform) -> QueuedJobs:
    """Columns of jobs in order of arrival."""
    jobs = [one.job for one in actual]

    def column(values: list[int]) -> Ints:
        return np.array(values, dtype=np.int64)

    return QueuedJobs(
        number=column([job.number for job in jobs]),
        submit=column([job.submit for job in jobs]),
        span=column([job.walltime for job in jobs]),
        duration=column([one.duration for one in actual]),
        units=column([job.units for job in jobs]),
        request=np.array([job.request for job in jobs], dtype=np.int64).reshape(len(jobs), len(machine.kinds)),
        groups=column([machine.sets.code(job.groups) if runs else 0 for job, runs in zip(jobs, accepted, strict=True)]),
        latest=column([FOREVER if job.latest is None else job.latest for job in jobs]),
        level=column([machine.level_of(job.queue) for job in jobs]),
        accepted=accepted,
    )


def rejections(jobs: Sequence[ActualJob], machine: Platform, site: SiteState, *, distinct: bool) -> dict[int, str]:
    """Places of jobs that are refused or can never run, with reasons."""
    found = {}
    for place, actual in enumerate(jobs):
        job = actual.job
        if reason := site.refusal(job):
            found[place] = reason
        elif (could := could_hold(job, machine.sets, distinct=distinct)) < job.units:
            found[place] = too_large(job, machine.kinds, could) + site.judged_by(job)
    return found


@dataclass(frozen=True)
class PreparedQueue:
    """Jobs and machine of compiled simulations. Picklable."""

    jobs: QueuedJobs
    machine: Platform

    @classmethod
    def of_jobs(cls, jobs: Sequence[ActualJob], rejected: Collection[int], machine: Platform) -> PreparedQueue:
        """From jobs sorted by (submit, number), and places of those that never wait."""
        accepted = np.ones(len(jobs), dtype=np.bool_)
        accepted[list(rejected)] = False
        return cls(queued_jobs(jobs, accepted, machine), machine)

    def simulation(self, rules: Rules, keys: JobKeys) -> QueueSimulation:
        """Simulation on empty nodes."""
        nodes = NodeProfiles(self.machine, 0, self.machine.node_count, None)
        return QueueSimulation(nodes, rules, self.jobs, keys)


def rules_of(queue: PlainQueue) -> Rules:
    """Rules of a queue's passes."""
    how = queue.how
    return Rules(
        strict=how.strict, backfill=how.backfill, depth=how.depth, binding=UNBOUND, soft=False,
        distinct=queue.distinct, choice=NODE_CHOICES[queue.choice], seed=queue.seed, window=how.window,
    )  # fmt: skip


def columns_of_run(jobs: Sequence[ActualJob], machine: Platform, site: SiteState) -> WaitingJobs:
    """Columns of all jobs for orders that do not age; the first submission is of a job that is not refused."""
    first = next((job.submit for job in jobs if not site.refusal(job.job)), NO_TIME)
    return WaitingJobs.of_jobs([job.job for job in jobs], machine, None, first)


def simulate_compiled(
    jobs: Sequence[ActualJob], queue: PlainQueue, machine: Platform, site: SiteState, progress: Progress | None
) -> Recorder | None:
    """Run the jobs, sorted by (submit, number); None: a job needs `Simulation`.

    The CPU time of a batch of decisions is shared among them by elapsed time.
    """
    if not may_compile(jobs, site.platform):
        return None
    asked = [job.job for job in jobs]
    columns = cache(lambda: columns_of_run(jobs, machine, site))
    keys = compiled_keys(queue.how.keys, asked, machine, columns)
    recorder = Recorder(len(jobs))
    recorder.reasons = rejections(jobs, machine, site, distinct=queue.distinct)
    simulation = PreparedQueue.of_jobs(jobs, recorder.reasons, machine).simulation(rules_of(queue), keys)
    begun = cpu_ns()

    def account(elapsed: Ints, arrived: int) -> None:
        nonlocal begun
        if len(elapsed):
            now = cpu_ns()
            recorder.decision_ns += (elapsed * ((now - begun) / max(int(elapsed.sum()), 1))).astype(np.int64).tolist()
            begun = now
        if progress is not None:
            progress(arrived, len(jobs))

    simulation.run(account, called_keys(queue.how.keys, columns))
    recorder.record_run(simulation.start, simulation.finish, simulation.placements)
    if recorder.settled != len(jobs):  # a lost job is a defect
        raise ProtocolError(f"{len(jobs) - recorder.settled} jobs neither ran nor were rejected")
    return recorder
