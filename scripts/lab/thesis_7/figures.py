"""Figures of the runs: money of each in each scenario, waits, boots and decisions, and the thesis's aims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from dardis.model.schedule import Downtime
from dardis.power.account import Account, Gain, account, accounted_jobs, gain
from dardis.power.conditions import Conditions
from dardis.power.node_power import MachinePower
from offline.onoff.spans import clairvoyant_downtime
from offline.planner.searches import rule_setups
from offline.site.calendar import DAY_S
from offline.site.site_inputs import SiteInputs
from scripts.lab.thesis_7.runs import (
    ALL_ON,
    DISPATCHERS,
    EASY,
    OPPONENTS,
    SCENARIOS,
    SHIFTED,
    SPARES,
    Files,
    Run,
    Runs,
    Scenario,
    Workload,
    counted_days,
    in_scenario,
    site_of,
    switchings,
    violations,
)

RULES: Final = tuple(rule_setups())
Key = tuple[str, str]


@dataclass(frozen=True)
class Service:
    """What jobs and nodes of a run went through in the counted days; the same in all scenarios. Times in s."""

    mean_delay: float
    delayed: float
    cycles: float
    """Shut-downs a node a day."""
    mean_wait: float
    makespan: int
    """From the begin of the counted days to the last end of a job submitted in them."""
    decision_ms: float
    decision_deviation_ms: float
    decision_ms_a_job: float


@dataclass(frozen=True)
class Best:
    """The best rule-based set-up of a scenario, and its profit."""

    name: str
    profit: float


@dataclass(frozen=True)
class Cell:
    """A run in a scenario. Profits up to the last submission, up to the run's own last end, and of the counted days."""

    to_submission: float
    to_end: float
    days: float
    always_on: float
    """Of the counted days, the same dispatcher with all nodes on."""
    clairvoyant: float
    gain: Gain
    """Of the counted days, over all nodes on."""
    days_below: int
    """Counted days that brought less than with all nodes on."""

    @property
    def share_of_bound(self) -> float:
        """What was gained of what clairvoyant switching gains."""
        return (self.days - self.always_on) / (self.clairvoyant - self.always_on)


@dataclass(frozen=True)
class Shift:
    """Holding jobs for cheap hours, beside the same run without: profit until both have ended, and mean wait, s.

    Until the last submission alone what is held would only seem to earn less.
    """

    profit: float
    profit_before: float
    wait: float
    wait_before: float


@dataclass(frozen=True)
class WorkloadFigures:
    """All figures of a workload."""

    workload: Workload
    jobs: int
    span_d: float
    load: float
    days: tuple[int, int]
    services: Mapping[Key, Service]
    cells: Mapping[Key, Mapping[Scenario, Cell]]
    best_to_submission: Mapping[Scenario, Best]
    best_to_end: Mapping[Scenario, Best]
    shifts: Mapping[tuple[str, Scenario], Shift]
    violations: tuple[str, ...]

    def over_best(self, key: Key, scenario: Scenario, *, end: bool) -> tuple[float, float]:
        """Profit over that of the best rule-based set-up, EUR and %."""
        best = (self.best_to_end if end else self.best_to_submission)[scenario].profit
        cell = self.cells[key][scenario]
        more = (cell.to_end if end else cell.to_submission) - best
        return more, 100 * more / abs(best)


@dataclass(frozen=True)
class _ScenarioAccounts:
    """Accounts for runs of a site in one scenario."""

    site: SiteInputs
    conditions: Conditions

    def account(self, run: Run, downtime: Downtime, start: int, end: int) -> Account:
        platform = self.site.platform
        return account(
            accounted_jobs(run.schedule, platform), downtime, MachinePower.of_platform(platform),
            self.conditions.between(start, end), self.site.cooling, self.site.tariff,
        )  # fmt: skip


