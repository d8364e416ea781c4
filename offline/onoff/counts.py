"""How many nodes of a group to keep on at each step for a demand: the cheapest that is enough, by dynamic programme."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.errors import InputError
from dardis.model.platform import NodePower


@dataclass(frozen=True, slots=True)
class Limits:
    """How fast and how often nodes may be switched."""

    off_per_min: float = 60.0
    on_per_min: float = 300.0
    min_on_s: int = 0
    min_off_s: int = 0
    most_switches: int = 48
    """Shut-downs and turn-ons of one node in any day (86,400 s); a plan with more is refused."""

    def step_s(self, power: NodePower) -> int:
        """The shortest step at which whatever numbers are chosen can be kept by real nodes: no stay is cut short."""
        return max(self.min_on_s, self.min_off_s, power.shutdown_s + power.boot_s, 1)


def nodes_on(
    need: Ints, edges: Ints, joule_cost: Floats, count: int, power: NodePower, limits: Limits,
    on_before: int | None = None,
) -> Ints:  # fmt: skip
    """How many of `count` nodes to keep on in each step `[edges[i], edges[i+1])`, shape (steps,), at least `need[i]`.

    `joule_cost` (steps,) is what a joule costs then, cooling included; below 0 it pays to keep nodes on, yet boots are
    never a gain. A node that is on in a step and was not before has booted in the step before; one that is not any more
    shuts down at the step's beginning. `on_before` nodes are on before the first step (None: all). The numbers are
    optimal: nothing that keeps within the limits costs less in these steps. Raises InputError when the need is beyond
    the nodes, or rises faster than nodes may be turned on; ValueError for steps shorter than `limits.step_s`, at which
    stays could be cut short.
    """
    lengths = np.diff(edges)
    if len(lengths) and lengths.min() < limits.step_s(power):
        raise ValueError(f"steps must be {limits.step_s(power)} s at least")
    if np.any(need > count):
        raise InputError(
            "node switching", f"{int(need.max())} nodes needed of {count}", "a demand that the nodes can meet"
        )
    before = count if on_before is None else on_before
    every = np.arange(count + 1)
    cost = np.where(every == before, 0.0, np.inf)
    came_from = np.empty((len(lengths), count + 1), dtype=np.int64)
    boot_j = max(power.boot_w - power.off_w, 0) * power.boot_s
    stop_j = max(power.shutdown_w - power.off_w, 0) * power.shutdown_s
    paid = np.maximum(joule_cost, 0)
    for step, length in enumerate(lengths.tolist()):
        up, down = boot_j * paid[max(step - 1, 0)], stop_j * paid[step]
        most_on, most_off = (int(per_min * length / 60) for per_min in (limits.on_per_min, limits.off_per_min))
        cost, came_from[step] = _step(cost, up, down, most_on, most_off)
        cost = cost + every * (power.idle_w - power.off_w) * length * joule_cost[step]
        cost[every < need[step]] = np.inf
    if not np.isfinite(cost).any():
        raise InputError("node switching", "the demand rises faster than nodes may be turned on", "a faster ramp")
    chosen = np.empty(len(lengths), dtype=np.int64)
    now = int(cost.argmin())
    for step in range(len(lengths) - 1, -1, -1):
        chosen[step] = now
        now = int(came_from[step, now])
    return chosen


def _step(cost: Floats, up: float, down: float, most_on: int, most_off: int) -> tuple[Floats, Ints]:
    """The least cost of reaching each number of nodes, and the number it comes from.

    Costs are convex in the number (the sum of convex costs and straight ones, on a range), so among the numbers from
    which one may come the best is the one next to the best of all.
    """
    every = np.arange(len(cost))
    from_below = cost - up * every
    from_above = cost + down * every
    last = len(cost) - 1
    low = np.clip(int(from_below.argmin()), np.maximum(every - most_on, 0), every)
    high = np.clip(int(from_above.argmin()), every, np.minimum(every + most_off, last))
    rising, falling = from_below[low] + up * every, from_above[high] - down * every
    better = rising < falling
    return np.where(better, rising, falling), np.where(better, low, high)
