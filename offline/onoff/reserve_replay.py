"""Savings and delays of an idle reserve over a past schedule.

Rule for a node group: jobs take the most recently idle node. A number of idle nodes stays on as spares. Other nodes
shut down after `idle_s` without a job. Boots replace used spares at once. Jobs wait for nodes that are not up; other
jobs do not move.

Layer l of the group is busy while at least l nodes are. Nodes on or booting are `min(count, max(most nodes busy in the
last idle_s, busy + spares))`. A layer is up after a boot time on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.job import NO_TIME
from dardis.model.placements import indexes_of
from dardis.model.platform import NodePower, Platform
from dardis.model.schedule import Schedule
from dardis.model.step_function import StepFunction
from offline.onoff.spans import BusySpans, busy_spans_of


@dataclass(frozen=True)
class NodeDemand:
    """Demand for nodes of a group. Arrays (job starts,), ascending by start.

    `level`: nodes busy right after the job's start, with simultaneous starts before it; 0 if the job uses only busy
    nodes.
    """

    count: int
    busy: StepFunction
    start: Ints
    level: Ints

    def before(self, end: int) -> NodeDemand:
        """Demand known by `end`."""
        first = int(np.searchsorted(self.start, end))
        last = int(np.searchsorted(self.busy.times, end))
        busy = StepFunction(self.busy.times[:last], self.busy.values[:last])
        return NodeDemand(self.count, busy, self.start[:first], self.level[:first])


def demands_of(schedule: Schedule, platform: Platform) -> dict[int, NodeDemand]:
    """Demand of every node group in a finished schedule."""
    busy = busy_spans_of(schedule)
    job = schedule.placed.job_of
    job_group, busy_group = platform.group_of_node[schedule.placed.nodes], platform.group_of_node[busy.node]
    found = {}
    for group, nodes in enumerate(platform.groups):
        mine = busy_group == group
        of_group = BusySpans(busy.node[mine], busy.start[mine], busy.end[mine], busy.opener[mine])
        found[group] = _demand(nodes.count, of_group, np.unique(job[job_group == group]), schedule.start)
    return found


def _demand(count: int, spans: BusySpans, jobs: Ints, start: Ints) -> NodeDemand:
    jobs = jobs[np.lexsort((jobs, start[jobs]))]
    busy = StepFunction.from_spans(spans.start, spans.end)
    fresh = np.bincount(spans.opener, minlength=len(start))[jobs]
    begins = start[jobs]
    # Nodes busy after all starts of this instant, minus nodes of later jobs.
    so_far = np.cumsum(fresh)
    last_of_instant = np.searchsorted(begins, begins, side="right") - 1
    level = busy.at(begins) - (so_far[last_of_instant] - so_far)
    return NodeDemand(count, busy, begins, np.where(fresh > 0, level, 0))


@dataclass(frozen=True)
class Replay:
    """Result of a number of spares over `[edges[0], edges[-1])`."""

    saved_j: Floats
    """Energy saved over all nodes on, net of switching; (spans,)."""
    boots: Ints
    delay: Ints
    """Boot delays of job starts, s."""
    nodes_on: StepFunction
    """Nodes on or booting, from a boot time before the window."""

    @property
    def mean_delay_s(self) -> float:
        """Mean delay over all jobs."""
        return float(self.delay.mean()) if len(self.delay) else 0.0

    @property
    def delayed_share(self) -> float:
        """Share of delayed jobs."""
        return float((self.delay > 0).mean()) if len(self.delay) else 0.0


class PastDemand:
    """Group's demand over `[edges[0], edges[-1])`, prepared for replays."""

    def __init__(self, demand: NodeDemand, power: NodePower, idle_s: int, edges: Ints) -> None:
        """`edges` (spans + 1,): cuts of results and of spares."""
        self.demand, self.power, self.edges = demand, power, edges
        times = demand.busy.times[1:]
        grid = np.concatenate([edges, times, times + idle_s])
        begin = int(edges[0]) - power.boot_s
        self._times = np.unique(np.append(grid[(grid > begin) & (grid < edges[-1])], begin))
        self._ends = np.append(self._times[1:], edges[-1])
        self._busy = demand.busy.at(self._times)
        self._recent = demand.busy.max_over(self._times - idle_s, self._times + 1)
        self._span = np.searchsorted(edges, self._times, side="right") - 1
        first, last = np.searchsorted(demand.start, [edges[0], edges[-1]])
        self.start, self._level = demand.start[first:last], demand.level[first:last]
        self.span_of_start = np.searchsorted(edges, self.start, side="right") - 1
        self._pair_job, self._pair_piece = self._boot_pieces()

    def _boot_pieces(self) -> tuple[Ints, Ints]:
        takes = np.flatnonzero(self._level)
        since, until = self.start[takes] - self.power.boot_s, self.start[takes]
        first = np.searchsorted(self._ends, since, side="right")
        last = np.searchsorted(self._times, until)
        lengths = np.maximum(last - first, 0)
        return np.repeat(takes, lengths), indexes_of(first, lengths)

    def replay(self, spares: Ints | int, floors: Ints | int = 0) -> Replay:
        """Replay spares and a floor of nodes on."""
        kept, least = np.broadcast_arrays(spares, floors, self.edges[:-1])[:2]
        place = np.maximum(self._span, 0)
        wished = np.maximum(self._busy + kept[place], least[place])
        on = np.minimum(self.demand.count, np.maximum(self._recent, wished)).astype(np.int64)
        rise = np.diff(on, prepend=on[0])
        inside = self._span >= 0
        spans = len(kept)
        boots = np.bincount(self._span[inside], np.maximum(rise, 0)[inside], spans).astype(np.int64)
        downs = np.bincount(self._span[inside], np.maximum(-rise, 0)[inside], spans)
        off_s = np.bincount(self._span[inside], ((self.demand.count - on) * (self._ends - self._times))[inside], spans)
        p = self.power
        saved = off_s * (p.idle_w - p.off_w)
        saved -= boots * (p.boot_w - p.idle_w) * p.boot_s + downs * (p.shutdown_w - p.off_w) * p.shutdown_s
        nodes_on = StepFunction(np.append(NO_TIME, self._times[1:]), on)
        return Replay(np.asarray(saved, dtype=np.float64), boots, self._delays(on), nodes_on)

    def _delays(self, on: Ints) -> Ints:
        short = on[self._pair_piece] < self._level[self._pair_job]
        begun = np.full(len(self.start), NO_TIME, dtype=np.int64)
        # The boot of a job's highest layer begins when the last piece without that layer ends.
        np.maximum.at(begun, self._pair_job[short], self._ends[self._pair_piece[short]])
        return np.maximum(np.minimum(begun, self.start) + self.power.boot_s - self.start, 0)
