"""Makes a platform's jobs of a trace: units, node groups and resource vectors; what it drops is in its notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np

from dardis.model.addresses import JobId
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME, Actual, Job, Part, Request
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.workload.trace import UNKNOWN, StatedRequest, Trace
from dardis.workload.units import groups_of, groups_of_one, in_units


class Rounded(NamedTuple):
    """What jobs ask for above the processors that their trace states, so that their units are equal."""

    cores: int = 0
    """Of all jobs."""
    jobs: int = 0
    """How many jobs ask for more."""


NOTHING_ROUNDED: Final = Rounded()


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs sorted by (submit, number), and one line for people on each thing that the platform made us ignore."""

    jobs: list[Actual]
    notes: list[str]
    rounded: Rounded = NOTHING_ROUNDED


def to_jobs(trace: Trace, platform: Platform, *, unit_cores: int | None = None, think_times: bool = False) -> Workload:
    """Make jobs of a trace for a platform.

    A trace of processors gets units by the eligible nodes (see `units`), or of `unit_cores` cores. With `think_times`
    a job follows its preceding job, if that one comes earlier in the trace; else it has only its submit time.
    InputError: a job that asks only for kinds the platform lacks, or whose queue it does not declare, if it declares
    any; a bad `unit_cores`.
    """
    notes: list[str] = []
    if unit_cores is not None and not trace.counts_processors:
        notes.append("unit_cores: ignored, the trace states its units")
    _see_queues(trace, platform)
    stated, trace = trace, in_units(trace, platform, unit_cores)
    groups = groups_of(trace, platform)
    request = _request(trace, platform, notes)
    after = _predecessors(trace, notes) if think_times else [None] * len(trace)
    columns = (trace.number, trace.submit, trace.est, trace.walltime, trace.runtime, trace.units, groups, trace.think)
    number, submit, est, walltime, runtime, units, group_bits, think = (column.tolist() for column in columns)
    latest = [None if time == NO_TIME else time for time in trace.lst.tolist()]
    pause = [max(t, 0) if a is not None else 0 for t, a in zip(think, after, strict=True)]
    names = trace.queue.tolist(), trace.user.tolist(), trace.name.tolist()
    asked = zip(number, submit, est, latest, walltime, units, request, group_bits, *names, strict=True)
    truth = zip(asked, runtime, after, pause, strict=True)
    jobs = [Actual(Job(*row), run, leader, think) for row, run, leader, think in truth]
    if trace.requests:
        jobs = [_with_requests(job, trace.requests.get(job.number, ()), platform) for job in jobs]
    jobs.sort(key=attrgetter("submit", "number"))
    return Workload(jobs, notes, _rounded(stated, trace))


def _rounded(stated: Trace, units: Trace) -> Rounded:
    """How many cores units have made of processors."""
    if not stated.counts_processors:
        return NOTHING_ROUNDED
    more = units.units * units.request[CORES] - stated.procs
    return Rounded(int(more.sum()), int((more > 0).sum()))


def _with_requests(job: Actual, stated: Sequence[StatedRequest], platform: Platform) -> Actual:
    """The job with what its trace says that it may be run as. Raises InputError."""
    if not stated:
        return job
    requests = []
    for request in stated:
        parts = []
        for part in request.parts:
            amounts = tuple(part.request.get(kind, 0) for kind in platform.kinds)
            if not any(amounts):
                found = "has a part that asks for nothing that the platform declares"
                raise InputError(f"job {job.number}", found, ", ".join(platform.kinds))
            groups = groups_of_one(part.partition, job.queue, platform)
            parts.append(Part(part.units, amounts, groups, part.nodes))
        requests.append(Request(tuple(parts), request.walltime, request.contiguous))
    asked = replace(job.asked, requests=tuple(requests))
    return replace(job, asked=asked, runtimes=tuple(request.runtime for request in stated))


def _see_queues(trace: Trace, platform: Platform) -> None:
    """See that the platform declares the queues that jobs name, if it declares any. Raises InputError."""
    for name in sorted({*trace.queue.tolist()} - {"", *platform.queue_of}) if platform.queues else ():
        number = int(trace.number[trace.queue == name][0])
        raise InputError(f"job {number}", f"queue {name!r} is not declared", "one of " + ", ".join(platform.queue_of))


def _request(trace: Trace, platform: Platform, notes: list[str]) -> list[tuple[int, ...]]:
    """What one unit asks for, a tuple in the order of the platform's kinds for each job."""
    for kind, amounts in trace.request.items():
        if kind not in platform.kinds and amounts.any():
            count = np.count_nonzero(amounts)
            notes.append(f"{kind}: ignored, the platform declares none and {count} of {len(trace)} jobs ask for it")
    nothing = np.zeros(len(trace), dtype=np.int64)
    table = np.column_stack([trace.request.get(kind, nothing) for kind in platform.kinds])
    empty = ~table.any(axis=1)
    if empty.any():
        number = int(trace.number[empty][0])
        raise InputError(f"job {number}", "asks for nothing that the platform declares", ", ".join(platform.kinds))
    return list(zip(*table.T.tolist(), strict=True))


def _predecessors(trace: Trace, notes: list[str]) -> list[JobId | None]:
    """The number of the job that each follows; None where that is not earlier in (submit, number) order."""
    key_of = {n: (s, n) for n, s in zip(trace.number.tolist(), trace.submit.tolist(), strict=True)}
    after: list[JobId | None] = []
    ignored = 0
    for number, before in zip(trace.number.tolist(), trace.after.tolist(), strict=True):
        known = before in key_of and key_of[before] < key_of[number]
        after.append(before if known else None)
        ignored += before != UNKNOWN and not known
    if ignored:
        notes.append(f"preceding job: ignored for {ignored} jobs, it is absent or not earlier")
    return after
