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
    path: Path, *, title: str, lead: str, first: Sequence[str], notes: Sequence[str],
    headlines: Sequence[tuple[str, str]], day: PlannedDay, searches: tuple[Sequence[tuple[str, float]], float | None],
    rules: Sequence[tuple[str, Sequence[str]]],
    trees: Sequence[tuple[str, Branch]], figures: Sequence[tuple[str, str]],
) -> None:  # fmt: skip
    """Write the page. `first` says in lines what to do, what that saves and what could go wrong.

    `headlines` and `figures` are (name, value); `searches` are profits by name, and the bound; `rules` lists of lines,
    each with a heading. Raises OSError when the page can't be written.
    """
    with chart.style():
        charts = [
            plan_charts.load(day), plan_charts.nodes(day), plan_charts.power(day), plan_charts.conditions(day),
            plan_charts.money(day), plan_charts.searches(*searches, day.currency),
        ]  # fmt: skip
        drawn = [tree(branch, name) for name, branch in trees]
    write_page(
        path, "plan.html.j2", title=title, lead=lead, first=list(first), notes=list(notes), headlines=list(headlines),
        charts=charts, trees=drawn,
        rules=[(name, list(lines)) for name, lines in rules], figures=list(figures),
    )  # fmt: skip
