"""Power that jobs add to idle nodes, in whole milliwatts."""

from __future__ import annotations

from math import ceil
from typing import Final

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.power.node_power import MachinePower, busy_watts

MILLI: Final = 1000


class UnitPower:
    """Power figures of a platform, mW, rounded up."""

    def __init__(self, platform: Platform) -> None:
        power = MachinePower.of_platform(platform)
        self.is_stated = power.stated
        self.idle_mw: Ints = np.ceil(power.idle_w * MILLI).astype(np.int64)
        """Of each node that is on."""
        self.off_mw: Ints = np.ceil(power.off_w * MILLI).astype(np.int64)
        """Of each node that is off."""
        self.busy_mw: Ints = np.ceil(busy_watts(platform) * MILLI).astype(np.int64)
        """Added by each node with all cores and devices busy."""
        first = np.cumsum([0, *(group.count for group in platform.groups)])[:-1]
        added = np.zeros((len(first), len(platform.kinds)))
        for kind, watts in {CORES: power.core_w, **power.device_w}.items():
            added[:, platform.kinds.index(kind)] = watts[first]
        self._added_mw = [tuple(ceil(watts * MILLI) for watts in row) for row in added.tolist()]

    def of_unit(self, request: tuple[int, ...], groups: Ints) -> int:
        """Most power that a unit adds on one of the groups."""
        return max(
            (
                sum(mw * amount for mw, amount in zip(self._added_mw[group], request, strict=True))
                for group in groups.tolist()
            ),
            default=0,
        )
