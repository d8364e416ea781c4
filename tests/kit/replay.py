"""Oracle of whole runs: goes through a schedule in the order of decisions, with one array entry a second.

Only for runs without backfilling: then a job's first reservation is its last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from kit.dense import ONE, DenseNode, dense_nodes

from dardis.model.choices import EventOrder, ProfileRule, UnitsPerNode
from dardis.model.job import ActualJob
from dardis.model.platform import Platform
from dardis.model.queues import ALWAYS, PermittedStarts
from dardis.model.schedule import Schedule
from dardis.model.target import DesiredProfile
from dardis.task_manager import SetUp


@dataclass
class Decision:
    """A job when it was decided on, and the nodes as it found them."""

    job: ActualJob
    place: int
    nodes: list[DenseNode]
    eligible: list[int]
    distinct: bool
    last_end: int
    starts: PermittedStarts = ALWAYS
    """When its queue lets it start."""

    def whole_units(self, first: int, last: int, *, desired_binds: bool) -> np.ndarray:
        """Units that the machine holds at each start from first to last."""
        total = np.zeros(last - first + 1, dtype=np.int64)
        for node in self.eligible:
            request = np.array(self.job.request)
            index = self.nodes[node].index_of_starts(first, last, self.job.walltime, request, desired_binds) // ONE
            total += np.minimum(index, 1) if self.distinct else index
        open_ = [self.starts.opens(start) == start for start in range(first, last + 1)] if self.starts.edges else True
        return np.where(open_, total, 0)

    def earliest(self, first: int, last: int, *, desired_binds: bool) -> int | None:
        """The earliest start in the window that the machine holds."""
        enough = np.flatnonzero(self.whole_units(first, last, desired_binds=desired_binds) >= self.job.units)
        return first + int(enough[0]) if len(enough) else None


def horizon_of(platform: Platform, jobs: Sequence[ActualJob], desired: DesiredProfile | None) -> int:
    """A second from which on nothing changes, however the jobs are placed."""
    last = max([0, *(job.submit for job in jobs), *(job.earliest for job in jobs), *(job.latest or 0 for job in jobs)])
    last = max([last, *(window.end for window in platform.maintenance)])
    last = max(last, (desired.last_breakpoint if desired else None) or 0)
    last = max([last, *(edge for starts in platform.hours.values() for edge in starts.edges)])
    # A window of at most 40 s, doubled three times; without a deadline drawn starts lie up to an hour ahead.
    return last + sum(job.walltime + 600 for job in jobs) + (3600 if any(job.latest is None for job in jobs) else 0)


def rejected_that_could_run(
    platform: Platform,
    jobs: Sequence[ActualJob],
    schedule: Schedule,
    desired: DesiredProfile | None,
    *,
    distinct: bool,
    instant: bool = False,
) -> list[int]:
    """Jobs that did not run although the empty machine holds them.

    That is when all maintenance is over and the profile, if it is hard, has had its last step. `instant`: it need hold
    a job at its start alone.
    """
    until = horizon_of(platform, jobs, desired)
    empty = dense_nodes(platform, desired, until)
    found = []
    for place in np.flatnonzero(~schedule.ran).tolist():
        job, length = jobs[place], 1 if instant else jobs[place].walltime
        index = [
            int(node.index_of_starts(until, until, length, np.array(job.request), desired is not None)[0]) // ONE
            for number, node in enumerate(empty)
            if job.groups >> int(platform.group_of_node[number]) & 1
        ]
        if sum(min(whole, 1) if distinct else whole for whole in index) >= job.units:
            found.append(job.number)
    return found


def never_above(schedule: Schedule, platform: Platform, desired: DesiredProfile) -> bool:
    """Whether no node ever uses more than is wished of it; use rises at starts only, wishes sink at steps only."""
    ran = np.flatnonzero(schedule.ran).tolist()
    steps = {int(time) for binding in (*desired.machine.values(), *desired.nodes.values()) for time in binding.times}
    instants = np.array(sorted(steps | {int(schedule.start[place]) for place in ran}), dtype=np.int64)
    used = np.zeros((platform.node_count, len(platform.kinds), len(instants)), dtype=np.int64)
    for place in ran:
        during = (schedule.start[place] <= instants) & (instants < schedule.finish[place])
        for node, units in placement(schedule, place).items():
            used[node] += units * np.outer(schedule.request[place], during)
    return all(
        (used[node, kind] <= np.maximum(desired.of_node(node, kind).at(instants), 0)).all()
        for node in range(platform.node_count)
        for kind in range(len(platform.kinds))
    )


def decisions(
    platform: Platform, schedule: Schedule, jobs: Sequence[ActualJob], setup: SetUp, desired: DesiredProfile | None
) -> Iterator[Decision]:
    """Every job as it was decided on: what had ended by then is free, what was decided before is reserved."""
    seconds = horizon_of(platform, jobs, desired)
    distinct = setup.units_per_node is UnitsPerNode.DISTINCT
    ends_first = setup.event_order is EventOrder.BATCHED
    for place, job in enumerate(jobs):
        nodes = dense_nodes(platform, desired, seconds)
        last_end = max((window.end for window in platform.maintenance), default=0)
        for earlier in range(place):
            if not schedule.ran[earlier]:
                continue
            start, finish = int(schedule.start[earlier]), int(schedule.finish[earlier])
            over = finish <= job.submit if ends_first else finish < job.submit
            end = finish if over else start + int(schedule.walltime[earlier])
            last_end = max(last_end, end)
            for node, units in placement(schedule, earlier).items():
                nodes[node].take(start, end, units * schedule.request[earlier])
        eligible = [n for n in range(platform.node_count) if job.groups >> int(platform.group_of_node[n]) & 1]
        yield Decision(job, place, nodes, eligible, distinct, last_end, platform.starts_of(job.job.queue))


def placement(schedule: Schedule, place: int) -> dict[int, int]:
    """Node to units."""
    return dict(schedule.placed.pairs(place))


def earliest_by_the_rules(
    decision: Decision, setup: SetUp, until: int, *, now: int, has_desired: bool
) -> tuple[int, bool] | None:
    """What a throughput set-up owes the job, window by window (thesis 5.3.6): start, and whether the profile binds."""
    job = decision.job
    binds = has_desired and setup.profile is not ProfileRule.OFF
    ways = [True, False] if binds and setup.profile is ProfileRule.SOFT else [binds]
    first = max(job.earliest, now)
    last = until if job.latest is None else max(job.latest, first)
    for shift in range(5):
        for desired_binds in ways:
            start = decision.earliest(first, last, desired_binds=desired_binds)
            if start is not None:
                return start, desired_binds
        if job.latest is None:
            return None
        length = last - first
        if shift < 3:
            first, last = last, last + 2 * max(length, 1)
        else:
            first, last = max(decision.last_end, first), until
    return None
