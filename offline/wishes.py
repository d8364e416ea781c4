"""What a day hands to the online half: the use to aim at by hour, and how many nodes stay on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil

import numpy as np

from dardis.metrics.system import used_profile
from dardis.model.errors import InputError
from dardis.model.platform import Platform
from dardis.model.profile import StepFunction
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.model.series import Series
from dardis.model.target import Switching
from dardis.power.nodes import MachinePower
from offline.calendar import DAY_S, Calendar
from offline.extract import algorithm8
from offline.extract.hours import HourTable, hour_table
from offline.extract.spares import SpareRule, learn_spares
from offline.onoff.replay import demands_of

THURSDAY = 3
"""The weekday of Unix day 0, where Monday is 0."""
LEAST_IDLE_S = 600
"""With 337 s, the break-even of common nodes, these go through 1.34 cycles a day on Curie partition 4, with 600 s
1.17; that costs half a point of what can be saved (docs/switching.md)."""
LEARN_DAYS = 60
"""At most so many past days are learned from."""


class SwitchingRule(StrEnum):
    """How nodes are switched."""

    SPARE = "spare"
    """A few spare nodes stay on, learned by hour; everything else is off when idle (the default)."""
    ALGORITHM8 = "algorithm8"
    """The thesis's: a share of what was unused in the last 24 hours stays on."""
    OFF = "off"
    """All nodes are always on."""


def switching_rule(text: str) -> SwitchingRule:
    """The rule of that name. Raises InputError."""
    try:
        return SwitchingRule(text)
    except ValueError:
        raise InputError("--switching", repr(text), ", ".join(SwitchingRule)) from None


@dataclass(frozen=True)
class Known:
    """The past of a machine up to a midnight: nothing in it may be looked at that was not known by `until`."""

    platform: Platform
    calendar: Calendar
    schedule: Schedule
    until: int
    more: dict[str, Series]
    """Weather and prices on the trace's clock, by the names that rules call them."""

    @property
    def first_day(self) -> int:
        """Number of the first whole UTC day of the history, or a later one."""
        first = self.calendar.day_of(int(self.schedule.submit.min()) - 1) + 1
        return max(first, self.calendar.day_of(self.until) - LEARN_DAYS)

    @property
    def used(self) -> StepFunction:
        """Cores in use; meaningless from `until` on."""
        return used_profile(self.schedule, CORES)

    def table(self, day: int, days: int) -> HourTable:
        """What was known of the hours of these UTC days when each began."""
        start, end = self.calendar.day(day)[0], self.calendar.day(day + days - 1)[1]
        covered = {name: series for name, series in self.more.items() if series.start <= start and end <= series.end}
        weekday = (self.calendar.to_unix(start) // DAY_S + THURSDAY) % 7
        submits = np.sort(self.schedule.submit)
        return hour_table(start, days, weekday, self.used, self.platform.cores, submits, covered)


@dataclass(frozen=True)
class SpareDays:
    """The spares of a day, all nodes before it, and the rule that they come from."""

    switching: Switching
    rule: SpareRule


def idle_seconds(platform: Platform) -> int:
    """How long a node idles before it is shut down, s: until being down would have cost less, or `LEAST_IDLE_S`."""
    even = MachinePower.of_platform(platform).break_even_s
    finite = even[np.isfinite(even)]
    return max(ceil(finite.max()), LEAST_IDLE_S) if len(finite) else 0


def spares_of_day(known: Known, day: int) -> SpareDays:
    """Learn from all days before how many spare nodes each hour of `day` needs."""
    days = day - known.first_day
    platform, idle_s = known.platform, idle_seconds(known.platform)
    demands = {group: demand.before(known.until) for group, demand in demands_of(known.schedule, platform).items()}
    table = known.table(known.first_day, max(days, 0)) if days > 0 else known.table(day, 1).rows(0, 0)
    rule = learn_spares(demands, table, platform, idle_s)
    hours = known.table(day, 1)
    begins = hours.edges[:-1]
    spares = {
        group: StepFunction.from_steps(
            platform.groups[group].count, zip(begins.tolist(), function.at(begins).tolist(), strict=True)
        )
        for group, function in rule.predict(hours).items()
    }
    return SpareDays(Switching(spares=spares, idle_s=idle_s), rule)


def thesis_target(known: Known, day: int, offset: int, planned: StepFunction | None) -> StepFunction:
    """Cores to aim at by algorithm 8 with an offset in percent; `planned` is the use that the plan expects."""
    start = known.calendar.day(day)[0]
    return algorithm8.desired_cores(known.used, known.platform.cores, start, offset / 100, planned)


def thesis_switching(cores: StepFunction, platform: Platform) -> Switching | None:
    """The nodes that stay on for a target of cores; None where none would draw less if it were off."""
    power = MachinePower.of_platform(platform)
    saves = {int(group) for group in platform.group_of_node[power.idle_w > power.off_w]}
    wished = algorithm8.switching(cores, platform, idle_seconds(platform))
    floors = {group: floor for group, floor in wished.floors.items() if group in saves}
    return replace(wished, floors=floors) if floors else None
