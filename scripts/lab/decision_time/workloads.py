"""The jobs and machines that are measured: the thesis's 300 nodes, and larger ones with their share of its load.

A larger machine has the jobs of the 300 nodes as they are, more of them in the same time: utilisation, widths and hours
of the day stay, arrivals and queues grow with the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dardis.model.addresses import JobId
from dardis.model.job import FOREVER, NO_TIME, ActualJob
from dardis.model.platform import NodeGroup, Platform
from dardis.model.randomness import stream
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Target
from dardis.registry import find_dispatcher
from dardis.runs.play import play
from dardis.workload.deadlines import with_deadlines
from dardis.workload.trace import Trace
from dardis.workload.trace_jobs import to_jobs
from dardis.workload.trace_reader import read_trace
from dardis.workload.transform import first_jobs, in_partition
from offline.site.calendar import DAY_S
from scripts.lab.kit.thesis import CORES_A_NODE, DAY_H, NODES, UNIT_CORES

BY_DAY: Final = 0.75
"""Share of the cores that is desired by day."""
KNOWN_DAYS: Final = 2
"""A larger machine's desired profile is known for so many days."""
SPREAD_S: Final = 1800
"""A job of a larger machine is submitted up to so much before or after the one that it is made of."""


@dataclass(frozen=True)
class Case:
    """Jobs on a machine; what is decided in `[since, until)` is counted, for the jobs submitted in it."""

    name: str
    platform: Platform
    desired: DesiredProfile
    jobs: Sequence[ActualJob]
    since: int = NO_TIME
    until: int = FOREVER
    most_decisions: int | None = None

    @property
    def nodes(self) -> int:
        """Nodes of the machine."""
        return self.platform.node_count

    @property
    def counted(self) -> int:
        """Jobs by which the costs are divided."""
        return sum(self.since <= job.submit < self.until for job in self.jobs)


def machine(nodes: int) -> Platform:
    """So many of the thesis's nodes."""
    return Platform(f"{nodes} fat nodes", (NodeGroup("fat", nodes, {"cores": CORES_A_NODE}),))


def desired_of(platform: Platform, first: int, last: int) -> DesiredProfile:
    """By day a share of the cores, by night all; from the day of `last` on all. As `scripts.lab.thesis_5` has it."""
    cores, less = platform.cores, round(BY_DAY * platform.cores)
    hours = ((DAY_H[0], less), (DAY_H[1], cores))
    days = range(first // DAY_S, last // DAY_S)
    steps = [(day * DAY_S + hour * 3600, value) for day in days for hour, value in hours]
    return DesiredProfile(platform, {platform.kinds.index("cores"): StepFunction.from_steps(cores, steps)})


def case_of_trace(name: str, path: Path, *, partition: str | None = None, most: int | None = None) -> Case:
    """A partition of the trace, or all of it, or its first jobs, on the thesis's machine."""
    everything = read_trace(path, strict=False)
    trace = everything if partition is None else in_partition(everything, [partition])
    return case_of(name, trace if most is None else first_jobs(trace, most), everything)


def case_of(name: str, trace: Trace, everything: Trace) -> Case:
    """These jobs on the thesis's machine, with the deadlines and desired profile of its section 5.5."""
    platform = machine(NODES)
    jobs = to_jobs(trace, platform, unit_cores=UNIT_CORES).jobs
    jobs = with_deadlines(jobs, everything, "mean-wait:partition")
    return Case(name, platform, desired_of(platform, jobs[0].submit, jobs[-1].submit), jobs)


def larger(case: Case, nodes: int, since: int, span: int, seed: int = 1) -> Case:
    """The load of `[since, since + span)` on a machine of so many nodes, which begins as EASY left the case's own.

    What ran there at `since` runs on, what waited waits: it is submitted just before. A job is there as often as the
    machine is larger; what runs has its copies in one job, since they end together. Who decided on the days before has
    no part in the costs.
    """
    times = nodes / case.nodes
    running, waiting = jobs_at(case, since)
    there = [resubmit_at(widen(job, count), since - 1) for job, count in copy_counts(running, times)]
    there += [resubmit_at(job, since - 1) for job in copy_jobs(waiting, times)]
    arriving = copy_jobs([job for job in case.jobs if since <= job.submit < since + span], times)
    shifts = stream(seed, "spread", nodes).integers(-SPREAD_S, SPREAD_S, size=len(arriving)).tolist()
    moved = [
        resubmit_at(job, since + (job.submit + shift - since) % span)
        for job, shift in zip(arriving, shifts, strict=True)
    ]
    jobs = [*there, *sorted(moved, key=lambda job: job.submit)]
    jobs = [replace(job, job=replace(job.job, number=JobId(n))) for n, job in enumerate(jobs, start=1)]
    platform = machine(nodes)
    return Case(
        f"{nodes} nodes", platform, desired_of(platform, since, since + KNOWN_DAYS * DAY_S), jobs, since, since + span
    )


def jobs_at(case: Case, now: int) -> tuple[list[ActualJob], list[ActualJob]]:
    """The jobs that run at `now` under EASY, with what is left of them, and those that wait, in the trace's order."""
    starts = play(case.platform, case.jobs, find_dispatcher("easy"), Target(case.desired), 1).recorder.start
    running, waiting = [], []
    for job, start in zip(case.jobs, starts, strict=True):
        if start < now < start + job.duration:
            gone = now - start
            left = replace(job.job, walltime=job.walltime - gone)
            running.append(replace(job, job=left, runtime=job.duration - gone))
        elif job.submit < now <= start:
            waiting.append(job)
    return running, waiting


def resubmit_at(job: ActualJob, submit: int) -> ActualJob:
    """The job at another time of submission, with its window."""
    latest = None if job.latest is None else job.latest + submit - job.submit
    return replace(job, job=replace(job.job, submit=submit, earliest=submit, latest=latest))


def widen(job: ActualJob, times: int) -> ActualJob:
    """The job with so many times its units."""
    return replace(job, job=replace(job.job, units=job.units * times))


def copy_counts(jobs: Sequence[ActualJob], times: float) -> list[tuple[ActualJob, int]]:
    """Each job with how often it is there: `times` on average, the fraction dealt out evenly."""
    return [(job, int((place + 1) * times) - int(place * times)) for place, job in enumerate(jobs)]


def copy_jobs(jobs: Sequence[ActualJob], times: float) -> list[ActualJob]:
    """Each job as often as that."""
    return [job for job, count in copy_counts(jobs, times) for _ in range(count)]


def queue_case(path: Path, waiting: int, cycles: int) -> Case:
    """So many jobs of the trace at once on the thesis's machine: the cycles that follow the one that fills it."""
    case = case_of_trace("crowd", path)
    jobs = [job for job in case.jobs if job.units * UNIT_CORES <= case.platform.cores]
    first = jobs[0].submit
    crowded = [resubmit_at(job, first) for job in jobs[:waiting]]
    return replace(case, name=f"{waiting} jobs at once", jobs=crowded, since=first + 1, most_decisions=cycles)
