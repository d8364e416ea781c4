"""Trace's jobs, in units that fit a platform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final, NamedTuple, TypeVar

import numpy as np

from dardis.model.addresses import JobId
from dardis.model.arrays import Ints, Sets
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME, ActualJob, Job, Part, Request
from dardis.model.node_sets import bits_of
from dardis.model.platform import Platform
from dardis.model.queues import Queue
from dardis.model.resources import CORES, MEMORY
from dardis.workload.trace import UNKNOWN, StatedRequest, Trace


class RoundingExcess(NamedTuple):
    """Excess of requests over the trace's processors, due to equal units."""

    cores: int = 0
    jobs: int = 0


NO_ROUNDING: Final = RoundingExcess()


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs sorted by (submit, number), and notes on ignored data."""

    jobs: list[ActualJob]
    notes: list[str]
    rounding: RoundingExcess = NO_ROUNDING


def to_jobs(trace: Trace, platform: Platform, *, unit_cores: int | None = None, think_times: bool = False) -> Workload:
    """Make jobs of a trace for a platform.

    Processors become units by eligible nodes (see `in_units`), or of `unit_cores` cores. With `think_times`, jobs
    follow preceding jobs. Raises InputError for a bad `unit_cores`, undeclared queues (if any is declared), or no
    declared kinds.
    """
    notes: list[str] = []
    if unit_cores is not None and not trace.counts_processors:
        notes.append("unit_cores: ignored, the trace states its units")
    _check_queues(trace, platform)
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
    jobs = [ActualJob(Job(*row), run, leader, think) for row, run, leader, think in truth]
    if trace.requests:
        jobs = [_with_requests(job, trace.requests.get(job.number, ()), platform) for job in jobs]
    jobs.sort(key=attrgetter("submit", "number"))
    return Workload(jobs, notes, _rounding_excess(stated, trace))


def _rounding_excess(stated: Trace, units: Trace) -> RoundingExcess:
    if not stated.counts_processors:
        return NO_ROUNDING
    more = units.units * units.request[CORES] - stated.procs
    return RoundingExcess(int(more.sum()), int((more > 0).sum()))


def _with_requests(job: ActualJob, stated: Sequence[StatedRequest], platform: Platform) -> ActualJob:
    if not stated:
        return job
    requests = []
    for request in stated:
        parts = []
        for part in request.parts:
            amounts = tuple(part.request.get(kind, 0) for kind in platform.kinds)
            if not any(amounts):
                found = "has a part that requests no resource of the platform"
                raise InputError(f"job {job.number}", found, ", ".join(platform.kinds))
            groups = _groups_of_one(part.partition, job.queue, platform)
            parts.append(Part(part.units, amounts, groups, part.nodes))
        requests.append(Request(tuple(parts), request.walltime, request.contiguous))
    asked = replace(job.job, requests=tuple(requests))
    return replace(job, job=asked, runtimes=tuple(request.runtime for request in stated))


def _check_queues(trace: Trace, platform: Platform) -> None:
    for name in sorted({*trace.queue.tolist()} - {"", *platform.queue_of}) if platform.queues else ():
        number = int(trace.number[trace.queue == name][0])
        raise InputError(f"job {number}", f"queue {name!r} is not declared", "one of " + ", ".join(platform.queue_of))


def _request(trace: Trace, platform: Platform, notes: list[str]) -> list[tuple[int, ...]]:
    for kind, amounts in trace.request.items():
        if kind not in platform.kinds and amounts.any():
            count = np.count_nonzero(amounts)
            notes.append(f"{kind}: ignored, since the platform has none, but {count} of {len(trace)} jobs request it")
    nothing = np.zeros(len(trace), dtype=np.int64)
    table = np.column_stack([trace.request.get(kind, nothing) for kind in platform.kinds])
    empty = ~table.any(axis=1)
    if empty.any():
        number = int(trace.number[empty][0])
        raise InputError(f"job {number}", "requests no resource of the platform", ", ".join(platform.kinds))
    return list(zip(*table.T.tolist(), strict=True))


def _predecessors(trace: Trace, notes: list[str]) -> list[JobId | None]:
    key_of = {n: (s, n) for n, s in zip(trace.number.tolist(), trace.submit.tolist(), strict=True)}
    after: list[JobId | None] = []
    ignored = 0
    for number, before in zip(trace.number.tolist(), trace.after.tolist(), strict=True):
        known = before in key_of and key_of[before] < key_of[number]
        after.append(before if known else None)
        ignored += before != UNKNOWN and not known
    if ignored:
        notes.append(f"preceding job: ignored for {ignored} jobs, since it is absent or not earlier")
    return after


MOST_UNIT_CORES = 1 << 20
Bits = TypeVar("Bits", int, Sets)


def in_units(trace: Trace, platform: Platform | None, unit_cores: int | None = None) -> Trace:
    """Convert processors to units.

    C = `unit_cores`, else cores of eligible nodes of `platform`, else 1: `units = ceil(procs / C)`, cores per unit
    `ceil(procs / units)`, memory of these in MiB, rounded up.
    """
    if not trace.counts_processors:
        return trace
    if unit_cores is not None:
        if not 1 <= unit_cores <= MOST_UNIT_CORES:
            raise InputError("unit_cores", f"{unit_cores}", f"node, or a number of cores from 1 to {MOST_UNIT_CORES}")
        largest = np.full(len(trace), unit_cores)
    elif platform is not None:
        largest = _node_cores(trace, platform)
    else:
        largest = np.ones(len(trace), dtype=np.int64)
    units, cores, memory = _shape(trace.procs, trace.memory_kb, largest)
    request = {CORES: cores}
    if memory.any():
        request[MEMORY] = memory
    return replace(trace, units=units, request=request)


def _node_cores(trace: Trace, platform: Platform) -> Ints:
    """Cores per node of the group that shapes each job's units.

    Of eligible groups whose node holds a unit: fewest cores; if none, the largest.
    """
    kinds = [platform.kinds.index(kind) for kind in (CORES, MEMORY) if kind in platform.kinds]
    capacity = platform.group_capacity[:, kinds]
    # A job without eligible groups is rejected, whatever its units.
    chosen = np.full(len(trace), capacity[:, 0].max())
    places: dict[int, list[int]] = {}
    for place, bits in enumerate(groups_of(trace, platform).tolist()):
        places.setdefault(bits, []).append(place)
    for bits, rows in places.items():
        left = np.array(rows)
        for cores, *memory in np.unique(capacity[platform.sets.groups(bits)], axis=0).tolist():
            chosen[left] = cores
            if not memory:
                break
            left = left[_shape(trace.procs[left], trace.memory_kb[left], chosen[left])[2] > memory[0]]
            if not len(left):
                break
    return chosen


def groups_of(trace: Trace, platform: Platform) -> Sets:
    """Bit set of eligible groups per job: its partition's (all for an undeclared partition).

    `a,b` is either partition. A queue's groups restrict these; a reservation's queue uses its stand-in groups.
    """
    names = trace.partition.tolist()
    of_name = {name: _of_partition(name, platform) for name in {*names}}
    bits = np.array([of_name[name] for name in names], dtype=object)
    for queue in platform.queues:
        here = trace.queue == queue.name
        bits[here] = _within(bits[here], queue, platform)
    return bits


def _groups_of_one(partition: str, queue: str, platform: Platform) -> int:
    bits = _of_partition(partition, platform)
    return _within(bits, platform.queue_of[queue], platform) if queue in platform.queue_of else bits


def _of_partition(name: str, platform: Platform) -> int:
    known = platform.partitions
    names = [name] if name in known else name.split(",")
    if not all(one in known for one in names):
        return platform.all_groups
    return bits_of(group for one in names for group in known[one])


def _within(bits: Bits, queue: Queue, platform: Platform) -> Bits:
    if queue.groups is None:
        return bits
    mine = bits_of(queue.groups)
    kept: Bits = bits & mine if mine & platform.all_groups else bits * 0 + mine
    return kept


def _shape(procs: Ints, memory_kb: Ints, largest: Ints) -> tuple[Ints, Ints, Ints]:
    units = -(-procs // largest)
    cores = -(-procs // units)
    memory = -(-np.maximum(memory_kb, 0) * cores // 1024)
    return units, cores, memory
