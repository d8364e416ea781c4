"""Is a schedule legal on a platform? Judges the result alone, with nothing of what made it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dardis.model.downtime import Downtime, boot_and_shutdown
from dardis.model.job import FOREVER, NO_TIME, Status
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule

_BLOCK: Final = 500_000
"""Placements (a job on a node) swept at a time: what bounds the memory."""

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong: the job's number, the node and the time where it shows (None where it has none), and why."""

    job: int | None
    node: int | None
    time: int | None
    text: str

    def __str__(self) -> str:
        """One line: `job 7, node 3, at 120 s: …`."""
        parts = [
            f"job {self.job}" if self.job is not None else "",
            f"node {self.node}" if self.node is not None else "",
            f"at {self.time} s" if self.time is not None else "",
        ]
        return ", ".join(part for part in parts if part) + f": {self.text}"


def audit(
    schedule: Schedule, platform: Platform, *, reserved: bool = True, expected: Collection[int] | None = None,
    downtime: Downtime | None = None,
) -> list[Violation]:  # fmt: skip
    """Everything that makes `schedule` illegal on `platform`; empty when it is legal.

    `reserved` says that jobs were placed for their whole walltime, so that none may start on a node whose maintenance
    begins before its walltime ends; otherwise only the time it really ran counts. `expected` are the numbers of all
    jobs that were handed in, each to be there once. `downtime` says when nodes were down.
    """
    return [
        *_identities(schedule, expected),
        *_times(schedule),
        *_placements(schedule, platform),
        *_capacities(schedule, platform),
        *_maintenance(schedule, platform, reserved),
        *(_downtime(schedule, platform, downtime) if downtime is not None else ()),
    ]


def _identities(schedule: Schedule, expected: Collection[int] | None) -> Iterator[Violation]:
    """Every job is there, and once."""
    numbers, counts = np.unique(schedule.number, return_counts=True)
    for number, count in zip(numbers[counts > 1].tolist(), counts[counts > 1].tolist(), strict=True):
        yield Violation(number, None, None, f"is there {count} times")
    if expected is not None:
        there = set(numbers.tolist())
        for number in sorted(set(expected) - there):
            yield Violation(number, None, None, "was submitted and is not there")
        for number in sorted(there - set(expected)):
            yield Violation(number, None, None, "was never submitted")


def _times(schedule: Schedule) -> Iterator[Violation]:
    """What ran has a start and an end that keep its rules; what was rejected has neither, nor nodes."""
    s = schedule
    ran, timed = s.ran, _timed(s)
    length = np.where(timed, s.finish - s.start, 0)
    sound = timed & (length > 0)
    rejected = (s.start != NO_TIME) | (s.finish != NO_TIME) | (np.diff(s.offsets) > 0)
    rules: tuple[tuple[Bools, Ints | None, str], ...] = (
        (~ran & rejected, None, "was rejected, yet has times or nodes"),
        (ran & ((s.start == NO_TIME) | (s.finish == NO_TIME)), None, "ran, yet has no start or no end"),
        (timed & (length <= 0), s.finish, "ends no later than it starts"),
        (timed & (s.start < s.submit), s.start, "starts before its submission"),
        (timed & (s.start < s.earliest), s.start, "starts before its earliest start"),
        (sound & (length > s.walltime), s.finish, "runs longer than its walltime"),
        (sound & (s.status == Status.KILLED) & (length < s.walltime), s.finish, "is killed before its walltime ends"),
        (s.walltime < 1, None, "has no walltime"),
        (s.units < 1, None, "has no units"),
        (np.asarray((s.request < 0).any(axis=1)), None, "asks for less than nothing"),
        (s.request.sum(axis=1) == 0, None, "asks for nothing"),
    )
    for broken, times, text in rules:
        for index in np.flatnonzero(broken).tolist():
            yield Violation(int(s.number[index]), None, None if times is None else int(times[index]), text)


def _timed(schedule: Schedule) -> Bools:
    """Which jobs ran and have both times."""
    return np.asarray(schedule.ran & (schedule.start != NO_TIME) & (schedule.finish != NO_TIME))


