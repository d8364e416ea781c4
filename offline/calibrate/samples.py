"""Makes samples of power and resources in use.

A job with its watts is a sample (nodes are exclusive). Node watts become means of slots: by node if jobs' nodes are
known, else by group.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dardis.config.power_samples import JobWatts, NodeWatts
from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.errors import InputError
from dardis.model.moments import utc_text
from dardis.model.platform import NodePower, Platform
from dardis.model.resources import CORES, MEMORY, POWER
from dardis.power.fit import Samples
from offline.calibrate.recorded_jobs import STILL_RUNS, StartedJobs

DAY_S = 86_400
SLOT_S = 300
"""Slot in s; multiplied to match the values' interval."""
MOST_DEVICES = 64
LEAST_MEASURED = 0.9
"""Least share of measured nodes in a group, if the jobs' nodes are unknown."""
_OFF = 1.5
"""Nodes below this multiple of off power count as off."""


@dataclass(frozen=True)
class SampleSets:
    """Samples by group index, and reasons for missing samples."""

    samples: dict[int, Samples]
    missing_reasons: dict[int, str]
    notes: tuple[str, ...]


def figure_kinds(platform: Platform, group: int) -> tuple[str, ...]:
    """Kinds with fitted figures: cores and devices."""
    held = platform.groups[group].resources.items()
    no_device = {CORES, MEMORY, POWER}
    return (CORES, *(kind for kind, amount in held if kind not in no_device and 0 < amount <= MOST_DEVICES))


def _samples(platform: Platform, group: int, busy: Floats, watts: Floats, weight: Floats, day: Ints) -> Samples:
    kinds = figure_kinds(platform, group)
    columns = [busy[:, platform.kinds.index(kind)] for kind in kinds]
    table = np.column_stack([*columns, np.ones(len(watts))])
    return Samples(("core_w", *kinds[1:], "idle_w"), table, watts, weight, day)


def job_samples(path: Path, platform: Platform, power: JobWatts, ran: StartedJobs, offset: int) -> SampleSets:
    """Samples of jobs by node-hours; `offset`: Unix time minus the history's, s."""
    ran = ran.take(ran.end < STILL_RUNS)
    order = np.argsort(power.number)
    place = np.minimum(np.searchsorted(power.number[order], ran.number), len(order) - 1)
    matched = power.number[order][place] == ran.number
    if not matched.any():
        raise InputError(path, f"has none of the {len(ran.number):,} jobs of the history", "the same job numbers")
    notes = []
    if (other := len(order) - int(matched.sum())) > 0:
        notes.append(f"{other:,} of {len(order):,} measured jobs are not in the history, or did not run there")
    usable = matched & ran.is_certain
    if (unclear := int((matched & ~usable).sum())) > 0:
        notes.append(f"{unclear:,} measured jobs are left out: their group is unknown, or they fit none")
    watts = power.watts[order][place]
    hours = ran.nodes * (ran.end - ran.start) / 3600
    day = (ran.start + offset) // DAY_S
    samples, why = {}, {}
    for group in range(len(platform.groups)):
        rows = usable & (ran.groups == 1 << group) & (hours > 0)
        if rows.any():
            samples[group] = _samples(platform, group, ran.mean_per_node[rows], watts[rows], hours[rows], day[rows])
        else:
            why[group] = "no measured job ran there for certain"
    return SampleSets(samples, why, tuple(notes))


def node_samples(path: Path, platform: Platform, power: NodeWatts, ran: StartedJobs, offset: int) -> SampleSets:
    """Samples of slots; `offset`: Unix time minus the history's, s."""
    ended = ran.end[ran.end < STILL_RUNS]
    first = int(ran.start.min()) + offset
    last = max(int(ran.start.max()), int(ended.max(initial=0))) + offset
    slots = _Slots.of_values(power)
    inside = (slots.slot * slots.width >= first) & ((slots.slot + 1) * slots.width <= last)
    if not inside.any():
        spans = [f"{utc_text(a)} to {utc_text(b)}" for a, b in ((power.time.min(), power.time.max()), (first, last))]
        raise InputError(path, f"covers {spans[0]}, but the history covers {spans[1]}", "times that overlap")
    off = np.array([(group.power or NodePower()).off_w for group in platform.groups])[platform.group_of_node]
    is_off = slots.watts <= _OFF * off[slots.node]
    notes = []
    if (inside & is_off).any():
        notes.append(f"{int((inside & is_off).sum()):,} samples of apparently off nodes are left out")
    slots = slots.take(inside & ~is_off)
    shifted = replace(slots, shift=-offset)
    sampled = _of_each_node(platform, shifted, ran) if ran.places else _of_groups(platform, shifted, ran)
    if not ran.places:
        notes.append("the history has no nodes of jobs (sacct's NodeList): the fit uses complete groups")
    return SampleSets(sampled.samples, sampled.missing_reasons, (*notes, *sampled.notes))


