"""When nodes were down: shutting down, off, and booting again, one entry for each time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.platform import NodePower, Platform


@dataclass(frozen=True, slots=True)
class Downtime:
    """Arrays of shape (times down,): node `node[i]` holds nothing in `[down[i], up[i])`, s of the trace's clock.

    Its shut-down begins at `down`, its boot ends at `up` (`FOREVER`: it is not booted again), one boot time after it
    began. Ascending by (node, down); the spans of a node don't overlap.
    """

    node: Ints
    down: Ints
    up: Ints

    @classmethod
    def none(cls) -> Downtime:
        """All nodes up, always."""
        return cls.of(())

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int, int]]) -> Downtime:
        """Of (node, down, up) in any order."""
        columns = np.array(sorted(rows), dtype=np.int64).reshape(-1, 3)
        return cls(columns[:, 0], columns[:, 1], columns[:, 2])

    @property
    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Each time down as (node, down, up)."""
        return zip(self.node.tolist(), self.down.tolist(), self.up.tolist(), strict=True)


def boot_and_shutdown(platform: Platform) -> tuple[Ints, Ints]:
    """How long each node's boot and shut-down take, in s, shape (nodes,) each; 0 where the platform does not say."""
    powers = [group.power or NodePower() for group in platform.groups]
    times = np.array([[power.boot_s, power.shutdown_s] for power in powers], dtype=np.int64)[platform.group_of_node]
    return times[:, 0], times[:, 1]
