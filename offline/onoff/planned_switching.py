"""Plans the downtime of nodes by dynamic programming."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np

from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.errors import InputError
from dardis.model.job import FOREVER
from dardis.model.platform import NodePower, Platform
from dardis.model.schedule import Downtime
from dardis.model.series import Series
from dardis.model.step_function import StepFunction
from dardis.power.node_power import MachinePower
from offline.onoff.spans import Spans, idle_gaps
from offline.site.calendar import DAY_S

STEP_S = 300
"""In s, unless minimum stays are longer."""


@dataclass(frozen=True, slots=True)
class Reserve:
    """Nodes to keep on: the larger of spares and a share of unused nodes (70 and 50 % rules)."""

    spares: StepFunction
    share_of_unused: float = 0.0

    def need(self, busy: StepFunction, count: int) -> StepFunction:
        """Nodes to keep on over time, of `count`."""

        def kept(in_use: Ints, spares: Ints) -> Ints:
            share = np.ceil((count - in_use) * self.share_of_unused - 1e-9).astype(np.int64)
            return np.asarray(np.minimum(in_use + np.maximum(spares, share), count))

        return StepFunction.combined(kept, busy, self.spares)


class NodeSwitch(NamedTuple):
    """Row of `onoff.csv`: `off` or `on`. Boots take the boot time."""

    time_s: int
    node: int
    action: str


def plan_switching(
    busy: Spans,
    platform: Platform,
    reserves: dict[int, Reserve],
    joule_cost: Series,
    limits: SwitchingLimits,
    off: dict[int, int] | None = None,
) -> Downtime:
    """Plan the downtime of nodes during `joule_cost`, with nodes busy as in `busy`.

    `off`: nodes off at first, with earliest up times. For each switchable group in `reserves`, `nodes_on` finds the
    number of nodes on in each step of `STEP_S` (or longer for minimum stays). Then the longest idle gaps become
    downtime. Nodes are up before reservations. Raises InputError for an infeasible demand, or more than
    `limits.most_switches` in a day.
    """
    start, end = joule_cost.start, joule_cost.end
    off = off or {}
    gaps = idle_gaps(busy, platform.node_count, start, end)
    machine = MachinePower.of_platform(platform)
    parts: list[tuple[int, int, int]] = []
    for group, reserve in sorted(reserves.items()):
        of_group = platform.groups[group]
        power = of_group.power or NodePower()
        if of_group.stays_on:
            continue
        nodes = platform.group_of_node == group
        mine = nodes[busy.node]
        in_use = StepFunction.from_spans(busy.start[mine], busy.end[mine])
        need = reserve.need(in_use, of_group.count)
        on_before = of_group.count - sum(bool(nodes[node]) for node in off)
        floor = _floor(need, of_group.count, joule_cost, power, limits, on_before)
        least_s = max(ceil(machine.break_even_s[nodes].max()), limits.min_off_s, 1)
        inside = nodes[gaps.node]
        idle = Spans(gaps.node[inside], gaps.start[inside], gaps.end[inside])
        taken = _choose_downtimes(idle, floor, of_group.count, (start, end), least_s, limits.min_on_s, off)
        taken = _extend_downtimes(taken, idle, need, of_group.count, end, limits)
        ramped = _limit_rates(taken, power, limits, start, off)
        parts += [part for part in ramped if part[2] - part[1] >= least_s or (part[1] <= start and part[0] in off)]
    downtime = Downtime.of(parts)
    check_switch_count(downtime, platform, limits.most_switches)
    return downtime


def _floor(
    need: StepFunction, count: int, joule_cost: Series, power: NodePower, limits: SwitchingLimits, on_before: int
) -> StepFunction:
    start, end = joule_cost.start, joule_cost.end
    step_s = max(STEP_S, limits.step_s(power))
    if end - start < step_s:
        return StepFunction.from_steps(count, [])
    edges = start + step_s * np.arange((end - start) // step_s + 1)
    edges[-1] = end  # the last step takes the rest
    most = need.max_over(edges[:-1], edges[1:])
    if on_before < count:  # limited by boots until then
        most = np.minimum(most, on_before + int(limits.on_per_min * step_s / 60) * np.arange(1, len(edges)))
    on = nodes_on(most, edges, joule_cost.means(edges), count, power, limits, on_before)
    return StepFunction.from_steps(count, zip(edges[:-1].tolist(), on.tolist(), strict=True))


def _choose_downtimes(
    gaps: Spans, floor: StepFunction, count: int, window: tuple[int, int], least_s: int, min_on_s: int,
    off: dict[int, int],
) -> list[tuple[int, int, int]]:  # fmt: skip
    """Choose downtimes (node, down, up) within gaps, longest first, with `floor` nodes on.

    Nodes in `off` come first, and stay off as long as possible, at least until their earliest up times.
    """
    start, end = window
    shut = np.minimum(gaps.end, end)
    soonest = [up for up in off.values() if up < end]
    edges = np.unique(np.concatenate([[start, end], gaps.start, shut, floor.times[1:], soonest])).astype(np.int64)
    room = count - floor.at(edges[:-1])
    by_node: dict[int, list[tuple[int, int]]] = defaultdict(list)
    stays = np.isin(gaps.node, list(off)) & (gaps.start == start)
    for gap in np.lexsort((gaps.node, gaps.start, gaps.start - shut, ~stays)).tolist():
        node, until = int(gaps.node[gap]), int(gaps.end[gap])
        first, last = np.searchsorted(edges, [gaps.start[gap], shut[gap]]).tolist()
        if stays[gap]:
            full = np.flatnonzero((room[first:last] <= 0) & (edges[first:last] >= off[node]))
            back = first + int(full[0]) if len(full) else last
            by_node[node].append((start, until if back == last else int(edges[back])))
            room[first:back] -= 1
            first = back
        for low, high in _runs(room[first:last] > 0):
            down = int(edges[first + low])
            up = until if first + high == last else int(edges[first + high])
            near = any(down < u + min_on_s and d < up + min_on_s for d, u in by_node[node])
            if up - down >= least_s and not near:
                by_node[node].append((down, up))
                room[first + low : first + high] -= 1
    return [(node, down, up) for node, spans in by_node.items() for down, up in spans]


def _extend_downtimes(
    taken: list[tuple[int, int, int]], gaps: Spans, need: StepFunction, count: int, end: int, limits: SwitchingLimits
) -> list[tuple[int, int, int]]:
    gap_of: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for node, start, until in zip(gaps.node.tolist(), gaps.start.tolist(), gaps.end.tolist(), strict=True):
        gap_of[node].append((start, until))
    stays: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for node, down, up in taken:
        stays[node].add((down, up))
    inner = np.array([part[1:] for part in taken], dtype=np.int64).ravel()
    times = np.unique(np.concatenate([need.times, gaps.start, np.minimum(gaps.end, end), inner]))
    room = count - need.at(times)
    for _, down, up in taken:
        room[np.searchsorted(times, down) : np.searchsorted(times, up)] -= 1

    def granted(node: int, since: int, until: int) -> bool:
        span = slice(*np.searchsorted(times, [since, until]).tolist())
        near = any(since < u + limits.min_on_s and d < until + limits.min_on_s for d, u in stays[node])
        may = 0 < until - since < STEP_S and not near and bool((room[span] > 0).all())
        room[span] -= may
        return may

    longer = []
    for node, down, up in taken:
        first, last = next(gap for gap in gap_of[node] if gap[0] <= down and up <= gap[1])
        stays[node].remove((down, up))
        stay = (first if granted(node, first, down) else down, last if granted(node, up, last) else up)
        stays[node].add(stay)
        longer.append((node, *stay))
    return longer


def _runs(free: Bools) -> Iterator[tuple[int, int]]:
    turns = np.flatnonzero(np.diff(np.concatenate([[False], free, [False]])))
    return zip(turns[::2].tolist(), turns[1::2].tolist(), strict=True)


def _limit_rates(
    taken: list[tuple[int, int, int]], power: NodePower, limits: SwitchingLimits, start: int, off: dict[int, int]
) -> Iterator[tuple[int, int, int]]:
    """Delay shutdowns and advance boots to respect rates.

    Nodes `off` at the start need no shutdown. Boots at the start are unlimited.
    """
    downs, boots = _Ramp(limits.off_per_min), _Ramp(limits.on_per_min)
    stays = {(node, start) for node in off}
    later = [
        (node, down if (node, down) in stays else downs.at(down, 1), up)
        for node, down, up in sorted(taken, key=lambda t: (t[1], t[0]))
    ]
    for node, down, up in sorted(later, key=lambda t: (-t[2], t[0])):
        soonest = off[node] if (node, down) in stays else start
        yield node, down, up if up >= FOREVER else max(boots.at(up - power.boot_s, -1) + power.boot_s, soonest)


class _Ramp:
    def __init__(self, per_min: float) -> None:
        self._slot_s = 60 if per_min >= 1 else ceil(60 / per_min)
        self._most = max(int(per_min), 1)
        self._used: dict[int, int] = {}

    def at(self, wished: int, way: int) -> int:
        """Nearest free time, later (`way` 1) or earlier (-1)."""
        slot = wished // self._slot_s
        while self._used.get(slot, 0) >= self._most:
            slot += way
        self._used[slot] = self._used.get(slot, 0) + 1
        moved = slot != wished // self._slot_s
        return slot * self._slot_s + (0 if way > 0 else self._slot_s - 1) if moved else wished


def check_switch_count(downtime: Downtime, platform: Platform, most: int) -> None:
    """Raise InputError for more than `most` switches of a node in 86,400 s."""
    switches: dict[int, list[int]] = defaultdict(list)
    for switch in switch_table(downtime, platform):
        switches[switch.node].append(switch.time_s)
    for node, times in sorted(switches.items()):
        for first, beyond in zip(times, times[most:], strict=False):
            if beyond - first < DAY_S:
                found = (
                    f"{platform.node_name(node)} would be switched more than {most} times in the day from {first} s on"
                )
                raise InputError("node switching", found, "fewer switches by longer times off or on, or a higher limit")


def switch_table(downtime: Downtime, platform: Platform) -> list[NodeSwitch]:
    """Actions by (time, node); boots begin a boot time before `up`."""
    boot_s = MachinePower.of_platform(platform).boot_s
    table = []
    for node, down, up in downtime.rows:
        table.append(NodeSwitch(down, node, "off"))
        if up < FOREVER:
            table.append(NodeSwitch(up - int(boot_s[node]), node, "on"))
    return sorted(table)


@dataclass(frozen=True, slots=True)
class SwitchingLimits:
    """Limits on rate and number of switches."""

    off_per_min: float = 60.0
    on_per_min: float = 300.0
    min_on_s: int = 0
    min_off_s: int = 0
    most_switches: int = 48
    """Of a node in 86,400 s."""

    def step_s(self, power: NodePower) -> int:
        """Shortest step at which no stay is cut short."""
        return max(self.min_on_s, self.min_off_s, power.shutdown_s + power.boot_s, 1)


def nodes_on(
    need: Ints, edges: Ints, joule_cost: Floats, count: int, power: NodePower, limits: SwitchingLimits,
    on_before: int | None = None,
) -> Ints:  # fmt: skip
    """Optimal number of nodes on in steps `[edges[i], edges[i+1])`, (steps,), at least `need[i]`.

    `joule_cost` (steps,): cost of a joule with cooling. Below 0, nodes on pay; boots never pay. Boots happen in the
    step before, shutdowns at a step's beginning. `on_before`: nodes on before the first step (None: all). Raises
    InputError if the need exceeds the nodes or rises faster than boots allow; ValueError for steps shorter than
    `limits.step_s`.
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
        raise InputError("node switching", "the demand rises faster than nodes may boot", "a faster ramp")
    chosen = np.empty(len(lengths), dtype=np.int64)
    now = int(cost.argmin())
    for step in range(len(lengths) - 1, -1, -1):
        chosen[step] = now
        now = int(came_from[step, now])
    return chosen


def _step(cost: Floats, up: float, down: float, most_on: int, most_off: int) -> tuple[Floats, Ints]:
    """Least cost of each number of nodes, and the previous number.

    Costs are convex in the number: the best feasible previous number is nearest to the unconstrained optimum.
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
