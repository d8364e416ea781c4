"""Decides how a job that asks for processors becomes equal units, by the nodes that may run it."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from dardis.model.arrays import Ints, Sets
from dardis.model.errors import InputError
from dardis.model.node_sets import bits_of
from dardis.model.platform import Platform
from dardis.model.queues import Queue
from dardis.model.resources import CORES, MEMORY
from dardis.workload.trace import Trace

MOST_UNIT_CORES = 1 << 20
Bits = TypeVar("Bits", int, Sets)


def in_units(trace: Trace, platform: Platform | None, unit_cores: int | None = None) -> Trace:
    """A trace of processors as one of units; one of units as it is.

    With C the `unit_cores`, or else the cores of the nodes of `platform` that may run the job, or else 1:
    `units = ceil(procs / C)`, cores a unit `ceil(procs / units)`, memory of those cores in MiB, rounded up.
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
    """For each job the cores of a node of the group that shapes its units.

    That group is the one of fewest cores a node among the eligible whose node holds one unit; if no group's does, the
    largest, and the job fits nowhere.
    """
    kinds = [platform.kinds.index(kind) for kind in (CORES, MEMORY) if kind in platform.kinds]
    capacity = platform.group_capacity[:, kinds]
    # A job that may use no group at all is rejected, whatever its units are.
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
    """Bit set of the groups that may run each job: its partition's, all for a partition that has no entry.

    `a,b` is either of two partitions.

    Of these only its queue's, where that names some; of a reservation's queue those that stand for it.
    """
    names = trace.partition.tolist()
    of_name = {name: _of_partition(name, platform) for name in {*names}}
    bits = np.array([of_name[name] for name in names], dtype=object)
    for queue in platform.queues:
        here = trace.queue == queue.name
        bits[here] = _within(bits[here], queue, platform)
    return bits


def groups_of_one(partition: str, queue: str, platform: Platform) -> int:
    """The same of one job, or of a part of it."""
    bits = _of_partition(partition, platform)
    return _within(bits, platform.queue_of[queue], platform) if queue in platform.queue_of else bits


def _of_partition(name: str, platform: Platform) -> int:
    """The groups of a partition, or of all that are named with commas between, where each has an entry."""
    known = platform.partitions
    names = [name] if name in known else name.split(",")
    if not all(one in known for one in names):
        return platform.all_groups
    return bits_of(group for one in names for group in known[one])


def _within(bits: Bits, queue: Queue, platform: Platform) -> Bits:
    """Of these groups the queue's; of a reservation's queue those that stand for it."""
    if queue.groups is None:
        return bits
    mine = bits_of(queue.groups)
    kept: Bits = bits & mine if mine & platform.all_groups else bits * 0 + mine
    return kept


def _shape(procs: Ints, memory_kb: Ints, largest: Ints) -> tuple[Ints, Ints, Ints]:
    """Units, cores a unit, memory a unit in MiB."""
    units = -(-procs // largest)
    cores = -(-procs // units)
    memory = -(-np.maximum(memory_kb, 0) * cores // 1024)
    return units, cores, memory
