"""A past day under a switching rule: exact for the rule as `offline.onoff.replay` states it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.downtime import Downtime
from dardis.model.job import FOREVER
from dardis.model.platform import NodePower, Platform
from dardis.model.profile import ZERO, StepFunction
from dardis.model.target import Switching
from offline.onoff.replay import Demand, PastDemand
from offline.site.calendar import DAY_S, HOUR_S


@dataclass(frozen=True)
class SwitchedDay:
    """A past day under a rule: times down, as of nodes that are used in their order; how long jobs wait for boots."""

    downtime: Downtime
    delay: Ints


def switched_day(
    demands: Mapping[int, Demand], switching: Switching, platform: Platform, start: int, end: int
) -> SwitchedDay:
    """The day `[start, end)` under a rule, as the nodes of each group are needed."""
    hours = np.arange(start, end + 1, HOUR_S, dtype=np.int64)
    rows: list[tuple[int, int, int]] = []
    delay = []
    first = 0
    for group, nodes in enumerate(platform.groups):
        if not nodes.stays_on and (group in switching.spares or group in switching.floors):
            power = nodes.power or NodePower()
            spares, floors = (wish.get(group, ZERO).at(hours[:-1]) for wish in (switching.spares, switching.floors))
            found = PastDemand(demands[group], power, switching.idle_s, hours).replay(spares, floors)
            rows += times_down(found.nodes_on, nodes.count, first, power)
            delay.append(found.delay)
        first += nodes.count
    return SwitchedDay(Downtime.of(rows), np.concatenate([*delay, np.zeros(0, dtype=np.int64)]))


def times_down(on: StepFunction, count: int, first: int, power: NodePower) -> list[tuple[int, int, int]]:
    """Times down (node, down, up) of so many nodes from `first` on, of which the first `on` are on or booting.

    Who is off at the beginning has been so for long.
    """
    values = on.values.tolist()
    begin = int(on.times[1]) if len(on.times) > 1 else 0
    since = dict.fromkeys(range(values[0], count), begin - DAY_S)
    rows = []
    for time, (before, now) in zip(on.times[1:].tolist(), pairwise(values), strict=True):
        since |= dict.fromkeys(range(now, before), time)
        rows += [(first + node, since.pop(node), time + power.boot_s) for node in range(before, now)]
    return rows + [(first + node, down, FOREVER) for node, down in since.items()]
