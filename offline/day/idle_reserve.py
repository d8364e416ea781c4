"""How many nodes stay on in a day: spares learned from the past, or what the thesis's algorithm 8 makes of a target."""

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
from offline.day.hours_before import Known
from offline.day.plan_spec import Reactive, wait_cost
from offline.extract import target_tree
from offline.extract.spares import HIGH_USE, SpareRule, learn_spares
from offline.onoff.reserve_replay import Demand
from offline.site.site_inputs import Site

LEAST_IDLE_S = 600
"""With 337 s, the break-even of common nodes, these go through 1.34 cycles a day on Curie partition 4, with 600 s
1.17; that costs half a point of what can be saved, and at high load four points (docs/switching.md)."""

FREE = 1e-12
"""The least that a joule counts, in the platform's currency, where waits have a price: energy may be free at times."""


@dataclass(frozen=True)
class SpareDays:
    """The spares of a day, all nodes before it, and the rule that they come from."""

    switching: Switching
    rule: SpareRule


def break_even_seconds(platform: Platform) -> int:
    """How long any node has to be down until that costs less than idling, s; 0 where that never does."""
    even = MachinePower.of_platform(platform).break_even_s
    finite = even[np.isfinite(even)]
    return ceil(finite.max()) if len(finite) else 0


def idle_seconds(platform: Platform, use: float = 0.0) -> int:
    """How long a node idles before it is shut down, s: until being down would have cost less, or `LEAST_IDLE_S`.

    The first where this share of the nodes is in use, and that is much: few idle for long there.
    """
    even = break_even_seconds(platform)
    return max(even, LEAST_IDLE_S) if even and use <= HIGH_USE else even


def reactive_switching(rule: Reactive, platform: Platform, start: int) -> Switching | None:
    """What a rule that looks at nothing but idle nodes keeps on from `start` on, before which all are.

    Spares are shared among the groups that are switched by their numbers of nodes. None where no group is.
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


def wait_joules(price: float, site: Site, conditions: Conditions) -> float:
    """What a second that a job waits is worth in joules of a node, at the mean price of a day's energy and cooling."""
    if not price:
        return 0.0
    idle_w = np.full(len(conditions.edges) - 1, MachinePower.of_platform(site.platform).idle_w.sum())
    cost = cost_of_joule(conditions, site.cooling, site.tariff, Series(conditions.edges, idle_w))
    mean = float(np.average(cost.values, weights=np.diff(conditions.edges)))
    return wait_cost(price, 1.0) / max(mean, FREE)


def spares_of_day(known: Known, day: int, demands: Mapping[int, Demand], wait_j: float = 0.0) -> SpareDays:
    """Learn from all days that are over how many spare nodes each hour of `day` needs.

    `demands` are those of the whole past, by node group; what was not known is left out here. `wait_j` is what a second
    costs that a job waits, in joules.
    """
    days = known.next_day - known.first_day
    platform = known.platform
    past = {group: demand.before(known.until) for group, demand in demands.items()}
    table = known.table(known.first_day, max(days, 0)) if days > 0 else known.table(day, 1).rows(0, 0)
    idle_s = idle_seconds(platform, _use(past, table.edges))
    rule = learn_spares(past, table, platform, idle_s, wait_j=wait_j)
    hours = known.table(day, 1)
    begins = hours.edges[:-1]
    spares = {
        group: StepFunction.from_steps(
            platform.groups[group].count, zip(begins.tolist(), function.at(begins).tolist(), strict=True)
        )
        for group, function in rule.predict(hours).items()
    }
    return SpareDays(Switching(spares=spares, idle_s=idle_s), rule)


def _use(demands: Mapping[int, Demand], edges: Ints) -> float:
    """Share of all nodes that were in use between the first and the last edge; 0 where nothing lies between."""
    start, end = int(edges[0]), int(edges[-1])
    busy = sum(demand.busy.integral(start, end) for demand in demands.values())
    return busy / (sum(demand.count for demand in demands.values()) * max(end - start, 1))


def thesis_target(known: Known, day: int, offset: int, planned: StepFunction | None) -> StepFunction:
    """Cores to aim at by algorithm 8 with an offset in percent; `planned` is the use that the plan expects."""
    start = known.calendar.day(day)[0]
    return target_tree.desired_cores(known.used, known.platform.cores, start, offset / 100, planned)


def thesis_switching(cores: StepFunction, platform: Platform) -> Switching | None:
    """The nodes that stay on for a target of cores; None where none would draw less if it were off."""
    power = MachinePower.of_platform(platform)
    saves = {int(group) for group in platform.group_of_node[power.idle_w > power.off_w]}
    wished = target_tree.switching(cores, platform, idle_seconds(platform))
    floors = {group: floor for group, floor in wished.floors.items() if group in saves}
    return replace(wished, floors=floors) if floors else None
