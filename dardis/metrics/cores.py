"""Core numbers of jobs, for tools that treat cores as resources.

By start (ties: schedule order), jobs get each node's lowest free cores. Ends precede simultaneous starts.
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import or_

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.numbers import whole_number
from dardis.model.placements import offsets_of
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule

Span = tuple[int, int]


def first_cores(platform: Platform) -> Ints:
    """First core of each node, then the total; (nodes + 1,)."""
    return offsets_of(platform.capacity[:, platform.kinds.index(CORES)])


def core_spans(schedule: Schedule, platform: Platform, *, overfull: bool = False) -> list[list[Span]]:
    """Core spans of each entry of `schedule.by_part`: ascending, not adjacent.

    Raises ValueError for overfull nodes, unless `overfull` (jobs share cores).
    """
    apart = schedule.by_part
    placed = apart.placed
    taken = placed.units * apart.request[placed.job_of, apart.kinds.index(CORES)]
    order = np.lexsort((placed.job_of, apart.start[placed.job_of], placed.nodes))
    edges = np.flatnonzero(np.diff(placed.nodes[order], prepend=-1, append=-1)).tolist()
    begins = first_cores(platform).tolist()
    spans: list[list[Span]] = [[] for _ in range(len(taken))]
    for first, last in pairwise(edges):
        here = order[first:last]
        node, jobs = int(placed.nodes[here[0]]), placed.job_of[here]
        columns = (apart.start[jobs].tolist(), apart.finish[jobs].tolist(), taken[here].tolist(), here.tolist())
        _share(begins[node], begins[node + 1], columns, spans, overfull=overfull)
    return _gathered(placed.job_of, len(apart.number), spans)


def core_sets(schedule: Schedule, platform: Platform) -> list[str]:
    """Cores of each job as interval set (`0-3 7`). Raises ValueError for overfull nodes."""
    of_jobs = _gathered(_job_of_part(schedule), len(schedule.number), core_spans(schedule, platform))
    return [" ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans) for spans in of_jobs]


def _gathered(owner: Ints, count: int, spans: list[list[Span]]) -> list[list[Span]]:
    of_owners: list[list[Span]] = [[] for _ in range(count)]
    for one, found in zip(owner.tolist(), spans, strict=True):
        of_owners[one] += found
    return [*map(_joined, of_owners)]


def _job_of_part(schedule: Schedule) -> Ints:
    jobs = np.arange(len(schedule.number))
    return jobs if schedule.parts is None else np.repeat(jobs, np.diff(schedule.parts.offsets))


def _share(
    begin: int, end: int, columns: tuple[list[int], list[int], list[int], list[int]], spans: list[list[Span]], *,
    overfull: bool,
) -> None:  # fmt: skip
    """`columns`: starts (ascending), ends, core counts, indices into `spans`."""
    whole = (1 << (end - begin)) - 1
    running: list[tuple[int, int]] = []
    for start, finish, count, place in zip(*columns, strict=True):
        running = [one for one in running if one[0] > start]
        free = whole & ~reduce(or_, (mask for _, mask in running), 0)
        if start == finish and free.bit_count() < count:  # a job without duration blocks no core
            free = whole
        if free.bit_count() < count and overfull:
            free, count = whole, min(count, end - begin)  # noqa: PLW2901 (at most the node's cores)
        if free.bit_count() < count:
            raise ValueError(f"{count} cores of a node of {end - begin}, of which {free.bit_count()} are free")
        mask, spans[place] = _lowest(free, count, begin)
        running.append((finish, mask))


def _lowest(free: int, count: int, begin: int) -> tuple[int, list[Span]]:
    mask = 0
    spans = []
    while count:
        low = (free & -free).bit_length() - 1
        there = free >> low
        run = min((~there & (there + 1)).bit_length() - 1, count)
        bits = ((1 << run) - 1) << low
        mask |= bits
        free &= ~bits
        count -= run
        spans.append((begin + low, begin + low + run - 1))
    return mask, spans


def _joined(spans: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for low, high in sorted(spans):
        if joined and low == joined[-1][1] + 1:
            joined[-1] = joined[-1][0], high
        else:
            joined.append((low, high))
    return joined


def cores_on_nodes(text: str, first_core: Ints) -> dict[int, int]:
    """Cores per node in an interval set. Raises ValueError."""
    found: dict[int, int] = {}
    before = -1
    for part in sorted(text.split(), key=lambda part: whole_number(part.partition("-")[0])):
        first, dash, last = part.partition("-")
        low, high = whole_number(first), whole_number(last if dash else first)
        if not before < low <= high < first_core[-1]:
            raise ValueError(f"no cores {part!r}")
        before = high
        nodes = np.searchsorted(first_core, [low, high], side="right").tolist()
        for node in range(nodes[0] - 1, nodes[1]):
            inside = min(high + 1, int(first_core[node + 1])) - max(low, int(first_core[node]))
            if inside:
                found[node] = found.get(node, 0) + inside
    return found


def requested_cores(schedule: Schedule) -> list[dict[int, int]]:
    """Cores of each job per node."""
    apart = schedule.by_part
    job = _job_of_part(schedule)
    cores = apart.placed.units * apart.request[apart.placed.job_of, apart.kinds.index(CORES)]
    found: list[dict[int, int]] = [{} for _ in range(len(schedule.number))]
    for one, node, count in zip(
        job[apart.placed.job_of].tolist(), apart.placed.nodes.tolist(), cores.tolist(), strict=True
    ):
        if count:
            found[one][node] = found[one].get(node, 0) + count
    return found
