"""Decides how a job that asks for processors becomes equal units, by the nodes that may run it."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.errors import InputError
from dardis.model.platform import Platform
from dardis.model.queues import Queue
from dardis.model.resources import CORES, MEMORY
from dardis.workload.trace import Trace

MOST_UNIT_CORES = 1 << 20
Bits = TypeVar("Bits", int, Ints)


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
    units, cores, memory = _shape(trace, largest)
    request = {CORES: cores}
    if memory.any():
        request[MEMORY] = memory
    return replace(trace, units=units, request=request)


def _node_cores(trace: Trace, platform: Platform) -> Ints:
    """For each job the cores of a node of the group that shapes its units.

    That group is the one of fewest cores a node among the eligible whose node holds one unit; if no group's does, the
    largest, and the job fits nowhere.
    """
    cores_of = platform.group_capacity[:, 0]
    eligible = groups_of(trace, platform)
    order = np.argsort(cores_of, kind="stable").tolist()
    chosen = np.zeros(len(trace), dtype=np.int64)
    settled = np.zeros(len(trace), dtype=bool)
    for group in order:
        may = (eligible >> group) & 1 == 1
        here = np.full(len(trace), cores_of[group])
        fits = may & ~settled
        if MEMORY in platform.kinds:
            fits &= _shape(trace, here)[2] <= platform.group_capacity[group, platform.kinds.index(MEMORY)]
        chosen[may & ~settled] = cores_of[group]
        settled |= fits
    # Who may use no group at all is rejected, whatever his units are.
    return np.where(chosen > 0, chosen, cores_of.max())


def groups_of(trace: Trace, platform: Platform) -> Ints:
    """Bit set of the groups that may run each job: its partition's, all for a partition that has no entry.

    `a,b` is either of two partitions.

    Of these only its queue's, where that names some; of a reservation's queue those that stand for it.
    """
    bits = np.full(len(trace), platform.all_groups, dtype=np.int64)
    for name in {*trace.partition.tolist()} if platform.partitions else ():
        bits[trace.partition == name] = _of_partition(name, platform)
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
    return sum(1 << group for group in {group for one in names for group in known[one]})


def _within(bits: Bits, queue: Queue, platform: Platform) -> Bits:
    """Of these groups the queue's; of a reservation's queue those that stand for it."""
    if queue.groups is None:
        return bits
    mine = sum(1 << group for group in queue.groups)
    return bits & mine if mine & platform.all_groups else bits * 0 + mine


def _shape(trace: Trace, largest: Ints) -> tuple[Ints, Ints, Ints]:
    """Units, cores a unit, memory a unit in MiB."""
    units = -(-trace.procs // largest)
    cores = -(-trace.procs // units)
    memory = -(-np.maximum(trace.memory_kb, 0) * cores // 1024)
    return units, cores, memory
