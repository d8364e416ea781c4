"""Expected gain of switching, from replays of past days.

Past days are switched by rules learned before (`offline.onoff.reserve_replay`), at the coming day's weather and prices.
Effects of delays on later jobs are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.job import FOREVER
from dardis.model.schedule import Downtime
from dardis.model.target import Switching
from dardis.power.account import Account, AccountedJobs, account
from dardis.power.conditions import Conditions
from dardis.power.node_power import MachinePower
from offline.day.hindsight import LEAST_DAYS, Hindsight, SwitchedDay, switched_day
from offline.day.hours_before import MachineHistory
from offline.day.idle_reserve import (
    break_even_seconds,
    reactive_switching,
    reserve_of_day,
    thesis_switching,
    thesis_target,
    wait_joules,
)
from offline.day.plan_spec import DaySpec, Reactive, SwitchingRule, wait_cost
from offline.forecast.forecast import Range, range_of


@dataclass(frozen=True)
class Waits:
    """Mean boot delay (s), share of delayed jobs, and cost."""

    mean_s: float
    delayed_share: float
    cost: float


@dataclass(frozen=True)
class Promise:
    """Expected gain of a day's switching from `days` past days, net of delay costs.

    `gain`: over all nodes on. `over_suspend`: over Slurm's rule with break-even time.
    """

    gain: Range
    over_suspend: Range
    peak_kw: Range
    waits: Waits
    suspend_waits: Waits
    days: int


BEYOND: Final = 0.1
"""Widening of ranges beyond a fortnight's extremes (docs/forecast.md)."""
_NOTHING = Range(0.0, 0.0, 0.0)
UNKNOWN_PROMISE: Final = Promise(_NOTHING, _NOTHING, _NOTHING, Waits(0.0, 0.0, 0.0), Waits(0.0, 0.0, 0.0), days=0)


def promise_of(
    hindsight: Hindsight, known: MachineHistory, options: DaySpec, conditions: Conditions, weights: Floats
) -> Promise | None:
    """Expected gain of the rule; None below `LEAST_DAYS` past days.

    `weights`: `Forecast.day_weights`.
    """
    site = hindsight.site
    days = hindsight.recent_days(known.first_day, known.next_day)
    if len(days) < LEAST_DAYS:
        return None
    ago = known.next_day - np.array(days)
    says = weights[np.maximum(len(weights) - ago, 0)]
    machine = MachinePower.of_platform(site.platform)

    def told(work: AccountedJobs, past: SwitchedDay | None, later: int) -> Account:
        downtime = Downtime.none() if past is None else shift_downtime(past.downtime, later)
        return account(work, downtime, machine, conditions, site.cooling, site.tariff)

    figures = []
    wait_j = wait_joules(options.wait_price, site, conditions)
    by_rule = [switch_past_day(hindsight, past, options, wait_j) for past in days]
    for past, (ours, suspend) in zip(days, by_rule, strict=True):
        later = conditions.start - site.calendar.day(past)[0]
        work = shift_work(hindsight.work, *site.calendar.day(past), later)
        all_on, plain, ruled = (told(work, one, later) for one in (None, suspend, ours))
        our_waits, plain_waits = (wait_cost(options.wait_price, one.delay.sum()) for one in (ours, suspend))
        net = ruled.profit - our_waits
        figures.append([net - all_on.profit, net - (plain.profit - plain_waits), ruled.peak_kw])
    gain, over_suspend, peak_kw = (range_of(column, says, BEYOND) for column in np.array(figures).T)
    waits, suspend_waits = (
        _waits([one.delay for one in rule], says, options.wait_price) for rule in zip(*by_rule, strict=True)
    )
    return Promise(gain, over_suspend, peak_kw, waits, suspend_waits, len(days))


def switch_past_day(
    hindsight: Hindsight, day: int, options: DaySpec, wait_j: float
) -> tuple[SwitchedDay, SwitchedDay]:  # fmt: skip
    """Past day under the learned rule and Slurm's, cached.

    `wait_j`: price of waits in joules.
    """
    key = (day, options.switching, options.offset, wait_j if options.switching is SwitchingRule.SPARE else 0.0)
    if key not in hindsight.switched_days:
        platform, (start, end) = hindsight.site.platform, hindsight.site.calendar.day(day)
        plain = reactive_switching(Reactive(break_even_seconds(platform)), platform, start)
        rules = (_rule_of(hindsight, day, options, wait_j), plain or Switching())
        ours, suspend = (switched_day(hindsight.demands, rule, platform, start, end) for rule in rules)
        hindsight.switched_days[key] = ours, suspend
    return hindsight.switched_days[key]


def _rule_of(hindsight: Hindsight, day: int, options: DaySpec, wait_j: float) -> Switching:
    known = hindsight.history_on(day)
    if options.switching is SwitchingRule.ALGORITHM8:
        return thesis_switching(thesis_target(known, day, options.offset, None), known.platform) or Switching()
    return reserve_of_day(known, day, hindsight.demands, wait_j).switching


def shift_work(work: AccountedJobs, start: int, end: int, later: int) -> AccountedJobs:
    """Work in `[start, end)`, shifted by `later`."""
    runs = (work.start < end) & (work.finish > start)
    return AccountedJobs(
        work.start[runs] + later, work.finish[runs] + later, work.cores[runs], work.added_w[runs], work.income[runs]
    )


def shift_downtime(downtime: Downtime, later: int) -> Downtime:
    """Downtime shifted by `later`."""
    up = np.where(downtime.up < FOREVER, downtime.up + later, FOREVER)
    return Downtime(downtime.node, downtime.down + later, up)


def _waits(delays: list[Ints], says: Floats, price: float) -> Waits:
    jobs = float(says @ [len(delay) for delay in delays]) or 1.0
    seconds = float(says @ [delay.sum() for delay in delays])
    delayed = float(says @ [(delay > 0).sum() for delay in delays])
    return Waits(seconds / jobs, delayed / jobs, wait_cost(price, seconds / says.sum()))
