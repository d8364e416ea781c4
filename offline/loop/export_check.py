"""Checks an export by a replay on earlier days under EASY.

Past days (`offline.loop.past_day`) are played in each mode and under Slurm's rule. Results are moved to the plan's day,
weather and prices. Only work done in the day counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from dardis.config.clocks import parse_utc
from dardis.metrics.power import platform_cooling, tariff_of
from dardis.model.arrays import Floats
from dardis.model.errors import InputError, LossError
from dardis.model.moments import utc_text
from dardis.model.platform import Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import Switching
from dardis.power.account import account, accounted_jobs
from dardis.power.conditions import Conditions
from dardis.power.cooling import Plant
from dardis.power.node_power import MachinePower
from dardis.workload.trace import Trace
from dardis.workload.trace_jobs import to_jobs
from dardis.workload.trace_reader import read_equal_units, require_equal_units
from offline.day.idle_reserve import break_even_seconds, reactive_switching
from offline.day.plan_spec import Reactive, wait_cost
from offline.day.promise import shift_downtime, shift_work
from offline.export.exporter import absences
from offline.export.slurm_export import Mode, mode_of
from offline.folder.plan_folder import PlanFolder
from offline.loop.past_day import PlayedDay, arrivals_of, play_day
from offline.site.calendar import DAY_S, calendar_of
from offline.site.current_jobs import complete_times
from offline.site.history import PastSchedule, past_of, trace_that_fits

MOST_DAYS: Final = 7
BEFORE_S: Final = 28 * DAY_S
"""Seconds of history in use."""
IDLE_FACTORS: Final = (1.0, 0.5, 2.0, 4.0)
"""Idle times to try, in break-even times."""
ALL_ON: Final = "all nodes on"


@dataclass(frozen=True)
class RuleOutcome:
    """Results of a rule by day, (days,). Times are means over jobs submitted, s."""

    name: str
    wait_s: Floats
    boot_delay_s: Floats
    delayed_share: Floats
    income: Floats
    energy_kwh: Floats
    profit: Floats
    wait_cost: Floats
    mode: Mode | None = None
    switching: Switching | None = None

    @property
    def net_profit(self) -> Floats:
        """Profit minus cost of waits."""
        return self.profit - self.wait_cost


@dataclass(frozen=True)
class Check:
    """Outcomes of all rules, first all nodes on."""

    days: tuple[str, ...]
    outcomes: tuple[RuleOutcome, ...]
    currency: str
    notes: tuple[str, ...]

    def gain(self, mode: Mode) -> Floats:
        """Mode's daily gain over all nodes on, net of waits."""
        return self.of(mode).net_profit - self.outcomes[0].net_profit

    def of(self, mode: Mode) -> RuleOutcome:
        """Mode's outcome. Raises InputError if not played."""
        found = next((outcome for outcome in self.outcomes if outcome.mode is mode), None)
        if found is None:
            played = [outcome.mode for outcome in self.outcomes if outcome.mode is not None]
            raise InputError(f"--mode {mode}", "was not simulated, since it cannot switch any node", ", ".join(played))
        return found

    @property
    def best(self) -> Mode:
        """Mode with the highest mean worth."""
        return max(self._by_mode, key=lambda mode: self._by_mode[mode])

    @property
    def _by_mode(self) -> dict[Mode, float]:
        return {one.mode: float(one.net_profit.mean()) for one in self.outcomes if one.mode is not None}

    def choice(self, mode: Mode) -> str:
        """Compare a mode with the best other mode."""
        self.of(mode)
        others = {other: worth for other, worth in self._by_mode.items() if other is not mode}
        line = f"  mode {mode}"
        if not others:
            return f"{line}, the only one"
        other = max(others, key=lambda one: others[one])
        more = self._by_mode[mode] - others[other]
        than = f"{other} ({self.of(other).name})" if other is Mode.SUSPEND_TIME else other
        return f"{line}: {abs(more):,.2f} {self.currency} a day {'more' if more >= 0 else 'less'} than {than}"

    def check_gain(self, mode: Mode) -> None:
        """Raise LossError if the mode loses on average."""
        gain = float(self.gain(mode).mean())
        if gain < 0:
            raise LossError(
                f"--mode {mode} would have lost {-gain:,.2f} {self.currency} a day on the {len(self.days)} days before "
                "the plan; no file is written (--anyway writes it)"
            )

    @property
    def table(self) -> list[str]:
        """Lines with means of a day."""
        span = self.days[0] if len(self.days) == 1 else f"{len(self.days)} days, {self.days[0]} to {self.days[-1]}"
        lines = [f"  simulated under EASY on {span}, with the plan's weather and prices; daily means:"]
        priced = any(outcome.wait_cost.any() for outcome in self.outcomes)
        head = ["", "mean wait", "for boots", "jobs delayed", "income", "energy", "profit", "gain", "worst day"]
        lines.append(_line([*head[:7], *(["waits cost"] if priced else []), *head[7:]]))
        for outcome in self.outcomes:
            gain = outcome.net_profit - self.outcomes[0].net_profit
            waits = (f"{outcome.wait_s.mean():,.0f} s", f"{outcome.boot_delay_s.mean():,.1f} s")
            share = f"{100 * outcome.delayed_share.mean():.1f} %"
            paid = (outcome.wait_cost.mean(),) if priced else ()
            figures = (outcome.income.mean(), outcome.profit.mean(), *paid, gain.mean(), gain.min())
            money = [f"{x:,.2f}" for x in figures]
            energy = f"{outcome.energy_kwh.mean():,.0f} kWh"
            lines.append(_line((outcome.name, *waits, share, money[0], energy, *money[1:])))
        less = ", less the additional cost of waits" if priced else ""
        return [*lines, f"  money in {self.currency}; gain is over {ALL_ON}{less}"]


