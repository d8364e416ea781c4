"""When nodes were down: shutting down, off, and booting again, one entry for each time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.model.series import Ints


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
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, nothing)
