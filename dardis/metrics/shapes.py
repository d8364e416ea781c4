"""Judges jobs of several parts, on so many nodes, side by side, or with alternatives: each is run as it asked to be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from dardis.metrics.violation import Found, Violation
from dardis.model.arrays import Ints
from dardis.model.job import Actual
from dardis.model.node_sets import NodeSets
from dardis.model.schedule import Schedule
from dardis.model.shapes import Part, Request


def inconsistent_parts(s: Schedule) -> Iterator[Found]:
    """The jobs whose parts are not what the whole job is told to have, on each node and in all."""
    parts = s.parts
    if parts is None:
        return
    for job in np.flatnonzero(np.diff(parts.offsets) > 1).tolist():
        mine = range(int(parts.offsets[job]), int(parts.offsets[job + 1]))
        number = int(s.number[job])
        if (units := int(parts.units[mine.start : mine.stop].sum())) != s.units[job]:
            yield job, Violation(number, None, None, f"has parts of {units} units together instead of {s.units[job]}")
        if (parts.request[mine.start] != s.request[job]).any():
            yield job, Violation(number, None, None, "asks for something else than its first part")
        there: Counter[int] = Counter()
        for part in mine if s.ran[job] else ():
            pairs = parts.placed.pairs(part)
            there.update(dict(pairs))
            placed = sum(units for _, units in pairs)
            if placed != parts.units[part] or any(units < 1 for _, units in pairs) or len(dict(pairs)) < len(pairs):
                text = f"part {part - mine.start + 1} has {placed} units placed instead of {parts.units[part]}"
                yield job, Violation(number, None, None, text)
        if s.ran[job] and sorted(there.items()) != s.placed.pairs(job):
            yield job, Violation(number, None, None, "has parts that are elsewhere than the job")


def broken_shapes(s: Schedule, asked: Mapping[int, Actual], kinds: tuple[str, ...], sets: NodeSets) -> Iterator[Found]:
    """What jobs of a block have otherwise than they asked for; `asked` are those, by number, that ask for a shape."""
    for job, number in enumerate(s.number.tolist() if asked or s.parts is not None or s.taken is not None else ()):
        requests = asked[number].asked.requests if number in asked else ()
        taken, count = place_taken(s, job), max(len(requests), 1)
        if not 0 <= taken < count:
            text = f"is run as alternative {taken + 1} of {count}, unlike the job of the trace"
            yield job, Violation(number, None, None, text)
            continue
        if not requests:
            if s.parts is not None and (several := int(s.parts.offsets[job + 1] - s.parts.offsets[job])) > 1:
                yield job, Violation(number, None, None, f"has {several} parts, not 1")
            continue
        for text in _differences(s, job, requests[taken], kinds, sets):
            yield job, Violation(number, None, None, text)


def place_taken(s: Schedule, job: int) -> int:
    """Which of its requests a job is run as, from 0; the first where nobody says."""
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
        who = f"part {place} " if several else ""
        wanted = dict(zip(kinds, asked.request, strict=True))
        if units[part] != asked.units or any(
            amount != wanted.get(kind, 0) for kind, amount in zip(s.kinds, amounts[part].tolist(), strict=True)
        ):
            yield f"{who}asks for other units than the job of the trace"
        if s.ran[job]:
            nodes = placed.of(part)[0].astype(np.int64)
            yield from (who + text for text in _wrong_nodes(nodes, asked, request, sets))


def _wrong_nodes(nodes: Ints, part: Part, request: Request, sets: NodeSets) -> Iterator[str]:
    known = nodes[(nodes >= 0) & (nodes < len(sets.member))]
    for node in known[~sets.nodes(part.groups)[known]].tolist():
        yield f"is on node {node}, which may not run it"
    if part.nodes and len(nodes) != part.nodes:
        yield f"is on {len(nodes)} nodes, not on {part.nodes}"
    if request.contiguous and (np.diff(np.sort(nodes)) > 1).any():
        yield "is on nodes that are no neighbours"
