"""When each node is busy, idles or is up, and the clairvoyant switching of a schedule."""

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
    """Arrays of one shape: node `node[i]` during `[start[i], end[i])`. By (node, start); a node's spans don't touch."""

    node: Ints
    start: Ints
    end: Ints


@dataclass(frozen=True, slots=True)
class Busy(Spans):
    """When nodes hold a job; `opener` is the index of the job that found the node idle (the first of several)."""

    opener: Ints


def busy_spans(start: Ints, finish: Ints, placed: Placements) -> Busy:
    """Busy spans when job i runs on its nodes during `[start[i], finish[i])`.

    A job without nodes occupies none, whatever its times.
    """
    job = placed.job_of
    order = np.lexsort((job, start[job], placed.nodes))
    job, node = job[order], placed.nodes.astype(np.int64)[order]
    if len(job) == 0:
        return Busy(job, job, job, job)
    begin, end = start[job], finish[job]
    # How far a node is taken so far: a running maximum that a new node begins anew, as its numbers are all larger.
    base = node * (int(end.max()) - int(begin.min()) + 1)
    reach = np.maximum.accumulate(end + base) - base
    opens = np.ones(len(job), dtype=np.bool_)
    opens[1:] = (node[1:] != node[:-1]) | (begin[1:] > reach[:-1])
    first = np.flatnonzero(opens)
    last = np.append(first[1:], len(job)) - 1
    return Busy(node[first], begin[first], reach[last], job[first])


def busy_spans_of(schedule: Schedule) -> Busy:
    """Busy spans of a finished schedule."""
    return busy_spans(schedule.start, schedule.finish, schedule.placed)


def nodes_up(downtime: Downtime, node_count: int) -> StepFunction:
    """How many nodes are not down, over time."""
    off = StepFunction.from_spans(downtime.down, downtime.up)
    return StepFunction(off.times, node_count - off.values)


def idle_gaps(busy: Spans, node_count: int, start: int, end: int) -> Spans:
    """When nodes hold no job, as far as it meets `[start, end)`.

    A gap begins at `start` at the earliest; it ends when the node's next job begins, which may be after `end`, or is
    `FOREVER` if there is none.
    """
    every = np.arange(node_count)
    node = np.concatenate([every, busy.node])
    begins = np.concatenate([np.full(node_count, start), np.maximum(busy.end, start)])
    ends = np.concatenate([busy.start, np.full(node_count, FOREVER)])
    # The gap after a node's i-th span (its 0-th: from the start on) ends at its next span.
    after = np.argsort(node, kind="stable")
    before = np.argsort(np.concatenate([busy.node, every]), kind="stable")
    gap = Spans(node[after], begins[after], ends[before])
    kept = (gap.end > gap.start) & (gap.start < end)
    return Spans(gap.node[kept], gap.start[kept], gap.end[kept])


def clairvoyant(schedule: Schedule, platform: Platform, start: int, end: int) -> Downtime:
    """Down in every idle gap of `[start, end)` in which that saves energy; boots end exactly when the next job starts.

    All nodes are up at `start`. A gap that reaches beyond `end` counts as far as it lies within: after its last job a
    node is not booted again. Groups that are `always_on`, and nodes that idle for nothing, stay on.
    """
    machine = MachinePower.of_platform(platform)
    gaps = idle_gaps(busy_spans_of(schedule), platform.node_count, start, end)
    may = ~np.array([group.always_on for group in platform.groups])[platform.group_of_node][gaps.node]
    down = may & (gaps.end - gaps.start >= machine.cycle_s[gaps.node]) & (saved_j(machine, gaps, end) > 0)
    return Downtime(gaps.node[down], gaps.start[down], gaps.end[down])


def saved_j(machine: MachinePower, gaps: Spans, end: int) -> Floats:
    """Energy (J) that being down in each gap saves against idling, of what is spent before `end`."""
    node, length = gaps.node, gaps.end - gaps.start

    def within(since: Ints | int, until: Ints) -> Ints:
        return np.maximum(np.minimum(until, end - gaps.start) - since, 0)

    stopping = within(0, np.minimum(machine.shutdown_s[node], length))
    booting = within(length - machine.boot_s[node], length)
    off = within(0, length) - stopping - booting
    spent = machine.shutdown_w[node] * stopping + machine.boot_w[node] * booting + machine.off_w[node] * off
    return np.asarray(machine.idle_w[node] * within(0, length) - spent)