def figures_of(files: Files, workload: Workload, runs: Runs) -> WorkloadFigures:
    """Account for all runs of a workload."""
    site = site_of(files, workload)
    first, last = site.jobs[0].submit, site.jobs[-1].submit
    days = counted_days(site)
    span = site.calendar.day(days[0])[0], site.calendar.day(days[1])[1]
    latest = max(span[1], *(int(run.schedule.finish.max()) for run in runs.values()))
    plain = {key: run for key, run in runs.items() if "shifted" not in key[1]}
    cells: dict[Key, dict[Scenario, Cell]] = {key: {} for key in plain}
    shifts = {}
    bounds = {
        family: clairvoyant_downtime(runs[family, ALL_ON].schedule, site.platform, *span) for family in DISPATCHERS
    }
    for scenario in SCENARIOS:
        there = in_scenario(site, files, scenario)
        teller = _ScenarioAccounts(there, there.around.over(first, latest))
        for family, bound in ((OPPONENTS, Downtime.none()), *bounds.items()):
            for key in (key for key in plain if key[0] == family):
                base = runs[key if family == OPPONENTS else (family, ALL_ON)]
                cells[key][scenario] = _cell(teller, runs[key], base, bound, (first, last), span)
        for family in SHIFTED if scenario.real else ():
            run, before = runs[family, f"{SPARES}, shifted, {scenario.name}"], runs[family, SPARES]
            end = max(int(one.schedule.finish.max()) for one in (run, before))
            profits = (teller.account(one, one.downtime, first, end).profit for one in (run, before))
            waits = (_service(site, one, span).mean_wait for one in (run, before))
            shifts[family, scenario] = Shift(*profits, *waits)
    cores = sum(job.units * job.request[site.platform.kinds.index("cores")] * job.runtime for job in site.jobs)
    return WorkloadFigures(
        workload, len(site.jobs), (last - first) / DAY_S, cores / site.platform.cores / (last - first), days,
        {key: _service(site, run, span) for key, run in plain.items()}, cells,
        {scenario: _best(cells, scenario, end=False) for scenario in SCENARIOS},
        {scenario: _best(cells, scenario, end=True) for scenario in SCENARIOS},
        shifts, tuple(f"{key}: {text}" for key, run in runs.items() for text in violations(site, run)),
    )  # fmt: skip


def _cell(
    teller: _ScenarioAccounts, run: Run, base: Run, bound: Downtime, submissions: tuple[int, int], span: tuple[int, int]
) -> Cell:
    end = int(run.schedule.finish.max())
    lived, before = (teller.account(one, one.downtime, *span) for one in (run, base))
    by_day = [_by_day(told, span) for told in (lived, before)]
    return Cell(
        to_submission=teller.account(run, run.downtime, *submissions).profit,
        to_end=teller.account(run, run.downtime, submissions[0], end).profit,
        days=lived.profit,
        always_on=before.profit,
        clairvoyant=teller.account(base, bound, *span).profit,
        gain=gain(before, lived),
        days_below=int((by_day[0] < by_day[1] - 0.005).sum()),
    )


def _by_day(told: Account, span: tuple[int, int]) -> np.ndarray:
    """Profit of each day, without what a contract charges besides."""
    day = (told.edges[:-1] - span[0]) // DAY_S
    return np.bincount(day, told.income - told.energy_cost - told.cooling_cost)


def _best(cells: Mapping[Key, Mapping[Scenario, Cell]], scenario: Scenario, *, end: bool) -> Best:
    of = {name: cells[OPPONENTS, name][scenario] for name in RULES}
    profits = {name: cell.to_end if end else cell.to_submission for name, cell in of.items()}
    name = max(profits, key=lambda name: profits[name])
    return Best(name, profits[name])


def _service(site: SiteInputs, run: Run, span: tuple[int, int]) -> Service:
    schedule, down = run.schedule, run.downtime.down
    counted = schedule.ran & (schedule.submit >= span[0]) & (schedule.submit < span[1])
    delay = run.boot_delay[counted]
    switches = int(((down >= span[0]) & (down < span[1])).sum())
    decisions = run.decision_ns / 1e6
    return Service(
        mean_delay=float(delay.mean()),
        delayed=float((delay > 0).mean()),
        cycles=switches / site.platform.node_count / ((span[1] - span[0]) / DAY_S),
        mean_wait=float((schedule.start - schedule.submit)[counted].mean()),
        makespan=int(schedule.finish[counted].max()) - span[0],
        decision_ms=float(decisions.mean()),
        decision_deviation_ms=float(decisions.std()),
        decision_ms_a_job=float(decisions.sum()) / len(site.jobs),
    )


