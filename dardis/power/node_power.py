"""Node power by state, and break-even downtime."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.platform import NodePower, Platform
from dardis.model.resources import CORES

DESIGN_MARGIN = 11.11 / 9.455
"""Design over mean power per core (thesis)."""


@dataclass(frozen=True, slots=True)
class MachinePower:
    """Power (W) and switching times (s), arrays (nodes,).

    Nodes that are up draw `idle_w`, plus `core_w` per busy core and `device_w` per busy device.
    """

    idle_w: Floats
    core_w: Floats
    off_w: Floats
    boot_w: Floats
    shutdown_w: Floats
    boot_s: Ints
    shutdown_s: Ints
    device_w: dict[str, Floats] = field(default_factory=dict)
    stated: bool = True
    """If not, thesis figures apply (9.455 W per busy core, no idle power)."""

    @classmethod
    def of_platform(cls, platform: Platform) -> MachinePower:
        """Platform's figures; the thesis's for groups without."""
        powers = [group.power or NodePower() for group in platform.groups]

        def per_node(values: list[float]) -> Floats:
            return np.array(values, dtype=np.float64)[platform.group_of_node]

        return cls(
            idle_w=per_node([power.idle_w for power in powers]),
            core_w=per_node([power.core_w for power in powers]),
            off_w=per_node([power.off_w for power in powers]),
            boot_w=per_node([power.boot_w for power in powers]),
            shutdown_w=per_node([power.shutdown_w for power in powers]),
            boot_s=per_node([power.boot_s for power in powers]).astype(np.int64),
            shutdown_s=per_node([power.shutdown_s for power in powers]).astype(np.int64),
            device_w={
                kind: per_node([power.device_w.get(kind, 0.0) for power in powers])
                for kind in platform.kinds
                if any(kind in power.device_w for power in powers)
            },
            stated=all(group.power is not None for group in platform.groups),
        )

    @property
    def cycle_s(self) -> Ints:
        """Shut-down plus boot time, s."""
        return self.shutdown_s + self.boot_s

    @property
    def break_even_s(self) -> Floats:
        """Least downtime without energy loss against idling, s.

        (E_shutdown + E_boot − off_w · (t_shutdown + t_boot)) / (idle_w − off_w), at least t_shutdown + t_boot; infinite
        if off power is not below idle power.
        """
        switching_j = self.shutdown_w * self.shutdown_s + self.boot_w * self.boot_s
        saved_w = self.idle_w - self.off_w
        with np.errstate(divide="ignore", invalid="ignore"):
            even = (switching_j - self.off_w * self.cycle_s) / saved_w
        return np.where(saved_w > 0, np.maximum(even, self.cycle_s), np.inf)


def busy_watts(platform: Platform) -> Floats:
    """Power above idle with all cores and devices busy, W per node."""
    machine = MachinePower.of_platform(platform)
    added = machine.core_w * platform.capacity[:, platform.kinds.index(CORES)]
    for kind, watts in machine.device_w.items():
        added = added + watts * platform.capacity[:, platform.kinds.index(kind)]
    return added


def full_watts(platform: Platform) -> float:
    """IT power (W) of the busy machine."""
    return float((MachinePower.of_platform(platform).idle_w + busy_watts(platform)).sum())


def design_watts(platform: Platform) -> float:
    """Design IT power (W): `DESIGN_MARGIN` × full power, rounded up to three digits."""
    watts = full_watts(platform) * DESIGN_MARGIN
    step = 10.0 ** np.floor(np.log10(watts) - 2) if watts > 0 else 1.0
    return float(np.ceil(watts / step) * step) if watts > 0 else 1.0


def watts_for_cores(platform: Platform, cores: Ints, nodes_on: Ints | None = None) -> Floats:
    """IT power cap (W) for a number of busy cores.

    Uses mean node and core power, devices busy in proportion. Default of `nodes_on`: all.
    """
    machine = MachinePower.of_platform(platform)
    core_w = float(busy_watts(platform).sum()) / platform.cores
    on = np.full(np.shape(cores), platform.node_count) if nodes_on is None else nodes_on
    off = platform.node_count - on
    return np.asarray(on * machine.idle_w.mean() + off * machine.off_w.mean() + cores * core_w, dtype=np.float64)
