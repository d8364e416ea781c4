"""Output of offline planning."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.choices import Choice
from dardis.model.platform import Platform
from dardis.model.step_function import StepFunction


class Split(Choice):
    """How a machine-wide value becomes node values."""

    PROPORTIONAL = (
        "proportional",
        "Every node gets a share in proportion to its capacity. Shares are whole numbers that sum to the value.",
    )
    WHOLE_NODES = (
        "whole-nodes",
        "The first nodes get their full capacity, the others nothing. A rest below one node is not used.",
    )
    OPEN_NODES = (
        "open-nodes",
        (
            "Every node group gets its share by capacity. Its first nodes get their full"
            " capacity until they reach the share. The sum exceeds the value by less than a node of each group."
        ),
    )
    SHARED = (
        "shared",
        (
            "Nodes share the value: a node may use all that the others leave. A job starts as soon as the sum permits."
            " Only with `dardis-late`."
        ),
    )


@dataclass(frozen=True)
class Switching:
    """Nodes to keep on by node group (index); idle nodes beyond both numbers are shut down.

    `spares`: least idle nodes on; `floors`: least nodes on. Other groups, and `always_on` ones, are never switched. A
    node shuts down after `idle_s` idle seconds, if it can be up again before its next reservation.
    """

    spares: dict[int, StepFunction] = field(default_factory=dict)
    floors: dict[int, StepFunction] = field(default_factory=dict)
    idle_s: int = 337
    most_cycles_per_day: float = 24.0
    """Maximum shut-downs of a node in any 86,400 s."""


def opened_above(platform: Platform, kind: int) -> Ints:
    """Machine-wide value above which each node opens (`Split.OPEN_NODES`), shape (nodes,)."""
    counts = [group.count for group in platform.groups]
    # Node i of n opens if n times the value exceeds i times the capacity; split to avoid overflow.
    whole, rest = np.divmod(platform.capacity[:, kind].sum(), np.repeat(counts, counts))
    index = np.concatenate([np.arange(count) for count in counts])
    return np.asarray(index * whole + index * rest // np.repeat(counts, counts))


def most_that_opens(platform: Platform, kind: int, allowed: Ints) -> Ints:
    """Largest machine-wide values with at most `allowed` in open nodes (`Split.OPEN_NODES`)."""
    above, capacity = opened_above(platform, kind), platform.capacity[:, kind]
    order = np.argsort(above, kind="stable")
    place = np.searchsorted(np.cumsum(capacity[order]), allowed, side="right")
    return np.append(above[order], capacity.sum())[place]


@dataclass(frozen=True)
class DesiredProfile:
    """Desired profile by kind index; entries by (node, kind) take precedence.

    The default and maximum of a node is its capacity.
    """

    platform: Platform
    machine: dict[int, StepFunction] = field(default_factory=dict)
    nodes: dict[tuple[int, int], StepFunction] = field(default_factory=dict)
    split: Split = Split.PROPORTIONAL
    watts: StepFunction | None = None
    """Cap on the IT power, W; only with `Split.SHARED`."""

    @property
    def by_node(self) -> DesiredProfile | None:
        """Profile for node managers; None if nodes share it."""
        return None if self.split is Split.SHARED else self

    @property
    def shared(self) -> DesiredProfile | None:
        """Profile if nodes share it."""
        return self if self.split is Split.SHARED else None

    @cached_property
    def _filled_before(self) -> Ints:
        capacity = self.platform.capacity
        return np.concatenate([np.zeros((1, capacity.shape[1]), np.int64), np.cumsum(capacity, axis=0)])

    @cached_property
    def _opened_above(self) -> Ints:
        return np.stack([opened_above(self.platform, kind) for kind in range(len(self.platform.kinds))], axis=1)

    @cached_property
    def last_breakpoint(self) -> int | None:
        """Time of the last change, or None."""
        functions = (*self.machine.values(), *self.nodes.values(), *([] if self.watts is None else [self.watts]))
        last = [int(f.times[-1]) for f in functions if len(f.times) > 1]
        return max(last, default=None)

    def of_node(self, node: int, kind: int) -> StepFunction:
        """Desired amount of a kind on a node."""
        capacity = int(self.platform.capacity[node, kind])
        own = self.nodes.get((node, kind))
        if own is not None:
            return StepFunction(own.times, np.minimum(own.values, capacity))
        whole = self.machine.get(kind)
        if whole is None:
            return StepFunction.from_steps(capacity, [])
        before, after = (int(x) for x in self._filled_before[node : node + 2, kind])
        total = int(self._filled_before[-1, kind])
        wished = np.minimum(whole.values, total)
        if self.split is Split.SHARED:
            return StepFunction.from_steps(capacity, [])
        if self.split is Split.WHOLE_NODES:
            values = np.where(wished >= after, capacity, 0)
        elif self.split is Split.OPEN_NODES:
            values = np.where(wished > self._opened_above[node, kind], capacity, 0)
        else:
            # Products of memory may exceed 64 bits; use Python integers.
            exact = wished if int(wished.max()) * max(total, 1) < 1 << 62 else wished.astype(object)
            values = (exact * after // max(total, 1) - exact * before // max(total, 1)).astype(np.int64)
        return StepFunction(whole.times, values.astype(np.int64))

    def total(self, kind: int) -> StepFunction:
        """Desired amount of a kind on the machine."""
        has_own = any(k == kind for _, k in self.nodes)
        whole = self.machine.get(kind)
        capacity = int(self._filled_before[-1, kind])
        if not has_own and whole is None:
            return StepFunction.from_steps(capacity, [])
        if not has_own and whole is not None and self.split in (Split.PROPORTIONAL, Split.SHARED):
            return StepFunction(whole.times, np.minimum(whole.values, capacity))
        return StepFunction.sum_of([self.of_node(node, kind) for node in range(self.platform.node_count)])


@dataclass(frozen=True)
class Target:
    """Output of offline planning: a desired profile, nodes to keep on, or both."""

    desired: DesiredProfile | None = None
    switching: Switching | None = None
    unix_start: int | None = None
    """Unix time of the trace's time 0."""
    source: dict[str, Any] = field(default_factory=dict)
