"""Thesis algorithm 8: the use to aim at in each hour, from that of the 24 hours before it and an offset."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Final

from dardis.model.platform import Platform
from dardis.model.profile import StepFunction
from dardis.model.target import Switching
from offline.site.calendar import DAY_S, HOUR_S

FULL_ABOVE: Final = Fraction(84, 100)
"""Above this use in the last day all of the machine is wished for: the threshold of the thesis's tree (6.8)."""


def desired_cores(
    used: StepFunction, capacity: int, day: int, offset: Fraction | float, planned: StepFunction | None = None
) -> StepFunction:
    """Cores to aim at from the midnight `day` on, constant by hour for 24 hours; `capacity` before and after.

    With the mean use of the 24 hours before an hour as u: everything when u > 84 %, else u + (1 - u) · `offset`, in
    whole cores, rounded up. So an offset of 1 (DARDIS100) wishes for everything, 0.7 (DARDIS70) for 70 % of what was
    unused. When the day before was above 84 % the whole day is wished full. `used` is the past's use in cores, without
    a value where nothing ran: that counts as unused. The hours of the day that have passed when an hour comes are not
    known when the day is planned: they count as `planned`, the use that a plan or a forecast expects, or without one
    as the same hours of the day before, which leaves u as it was at midnight.
    """
    share = Fraction(offset).limit_denominator(10**6)
    if not 0 <= share <= 1:
        raise ValueError("an offset lies between 0 and 1")
    full = FULL_ABOVE * capacity
    before = used.integral(day - DAY_S, day)
    steps = []
    for begin in range(day, day + DAY_S, HOUR_S):
        passed = 0
        if planned is not None:
            passed = planned.integral(day, begin) - used.integral(day - DAY_S, begin - DAY_S)
        mean = Fraction(before + passed, DAY_S)
        wished = mean + (capacity - mean) * share
        everything = Fraction(before, DAY_S) > full or mean > full
        steps.append((begin, capacity if everything else ceil(wished)))
    return StepFunction.from_steps(capacity, [*steps, (day + DAY_S, capacity)])


def switching(cores: StepFunction, platform: Platform, idle_s: int) -> Switching:
    """Keep on as large a share of each node group's nodes as is wished of the machine's cores, rounded up."""
    floors = {
        group: StepFunction(cores.times, -(-cores.values * nodes.count // platform.cores))
        for group, nodes in enumerate(platform.groups)
        if not nodes.always_on
    }
    return Switching(floors=floors, idle_s=idle_s)
