"""The kit of the thesis's section 6.8: plans what is missing, and writes page, figures and plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from scripts.lab.kit.cache import in_processes
from scripts.lab.kit.options import parser_of, prepared
from scripts.lab.kit.page import publish, write_csv
from scripts.lab.kit.thesis import TRACE
from scripts.lab.thesis_6.cases import HIGH, INCOMES, LOW, SCENARIOS, SLICE, Scenario, Workload, load, prepare
from scripts.lab.thesis_6.class_tree import DayRecords, learn_classes
from scripts.lab.thesis_6.figures import Found, records, slope_pue
from scripts.lab.thesis_6.page import page
from scripts.lab.thesis_6.plots import draw
from scripts.lab.thesis_6.runs import Part, RolledPlan, parts, planned, rules
from scripts.lab.thesis_6.searches import DELAY, FULL, QUICK, SEARCHES

_HEAD: Final = ("workload", "scenario", "income", "schedule", "day", "figure", "value")
_Row = tuple[str, str, str, str, str, str, float]


def all_plans(
    out: Path, workloads: tuple[Workload, ...], processes: int | None, *, full: bool
) -> dict[Workload, dict[str, dict[Scenario, RolledPlan]]]:
    """Every plan, made where it is missing; what is made is kept when this is interrupted."""
    plans: dict[Workload, dict[str, dict[Scenario, RolledPlan]]] = {
        workload: {search: {} for search in SEARCHES} for workload in workloads
    }
    asked = {part: (out, part) for part in parts(workloads, full=full)}
    for part, rolled in in_processes(planned, asked, Part.progress_text, processes):
        plans[part.workload][part.search][part.scenario] = rolled
    return plans


def rows(found: Found) -> Iterator[_Row]:
    """All figures of a workload, one a row."""
    name = found.case.workload.name
    for scenario in SCENARIOS:
        yield name, scenario.name, "", "slope change", "", "pue", slope_pue(scenario, found.case)[1]
        for schedule in (*found.rules, *SEARCHES):
            for price in INCOMES:
                cell = found.cell(schedule, scenario, price)
                best = found.cell(found.best_rule(scenario, price), scenario, price)
                for figure, value in (
                    ("profit until the last submission, EUR", cell.profit),
                    ("gain over the best rule, %", 100 * (cell.profit / best.profit - 1)),
                    ("profit until the last end, EUR", cell.whole_profit),
                    ("gain over it by then, %", 100 * (cell.whole_profit / best.whole_profit - 1)),
                    ("pue", cell.pue),
                ):
                    yield name, scenario.name, price, schedule, "", figure, value
            yield name, scenario.name, "", schedule, "", "makespan, days", found.makespan_d(schedule, scenario)
            yield name, scenario.name, "", schedule, "", "use until the last submission", found.use(schedule, scenario)
            days = found.days(schedule, scenario)
            for day, values in enumerate(zip(days.pue, days.use, days.above_slope, strict=True), 1):
                for figure, value in zip(("pue", "use", "pue above slope change"), values, strict=True):
                    yield name, scenario.name, "", schedule, str(day), figure, float(value)


def write_rows(path: Path, all_found: Sequence[Found]) -> None:
    """Write all figures as one table; a figure that a day has not is left out."""
    told = (row for found in all_found for row in rows(found) if row[-1] == row[-1])
    write_csv(path, _HEAD, ([*row[:-1], f"{row[-1]:.7g}"] for row in told))


def main() -> int:
    """Print the page, and write it beside the plans."""
    parser = parser_of("thesis_6", __doc__, f"traces/{TRACE}", data=True, processes=None)
    parser.add_argument(
        "--full", action="store_true",
        help="hours instead of minutes: more of each search, the solver's in every scenario, and the first days of the "
        "whole slice",
    )  # fmt: skip
    options = prepared(parser, parser.parse_args())
    workloads = (LOW, HIGH, SLICE) if options.full else (LOW, HIGH)
    out = options.out
    for workload in workloads:
        prepare(options.data, out, workload)
    plans = all_plans(out, workloads, options.processes, full=options.full)
    all_found = []
    for workload in workloads:
        case = load(out, workload)
        all_found.append(Found(case, rules(case), plans[workload]))
    write_rows(out / "thesis_6.csv", all_found)
    days: DayRecords = records(all_found, DELAY)
    tree = learn_classes(days)
    draw(out, all_found, tree, days)
    text = page(all_found, FULL if options.full else QUICK, tree, days)
    publish(out / "thesis_6.md", text)
    return 0
