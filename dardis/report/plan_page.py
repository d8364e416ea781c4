"""Draws `report.html` of a plan: one file that opens without a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dardis.model.branch import Branch
from dardis.report import chart, plan_charts
from dardis.report.page import write_page
from dardis.report.plan_charts import PlannedDay
from dardis.report.tree_chart import tree


def draw_plan(
    path: Path, *, title: str, lead: str, notes: Sequence[str], headlines: Sequence[tuple[str, str]], day: PlannedDay,
    profits: Sequence[tuple[str, float]], bound: float | None, rules: Sequence[tuple[str, Sequence[str]]],
    trees: Sequence[tuple[str, Branch]], figures: Sequence[tuple[str, str]],
) -> None:  # fmt: skip
    """Write the page. `headlines` and `figures` are (name, value); `rules` lists of lines, each with a heading.

    Raises OSError when the page can't be written.
    """
    with chart.style():
        charts = [
            plan_charts.load(day), plan_charts.nodes(day), plan_charts.power(day), plan_charts.conditions(day),
            plan_charts.money(day), plan_charts.searches(profits, bound, day.currency),
            *(tree(branch, name) for name, branch in trees),
        ]  # fmt: skip
    write_page(
        path, "plan.html.j2", title=title, lead=lead, notes=list(notes), headlines=list(headlines), charts=charts,
        rules=[(name, list(lines)) for name, lines in rules], figures=list(figures),
    )  # fmt: skip
