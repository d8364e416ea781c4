"""Writes the page: the thesis's figures and table 6.2 with ours beside them, and what the days of the plans teach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from scripts.lab.kit.page import markdown, table
from scripts.lab.thesis_6.cases import CORE_W, INCOMES, SCENARIOS, Scenario
from scripts.lab.thesis_6.class_tree import CLASSES, THESIS_ACCURACY, ClassTree, DayRecords
from scripts.lab.thesis_6.figures import Found, slope_pue
from scripts.lab.thesis_6.searches import BY_SOLVER, DEFAULT, DELAY, MULTI, OURS, RELAXATION, SEARCHES, Bounds

COLUMNS: Final = (DEFAULT, MULTI, DELAY, RELAXATION)
"""Table 6.2's first columns; its last two are the best rule-based set-up's and the slope change."""
TABLE_6_2: Final = {
    ("air", "summer", "high", "cheap"): (1.43419, 1.43407, 1.43355, 1.43406, 1.43451, 1.43497),
    ("air", "summer", "high", "expensive"): (1.43417, 1.43401, 1.43377, 1.43402, 1.43451, 1.43497),
    ("air", "summer", "low", "cheap"): (1.41417, 1.41603, 1.41022, 1.41603, 1.41701, 1.43497),
    ("air", "summer", "low", "expensive"): (1.41397, 1.41626, 1.41049, 1.41586, 1.41701, 1.43497),
    ("air", "winter", "high", "cheap"): (1.10795, 1.11268, 1.11254, 1.11280, 1.11295, 1.11726),
    ("air", "winter", "high", "expensive"): (1.10784, 1.11261, 1.11253, 1.11259, 1.11295, 1.11726),
    ("air", "winter", "low", "cheap"): (1.09427, 1.09530, 1.09388, 1.09514, 1.09478, 1.11726),
    ("air", "winter", "low", "expensive"): (1.09453, 1.09590, 1.09413, 1.09560, 1.09478, 1.11726),
    ("hybrid", "summer", "high", "cheap"): (1.08863, 1.09222, 1.09222, 1.09221, 1.09207, 1.08727),
    ("hybrid", "summer", "high", "expensive"): (1.08839, 1.09218, 1.09242, 1.09218, 1.09207, 1.08727),
    ("hybrid", "summer", "low", "cheap"): (1.07419, 1.07535, 1.07353, 1.07535, 1.07513, 1.08727),
    ("hybrid", "summer", "low", "expensive"): (1.07464, 1.07544, 1.07345, 1.07536, 1.07513, 1.08727),
    ("hybrid", "winter", "high", "cheap"): (1.00306, 1.00323, 1.00319, 1.00323, 1.00317, 1.00302),
    ("hybrid", "winter", "high", "expensive"): (1.00306, 1.00327, 1.00326, 1.00327, 1.00317, 1.00302),
    ("hybrid", "winter", "low", "cheap"): (1.00279, 1.00280, 1.00277, 1.00280, 1.00284, 1.00302),
    ("hybrid", "winter", "low", "expensive"): (1.00278, 1.00290, 1.00284, 1.00289, 1.00286, 1.00302),
}
"""By plant, season, workload and income."""
BEST_RULE, SLOPE = 4, 5
"""Columns of the table."""

GAINS: Final = {"high": "+7.6 to +8.1 %", "low": "“no significant improvement”"}
"""Section 6.8.3, figures 6.2 and 6.3: its own searches over the best rule-based set-up."""
DEFAULT_GAIN: Final = {"high": "−11.8 to −11.9 %", "low": "–"}
RULE: Final = "hybrid cooling and last day's use > 0.8482 → maximise the use; otherwise → optimise the cooling"
"""Figure 6.5, by its text."""
RECORDS: Final = 538


def page(all_found: Sequence[Found], bounds: Bounds, tree: ClassTree, records: DayRecords) -> str:
    """The whole page as Markdown."""
    parts = [["# Thesis 6.8 on the Curie slice, 300 nodes of 32 cores", "", _LEAD], _workloads(all_found),
             ["## What each search may do for a day", "", *_bounds(all_found, bounds)]]  # fmt: skip
    for found in all_found:
        figure = "6.3" if found.case.workload.name == "low" else "6.2"
        parts.append([
            f"## Figure {figure}: profit until the last submission, {found.case.workload.name} load", "",
            *_gains(found), "", *_gains_text(found),
        ])  # fmt: skip
    parts.append(["## Figure 6.4: makespan, days", "", *_makespans(all_found)])
    parts.append(["## Table 6.2: total PUE", "", *_pues(all_found), "", _PUE])
    parts.append(["## Figure 6.6: daily PUE and its trend", "", *_daily(all_found), "", _DAILY])
    parts.append(["## Figures 6.5, 6.8 and 6.9: the classification tree", "", *_tree(tree, records)])
    return markdown(parts)


_LEAD = (
    "Each trace is planned day by day: the jobs of the day, their true durations known, with what is left from the "
    "days before and beside what runs. What a plan starts within its day stays; the rest is planned again the next "
    "day. Multi-search, delay search and ours plan each of the four scenarios of plant and season, at the cheap "
    "income; the solver's searches those that are named below. After the last submission the queue is drained. The "
    "first submission is at midnight. The rule-based set-ups go through the whole trace as it comes, and know the "
    "durations too. "
    f"A core draws {CORE_W[0]} to {CORE_W[1]} W, drawn for each job; nodes have no idle power; a core-hour earns "
    f"{INCOMES['cheap']} (cheap) or {INCOMES['expensive']:.2f} EUR (expensive), a kWh costs 0.13 EUR; every day has "
    "24.5 ± 6.5 °C (summer) or 3.5 ± 3.5 °C (winter), a sine with its maximum at 15 o'clock. Every plan of a day and "
    "every whole schedule has passed the audit on real nodes."
)
_PUE = "Left the thesis, right ours. All plans are made for the cheap income, so that ours are the same at both."
_PLANNED = (
    "A search that was planned in one scenario alone (above) has that plan in all of them; where it falls back to "
    "multi-search it can therefore differ from multi-search's own plan for a scenario."
)
_DAILY = "Of all days until the last end. `figure_6_6.png` has them for the high load, `thesis_6.csv` for all."


def _workloads(all_found: Sequence[Found]) -> list[str]:
    rows = []
    for found in all_found:
        case = found.case
        rows.append([
            case.workload.name, case.workload.theirs, f"{len(case.jobs):,}", f"{(case.last - case.first) / 86400:.1f}",
            f"{case.load:.2f}", f"{case.left_out}",
        ])  # fmt: skip
    head = ["load", "thesis", "jobs", "submitted in, days", "core-hours asked for / there are", "too wide, left out"]
    return table(head, rows, left=2)


def _bounds(all_found: Sequence[Found], bounds: Bounds) -> Iterator[str]:
    yield (
        f"Delay search {bounds.delays} runs of the heuristic after multi-search's 22; ours {bounds.groups} groups "
        "rebuilt after its descent, without the solver's polish and the bound that `dardis plan` has; the solver's "
        f"default search and the relaxation {bounds.solver_s:g} s of deterministic time and at most "
        f"{bounds.guard_s:g} s by the clock."
    )
    for found in all_found:
        for search in BY_SOLVER:
            for scenario, rolled in found.plans[search].items():
                some = rolled.jobs_a_day > 0
                own, days = int(rolled.own[some].sum()), int(some.sum())
                without = rolled.jobs_a_day[some & (rolled.own == 0)]
                most = f" (those have {without.min():,} to {without.max():,} jobs)" if len(without) else ""
                instead = "the heuristic's first solution" if search == DEFAULT else "multi-search's plan"
                yield (
                    f"- {found.case.workload.name} load, {search}, planned for {scenario.name}: a plan of its own on "
                    f"{own} of {days} days; {instead} on the others{most}."
                )


def _gains(found: Found) -> list[str]:
    rows = []
    for scenario in SCENARIOS:
        for price in INCOMES:
            best = found.best_rule(scenario, price)
            rows.append([
                f"{scenario.name}, {price}", f"`{best}`", f"{found.cell(best, scenario, price).profit:,.0f}",
                *(f"{found.gain(search, scenario, price):+.2f}" for search in SEARCHES),
                *(f"{found.gain(search, scenario, price, strict=True):+.2f}" for search in (DELAY, OURS)),
            ])  # fmt: skip
    head = ["scenario", "best rule-based set-up", "its profit, EUR", *(f"{name}, %" for name in SEARCHES),
            "delay search over the best strict rule, %", "ours over it, %"]  # fmt: skip
    return table(head, rows, left=2)


def _gains_text(found: Found) -> Iterator[str]:
    name = found.case.workload.name
    theirs = "low" if name == "low" else "high"
    scenario = SCENARIOS[0]
    best = found.best_rule(scenario, "cheap")
    use, most = found.use(best, scenario), found.most_use()
    yield (
        f"Thesis: its searches {GAINS[theirs]}, ILOG's default {DEFAULT_GAIN[theirs]}. `{best}` uses "
        f"{100 * use:.2f} % of the core-hours until the last submission and nothing can use more than "
        f"{100 * most:.2f} %: no plan has more than {100 * (most / use - 1):.2f} % more core-hours."
    )
    yield ""
    ends = {search: _gains_at_end(found, search) for search in (DELAY, OURS)}
    yield (
        "At the last end all have earned the same, and only energy differs: then "
        + ", ".join(f"{search} has {min(of):+.2f} to {max(of):+.2f} %" for search, of in ends.items())
        + f" over the rule that was best until the last submission. {_PLANNED}"
    )
    yield ""
    yield (
        "Core-hours until the last submission, % of the machine's (first scenario): "
        + ", ".join(f"`{rule}` {100 * found.use(rule, scenario):.2f}" for rule in found.rules)
        + "; "
        + ", ".join(f"{search} {100 * found.use(search, scenario):.2f}" for search in SEARCHES)
        + "."
    )


def _gains_at_end(found: Found, search: str) -> list[float]:
    gains = []
    for scenario in SCENARIOS:
        for price in INCOMES:
            base = found.cell(found.best_rule(scenario, price), scenario, price).whole_profit
            gains.append(100 * (found.cell(search, scenario, price).whole_profit / base - 1))
    return gains


def _makespans(all_found: Sequence[Found]) -> list[str]:
    rows = []
    for found in all_found:
        for scenario in SCENARIOS:
            best = found.best_rule(scenario, "cheap")
            names = (best, *SEARCHES)
            days = [found.makespan_d(name, scenario) for name in names]
            rows.append([f"{found.case.workload.name}, {scenario.name}", *(f"{makespan:.2f}" for makespan in days)])
            profits = [found.cell(name, scenario, "cheap").whole_profit for name in names]
            first, *others = (profit / makespan for profit, makespan in zip(profits, days, strict=True))
            rows[-1] += [f"{100 * (rate / first - 1):+.2f}" for rate in others]
    more = (f"{name}: profit a day of it over the best rule, %" for name in SEARCHES)
    return table(["load, scenario", "best rule-based set-up", *SEARCHES, *more], rows)


def _pues(all_found: Sequence[Found]) -> list[str]:
    rows = []
    by_name = {found.case.workload.name: found for found in all_found}
    for (plant, season, load, price), theirs in TABLE_6_2.items():
        if load not in by_name:
            continue
        found = by_name[load]
        scenario = _scenario(plant, season)
        row = [f"{scenario.name}, {load}, {price}"]
        for name, value in zip((*COLUMNS, found.best_rule(scenario, price)), theirs, strict=False):
            row += [f"{value:.5f}", f"{found.cell(name, scenario, price).pue:.5f}"]
        row.append(f"{found.cell(OURS, scenario, price).pue:.5f}")
        row += [f"{theirs[SLOPE]:.5f}", f"{slope_pue(scenario, found.case)[1]:.5f}"]
        rows.append(row)
    head = ["scenario"]
    for name in (*COLUMNS, "best rule"):
        head += [f"{name}: thesis", "ours"]
    return table([*head, "our search", "slope change: thesis", "ours"], rows)


def _daily(all_found: Sequence[Found]) -> list[str]:
    rows = []
    for found in all_found:
        for scenario in SCENARIOS:
            row = [f"{found.case.workload.name}, {scenario.name}"]
            for name in (DELAY, found.best_rule(scenario, "cheap")):
                for without_last in (False, True):
                    correlation, trend = found.pue_with_jobs(name, scenario, without_last=without_last)
                    row += [f"{correlation:+.2f}", f"{trend:+.1e}"]
            rows.append(row)
    head = ["load, scenario"]
    for name in (DELAY, "best rule"):
        head += [f"{name}: correlation of PUE with jobs in the system", "trend of PUE a day"]
        head += ["without the last day: correlation", "trend"]
    return table(head, rows)


def _scenario(plant: str, season: str) -> Scenario:
    return next(one for one in SCENARIOS if (one.plant, one.season.name) == (plant, season))


def _tree(tree: ClassTree, records: DayRecords) -> Iterator[str]:
    yield f"Thesis: {RULE}; {100 * THESIS_ACCURACY:.2f} % of {RECORDS} days right, fitted on all of them."
    yield ""
    yield f"Ours, from {tree.days} days of delay search's plans (both loads, all four scenarios):"
    yield ""
    yield from (f"- {rule}" for rule in tree.rules)
    yield ""
    yield f"{tree.summary()}. By plant and class:"
    yield ""
    wrong = predicted(tree, records) != records.classes
    rows = []
    for hybrid in (False, True):
        mine = records.hybrid == hybrid
        counts = [int((mine & (records.classes == place)).sum()) for place in range(len(CLASSES))]
        rows.append(["hybrid" if hybrid else "air", *map(str, counts), str(int((mine & wrong).sum()))])
    yield from table(["plant", *CLASSES, "wrong"], rows)
    yield ""
    if wrong.any():
        off = np.abs(records.above_slope[wrong])
        yield (
            f"The {int(wrong.sum())} wrong ones lie at most {off.max():.5f} of PUE from the slope change, half of them "
            f"within {np.median(off):.5f} (thesis: six between 0.001 and 0.01, the others below)."
        )
    else:
        yield "None is wrong."


def predicted(tree: ClassTree, records: DayRecords) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Class that the tree gives each record."""
    return np.asarray(tree.fitted.predict(records.features), dtype=np.int64)
