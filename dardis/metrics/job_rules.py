"""Which jobs break a rule that shows in the job itself, whatever the others do: its times, its nodes, when it had them.

A block of jobs is judged at a time, with memory for its placements only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dardis.metrics.shapes import inconsistent_parts
from dardis.metrics.violation import Found, Violation
from dardis.model.arrays import Bools, Integers, Ints
from dardis.model.downtime import Downtime
from dardis.model.job import FOREVER, NO_TIME, Status
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule


class JobRules:
    """The rules of one machine. `reserved` and `downtime` as `dardis.metrics.audit` has them."""

    def __init__(self, platform: Platform, *, reserved: bool, downtime: Downtime) -> None:
        self._platform = platform
        self._reserved = reserved
        closed = [window for window in platform.maintenance if window.less is None]
        self._closed = [(w, np.unique(np.array(w.nodes, dtype=np.int64))) for w in closed]
        self._spans = downtime
        self._moments, place = np.unique(downtime.down, return_inverse=True)
        self._span_keys = self._keys(downtime.node, place)

    def broken(self, s: Schedule) -> list[Iterator[Found]]:
        """For each rule, the jobs of the block that break it, by their place in the block."""
        job = s.placed.job_of
        return [
            *_times(s, self._may_be_cut(s, job)),
            *self._kinds(s),
            *self._queues(s, job),
            *self._placements(s, job),
            *self._maintenance(s, job),
            self._on_nodes_down(s, job),
            inconsistent_parts(s),
        ]

    def _kinds(self, s: Schedule) -> Iterator[Iterator[Found]]:
        """What ran asks for nothing that the machine does not have."""
        for kind in sorted(set(s.kinds) - set(self._platform.kinds)):
            asks = s.ran & (s.asked_of(kind) > 0)
            yield of_jobs(s, asks, f"asks for {kind}, which the machine does not have")

    def _queues(self, s: Schedule, job: Ints) -> Iterator[Iterator[Found]]:
        """What ran keeps to its queue's limits, node groups and hours."""
        group_of = self._platform.group_of_node
        for queue in self._platform.queues:
            ran = s.ran & (np.asarray(s.queue) == queue.name)
            if not ran.any():
                continue
            limits = [(queue.max_units, s.units, "units"), (queue.max_walltime_s, s.walltime, "s of walltime")]
            limits += [(queue.max_job.get(kind), s.asked_of(kind), kind) for kind in s.kinds]
            for most, asked, what in limits:
                if most is not None:
                    yield of_jobs(s, ran & (asked > most), f"asks for more than the {most} {what} that its queue takes")
            if queue.groups is not None:
                known = exist(s.placed.nodes, self._platform)
                here = np.isin(group_of[np.where(known, s.placed.nodes, 0)], queue.groups)
                yield _of_places(s, job, ran[job] & known & ~here, f"is none that queue {queue.name} may use")
            edges = self._platform.starts_of(queue.name).edges
            closed = ran & (s.start != NO_TIME) & (np.searchsorted(edges, s.start, side="right") % 2 == 1)
            yield of_jobs(s, closed, f"starts while queue {queue.name} is closed", s.start)

    def _placements(self, s: Schedule, job: Ints) -> Iterator[Iterator[Found]]:
        """A job that ran has all its units, on nodes that exist, each named once."""
        placed = s.placed.units_of_jobs
        yield of_jobs(s, s.ran & (placed != s.units), lambda i: f"has {placed[i]} units placed instead of {s.units[i]}")
        again = np.zeros(len(job), dtype=np.bool_)
        again[1:] = (job[1:] == job[:-1]) & (s.placed.nodes[1:] <= s.placed.nodes[:-1])
        yield _of_places(s, job, ~exist(s.placed.nodes, self._platform), "does not exist")
        yield _of_places(s, job, again, "is named twice or out of order by the job")
        yield _of_places(s, job, s.placed.units < 1, "is named by the job, yet has none of its units")

    def _maintenance(self, s: Schedule, job: Ints) -> Iterator[Iterator[Found]]:
        """No job is on a node during its maintenance."""
        timed = timed_jobs(s)
        for window, nodes in self._closed:
            since, until = window.start, window.end
            end = s.start + s.walltime if self._reserved and window.foreseen else s.finish
            met = timed & (s.start < until) & (end > since)
            if met.any():
                closed = np.searchsorted(nodes, s.placed.nodes, side="right") > np.searchsorted(nodes, s.placed.nodes)
                text = f"is in maintenance from {since} s to {until} s"
                yield _of_places(s, job, met[job] & closed, text, np.maximum(s.start, since)[job])

    def _may_be_cut(self, s: Schedule, job: Ints) -> Bools:
        """Whose end is when one of their nodes fails."""
        found = np.zeros(len(s.number), dtype=np.bool_)
        for window, nodes in self._closed:
            if not window.foreseen:
                found[job[np.isin(s.placed.nodes, nodes) & (s.finish == window.start)[job]]] = True
        return found

    def _keys(self, node: Integers, place: Integers) -> Ints:
        """Node and place among the moments in one number, ascending by (node, place)."""
        return node.astype(np.int64) * (len(self._moments) + 1) + place

    def _on_nodes_down(self, s: Schedule, job: Ints) -> Iterator[Found]:
        """The spans of a node ascend, so the last that begins before a job ends is the one that it may meet."""
        spans = self._spans
        if len(spans.node) == 0:
            return
        ended = np.searchsorted(self._moments, s.finish)
        last = np.searchsorted(self._span_keys, self._keys(s.placed.nodes, ended[job])) - 1
        meets = timed_jobs(s)[job] & (last >= 0)
        meets &= (spans.node[last] == s.placed.nodes) & (spans.up[last] > s.start[job])

        def text(place: int) -> str:
            until = int(spans.up[last[place]])
            return f"is down from {spans.down[last[place]]} s" + ("" if until == FOREVER else f" to {until} s")

        yield from _of_places(s, job, meets, text, np.maximum(s.start[job], spans.down[last]))