@dataclass(frozen=True)
class Aim:
    """One of the aims of switching: what was measured, and whether that meets it."""

    text: str
    measured: str
    met: bool


def aims(of: WorkloadFigures, family: str) -> list[Aim]:
    """What the learned spares reach with a dispatcher."""
    cells = of.cells[family, SPARES]
    now, before = of.services[family, SPARES], of.services[family, ALL_ON]
    shares = [cell.share_of_bound for cell in cells.values()]
    gains = [cell.days - cell.always_on for cell in cells.values()]
    stretch = now.makespan / before.makespan - 1
    least, delayed = of.workload.share_of_bound, of.workload.delayed_share
    return [
        Aim(f"≥ {least:.0%} of the clairvoyant gain", f"{min(shares):.1%} to {max(shares):.1%}", min(shares) >= least),
        Aim("mean boot delay ≤ 30 s a job", f"{now.mean_delay:.1f} s", now.mean_delay <= 30),
        Aim(f"≤ {delayed:.0%} of the jobs delayed", f"{now.delayed:.1%}", now.delayed <= delayed),
        Aim("≤ 1.3 cycles a node a day", f"{now.cycles:.2f}", now.cycles <= 1.3),
        Aim("never below all nodes on", f"{min(gains):+,.0f} to {max(gains):+,.0f} EUR", min(gains) >= 0),
        Aim("makespan within 1 %", f"{stretch:+.2%}", stretch <= 0.01),
    ]


def rows(of: WorkloadFigures) -> Iterator[dict[str, str | float]]:
    """All figures, a row for each run and scenario."""
    keys = [(OPPONENTS, name) for name in (*RULES, EASY)]
    keys += [(family, name) for family in DISPATCHERS for name in switchings(family)]
    for key in keys:
        for scenario, cell in of.cells[key].items():
            over, over_percent = of.over_best(key, scenario, end=False)
            at_end, at_end_percent = of.over_best(key, scenario, end=True)
            service = of.services[key]
            yield {
                "workload": of.workload.name, "dispatcher": key[0], "switching": key[1], "scenario": scenario.name,
                "plant": scenario.plant, "season": scenario.season.name, "real": int(scenario.real),
                "profit_to_last_submission_eur": cell.to_submission, "over_best_rule_eur": over,
                "over_best_rule_percent": over_percent, "best_rule": of.best_to_submission[scenario].name,
                "profit_to_last_end_eur": cell.to_end, "over_best_rule_at_end_eur": at_end,
                "over_best_rule_at_end_percent": at_end_percent, "best_rule_at_end": of.best_to_end[scenario].name,
                "days": f"{of.days[0]}-{of.days[1]}", "profit_days_eur": cell.days,
                "always_on_days_eur": cell.always_on, "clairvoyant_days_eur": cell.clairvoyant,
                "share_of_bound": "" if key[0] == OPPONENTS else cell.share_of_bound,
                "gain_idle_power_eur": cell.gain.idle_power, "gain_cooling_eur": cell.gain.cooling,
                "gain_price_eur": cell.gain.price, "gain_throughput_eur": cell.gain.throughput,
                "days_below_always_on": cell.days_below, "mean_boot_delay_s": service.mean_delay,
                "delayed_share": service.delayed, "cycles_per_node_day": service.cycles,
                "mean_wait_s": service.mean_wait, "makespan_s": service.makespan,
                "decision_ms": service.decision_ms, "decision_deviation_ms": service.decision_deviation_ms,
                "decision_ms_per_job": service.decision_ms_a_job,
            }  # fmt: skip