def _line(cells: Sequence[str]) -> str:
    return f"    {cells[0]:<18}" + "".join(f" {cell:>12}" for cell in cells[1:])


def check_export(
    plan: PlanFolder, history: Path | None, progress: Callable[[str], None] | None = None,
    wait_price: float | None = None, made: Trace | None = None,
) -> Check:  # fmt: skip
    """Play the plan's modes on earlier days. Raises InputError.

    `history` and `wait_price` (of an hour) override the plan's; `made` replaces the history's file.
    """
    price = plan.wait_price if wait_price is None else wait_price
    past, first_submit, now, path, platform = _past(plan, history, made)
    plan = replace(plan, platform=platform)
    start = plan.profile.start
    begins = [start - ago * DAY_S for ago in range(1, MOST_DAYS + (start - now) // DAY_S + 2)]
    begins = [one for one in begins if first_submit <= one and one + DAY_S <= now][:MOST_DAYS]
    if not begins:
        raise InputError(path, "has no complete day before the plan's", "a history that begins at least a day earlier")
    notes = [past.source] if len(begins) == MOST_DAYS else [past.source, f"only {len(begins)} days before the plan"]
    rules = _rules(plan)
    figures: dict[str, list[tuple[float, ...]]] = {name: [] for name in rules}
    before = past
    for begin in reversed(begins):
        if progress is not None:
            progress(f"simulating {_date(plan, begin)}")
        arrivals = arrivals_of(past, begin)
        later = plan.profile.start - begin
        played = {name: rule.play(later)(before, arrivals, plan.platform, begin) for name, rule in rules.items()}
        before = played[ALL_ON].past
        for name, day in played.items():
            figures[name].append(_figures(plan, day, later, price))
    found = [
        replace(RuleOutcome(name, *np.array(rows).T), mode=rules[name].mode, switching=rules[name].switching)
        for name, rows in figures.items()
    ]
    plain = [outcome for outcome in found if outcome.mode is Mode.SUSPEND_TIME]
    best = max(plain, key=lambda outcome: float(outcome.net_profit.mean()), default=None)
    outcomes = tuple(outcome for outcome in found if outcome.mode is not Mode.SUSPEND_TIME or outcome is best)
    dates = tuple(_date(plan, begin) for begin in reversed(begins))
    return Check(dates, outcomes, plan.platform.currency, tuple(notes))


def _date(plan: PlanFolder, moment: int) -> str:
    return utc_text(moment + plan.offset)[:10]


def _past(
    plan: PlanFolder, history: Path | None, made: Trace | None
) -> tuple[PastSchedule, int, int, Path, Platform]:  # fmt: skip
    settings, platform = plan.settings, plan.platform
    path = history or (Path(str(settings["history"])) if "history" in settings else None)
    if path is None:
        raise InputError("--check", "the plan names no history", "--history TRACE")
    if made is not None:
        whole = require_equal_units(path, made, not_ended=True)
    elif history is None and not path.exists():
        raise InputError(path, "the plan's history does not exist", "--history TRACE")
    else:
        strict = bool(settings.get("strict"))
        whole = read_equal_units(path, strict=strict, not_ended=True, flop_per_s=platform.flop_per_s)
    stated = settings.get("calendar_start")
    begins = platform.facility.begins(None if stated is None else parse_utc(str(stated), "calendar_start"))
    calendar, _ = calendar_of(whole, begins)
    if calendar.offset != plan.offset:
        expected = "the plan's history, or a history with the same first job"
        raise InputError(path, f"its clock is {calendar.offset - plan.offset} s ahead of the plan's", expected)
    now = plan.profile.start
    if "now" in settings:
        now = calendar.from_unix(parse_utc(str(settings["now"]), "now"))
    trace, _ = trace_that_fits(complete_times(whole, now), platform)
    platform = platform.with_partitions(trace.named_partitions)
    since = now - BEFORE_S
    jobs = [job for job in to_jobs(trace, platform).jobs if since <= job.submit < now]
    if not jobs:
        raise InputError(path, "no job in the four weeks before the plan", "a history up to the plan")
    return past_of(jobs, trace, platform, now), int(trace.submit.min()), now, path, platform


class _Rule(NamedTuple):
    play: Callable[[int], Callable[..., PlayedDay]]
    mode: Mode | None = None
    switching: Switching | None = None

    @classmethod
    def of_switching(cls, mode: Mode, switching: Switching) -> _Rule:
        return cls(lambda later: partial(play_day, switching=_shift_earlier(switching, later)), mode, switching)


def _rules(plan: PlanFolder) -> dict[str, _Rule]:
    platform, profile = plan.platform, plan.profile
    rules = {ALL_ON: _Rule(lambda _: play_day)}
    even = break_even_seconds(platform)
    for idle_s in dict.fromkeys(max(round(even * factor), min(even, 1)) for factor in IDLE_FACTORS):
        if (plain := reactive_switching(Reactive(idle_s), platform, profile.start)) is not None:
            rules[f"SuspendTime {idle_s} s"] = _Rule.of_switching(Mode.SUSPEND_TIME, plain)
    if mode_of(plan, None) is Mode.SPARES and (ours := plan.switching) is not None:
        rules[Mode.SPARES] = _Rule.of_switching(Mode.SPARES, ours)
    gone = [*absences(plan.onoff, MachinePower.of_platform(platform).boot_s, profile.start, profile.end)]
    rules[Mode.WINDOWS] = _Rule(
        lambda later: partial(play_day, closed=[(since - later, until - later, node) for since, until, node in gone]),
        Mode.WINDOWS,
    )
    return rules


def prepare_mode(plan: PlanFolder, mode: Mode, found: Check | None) -> PlanFolder:
    """Prepare the plan for a mode: SUSPEND_TIME gets the best checked idle time, or break-even.

    Raises InputError if no node can be switched.
    """
    if mode is not Mode.SUSPEND_TIME:
        return plan
    if found is not None:
        return replace(plan, switching=found.of(mode).switching)
    plain = reactive_switching(Reactive(break_even_seconds(plan.platform)), plan.platform, plan.profile.start)
    if plain is None:
        raise InputError(f"--mode {mode}", "no node of the platform is switched", "--mode windows")
    return replace(plan, switching=plain)


def _shift_earlier(rule: Switching, seconds: int) -> Switching:
    spares = {
        group: StepFunction.from_steps(
            int(wanted.values[0]), zip((wanted.times[1:] - seconds).tolist(), wanted.values[1:].tolist(), strict=True)
        )
        for group, wanted in rule.spares.items()
    }
    return replace(rule, spares=spares)


def _figures(plan: PlanFolder, played: PlayedDay, later: int, price: float) -> tuple[float, ...]:
    profile, platform, schedule = plan.profile, plan.platform, played.schedule
    conditions = Conditions(profile.edges, profile.temp_c, profile.price_per_kwh, profile.gco2_per_kwh, plan.offset)
    stated = plan.settings.get("cooling")
    cooling = platform_cooling(platform, None if stated is None else str(stated)) or platform_cooling(
        platform, Plant.AIR
    )
    assert cooling is not None
    work = shift_work(accounted_jobs(schedule, platform), profile.start - later, profile.end - later, later)
    told = account(
        work,
        shift_downtime(played.downtime, later),
        MachinePower.of_platform(platform),
        conditions,
        cooling,
        tariff_of(platform.facility, plan.offset),
    )
    of_day = played.is_of_day & schedule.ran
    waits = (schedule.start - schedule.submit)[of_day]
    delays = played.boot_delay[of_day]
    count = max(len(waits), 1)
    return (
        waits.sum() / count,
        delays.sum() / count,
        (delays > 0).sum() / count,
        told.income_eur,
        told.energy_kwh + told.cooling_kwh,
        told.profit,
        wait_cost(price, float(waits.sum())),
    )
