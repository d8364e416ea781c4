"""Nodes to keep on: learned spares, or a floor by the thesis's algorithm 8."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.platform import Platform
from dardis.model.series import Series
from dardis.model.step_function import StepFunction
from dardis.model.target import Switching
from dardis.power.conditions import Conditions, cost_of_joule
from dardis.power.node_power import MachinePower
from offline.day.hours_before import MachineHistory
from offline.day.plan_spec import Reactive, wait_cost
from offline.extract import target_tree
from offline.extract.spares import HIGH_USE, ReserveRule, learn_reserve
from offline.onoff.reserve_replay import NodeDemand
from offline.site.site_inputs import SiteInputs

LEAST_IDLE_S = 600
"""Least idle seconds before a shutdown.

Costs half a point of the savings, and four points at high load (docs/switching.md).
"""

FREE = 1e-12
"""Least price of a joule if waits have a price."""


@dataclass(frozen=True)
class DayReserve:
    """Day's spares and rule."""

    switching: Switching
    rule: ReserveRule


def break_even_seconds(platform: Platform) -> int:
    """Longest break-even downtime of any node, s; 0: none."""
    even = MachinePower.of_platform(platform).break_even_s
    finite = even[np.isfinite(even)]
    return ceil(finite.max()) if len(finite) else 0


def _idle_seconds(platform: Platform, use: float = 0.0) -> int:
    """Idle time before a shutdown: break-even (at high use) or `LEAST_IDLE_S`, s."""
    even = break_even_seconds(platform)
    return max(even, LEAST_IDLE_S) if even and use <= HIGH_USE else even


def reactive_switching(rule: Reactive, platform: Platform, start: int) -> Switching | None:
    """Switching of a reactive rule from `start` on, if any group is switchable.

    Spares are split by node count.
    """
    counts = {index: group.count for index, group in enumerate(platform.groups) if not group.stays_on}
    if not counts:
        return None
    most = min(rule.spares, sum(counts.values()))
    share = {group: most * count / sum(counts.values()) for group, count in counts.items()}
    spares = {group: int(part) for group, part in share.items()}
    for group in sorted(share, key=lambda one: spares[one] - share[one])[: most - sum(spares.values())]:
        spares[group] += 1
    kept = {group: StepFunction.from_steps(counts[group], [(start, number)]) for group, number in spares.items()}
    return Switching(spares=kept, idle_s=rule.idle_s)


def wait_joules(price: float, site: SiteInputs, conditions: Conditions) -> float:
    """Value of a job's wait second in joules, at mean energy cost."""
    if not price:
        return 0.0
    idle_w = np.full(len(conditions.edges) - 1, MachinePower.of_platform(site.platform).idle_w.sum())
    cost = cost_of_joule(conditions, site.cooling, site.tariff, Series(conditions.edges, idle_w))
    mean = float(np.average(cost.values, weights=np.diff(conditions.edges)))
    return wait_cost(price, 1.0) / max(mean, FREE)


def reserve_of_day(
    known: MachineHistory, day: int, demands: Mapping[int, NodeDemand], wait_j: float = 0.0
) -> DayReserve:
    """Learn the spare nodes for each hour of `day`.

    `demands`: whole past by node group; later knowledge is removed. `wait_j`: cost of a job's wait second, J.
    """
    days = known.next_day - known.first_day
    platform = known.platform
    past = {group: demand.before(known.until) for group, demand in demands.items()}
    table = known.table(known.first_day, max(days, 0)) if days > 0 else known.table(day, 1).rows(0, 0)
    idle_s = _idle_seconds(platform, _mean_use(past, table.edges))
    rule = learn_reserve(past, table, platform, idle_s, wait_j=wait_j)
    hours = known.table(day, 1)
    begins = hours.edges[:-1]
    spares = {
        group: StepFunction.from_steps(
            platform.groups[group].count, zip(begins.tolist(), function.at(begins).tolist(), strict=True)
        )
        for group, function in rule.predict(hours).items()
    }
    return DayReserve(Switching(spares=spares, idle_s=idle_s), rule)


def _mean_use(demands: Mapping[int, NodeDemand], edges: Ints) -> float:
    start, end = int(edges[0]), int(edges[-1])
    busy = sum(demand.busy.integral(start, end) for demand in demands.values())
    return busy / (sum(demand.count for demand in demands.values()) * max(end - start, 1))


def thesis_target(known: MachineHistory, day: int, offset: int, planned: StepFunction | None) -> StepFunction:
    """Target cores by algorithm 8; `offset` in percent, `planned`: planned use."""
    start = known.calendar.day(day)[0]
    return target_tree.desired_cores(known.used, known.platform.cores, start, offset / 100, planned)


def thesis_switching(cores: StepFunction, platform: Platform) -> Switching | None:
    """Floor of nodes on; None if being off saves nothing."""
    power = MachinePower.of_platform(platform)
    saves = {int(group) for group in platform.group_of_node[power.idle_w > power.off_w]}
    wished = target_tree.floor_switching(cores, platform, _idle_seconds(platform))
    floors = {group: floor for group, floor in wished.floors.items() if group in saves}
    return replace(wished, floors=floors) if floors else None