def _job_of_placement(schedule: Schedule) -> Ints:
    """Index of the job of each placement, shape (placements,)."""
    return np.repeat(np.arange(len(schedule.number)), np.diff(schedule.offsets))


def _placements(schedule: Schedule, platform: Platform) -> Iterator[Violation]:
    """A job that ran has all its units, on nodes that exist, each named once."""
    s = schedule
    job = _job_of_placement(s)
    placed = np.zeros(len(s.number), dtype=np.int64)
    np.add.at(placed, job, s.node_units)
    for index in np.flatnonzero(s.ran & (placed != s.units)).tolist():
        yield Violation(
            int(s.number[index]), None, None, f"has {placed[index]} units placed instead of {s.units[index]}"
        )
    again = np.zeros(len(job), dtype=np.bool_)
    again[1:] = (job[1:] == job[:-1]) & (s.nodes[1:] <= s.nodes[:-1])
    rules = (
        (~_exists(s.nodes, platform), "does not exist"),
        (again, "is named twice or out of order by the job"),
        (s.node_units < 1, "is named by the job, yet has none of its units"),
    )
    for broken, text in rules:
        for place in np.flatnonzero(broken).tolist():
            yield Violation(int(s.number[job[place]]), int(s.nodes[place]), None, text)


def _exists(nodes: NDArray[np.integer[Any]], platform: Platform) -> Bools:
    """Which numbers are nodes of the platform."""
    return np.asarray((nodes >= 0) & (nodes < platform.node_count))


def _capacities(schedule: Schedule, platform: Platform) -> Iterator[Violation]:
    """No node ever holds more than it has: the first instant of each node and kind where it does."""
    request = _request_of_platform(schedule, platform)
    for kind in sorted(set(schedule.kinds) - set(platform.kinds)):
        for index in np.flatnonzero(schedule.ran & (schedule.request[:, schedule.kinds.index(kind)] > 0)).tolist():
            yield Violation(
                int(schedule.number[index]), None, None, f"asks for {kind}, which the machine does not have"
            )
    job = _job_of_placement(schedule)
    judged = _timed(schedule) & (schedule.finish > schedule.start)
    places = np.flatnonzero(judged[job] & _exists(schedule.nodes, platform) & (schedule.node_units > 0))
    places = places[np.argsort(schedule.nodes[places], kind="stable")]
    first_of_node = np.searchsorted(schedule.nodes[places], np.arange(platform.node_count + 1))
    low = 0
    while low < platform.node_count:
        high = int(np.searchsorted(first_of_node, first_of_node[low] + _BLOCK, side="right")) - 1
        high = min(max(high, low + 1), platform.node_count)
        block = places[first_of_node[low] : first_of_node[high]]
        yield from _sweep(schedule, platform, request, job[block], block)
        low = high


def _request_of_platform(schedule: Schedule, platform: Platform) -> Ints:
    """What a unit of each job asks for in the platform's order of kinds, shape (jobs, kinds)."""
    request = np.zeros((len(schedule.number), len(platform.kinds)), dtype=np.int64)
    for column, kind in enumerate(schedule.kinds):
        if kind in platform.kinds:
            request[:, platform.kinds.index(kind)] = schedule.request[:, column]
    return request


def _sweep(schedule: Schedule, platform: Platform, request: Ints, job: Ints, places: Ints) -> Iterator[Violation]:
    """Go through the starts and ends on some nodes in order of time; `places` are all placements there, by node."""
    count = len(places)
    if count == 0:
        return
    nodes = schedule.nodes[places]
    event_node = np.concatenate([nodes, nodes])
    event_time = np.concatenate([schedule.finish[job], schedule.start[job]])
    begins = np.repeat([False, True], count)
    order = np.lexsort((begins, event_time, event_node))  # spans are half-open: at one instant ends come first
    event_node, event_time, begins = event_node[order], event_time[order], begins[order]
    event_job = np.concatenate([job, job])[order]
    sign = np.where(begins, 1, -1)
    units = np.concatenate([schedule.node_units[places]] * 2)[order]
    for kind, name in enumerate(platform.kinds):
        capacity = platform.capacity[event_node, kind]
        # What exceeds the node alone already counts as just too much: sums of absurd amounts could overflow.
        amount = np.minimum(units * request[event_job, kind], capacity + 1)
        held = np.cumsum(sign * amount)  # every node's changes sum to zero, so each begins from nothing
        over = np.flatnonzero(begins & (held > capacity))
        _, first = np.unique(event_node[over], return_index=True)
        for event in over[first].tolist():
            text = f"holds more than its {capacity[event]} {name}"
            yield Violation(
                int(schedule.number[event_job[event]]), int(event_node[event]), int(event_time[event]), text
            )


