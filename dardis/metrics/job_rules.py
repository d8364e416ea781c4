"""Audit rules for single jobs."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, TypeAlias

import numpy as np

from dardis.metrics import columns
from dardis.metrics.cores import cores_on_nodes, requested_cores
from dardis.metrics.jobs_csv import Block, Value, derived
from dardis.model.arrays import Bools, Integers, Ints
from dardis.model.job import FOREVER, NO_TIME, ActualJob, Part, Request, Status
from dardis.model.node_sets import NodeSets
from dardis.model.platform import Platform
from dardis.model.schedule import Downtime, Schedule


class JobRules:
    """Job rules of a machine; arguments as in `Audit`."""

    def __init__(
        self, platform: Platform, *, reserved: bool, downtime: Downtime, killed: Collection[int] = ()
    ) -> None:  # fmt: skip
        self._platform = platform
        self._killed = np.array(sorted(killed), dtype=np.int64)
        self._reserved = reserved
        closed = [window for window in platform.maintenance if window.less is None]
        self._closed = [(w, np.unique(np.array(w.nodes, dtype=np.int64))) for w in closed]
        self._spans = downtime
        self._moments, place = np.unique(downtime.down, return_inverse=True)
        self._span_keys = self._keys(downtime.node, place)

    def violations(self, s: Schedule) -> list[Iterator[KeyedViolation]]:
        """Violations per rule, keyed by index in the block."""
        job = s.placed.job_of
        return [
            *_times(s, self._may_be_cut(s, job)),
            *self._kinds(s),
            *self._queues(s, job),
            *self._placements(s, job),
            *self._maintenance(s, job),
            self._on_nodes_down(s, job),
            _inconsistent_parts(s),
        ]

    def _kinds(self, s: Schedule) -> Iterator[Iterator[KeyedViolation]]:
        for kind in sorted(set(s.kinds) - set(self._platform.kinds)):
            asks = s.ran & (s.requested_total(kind) > 0)
            yield job_violations(s, asks, f"requests {kind}, which the machine does not have")

    def _queues(self, s: Schedule, job: Ints) -> Iterator[Iterator[KeyedViolation]]:
        group_of = self._platform.group_of_node
        for queue in self._platform.queues:
            ran = s.ran & (np.asarray(s.queue) == queue.name)
            if not ran.any():
                continue
            limits = [(queue.max_units, s.units, "units"), (queue.max_walltime_s, s.walltime, "s of walltime")]
            limits += [(queue.max_job.get(kind), s.requested_total(kind), kind) for kind in s.kinds]
            for most, asked, what in limits:
                if most is not None:
                    yield job_violations(
                        s, ran & (asked > most), f"requests more than the limit of its queue, {most} {what}"
                    )
            if queue.groups is not None:
                known = existing_nodes(s.placed.nodes, self._platform)
                here = np.isin(group_of[np.where(known, s.placed.nodes, 0)], queue.groups)
                yield _placement_violations(s, job, ran[job] & known & ~here, f"is not available to queue {queue.name}")
            edges = self._platform.starts_of(queue.name).edges
            closed = ran & (s.start != NO_TIME) & (np.searchsorted(edges, s.start, side="right") % 2 == 1)
            yield job_violations(s, closed, f"starts while queue {queue.name} is closed", s.start)

    def _placements(self, s: Schedule, job: Ints) -> Iterator[Iterator[KeyedViolation]]:
        placed = s.placed.units_of_jobs
        yield job_violations(
            s, s.ran & (placed != s.units), lambda i: f"has {placed[i]} units placed instead of {s.units[i]}"
        )
        again = np.zeros(len(job), dtype=np.bool_)
        again[1:] = (job[1:] == job[:-1]) & (s.placed.nodes[1:] <= s.placed.nodes[:-1])
        yield _placement_violations(s, job, ~existing_nodes(s.placed.nodes, self._platform), "does not exist")
        yield _placement_violations(s, job, again, "occurs twice or out of order in the job's nodes")
        yield _placement_violations(s, job, s.placed.units < 1, "is among the job's nodes but has none of its units")

    def _maintenance(self, s: Schedule, job: Ints) -> Iterator[Iterator[KeyedViolation]]:
        timed = timed_jobs(s)
        for window, nodes in self._closed:
            since, until = window.start, window.end
            end = s.start + s.walltime if self._reserved and window.foreseen else s.finish
            met = timed & (s.start < until) & (end > since)
            if met.any():
                closed = np.searchsorted(nodes, s.placed.nodes, side="right") > np.searchsorted(nodes, s.placed.nodes)
                text = f"is in maintenance from {since} s to {until} s"
                yield _placement_violations(s, job, met[job] & closed, text, np.maximum(s.start, since)[job])

    def _may_be_cut(self, s: Schedule, job: Ints) -> Bools:
        found = np.isin(s.number, self._killed)
        for window, nodes in self._closed:
            if not window.foreseen:
                found[job[np.isin(s.placed.nodes, nodes) & (s.finish == window.start)[job]]] = True
        return found

    def _keys(self, node: Integers, place: Integers) -> Ints:
        return node.astype(np.int64) * (len(self._moments) + 1) + place

    def _on_nodes_down(self, s: Schedule, job: Ints) -> Iterator[KeyedViolation]:
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

        yield from _placement_violations(s, job, meets, text, np.maximum(s.start[job], spans.down[last]))


def timed_jobs(s: Schedule) -> Bools:
    """Mask of jobs with start and end."""
    return np.asarray(s.ran & (s.start != NO_TIME) & (s.finish != NO_TIME))


def existing_nodes(nodes: Integers, platform: Platform) -> Bools:
    """Mask of existing nodes."""
    return np.asarray((nodes >= 0) & (nodes < platform.node_count))


def _times(s: Schedule, may_be_cut: Bools) -> Iterator[Iterator[KeyedViolation]]:
    ran, timed = s.ran, timed_jobs(s)
    length = np.where(timed, s.finish - s.start, 0)
    sound = timed & (length > 0)
    rejected = (s.start != NO_TIME) | (s.finish != NO_TIME) | (s.placed.counts > 0)
    rules: tuple[tuple[Bools, Ints | None, str], ...] = (
        (~ran & rejected, None, "was rejected but has times or nodes"),
        (ran & ((s.start == NO_TIME) | (s.finish == NO_TIME)), None, "ran but has no start or no end"),
        (timed & (length <= 0), s.finish, "does not end after its start"),
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
        (np.asarray((s.request < 0).any(axis=1)), None, "has a negative request"),
        (s.request.sum(axis=1) == 0, None, "has an empty request"),
    )
    return (job_violations(s, broken, text, times) for broken, times, text in rules)


Text = str | Callable[[int], str]
"""Reason: text, or function of the index."""


def job_violations(s: Schedule, broken: Bools, text: Text, times: Ints | None = None) -> Iterator[KeyedViolation]:
    """Violations by jobs; `times`: (jobs,)."""
    for index in np.flatnonzero(broken).tolist():
        why = text if isinstance(text, str) else text(index)
        yield index, Violation(int(s.number[index]), None, None if times is None else int(times[index]), why)


def _placement_violations(
    s: Schedule, job: Ints, broken: Bools, text: Text, times: Ints | None = None
) -> Iterator[KeyedViolation]:
    for index in np.flatnonzero(broken).tolist():
        why = text if isinstance(text, str) else text(index)
        when = None if times is None else int(times[index])
        yield int(job[index]), Violation(int(s.number[job[index]]), int(s.placed.nodes[index]), when, why)


@dataclass(frozen=True, slots=True)
class Violation:
    """Violation; job, node and time may be None."""

    job: int | None
    node: int | None
    time: int | None
    text: str

    def __str__(self) -> str:
        parts = [
            f"job {self.job}" if self.job is not None else "",
            f"node {self.node}" if self.node is not None else "",
            f"at {self.time} s" if self.time is not None else "",
        ]
        where = ", ".join(part for part in parts if part)
        return f"{where}: {self.text}" if where else self.text


KeyedViolation: TypeAlias = tuple[int, Violation]
"""Violation with sort key: job index or node."""


def merge_violations(rules: Iterable[Iterable[KeyedViolation]]) -> Iterator[Violation]:
    """Merge ascending results lazily, by key, then rule."""
    return (violation for _, violation in heapq.merge(*rules, key=itemgetter(0)))


def _inconsistent_parts(s: Schedule) -> Iterator[KeyedViolation]:
    parts = s.parts
    if parts is None:
        return
    for job in np.flatnonzero(np.diff(parts.offsets) > 1).tolist():
        mine = range(int(parts.offsets[job]), int(parts.offsets[job + 1]))
        number = int(s.number[job])
        if (units := int(parts.units[mine.start : mine.stop].sum())) != s.units[job]:
            yield job, Violation(number, None, None, f"has {units} units in its parts instead of {s.units[job]}")
        if (parts.request[mine.start] != s.request[job]).any():
            yield job, Violation(number, None, None, "has another request than its first part")
        there: Counter[int] = Counter()
        for part in mine if s.ran[job] else ():
            pairs = parts.placed.pairs(part)
            there.update(dict(pairs))
            placed = sum(units for _, units in pairs)
            if placed != parts.units[part] or any(units < 1 for _, units in pairs) or len(dict(pairs)) < len(pairs):
                text = f"part {part - mine.start + 1} has {placed} units placed instead of {parts.units[part]}"
                yield job, Violation(number, None, None, text)
        if s.ran[job] and sorted(there.items()) != s.placed.pairs(job):
            yield job, Violation(number, None, None, "has parts on other nodes than the job")


def shape_violations(
    s: Schedule, asked: Mapping[int, ActualJob], kinds: tuple[str, ...], sets: NodeSets
) -> Iterator[KeyedViolation]:
    """Jobs with a wrong shape; `asked`: shaped jobs by number."""
    for job, number in enumerate(s.number.tolist() if asked or s.parts is not None or s.taken is not None else ()):
        requests = asked[number].job.requests if number in asked else ()
        taken, count = used_alternative(s, job), max(len(requests), 1)
        if not 0 <= taken < count:
            text = f"ran as alternative {taken + 1}, where the trace has {count}"
            yield job, Violation(number, None, None, text)
            continue
        if not requests:
            if s.parts is not None and (several := int(s.parts.offsets[job + 1] - s.parts.offsets[job])) > 1:
                yield job, Violation(number, None, None, f"has {several} parts, not 1")
            continue
        for text in _differences(s, job, requests[taken], kinds, sets):
            yield job, Violation(number, None, None, text)


def used_alternative(s: Schedule, job: int) -> int:
    """Index of the alternative used; 0 if not recorded."""
    return 0 if s.taken is None or s.taken[job] < 0 else int(s.taken[job])


def _differences(s: Schedule, job: int, request: Request, kinds: tuple[str, ...], sets: NodeSets) -> Iterator[str]:
    parts = s.parts
    if parts is None:
        if len(request.parts) > 1:
            yield f"has one part, not {len(request.parts)}"
            return
        first, last, placed = job, job + 1, s.placed
        units, amounts = s.units, s.request
    else:
        first, last, placed = int(parts.offsets[job]), int(parts.offsets[job + 1]), parts.placed
        units, amounts = parts.units, parts.request
    if last - first != len(request.parts):
        yield f"has {last - first} parts, not {len(request.parts)}"
        return
    several = len(request.parts) > 1
    for place, (asked, part) in enumerate(zip(request.parts, range(first, last), strict=True), 1):
        label = f"part {place} " if several else ""
        wanted = dict(zip(kinds, asked.request, strict=True))
        if units[part] != asked.units or any(
            amount != wanted.get(kind, 0) for kind, amount in zip(s.kinds, amounts[part].tolist(), strict=True)
        ):
            yield f"{label}has other units than the job of the trace"
        if s.ran[job]:
            nodes = placed.of(part)[0].astype(np.int64)
            yield from (label + text for text in _wrong_nodes(nodes, asked, request, sets))


def _wrong_nodes(nodes: Ints, part: Part, request: Request, sets: NodeSets) -> Iterator[str]:
    known = nodes[(nodes >= 0) & (nodes < len(sets.member))]
    for node in known[~sets.nodes(part.groups)[known]].tolist():
        yield f"is on node {node}, which it may not use"
    if part.nodes and len(nodes) != part.nodes:
        yield f"is on {len(nodes)} nodes instead of {part.nodes}"
    if request.contiguous and (np.diff(np.sort(nodes)) > 1).any():
        yield "is not on adjacent nodes"


_TOLERANCE: Final = 1e-5
"""Relative: other tools round `stretch` to six digits."""


def contradictions(block: Block, first_core: Ints | None = None) -> Iterator[KeyedViolation]:
    """Inconsistent derived columns, by row of the block.

    `first_core` (see `first_cores`): if resources are cores.
    """
    numbers = block.schedule.number
    right = derived(block.schedule, 0, len(numbers))
    if first_core is not None:
        del right[columns.ALLOCATED]
    wrong_cores = {} if first_core is None else dict(_wrong_cores(block, first_core))
    checks = [(name, block.names.index(name), values) for name, values in right.items() if name in block.names]
    for index, row in enumerate(block.rows):
        if index in wrong_cores:
            yield index, wrong_cores[index]
        for name, place, values in checks:
            if not _agree(row[place], values[index]):
                text = f"{name} is {row[place]!r}, but the other columns give {_text(values[index])!r}"
                yield index, Violation(int(numbers[index]), None, None, text)


def _wrong_cores(block: Block, first_core: Ints) -> Iterator[KeyedViolation]:
    if columns.ALLOCATED not in block.names:
        return
    place = block.names.index(columns.ALLOCATED)
    for index, (row, asked) in enumerate(zip(block.rows, requested_cores(block.schedule), strict=True)):
        try:
            agrees = cores_on_nodes(row[place], first_core) == asked
        except ValueError:
            agrees = False
        if not agrees:
            right = " ".join(f"{node}:{count}" for node, count in sorted(asked.items()))
            text = f"{columns.ALLOCATED} is {row[place]!r}, but the other columns give cores of nodes {right!r}"
            yield index, Violation(int(block.schedule.number[index]), None, None, text)


def _text(value: Value) -> str:
    return "" if value is None else str(value)


def _agree(text: str, value: Value) -> bool:
    if text == _text(value):
        return True
    try:
        if isinstance(value, str):
            return columns.canonical_interval_set(text) == value
        return value is not None and math.isclose(float(text), value, rel_tol=_TOLERANCE * isinstance(value, float))
    except ValueError:
        return False
