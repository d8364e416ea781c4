"""Nodes of a steered partition, and the machine that jobs leave at an instant. Pure.

Holdings of jobs are closed like maintenance until their time limits, so each decision begins anew from reality.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Final, NamedTuple

import numpy as np

from dardis.config.slurm.slurm_fields import NodeRecord
from dardis.config.slurm.state_table import SlurmState, StateMeaning
from dardis.model.arrays import Ints
from dardis.model.errors import InputError
from dardis.model.hostlist import hostlist
from dardis.model.node_sets import bits_of
from dardis.model.platform import Maintenance, Platform
from dardis.model.resources import CORES, MEMORY, UNKNOWN_END
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Split
from dardis.power.unit_power import MILLI, UnitPower
from dardis.slurm.steered_job import NodeNeeds, NodeRequest

WHOLE: Final = "whole_node"
"""Kind of which jobs take one unit of a node, exclusive ones all, if nodes differ."""
_MOST_ON_NODE: Final = 1 << 20
_OPEN: Final = frozenset({"RESERVED"})
"""Words that our own reservation causes."""


class Holding(NamedTuple):
    """What a job holds of a node until `end`, Unix s, by kind of the platform."""

    node: int
    amounts: tuple[int, ...]
    end: int


class Closure(NamedTuple):
    """A node that is closed during `[start, end)`, Unix s."""

    node: int
    start: int
    end: int


@dataclass(frozen=True)
class SteeredNodes:
    """Nodes in the order of the platform."""

    platform: Platform
    names: tuple[str, ...]
    threads: int = 1
    """CPUs that Slurm gives out together."""
    always_whole: bool = False

    @classmethod
    def of(
        cls, platform: Platform, names: Sequence[str], nodes: Sequence[NodeRecord], *, memory: bool, by_core: bool,
        whole: bool,
    ) -> SteeredNodes:  # fmt: skip
        """Nodes of a partition. Slurm gives out `memory`, whole cores (`by_core`) or nodes (`whole`).

        Raises InputError for a platform of other nodes.
        """
        records = {node.name: node for node in nodes}
        if other := sorted(records.keys() ^ {*names}):
            raise InputError("--platform", f"other nodes than the partition: {hostlist(other)}", "the same nodes")
        capacity = platform.capacity[:, platform.kinds.index(CORES)].tolist()
        for name, cores in zip(names, capacity, strict=True):
            if records[name].cores != cores:
                found = f"node {name} has {cores} cores, in Slurm {records[name].cores}"
                raise InputError("--platform", found, "the same cores")
        groups = platform.groups
        if not memory:
            groups = tuple(
                replace(group, resources={kind: some for kind, some in group.resources.items() if kind != MEMORY})
                for group in groups
            )
        if any(group.resources != groups[0].resources for group in groups):
            groups = tuple(replace(one, resources=one.resources | {WHOLE: _MOST_ON_NODE}) for one in groups)
        threads = max(node.core_cpus for node in nodes) if by_core else 1
        return cls(replace(platform, groups=groups), tuple(names), threads, whole)

    def request(self, asked: NodeRequest) -> tuple[int, ...]:
        """Amounts of a node by kind."""
        takes_memory = MEMORY in self.platform.kinds and not asked.amounts.get(MEMORY)
        whole = asked.whole or self.always_whole or takes_memory
        if whole and WHOLE not in self.platform.kinds:
            capacity = self.platform.group_capacity[0].tolist()
            return tuple(map(max, capacity, self.vector(asked.amounts)))
        return self.vector(asked.amounts, _MOST_ON_NODE if whole else 1)

    def vector(self, amounts: Mapping[str, int], whole: int = 1) -> tuple[int, ...]:
        """Amounts by kind of the platform; `whole`: of `WHOLE`."""
        cores = -(-amounts.get(CORES, 0) // self.threads) * self.threads
        known = {**amounts, CORES: cores, WHOLE: whole}
        return tuple(known.get(kind, 0) for kind in self.platform.kinds)

    def machine(
        self, nodes: Mapping[str, NodeRecord], needs: Iterable[NodeNeeds], holdings: Iterable[Holding],
        closures: Iterable[Closure], now: int,
    ) -> RoundMachine:  # fmt: skip
        """Machine at `now`, with groups of nodes that the same jobs may use."""
        wanted = [*dict.fromkeys(needs)]
        records = [nodes.get(name, _absent(name)) for name in self.names]
        permitted = np.array([[*one.permitted(records)] for one in wanted], dtype=np.bool_).reshape(-1, len(records))
        keys = [
            (group, *row) for group, row in zip(self.platform.group_of_node.tolist(), permitted.T.tolist(), strict=True)
        ]
        spans = [(key, len([*same])) for key, same in groupby(keys)]
        groups = tuple(
            replace(self.platform.groups[key[0]], prefix=f"g{place}-", count=count)
            for place, (key, count) in enumerate(spans)
        )
        of_needs = [[place for place, (key, _) in enumerate(spans) if key[1 + one]] for one in range(len(wanted))]
        spans_of_nodes = self._spans(records, holdings, closures, now)
        machine = replace(self.platform, groups=groups, partitions={}, maintenance=_windows(spans_of_nodes))
        return RoundMachine(
            machine.with_sets(of_needs), {one: bits_of(held) for one, held in zip(wanted, of_needs, strict=True)}
        )

    def _spans(
        self, records: Sequence[NodeRecord], holdings: Iterable[Holding], closures: Iterable[Closure], now: int
    ) -> list[_NodeSpans]:  # fmt: skip
        found = [_NodeSpans(capacity) for capacity in self.platform.capacity]
        for one in holdings:
            found[one.node].held.append((one.end, np.array(one.amounts, dtype=np.int64)))
        for closure in closures:
            found[closure.node].closed.append((max(closure.start, now), closure.end))
        for spans, record in zip(found, records, strict=True):
            if {*record.state.closing} - _OPEN or record.state.power is StateMeaning.SHUTTING_DOWN:
                spans.closed.append((now, UNKNOWN_END))
            spans.cut(now)
        return found

    def remaining(self, desired: DesiredProfile, holdings: Sequence[Holding], now: int) -> DesiredProfile:
        """Profile for this instant, without what jobs hold if nodes share it."""
        if desired.split is not Split.SHARED or not holdings:
            return desired
        power, ends = UnitPower(self.platform), np.array([one.end for one in holdings], dtype=np.int64)
        groups = self.platform.group_of_node

        def less(function: StepFunction, taken: Sequence[int]) -> StepFunction:
            used = StepFunction.from_spans(np.full(len(ends), now), ends, np.array(taken, dtype=np.int64))
            return StepFunction.combined(lambda limit, held: np.maximum(limit - held, 0), function, used)

        machine = {
            kind: less(function, [one.amounts[kind] for one in holdings]) for kind, function in desired.machine.items()
        }
        watts = desired.watts
        if watts is not None:
            taken = [-(-power.of_unit(one.amounts, groups[one.node : one.node + 1]) // MILLI) for one in holdings]
            watts = less(watts, taken)
        return replace(desired, machine=machine, watts=watts)


class RoundMachine(NamedTuple):
    """Machine of an instant, and node groups (bits) by needs."""

    machine: Platform
    groups: Mapping[NodeNeeds, int]


def _absent(name: str) -> NodeRecord:
    return NodeRecord(name, 0, 1, 1, None, (), SlurmState(("UNKNOWN",)))


class _NodeSpans:
    def __init__(self, capacity: Ints) -> None:
        self._capacity = capacity
        self.held: list[tuple[int, Ints]] = []
        self.closed: list[tuple[int, int]] = []
        self.lacks: list[tuple[int, int, tuple[int, ...] | None]] = []

    def cut(self, now: int) -> None:
        edges = {now, *(end for end, _ in self.held), *(edge for span in self.closed for edge in span)}
        for start, end in pairwise(sorted(edge for edge in edges if edge >= now)):
            less: tuple[int, ...] | None = None
            if not any(since <= start < until for since, until in self.closed):
                held = [amounts for until, amounts in self.held if until > start]
                less = tuple(np.minimum(sum(held), self._capacity).tolist()) if held else ()
            if less != ():
                self.lacks.append((start, end, less))


def _windows(nodes: Iterable[_NodeSpans]) -> tuple[Maintenance, ...]:
    found: dict[tuple[int, int, tuple[int, ...] | None], list[int]] = defaultdict(list)
    for place, spans in enumerate(nodes):
        for span in spans.lacks:
            found[span].append(place)
    return tuple(Maintenance(tuple(places), *span) for span, places in found.items())
