"""Busy, idle and up times of nodes, and clairvoyant switching."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.job import FOREVER
from dardis.model.placements import Placements
from dardis.model.platform import Platform
from dardis.model.schedule import Downtime, Schedule
from dardis.model.step_function import StepFunction
from dardis.power.node_power import MachinePower


@dataclass(frozen=True, slots=True)
class Spans:
    """Node `node[i]` during `[start[i], end[i])`, by (node, start). A node's spans do not touch."""

    node: Ints
    start: Ints
    end: Ints


@dataclass(frozen=True, slots=True)
class BusySpans(Spans):
    """Spans with jobs. `opener`: index of the first job."""

    opener: Ints


def busy_spans(start: Ints, finish: Ints, placed: Placements) -> BusySpans:
    """Busy spans of nodes with job i during `[start[i], finish[i])`."""
    job = placed.job_of
    order = np.lexsort((job, start[job], placed.nodes))
    job, node = job[order], placed.nodes.astype(np.int64)[order]
    if len(job) == 0:
        return BusySpans(job, job, job, job)
    begin, end = start[job], finish[job]
    # End of a node's use so far, as a running maximum; `base` separates nodes by larger numbers.
    base = node * (int(end.max()) - int(begin.min()) + 1)
    reach = np.maximum.accumulate(end + base) - base
    opens = np.ones(len(job), dtype=np.bool_)
    opens[1:] = (node[1:] != node[:-1]) | (begin[1:] > reach[:-1])
    first = np.flatnonzero(opens)
    last = np.append(first[1:], len(job)) - 1
    return BusySpans(node[first], begin[first], reach[last], job[first])


def busy_spans_of(schedule: Schedule) -> BusySpans:
    """Busy spans of a finished schedule."""
    return busy_spans(schedule.start, schedule.finish, schedule.placed)


def nodes_up(downtime: Downtime, node_count: int) -> StepFunction:
    """Nodes up over time."""
    off = StepFunction.from_spans(downtime.down, downtime.up)
    return StepFunction(off.times, node_count - off.values)


def idle_gaps(busy: Spans, node_count: int, start: int, end: int) -> Spans:
    """Spans without jobs that meet `[start, end)`.

    Gaps begin at `start` at the earliest, and end at the node's next job (possibly after `end`) or at `FOREVER`.
    """
    every = np.arange(node_count)
    node = np.concatenate([every, busy.node])
    begins = np.concatenate([np.full(node_count, start), np.maximum(busy.end, start)])
    ends = np.concatenate([busy.start, np.full(node_count, FOREVER)])
    # The gap after a node's i-th span ends at the next span. The 0-th gap begins at the start.
    after = np.argsort(node, kind="stable")
    before = np.argsort(np.concatenate([busy.node, every]), kind="stable")
    gap = Spans(node[after], begins[after], ends[before])
    kept = (gap.end > gap.start) & (gap.start < end)
    return Spans(gap.node[kept], gap.start[kept], gap.end[kept])


def clairvoyant_downtime(schedule: Schedule, platform: Platform, start: int, end: int) -> Downtime:
    """Downtimes in every idle gap of `[start, end)` with energy savings; boots end just in time.

    All nodes are up at `start`. Gaps beyond `end` count until `end`, without a boot. `always_on` groups stay on.
    """
    machine = MachinePower.of_platform(platform)
    gaps = idle_gaps(busy_spans_of(schedule), platform.node_count, start, end)
    may = ~np.array([group.always_on for group in platform.groups])[platform.group_of_node][gaps.node]
    down = may & (gaps.end - gaps.start >= machine.cycle_s[gaps.node]) & (saved_j(machine, gaps, end) > 0)
    return Downtime(gaps.node[down], gaps.start[down], gaps.end[down])


def saved_j(machine: MachinePower, gaps: Spans, end: int) -> Floats:
    """Energy (J) saved by downtime in each gap, before `end`."""
    node, length = gaps.node, gaps.end - gaps.start

    def within(since: Ints | int, until: Ints) -> Ints:
        return np.maximum(np.minimum(until, end - gaps.start) - since, 0)

    stopping = within(0, np.minimum(machine.shutdown_s[node], length))
    booting = within(length - machine.boot_s[node], length)
    off = within(0, length) - stopping - booting
    spent = machine.shutdown_w[node] * stopping + machine.boot_w[node] * booting + machine.off_w[node] * off
    return np.asarray(machine.idle_w[node] * within(0, length) - spent)
