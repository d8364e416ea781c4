"""What offline wishes of online: how much of each kind should be in use (the desired profile), and which nodes on."""

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
        (
            "Every node gets a share in proportion to its capacity (the thesis). Shares are whole numbers that sum to"
            " the value."
        ),
    )
    WHOLE_NODES = (
        "whole-nodes",
        "The first nodes get all of theirs, the others nothing. What does not fill a node is not given.",
    )
    OPEN_NODES = (
        "open-nodes",
        (
            "Every node group gets its share by capacity. Its first nodes, as many as that share fills or begins, get"
            " all of theirs: in all less than a node of each group above the value."
        ),
    )


@dataclass(frozen=True)
class Switching:
    """How many nodes stay on, by node group (index) over time: a node beyond both numbers is shut down when idle.

    `spares`: idle nodes to keep on, at least. `floors`: nodes to keep on, at least, busy ones included. A group without
    an entry in either is never switched, nor is one that is `always_on`. `idle_s`: a node is shut down only after it
    has been idle this long, and only if nothing is reserved on it sooner than it can be down and up again.
    """

    spares: dict[int, StepFunction] = field(default_factory=dict)
    floors: dict[int, StepFunction] = field(default_factory=dict)
    idle_s: int = 337
    most_cycles_per_day: float = 24.0
    """A node is not shut down more often than this in any day (86,400 s back from then)."""


def opened_above(platform: Platform, kind: int) -> Ints:
    """The machine-wide value above which each node is open under `Split.OPEN_NODES`, shape (nodes,)."""
    counts = [group.count for group in platform.groups]
    # Node i of n is open where n times the value is above i times the capacity; in parts, since that may not fit.
    whole, rest = np.divmod(platform.capacity[:, kind].sum(), np.repeat(counts, counts))
    index = np.concatenate([np.arange(count) for count in counts])
    return np.asarray(index * whole + index * rest // np.repeat(counts, counts))


def most_that_opens(platform: Platform, kind: int, allowed: Ints) -> Ints:
    """The largest machine-wide values whose open nodes hold at most `allowed` in all (`Split.OPEN_NODES`)."""
    above, capacity = opened_above(platform, kind), platform.capacity[:, kind]
    order = np.argsort(above, kind="stable")
    place = np.searchsorted(np.cumsum(capacity[order]), allowed, side="right")
    return np.append(above[order], capacity.sum())[place]


@dataclass(frozen=True)
class DesiredProfile:
    """Desired profile of a platform. Keys are kind indices, or (node, kind) for single nodes, which win.

    Kinds and nodes without an entry are wished at capacity; no node is wished above its capacity.
    """

    platform: Platform
    machine: dict[int, StepFunction] = field(default_factory=dict)
    nodes: dict[tuple[int, int], StepFunction] = field(default_factory=dict)
    split: Split = Split.PROPORTIONAL

    @cached_property
    def _filled_before(self) -> Ints:
        """Capacity of all nodes before each, shape (nodes + 1, kinds)."""
        capacity = self.platform.capacity
        return np.concatenate([np.zeros((1, capacity.shape[1]), np.int64), np.cumsum(capacity, axis=0)])

    @cached_property
    def _opened_above(self) -> Ints:
        """The machine-wide value above which each node is open, shape (nodes, kinds)."""
        return np.stack([opened_above(self.platform, kind) for kind in range(len(self.platform.kinds))], axis=1)

    @cached_property
    def last_breakpoint(self) -> int | None:
        """The last time at which anything changes; None for a profile without steps."""
        last = [int(f.times[-1]) for f in (*self.machine.values(), *self.nodes.values()) if len(f.times) > 1]
        return max(last, default=None)

    def of_node(self, node: int, kind: int) -> StepFunction:
        """What is wished of one kind on one node."""
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
        if self.split is Split.WHOLE_NODES:
            values = np.where(wished >= after, capacity, 0)
        elif self.split is Split.OPEN_NODES:
            values = np.where(wished > self._opened_above[node, kind], capacity, 0)
        else:
            # Memory times memory may not fit 64 bits; Python's integers do.
            exact = wished if int(wished.max()) * max(total, 1) < 1 << 62 else wished.astype(object)
            values = (exact * after // max(total, 1) - exact * before // max(total, 1)).astype(np.int64)
        return StepFunction(whole.times, values.astype(np.int64))

    def total(self, kind: int) -> StepFunction:
        """What is wished of one kind on the whole machine."""
        has_own = any(k == kind for _, k in self.nodes)
        whole = self.machine.get(kind)
        capacity = int(self._filled_before[-1, kind])
        if not has_own and whole is None:
            return StepFunction.from_steps(capacity, [])
        if not has_own and whole is not None and self.split is Split.PROPORTIONAL:
            return StepFunction(whole.times, np.minimum(whole.values, capacity))
        return StepFunction.sum_of([self.of_node(node, kind) for node in range(self.platform.node_count)])


@dataclass(frozen=True)
class Target:
    """What offline hands to online: a desired profile, which nodes to keep on, or both."""

    desired: DesiredProfile | None = None
    switching: Switching | None = None
    unix_start: int | None = None
    """Unix time of the trace's time 0, where a calendar is known."""
    source: dict[str, Any] = field(default_factory=dict)
    """Who made it and of what, for people."""
