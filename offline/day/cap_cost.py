"""Cost of a power limit."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from dardis.model.errors import InputError
from dardis.power.conditions import PowerLimit
from offline.day.day import DayPlan, plan_day
from offline.day.hindsight import Hindsight
from offline.day.initial_nodes import InitialNodes
from offline.day.plan_spec import DaySpec
from offline.planner.budget import SearchProgress
from offline.site.calendar import DAY_S, HOUR_S

_FORM = re.compile(r"(\d+(?:\.\d+)?) ?kW (\d{1,2})(?::([0-5]\d))?-(\d{1,2})(?::([0-5]\d))?", re.IGNORECASE)
_EXPECTED = "a limit of IT and cooling with UTC times, such as 80kW 17-19 or 62.5kW 9:30-12"


@dataclass(frozen=True)
class WhatIf:
    """Day with a strict limit. `cost`: lost profit."""

    limit_text: str
    profit: float
    cost: float
    later_jobs: int


def parse_limit(text: str, day_start: int) -> PowerLimit:
    """Parse a limit such as `80kW 17-19`. Raises InputError."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise InputError("--what-if", repr(text), _EXPECTED)
    kw, *clock = found.groups(default="0")
    since, until = (HOUR_S * int(hour) + 60 * int(minute) for hour, minute in (clock[:2], clock[2:]))
    if not since < until <= DAY_S:
        raise InputError("--what-if", repr(text), _EXPECTED)
    return PowerLimit(day_start + since, day_start + until, float(kw))


def what_if(
    asked: str, plan: DayPlan, hindsight: Hindsight, options: DaySpec, progress: SearchProgress,
    standing: InitialNodes | None,
) -> WhatIf:  # fmt: skip
    """Plan the day with a limit. Raises InputError if infeasible."""
    limit = parse_limit(asked, plan.problem.conditions.start)
    tariff = replace(hindsight.site.tariff, limits=(*hindsight.site.tariff.limits, limit))
    limited = replace(hindsight, site=replace(hindsight.site, tariff=tariff))
    try:
        other = plan_day(limited, plan.day, options, progress, standing=standing)
    except InputError as error:
        raise InputError(f"--what-if {asked!r}", str(error)) from None
    later = int((other.plan.start > plan.plan.start).sum())
    return WhatIf(asked, other.account.profit, plan.account.profit - other.account.profit, later)
