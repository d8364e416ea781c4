"""Clairvoyant switching: all of a schedule is known beforehand, and no job is delayed."""

from __future__ import annotations

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.downtime import Downtime
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.power.nodes import MachinePower
from offline.onoff.spans import Spans, busy_spans_of, idle_gaps


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
