"""Writes the page: tables in the order of the thesis's figures, what was aimed at, and what was met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import mean
from typing import Final

import numpy as np

from scripts.lab.kit.page import NOTHING, FigureTable, markdown, table
from scripts.lab.thesis_7.figures import RULES, Cell, Key, WorkloadFigures, aims
from scripts.lab.thesis_7.runs import (
    ALL_ON,
    BESIDE_RIVALS,
    DISPATCHERS,
    EASY,
    LATE,
    OFFSET_50,
    OFFSET_70,
    OPPONENTS,
    RIVALS,
    SAME_NODES,
    SCENARIOS,
    SHIFT_H,
    SPARES,
    TEN,
    THROUGHPUT,
    WORKLOADS,
    switchings,
)

TABLE_7_1: Final = {
    "low": (29.50, 7.37, 17.84, 15.00),
    "medium": (10.46, 13.19, 18.23, -7.50),
    "high": (0.36, 0.23, 0.20, 0.01),
}
"""Profit of DARDIS70 over the best rule-based set-up at the last job termination, %, in the order of `ASSUMED`."""
ASSUMED: Final = tuple(scenario for scenario in SCENARIOS if not scenario.real)

SHOWN: tuple[tuple[str, Key], ...] = (
    ("EASY", (OPPONENTS, EASY)),
    ("DARDIS100", (THROUGHPUT, ALL_ON)),
    ("DARDIS70", (THROUGHPUT, OFFSET_70)),
    ("DARDIS50", (THROUGHPUT, OFFSET_50)),
    ("throughput, ten spares", (THROUGHPUT, TEN)),
    ("**throughput, learned spares**", (THROUGHPUT, SPARES)),
    ("DARDIS100, same nodes", (SAME_NODES, ALL_ON)),
    ("DARDIS70, same nodes", (SAME_NODES, OFFSET_70)),
    ("DARDIS50, same nodes", (SAME_NODES, OFFSET_50)),
    ("throughput, same nodes, learned spares", (SAME_NODES, SPARES)),
    ("late, all nodes on", (LATE, ALL_ON)),
    ("late, ten spares", (LATE, TEN)),
    ("**late, learned spares**", (LATE, SPARES)),
)
"""Rows of the tables of profit, in their order."""
KEYS = {label.strip("*"): key for label, key in SHOWN}
LEARNED = tuple((name, (name, SPARES)) for name in DISPATCHERS)


def page(all_found: Sequence[WorkloadFigures], tables: Sequence[FigureTable]) -> str:
    """The whole page as Markdown."""
    parts = [["# Thesis 7.6 on the Curie slice, 300 nodes of 32 cores", "", _LEAD], _workloads(all_found)]
    for of, (title, remark) in zip(tables, _TABLES, strict=True):
        parts.append([f"## {title}", "", *of.lines(), "", remark])
    parts.append(["## Profit over the best rule-based set-up until the last submission, %", "", *_short(all_found), "",
                  _SHORT])  # fmt: skip
    parts.append(["## Aims", "", *_aims(all_found), "", _AIMS])
    for found in all_found:
        parts += _of_workload(found)
    return markdown(parts)


_LEAD = (
    "Each workload runs once under each dispatcher and switching, and is accounted for in eight scenarios: air and "
    "hybrid cooling, summer and winter, each with an assumed day (24.5 ± 6.5 °C and 3.5 ± 3.5 °C, a sine with its "
    "maximum at 15 o'clock) at 0.13 EUR/kWh, and with Frankfurt's weather and Germany's day-ahead prices of 2023, from "
    "3 July and from 2 January (“real”). A core-hour earns 0.013 EUR; a node draws 100 W idle, 6.33 W more a busy core "
    "and 10 W off; it boots in 240 s at 125 W and shuts down in 30 s at 100 W. What stays on is decided each midnight "
    "from what was known by then; the first day has all nodes on. No weather and no prices are learned from. "
    "Throughput backfills on all nodes, unless it says “same nodes” as in the thesis. Every schedule was audited with "
    "its times down."
)
_SHORT = "From the least to the most of the eight scenarios. “Clairvoyant” is the switching below over all nodes on."
_AIMS = (
    "Against the same dispatcher with all nodes on, over the days that are rolled over; shares and gains from the "
    "least to the most of the eight scenarios."
)

_CLAIRVOYANT = (
    "Over the same dispatcher with all nodes on, in the days that are rolled over. Clairvoyant switching is of "
    "that schedule: every idle gap over break-even off, no job delayed. A share above 100 %, or far below "
    "what idle power gives, is income: jobs that run at other times than with all nodes on."
)
_SERVICES = (
    "Waits and makespans of the jobs submitted in the days that are rolled over. Decisions are CPU time of the whole "
    "dispatcher with all its nodes."
)


def _workloads(all_found: Sequence[WorkloadFigures]) -> list[str]:
    theirs = {workload.name: workload.theirs for workload in WORKLOADS}
    rows = [
        [found.workload.name, f"{found.jobs:,}", f"{found.span_d:.1f}", f"{found.load:.2f}",
         theirs[found.workload.name], f"{found.days[0]}-{found.days[1]}",
         f"{len(found.violations)} violations" if found.violations else "clean"]
        for found in all_found
    ]  # fmt: skip
    return table(["workload", "jobs", "days", "load", "thesis", "days rolled over", "audit"], rows)


def _short(all_found: Sequence[WorkloadFigures]) -> list[str]:
    shown = ("DARDIS100", "DARDIS70", "DARDIS50", "throughput, learned spares", "late, learned spares")
    rows = []
    for found in all_found:
        row = [found.workload.name]
        row += [_range([found.over_best(KEYS[one], scenario, end=False)[1] for scenario in SCENARIOS]) for one in shown]
        gains = (found.cells[LATE, ALL_ON][scenario] for scenario in SCENARIOS)
        row.append(_range([100 * (cell.clairvoyant / cell.always_on - 1) for cell in gains]))
        rows.append(row)
    head = ["workload", *shown, "clairvoyant (late)"]
    return table(head, rows)


def tables_of(all_found: Sequence[WorkloadFigures]) -> Iterator[FigureTable]:
    """Tables of all workloads, named as in docs/reproduction."""
    yield FigureTable(
        "thesis_7_profit", _PROFIT_HEAD, [row for found in all_found for row in _table_7_1(found)], left=2
    )
    yield FigureTable("thesis_7_spares", _SPARES_HEAD, [row for found in all_found for row in _spares(found)], left=2)
    yield FigureTable("thesis_7_reactive", _RULES_HEAD, [row for found in all_found for row in _idle_time(found)], 3)


_TABLES: Final = (
    (
        "Table 7.1: profit over the best rule-based set-up at the last job termination, %",
        (
            "The thesis beside ours on assumed days; DARDIS70 also with real weather and prices, and until the last "
            "submission. Clairvoyant switching is over the same dispatcher with all nodes on, in the days that are "
            "rolled over. The mean is over the four scenarios."
        ),
    ),
    ("Learned spares against all nodes on", "From the least to the most of the eight scenarios."),
    (
        "Idle-time rules, air cooling in summer",
        "The last column lies on the line between the idle-time rules that no other one beats in both figures.",
    ),
)
"""Title and remark of each table."""
_ON_ASSUMED: Final = (
    ("DARDIS70, same nodes", KEYS["DARDIS70, same nodes"]), ("DARDIS100", KEYS["DARDIS100"]),
    ("DARDIS50", KEYS["DARDIS50"]), ("throughput with learned spares", KEYS["throughput, learned spares"]),
    ("late with learned spares", KEYS["late, learned spares"]),
)  # fmt: skip
_PROFIT_HEAD: Final = (
    "load", "scenario", "DARDIS70: thesis", "DARDIS70: ours", *(name for name, _ in _ON_ASSUMED),
    "clairvoyant switching (late)", "DARDIS70, real weather and prices", "DARDIS70, until the last submission",
)  # fmt: skip


def _table_7_1(found: WorkloadFigures) -> list[list[str]]:
    """The cells of a workload, and their means."""
    dardis70 = KEYS["DARDIS70"]
    shown = (dardis70, *(key for _, key in _ON_ASSUMED))
    all_on = [found.cells[LATE, ALL_ON][one] for one in ASSUMED]
    columns: list[list[float]] = [
        list(TABLE_7_1[found.workload.name]),
        *([found.over_best(key, one, end=True)[1] for one in ASSUMED] for key in shown),
        [100 * (cell.clairvoyant - cell.always_on) / abs(cell.always_on) for cell in all_on],
        [found.over_best(dardis70, replace(one, real=True), end=True)[1] for one in ASSUMED],
        [found.over_best(dardis70, one, end=False)[1] for one in ASSUMED],
    ]
    lines = zip((*(one.name for one in ASSUMED), "mean"), *([*of, mean(of)] for of in columns), strict=True)
    return [[found.workload.name, name, *(_plain(value) for value in values)] for name, *values in lines]


_SPARES_HEAD: Final = (
    "load", "dispatcher", "gain (EUR): least", "gain (EUR): most",
    "share of the clairvoyant gain on assumed days (%): least",
    "share of the clairvoyant gain on assumed days (%): most",
    "share of the clairvoyant gain on real days (%): least", "share of the clairvoyant gain on real days (%): most",
    "mean boot delay (s)", "delayed jobs (%)", "power cycles per node and day", "mean wait (min)",
    "mean wait with all nodes on (min)", "targets missed",
)  # fmt: skip


def _spares(found: WorkloadFigures) -> Iterator[list[str]]:
    for family, key in LEARNED:
        cells, of = found.cells[key], found.services[key]
        gains = [cell.days - cell.always_on for cell in cells.values()]
        shares = [[100 * cells[one].share_of_bound for one in SCENARIOS if one.real == real] for real in (False, True)]
        missed = [aim.text for aim in aims(found, family) if not aim.met]
        yield [
            found.workload.name, family, f"{min(gains):.0f}", f"{max(gains):.0f}",
            *(f"{end(values):.1f}" for values in shares for end in (min, max)),
            f"{of.mean_delay:.1f}", f"{100 * of.delayed:.1f}", f"{of.cycles:.2f}", f"{of.mean_wait / 60:.1f}",
            f"{found.services[family, ALL_ON].mean_wait / 60:.1f}", "; ".join(missed) or "none",
        ]  # fmt: skip


_RULES_HEAD: Final = (
    "load", "dispatcher", "switching rule", "share of the clairvoyant gain (%)", "mean boot delay (s)",
    "boot delay of idle-time rules at the same share (s)",
)  # fmt: skip


def _idle_time(found: WorkloadFigures) -> Iterator[list[str]]:
    for family in BESIDE_RIVALS:
        points = {}
        for name in (*RIVALS, SPARES):
            reached = 100 * found.cells[family, name][SCENARIOS[0]].share_of_bound
            points[name] = reached, found.services[family, name].mean_delay
        share, _ = points[SPARES]
        of_rules = delay_at(share, [points[name] for name in RIVALS])
        for name, (reached, delay) in points.items():
            beside = f"{of_rules:.1f}" if name == SPARES else NOTHING
            yield [found.workload.name, family, _rule_words(name), f"{reached:.1f}", f"{delay:.1f}", beside]


def _rule_words(name: str) -> str:
    """The name of a switching rule in words."""
    if name not in RIVALS:
        return name
    rule = RIVALS[name]
    return f"off after {rule.idle_s} s" + (f", {rule.spares} spare{'s' * (rule.spares > 1)}" if rule.spares else "")


def delay_at(share: float, points: Sequence[tuple[float, float]]) -> float:
    """Delay at a share, between the points (share, delay) that no other one beats in both."""
    front: list[tuple[float, float]] = []
    for reached, delay in sorted(points, key=lambda point: (-point[0], point[1])):
        if not front or delay < front[-1][1]:
            front.append((reached, delay))
    shares, delays = zip(*reversed(front), strict=True)
    return float(np.interp(share, shares, delays))


def _range(values: Sequence[float]) -> str:
    return f"{_signed(min(values))} to {_signed(max(values))}"


def _plain(value: float) -> str:
    """Two digits, and no sign before what is rounded to nothing."""
    return f"{round(value, 2) + 0.0:.2f}"


def _signed(value: float, digits: int = 2) -> str:
    """A number with its sign, none for what is rounded to nothing."""
    rounded = round(value, digits)
    return f"{rounded:+,.{digits}f}" if rounded else f"{0:.{digits}f}"


def _aims(all_found: Sequence[WorkloadFigures]) -> list[str]:
    rows = []
    for found in all_found:
        for name, (family, _) in LEARNED:
            cells = [f"{aim.measured} **{'met' if aim.met else 'not met'}**" for aim in aims(found, family)]
            rows.append([found.workload.name, name, *cells])
    texts = [
        "of the clairvoyant gain (≥ 90 %, high 85 %)",
        "mean boot delay a job (≤ 30 s)", "jobs delayed (≤ 10 %, low 15 %)",
        "cycles a node a day (≤ 1.3)", "gain (never below all nodes on)", "makespan (within 1 %)",
    ]  # fmt: skip
    return table(["workload", "learned spares with", *texts], rows, left=2)


def _of_workload(found: WorkloadFigures) -> Iterator[list[str]]:
    yield [f"## {found.workload.name.capitalize()} load"]
    yield [
        "### Figure 7.2: profit over the best rule-based set-up, at each schedule's last job termination", "",
        *_profits(found, end=True), "",
        "% and (EUR). All jobs have run by then, so incomes are equal: what is left is energy, and idle nodes.",
    ]  # fmt: skip
    yield ["### The same until the last submission", "", *_profits(found, end=False)]
    yield [
        "### Clairvoyant switching, and what was gained", "", *_clairvoyant(found), "",
        _CLAIRVOYANT,
    ]  # fmt: skip
    yield ["### Where the gain of the learned spares comes from, EUR", "", *_gains(found)]
    yield [
        "### Figures 7.3 and 7.4: jobs, nodes and decisions", "", *_services(found), "",
        _SERVICES,
    ]  # fmt: skip
    yield [
        f"### Holding jobs for cheap hours (up to {SHIFT_H} h, opt-in), with the learned spares", "", *_shifts(found),
    ]  # fmt: skip


def _profits(found: WorkloadFigures, *, end: bool) -> list[str]:
    best = found.best_to_end if end else found.best_to_submission
    rows = [["best rule-based, EUR", *(f"{best[s].name.removeprefix('rules-')} {best[s].profit:,.0f}"
                                       for s in SCENARIOS)]]  # fmt: skip
    for label, key in SHOWN:
        cells = (found.over_best(key, scenario, end=end) for scenario in SCENARIOS)
        rows.append([label, *(f"{_signed(percent)} ({_signed(euros, 0)})" for euros, percent in cells)])
    return table(["", *(scenario.name for scenario in SCENARIOS)], rows)


def _clairvoyant(found: WorkloadFigures) -> list[str]:
    rows = []
    for family in DISPATCHERS:
        cells = found.cells[family, ALL_ON]
        rows.append([f"{family}: clairvoyant gain, % (EUR)", *(_clairvoyant_gain(cells[one]) for one in SCENARIOS)])
        for switching in switchings(family)[1:]:
            there = found.cells[family, switching]
            shares = (f"{100 * there[scenario].share_of_bound:.1f} %" for scenario in SCENARIOS)
            rows.append([f"{family}, {switching}: share", *shares])
    return table(["", *(scenario.name for scenario in SCENARIOS)], rows)


def _clairvoyant_gain(cell: Cell) -> str:
    most = cell.clairvoyant - cell.always_on
    return f"{100 * most / abs(cell.always_on):+.2f} ({most:+,.0f})"


def _gains(found: WorkloadFigures) -> list[str]:
    rows = []
    for name, key in LEARNED:
        for scenario in SCENARIOS:
            cell = found.cells[key][scenario]
            parts = cell.gain
            rows.append([
                f"{name}, {scenario.name}", f"{100 * parts.total / abs(cell.always_on):+.2f} %",
                *(_signed(part, 1) for part in (parts.total, parts.idle_power, parts.cooling, parts.price,
                                               parts.throughput)),
                f"{cell.days_below}",
            ])  # fmt: skip
    head = ["", "gain", "gain", "idle power", "cooling", "price", "throughput", "days below all nodes on"]
    return table(head, rows)


def _services(found: WorkloadFigures) -> list[str]:
    keys = [(f"rules-based, {name.removeprefix('rules-')}", (OPPONENTS, name)) for name in RULES]
    keys += [("EASY", (OPPONENTS, EASY))]
    keys += [
        (f"{family}, {switching}", (family, switching)) for family in DISPATCHERS for switching in switchings(family)
    ]
    rows = []
    for label, key in keys:
        of = found.services[key]
        rows.append([
            label, f"{of.mean_wait / 60:.1f}", f"{of.makespan / 86_400:.2f}", f"{of.mean_delay:.1f}",
            f"{of.delayed:.1%}", f"{of.cycles:.2f}", f"{of.decision_ms:.3f} ± {of.decision_deviation_ms:.3f}",
            f"{of.decision_ms_a_job:.3f}",
        ])  # fmt: skip
    head = ["", "mean wait, min", "makespan, d", "mean boot delay, s", "jobs delayed", "cycles a node a day",
            "decision, ms (± deviation)", "decisions a job, ms"]  # fmt: skip
    return table(head, rows)


def _shifts(found: WorkloadFigures) -> list[str]:
    rows = []
    for (family, scenario), shift in found.shifts.items():
        more = shift.profit - shift.profit_before
        rows.append([
            f"{family}, {scenario.name}", f"{more:+,.0f}", f"{100 * more / abs(shift.profit_before):+.2f} %",
            f"{shift.wait_before / 60:.1f}", f"{(shift.wait - shift.wait_before) / 60:+.1f}",
        ])  # fmt: skip
    return table(["", "gain, EUR", "gain", "mean wait before, min", "more wait, min a job"], rows)
