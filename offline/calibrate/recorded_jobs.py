"""Times, resources and possible groups of recorded jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dardis.model.arrays import Bools, Floats, Ints, Sets
from dardis.model.errors import InputError
from dardis.model.node_sets import bits_of, units_in
from dardis.model.platform import Platform
from dardis.workload.recorded_nodes import read_places
from dardis.workload.trace import Trace
from dardis.workload.trace_jobs import groups_of, in_units
from dardis.workload.trace_reader import read_trace

STILL_RUNS = 1 << 50
"""End of a job without recorded end."""
_ANY = 1 << 30


@dataclass(frozen=True)
class StartedJobs:
    """Started jobs, arrays (jobs,): `[start, end)` on the history's clock.

    `nodes`: number of nodes (0: unknown). `total`: resources, (jobs, kinds). `groups`: bit set of possible groups (0:
    elsewhere); a single group with known `nodes` is certain. `places`: known nodes, by job number.
    """

    number: Ints
    start: Ints
    end: Ints
    nodes: Ints
    total: Floats
    groups: Sets
    places: Mapping[int, Sequence[int]]
    notes: tuple[str, ...] = ()

    def take(self, rows: Bools) -> StartedJobs:
        """Selected rows."""
        columns = ("number", "start", "end", "nodes", "total", "groups")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    @property
    def is_certain(self) -> Bools:
        """Whether group and number of nodes are known."""
        return np.asarray((self.nodes > 0) & (self.groups & (self.groups - 1) == 0))

    @property
    def has_place(self) -> Bools:
        """Whether the nodes are known."""
        return np.isin(self.number, np.fromiter(self.places, np.int64, len(self.places)))

    @property
    def mean_per_node(self) -> Floats:
        """Mean resources on each node, (jobs, kinds)."""
        return np.asarray(self.total / np.maximum(self.nodes, 1)[:, None])


def read_started_jobs(path: Path, platform: Platform, names: Sequence[str]) -> tuple[Trace, StartedJobs]:
    """Read the history and its started jobs. `names`: node names by number. InputError: no job started."""
    trace = read_trace(path, not_ended=True, flop_per_s=platform.flop_per_s)
    notes = list(trace.notes)
    began = trace.wait >= 0
    if not began.any():
        raise InputError(path, "has no recorded starts", "a history with recorded starts (waits)")
    if lacking := int((trace.has_ended & ~began).sum()):
        notes.append(f"{lacking:,} jobs without a recorded start are left out")
    trace = in_units(trace.take(began), platform)
    ran = _by_groups(trace, platform)
    places = _places(path, {name: number for number, name in enumerate(names)}, notes)
    ran = _with_recorded_nodes(
        ran, {job: nodes for job, nodes in places.items() if job not in trace.requests}, platform
    )
    if unclear := int(((ran.nodes == 0) & (ran.groups > 0)).sum()):
        notes.append(f"{unclear:,} jobs fit no node of the platform, or have parts, so their nodes are unknown")
    return trace, replace(ran, notes=tuple(notes))


def _by_groups(trace: Trace, platform: Platform) -> StartedJobs:
    """Derive groups and node counts, with as many units on a node as fit.

    Jobs with several parts, or too large, may have run anywhere.
    """
    nothing = np.zeros(len(trace), dtype=np.int64)
    unit = np.column_stack([trace.request.get(kind, nothing) for kind in platform.kinds])
    asked = [*zip(groups_of(trace, platform).tolist(), map(tuple, unit.tolist()), strict=True)]
    able = {key: platform.sets.able(*key) for key in {*asked}}
    held = {key: _units_per_node(platform, bits, key[1]) for key, bits in able.items()}
    groups = np.array([able[key] for key in asked], dtype=object)
    on_one = np.array([held[key] for key in asked], dtype=np.int64)
    nodes = np.where(on_one > 0, -(-trace.units // np.maximum(on_one, 1)), 0)
    unclear = np.isin(trace.number, np.fromiter(trace.requests, np.int64, len(trace.requests))) | (nodes == 0)
    start = trace.submit + trace.wait
    return StartedJobs(
        number=trace.number,
        start=start,
        end=np.where(trace.has_ended, start + trace.runtime, STILL_RUNS),
        nodes=np.where(unclear, 0, nodes),
        total=(unit * trace.units[:, None]).astype(np.float64),
        groups=np.where(unclear, platform.all_groups, groups),
        places={},
    )


def _units_per_node(platform: Platform, bits: int, unit: Sequence[int]) -> int:
    groups = platform.sets.groups(bits)[-1:]
    return int(units_in(platform.group_capacity[groups], unit).sum()) if any(unit) else _ANY * len(groups)


def _places(path: Path, numbers: Mapping[str, int], notes: list[str]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    unknown: set[str] = set()
    stated = read_places(path)
    for job, names in stated.items():
        here = [numbers[name] for name in names if name in numbers]
        unknown.update(name for name in names if name not in numbers)
        if len(here) in {0, len(names)}:
            found[job] = here
    if unknown and numbers.keys().isdisjoint(name for names in stated.values() for name in names):
        raise InputError(
            path, f"the nodes of its jobs are not in the platform, such as {min(unknown)!r}", "--names FILE"
        )
    if unknown:
        notes.append(f"{len(unknown):,} nodes of jobs are not in the platform, such as {min(unknown)}")
    return found


def _with_recorded_nodes(ran: StartedJobs, places: Mapping[int, Sequence[int]], platform: Platform) -> StartedJobs:
    nodes, groups = ran.nodes.copy(), ran.groups.copy()
    for row in np.flatnonzero(np.isin(ran.number, [*places])).tolist():
        here = places[int(ran.number[row])]
        nodes[row] = len(here)
        groups[row] = bits_of(platform.group_of_node[here].tolist())
    return replace(ran, nodes=nodes, groups=groups, places=places)
