"""Draws `report.html` of a plan: one file that opens without a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dardis.model.branch import Branch
from dardis.report import chart, plan_charts
from dardis.report.chart_files import Form, write_charts
from dardis.report.page import write_page
from dardis.report.plan_charts import PlannedDay
from dardis.report.tree_chart import tree


@dataclass(frozen=True)
class PlanPage:
    """What the page shows. `first` says in lines what to do, what that saves and what could go wrong.

    `headlines` and `figures` are (name, value); `profits` those of the searches by name, with their `bound`; `rules`
    lists of lines, each with a heading.
    """

    title: str
    lead: str
    first: Sequence[str]
    notes: Sequence[str]
    headlines: Sequence[tuple[str, str]]
    day: PlannedDay
    profits: Sequence[tuple[str, float]]
    bound: float | None
    rules: Sequence[tuple[str, Sequence[str]]]
    trees: Sequence[tuple[str, Branch]]
    figures: Sequence[tuple[str, str]]


def draw_plan(path: Path, page: PlanPage, *, form: Form | None = None) -> None:
    """Write the page; with `form` its charts as files, too. Raises OSError when they can't be written."""
    day = page.day
    with chart.style():
        charts = [
            plan_charts.load(day), plan_charts.nodes(day), plan_charts.power(day), plan_charts.conditions(day),
            plan_charts.money(day), plan_charts.searches(page.profits, page.bound, day.currency),
        ]  # fmt: skip
        trees = [tree(branch, name) for name, branch in page.trees]
    write_page(
        path, "plan.html.j2", title=page.title, lead=page.lead, first=page.first, notes=list(dict.fromkeys(page.notes)),
        headlines=page.headlines, charts=charts, trees=trees, rules=page.rules, figures=page.figures,
    )  # fmt: skip
    if form is not None:
        write_charts(path.parent, {"": charts, "tree": trees}, form)