@dataclass(frozen=True)
class _Slots:
    """Mean watts of nodes in slots `[begin, begin + width)`."""

    node: Ints
    slot: Ints
    """Number since Unix second 0."""
    watts: Floats
    width: int
    shift: int = 0
    """Added to a slot's time for the history's clock, s."""

    @classmethod
    def of_values(cls, power: NodeWatts) -> _Slots:
        order = np.lexsort((power.time, power.node))
        node, time, watts = power.node[order], power.time[order], power.watts[order]
        steps = np.diff(time)[np.diff(node) == 0]
        width = SLOT_S * max(1, round(float(np.median(steps)) / SLOT_S) if steps.size else 1)
        slot = time // width
        is_first = np.concatenate(([True], (np.diff(node) != 0) | (np.diff(slot) != 0)))
        begins = np.flatnonzero(is_first)
        mean = np.add.reduceat(watts, begins) / np.diff(np.append(begins, len(node)))
        return cls(node[begins], slot[begins], mean, width)

    def take(self, rows: Bools) -> _Slots:
        return replace(self, node=self.node[rows], slot=self.slot[rows], watts=self.watts[rows])

    def begin(self, slot: Ints) -> Ints:
        return slot * self.width + self.shift


def _of_each_node(platform: Platform, slots: _Slots, ran: StartedJobs) -> SampleSets:
    placed = ran.has_place
    jobs = np.flatnonzero(placed)
    lengths = np.array([len(ran.places[int(number)]) for number in ran.number[jobs]], dtype=np.int64)
    node = np.array([one for number in ran.number[jobs] for one in ran.places[int(number)]], dtype=np.int64)
    row = np.repeat(jobs, lengths)
    order = np.argsort(node, kind="stable")
    node, row = node[order], row[order]
    a_node = ran.mean_per_node
    busy = np.zeros((len(slots.node), len(platform.kinds)))
    for one in np.unique(slots.node):
        here = slice(*np.searchsorted(slots.node, [one, one + 1]))
        held = row[slice(*np.searchsorted(node, [one, one + 1]))]
        begin = slots.begin(slots.slot[here])
        busy[here] = mean_use(ran.start[held], ran.end[held], a_node[held], begin, slots.width)
    group_of = platform.group_of_node[slots.node]
    samples, why = {}, {}
    for group in range(len(platform.groups)):
        rows = group_of == group
        if not rows.any():
            why[group] = "none of its nodes was measured"
            continue
        rows &= ~_has_unplaced_jobs(ran, placed, group, slots)
        if not rows.any():
            why[group] = "jobs with unknown nodes may have run there at all times"
            continue
        day = slots.slot[rows] * slots.width // DAY_S
        samples[group] = _samples(platform, group, busy[rows], slots.watts[rows], np.ones(int(rows.sum())), day)
    return SampleSets(samples, why, ())


def _of_groups(platform: Platform, slots: _Slots, ran: StartedJobs) -> SampleSets:
    certain = ran.is_certain
    group_of = platform.group_of_node[slots.node]
    samples, why = {}, {}
    for index, group in enumerate(platform.groups):
        mine = slots.take(group_of == index)
        slot, place, count = np.unique(mine.slot, return_inverse=True, return_counts=True)
        enough = count >= LEAST_MEASURED * group.count
        if not enough.any():
            why[index] = (
                f"of {group.count} nodes at most {count.max(initial=0)} were measured together, and their jobs "
                "are unknown"
            )
            continue
        mean = np.bincount(place, mine.watts) / count
        whole = replace(mine, node=np.zeros(len(slot), np.int64), slot=slot, watts=mean)
        rows = enough & ~_has_unplaced_jobs(ran, certain, index, whole)
        if not rows.any():
            why[index] = "jobs with an unknown group ran at all times"
            continue
        held = certain & (ran.groups == 1 << index)
        begin = whole.begin(slot[rows])
        busy = mean_use(ran.start[held], ran.end[held], ran.total[held], begin, slots.width) / group.count
        day = slot[rows] * slots.width // DAY_S
        samples[index] = _samples(platform, index, busy, whole.watts[rows], np.ones(int(rows.sum())), day)
    return SampleSets(samples, why, ())


def _has_unplaced_jobs(ran: StartedJobs, clear: Bools, group: int, slots: _Slots) -> Bools:
    rows = ~clear & ((ran.groups >> group) & 1 == 1)
    begin, place = np.unique(slots.begin(slots.slot), return_inverse=True)
    there = mean_use(ran.start[rows], ran.end[rows], np.ones((int(rows.sum()), 1)), begin, slots.width)[:, 0]
    return np.asarray(there[place] > 1e-6)


def mean_use(start: Ints, end: Ints, held: Floats, begin: Ints, width: int) -> Floats:
    """Mean resources of jobs (jobs, kinds) in slots `[begin, begin + width)`, (slots, kinds)."""
    if not begin.size:
        return np.zeros((0, held.shape[1]))
    origin = int(begin.min())
    last = int(begin.max()) + width
    start, end = np.clip(start, origin, last) - origin, np.clip(end, origin, last) - origin

    def held_until(edges: Ints) -> Floats:
        return _integral(start, held, edges) - _integral(end, held, edges)

    edges = begin - origin
    return (held_until(edges + width) - held_until(edges)) / width


def _integral(moments: Ints, held: Floats, edges: Ints) -> Floats:
    order = np.argsort(moments, kind="stable")
    moments, held = moments[order], held[order]
    nothing = np.zeros((1, held.shape[1]))
    amount = np.concatenate([nothing, np.cumsum(held, axis=0)])
    moment = np.concatenate([nothing, np.cumsum(held * moments[:, None], axis=0)])
    upto = np.searchsorted(moments, edges, side="right")
    return np.asarray(amount[upto] * edges[:, None] - moment[upto])
