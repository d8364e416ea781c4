"""What the plans bring: profit until the last submission, makespan and PUE, day by day where it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.schedule import Downtime
from dardis.model.step_function import StepFunction
from dardis.power.account import Account, AccountedJobs, account
from dardis.power.conditions import Tariff
from dardis.power.node_power import MachinePower
from offline.site.calendar import DAY_S
from scripts.lab.thesis_6.cases import CORE_W, INCOMES, SCENARIOS, Case, Scenario
from scripts.lab.thesis_6.class_tree import DayRecords, day_above_slope, slope_change
from scripts.lab.thesis_6.runs import RolledPlan

STRICT = "strict"
"""Ends the names of the rules that stand still at the first job that can't start."""


@dataclass(frozen=True)
class Cell:
    """One schedule in one scenario at one income."""

    profit: float
    """Until the last submission, EUR."""
    whole_profit: float
    """Until the last end, when every schedule has earned the same."""
    pue: float
    """Total, until the last end."""


@dataclass(frozen=True)
class Days:
    """One schedule in one scenario, day by day."""

    pue: Floats
    """By energy; NaN for a day without."""
    use: Floats
    """Mean share of the cores in use."""
    jobs: Ints
    """In the system: submitted before its end, not ended before its begin."""
    above_slope: Floats
    """How far the mean PUE lies above the slope-change PUE; NaN for a day without IT power."""


@dataclass(frozen=True)
class Found:
    """All that was planned of a workload. Searches are in the order in which they are shown."""

    case: Case
    rules: Mapping[str, Ints]
    plans: Mapping[str, Mapping[Scenario, RolledPlan]]

    def start(self, name: str, scenario: Scenario) -> Ints:
        """The starts by a rule, or by a search: planned in that scenario, or in the only one that it was planned in."""
        if name in self.rules:
            return self.rules[name]
        of = self.plans[name]
        return (of[scenario] if scenario in of else next(iter(of.values()))).start

    def cell(self, name: str, scenario: Scenario, price: str) -> Cell:
        """What a schedule brings."""
        start = self.start(name, scenario)
        until = self._account(start, scenario, price, self.case.last)
        whole = self._account(start, scenario, price, self._last_end(start))
        assert whole.pue is not None
        return Cell(until.profit, whole.profit, whole.pue)

    def best_rule(self, scenario: Scenario, price: str, *, strict: bool = False) -> str:
        """The set-up with the most profit until the last submission; `strict`: of those that never skip a job."""
        names = [name for name in self.rules if not strict or name.endswith(STRICT)]
        return max(names, key=lambda name: self.cell(name, scenario, price).profit)

    def makespan_d(self, name: str, scenario: Scenario) -> float:
        """From the first submission to the last end, in days."""
        return (self._last_end(self.start(name, scenario)) - self.case.first) / DAY_S

    def use(self, name: str, scenario: Scenario) -> float:
        """Share of the machine in use until the last submission."""
        return self._used(self.start(name, scenario)).integral(self.case.first, self.case.last) / (
            self.case.platform.cores * (self.case.last - self.case.first)
        )

    def most_use(self) -> float:
        """What `use` can be at most: of a full machine, or with every job begun as soon as it came."""
        case = self.case
        soonest = float((case.cores * np.minimum(case.told.duration, case.last - case.told.submit)).sum())
        return min(soonest / (case.platform.cores * (case.last - case.first)), 1.0)

    def days(self, name: str, scenario: Scenario) -> Days:
        """Figures of each day until the last end."""
        case, start, cooling = self.case, self.start(name, scenario), scenario.cooling
        count = -(-(self._last_end(start) - case.first) // DAY_S)
        whole = self._account(start, scenario, "cheap", case.first + count * DAY_S)
        used = self._used(start)
        most_w = case.platform.cores * CORE_W[1]
        rows = []
        for begin in range(case.first, whole.edges[-1], DAY_S):
            inside = (whole.edges[:-1] >= begin) & (whole.edges[:-1] < begin + DAY_S)
            it_w, lengths = whole.it_w[inside], np.diff(whole.edges)[inside]
            drawn = float((it_w * lengths).sum())
            temps = case.conditions(scenario, begin, begin + DAY_S).temp_c
            rows.append((
                1 + float((whole.cooling_w[inside] * lengths).sum()) / drawn if drawn else np.nan,
                used.integral(begin, begin + DAY_S) / (case.platform.cores * DAY_S),
                day_above_slope(cooling, temps, it_w, lengths, most_w) if drawn else np.nan,
            ))  # fmt: skip
        pue, use, above = np.array(rows, dtype=np.float64).T
        begins = case.first + DAY_S * np.arange(len(rows))
        came = np.searchsorted(np.sort(case.told.submit), begins + DAY_S)
        left = np.searchsorted(np.sort(start + case.told.duration), begins, side="right")
        return Days(pue, use, came - left, above)

    def pue_with_jobs(self, name: str, scenario: Scenario, *, without_last: bool = False) -> tuple[float, float]:
        """Correlation of a day's PUE with the jobs in the system, and the trend of PUE a day."""
        days = self.days(name, scenario)
        some = np.flatnonzero(np.isfinite(days.pue))
        some = some[: len(some) - without_last]
        trend = np.polynomial.Polynomial.fit(some, days.pue[some], 1).deriv()
        return float(np.corrcoef(days.jobs[some], days.pue[some])[0, 1]), float(trend(0))

    def gain(self, name: str, scenario: Scenario, price: str, *, strict: bool = False) -> float:
        """Profit until the last submission over that of the best rule, %."""
        best = self.best_rule(scenario, price, strict=strict)
        base, own = (self.cell(one, scenario, price).profit for one in (best, name))
        return 100 * (own / base - 1)

    def _last_end(self, start: Ints) -> int:
        return int((start + self.case.told.duration).max())

    def _used(self, start: Ints) -> StepFunction:
        return StepFunction.from_spans(start, start + self.case.told.duration, self.case.cores)

    def _account(self, start: Ints, scenario: Scenario, price: str, end: int) -> Account:
        case, told = self.case, self.case.told
        income = np.full(len(start), INCOMES[price])
        work = AccountedJobs(start, start + told.duration, case.cores, case.cores * told.core_w, income)
        machine = MachinePower.of_platform(case.platform)
        conditions = case.conditions(scenario, case.first, end)
        return account(work, Downtime.none(), machine, conditions, scenario.cooling, Tariff())


def slope_pue(scenario: Scenario, case: Case) -> tuple[float, float]:
    """IT power (W) and PUE of the slope change of the scenario's day."""
    conditions = case.conditions(scenario, case.first, case.first + DAY_S)
    most_w = case.platform.cores * CORE_W[1]
    return slope_change(scenario.cooling, conditions.temp_c, np.diff(conditions.edges), most_w)


def records(all_found: Sequence[Found], search: str) -> DayRecords:
    """Each day of the plans of a search in each scenario that it was planned in, with the use of the day before."""
    hybrid, last_use, above, number = [], [], [], []
    for place, found in enumerate(all_found):
        for scenario in SCENARIOS:
            days = found.days(search, scenario)
            for day in np.flatnonzero(np.isfinite(days.above_slope[1:])) + 1:
                hybrid.append(scenario.plant == "hybrid")
                last_use.append(days.use[day - 1])
                above.append(days.above_slope[day])
                number.append(1000 * place + day)
    return DayRecords(np.array(hybrid), np.array(last_use), np.array(above), np.array(number, dtype=np.int64))