def _maintenance(schedule: Schedule, platform: Platform, reserved: bool) -> Iterator[Violation]:
    """No job is on a node during its maintenance."""
    s = schedule
    end = s.start + s.walltime if reserved else s.finish
    for window in platform.maintenance:
        closed = np.zeros(platform.node_count, dtype=np.bool_)
        closed[list(window.nodes)] = True
        for index in np.flatnonzero(_timed(s) & (s.start < window.end) & (end > window.start)).tolist():
            nodes = s.nodes[s.offsets[index] : s.offsets[index + 1]]
            nodes = nodes[_exists(nodes, platform)]
            for node in nodes[closed[nodes]].tolist():
                text = f"is in maintenance from {window.start} s to {window.end} s"
                yield Violation(int(s.number[index]), node, max(int(s.start[index]), window.start), text)


def _downtime(schedule: Schedule, platform: Platform, downtime: Downtime) -> Iterator[Violation]:
    """Nodes go down and come up as they can, one time after the other, and hold no job meanwhile."""
    node, down, up = downtime.node, downtime.down, downtime.up
    exists = _exists(node, platform)
    for place in np.flatnonzero(~exists).tolist():
        yield Violation(None, int(node[place]), int(down[place]), "is down, and does not exist")
    node, down, up = node[exists], down[exists], up[exists]
    always_on = np.array([group.always_on for group in platform.groups])[platform.group_of_node[node]]
    least = np.sum(boot_and_shutdown(platform), axis=0)[node]
    again = np.zeros(len(node), dtype=np.bool_)
    again[1:] = (node[1:] == node[:-1]) & (down[1:] < up[:-1])
    rules = (
        (always_on, "is down, and always on"),
        (up - down < np.maximum(least, 1), "is up again sooner than it can shut down and boot"),
        (again, "is shut down while it is down"),
    )
    for broken, text in rules:
        for place in np.flatnonzero(broken).tolist():
            yield Violation(None, int(node[place]), int(down[place]), text)
    yield from _jobs_on_nodes_down(schedule, Downtime(node, down, up))


def _jobs_on_nodes_down(schedule: Schedule, downtime: Downtime) -> Iterator[Violation]:
    """The spans of a node ascend, so the last that begins before a job ends is the one that it may meet."""
    job = _job_of_placement(schedule)
    timed = _timed(schedule)[job]
    job, node = job[timed], schedule.nodes[timed].astype(np.int64)
    start, finish = schedule.start[job], schedule.finish[job]
    moments, place = np.unique(np.concatenate([downtime.down, finish]), return_inverse=True)
    spans = downtime.node * (len(moments) + 1) + place[: len(downtime.down)]  # node and time in one number
    last = np.searchsorted(spans, node * (len(moments) + 1) + place[len(downtime.down) :]) - 1
    meets = (last >= 0) & (len(spans) > 0)
    meets[meets] &= downtime.node[last[meets]] == node[meets]
    meets[meets] &= downtime.up[last[meets]] > start[meets]
    for index in np.flatnonzero(meets).tolist():
        since, until = int(downtime.down[last[index]]), int(downtime.up[last[index]])
        text = f"is down from {since} s" + ("" if until == FOREVER else f" to {until} s")
        yield Violation(int(schedule.number[job[index]]), int(node[index]), max(int(start[index]), since), text)