def timed_jobs(s: Schedule) -> Bools:
    """Which jobs ran and have both times."""
    return np.asarray(s.ran & (s.start != NO_TIME) & (s.finish != NO_TIME))


def exist(nodes: Integers, platform: Platform) -> Bools:
    """Which numbers are nodes of the platform."""
    return np.asarray((nodes >= 0) & (nodes < platform.node_count))


def _times(s: Schedule, may_be_cut: Bools) -> Iterator[Iterator[Found]]:
    """What ran has a start and an end that keep its rules; what was rejected has neither, nor nodes."""
    ran, timed = s.ran, timed_jobs(s)
    length = np.where(timed, s.finish - s.start, 0)
    sound = timed & (length > 0)
    rejected = (s.start != NO_TIME) | (s.finish != NO_TIME) | (s.placed.counts > 0)
    rules: tuple[tuple[Bools, Ints | None, str], ...] = (
        (~ran & rejected, None, "was rejected, yet has times or nodes"),
        (ran & ((s.start == NO_TIME) | (s.finish == NO_TIME)), None, "ran, yet has no start or no end"),
        (timed & (length <= 0), s.finish, "ends no later than it starts"),
        (timed & (s.start < s.submit), s.start, "starts before its submission"),
        (timed & (s.start < s.earliest), s.start, "starts before its earliest start"),
        (sound & (length > s.walltime), s.finish, "runs longer than its walltime"),
        (
            sound & (s.status == Status.KILLED) & (length < s.walltime) & ~may_be_cut,
            s.finish,
            "is killed before its walltime ends",
        ),
        (s.walltime < 1, None, "has no walltime"),
        (s.units < 1, None, "has no units"),
        (np.asarray((s.request < 0).any(axis=1)), None, "asks for less than nothing"),
        (s.request.sum(axis=1) == 0, None, "asks for nothing"),
    )
    return (of_jobs(s, broken, text, times) for broken, times, text in rules)


Text = str | Callable[[int], str]
"""Why it is wrong, always the same or by the index of what is wrong."""


def of_jobs(s: Schedule, broken: Bools, text: Text, times: Ints | None = None) -> Iterator[Found]:
    """The jobs that break a rule, at times of shape (jobs,)."""
    for index in np.flatnonzero(broken).tolist():
        why = text if isinstance(text, str) else text(index)
        yield index, Violation(int(s.number[index]), None, None if times is None else int(times[index]), why)


def _of_places(s: Schedule, job: Ints, broken: Bools, text: Text, times: Ints | None = None) -> Iterator[Found]:
    """The placements that break a rule, at times of shape (placements,)."""
    for index in np.flatnonzero(broken).tolist():
        why = text if isinstance(text, str) else text(index)
        when = None if times is None else int(times[index])
        yield int(job[index]), Violation(int(s.number[job[index]]), int(s.placed.nodes[index]), when, why)
