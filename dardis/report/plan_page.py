"""Draws report.html of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import model_validator

from dardis.config.platform_record import Record
from dardis.config.toml_file import read_json
from dardis.model.branch import Branch
from dardis.report import chart, plan_charts
from dardis.report.chart import ChartFormat, write_charts
from dardis.report.pictures import Amount, Amounts, Axis, Some, Steps, Time, ascending, numbers, picture_of
from dardis.report.plan_charts import PlannedDay, tree
from dardis.report.run_page import write_page


@dataclass(frozen=True)
class PlanPage:
    """Page data; `first`: actions, savings and risks.

    `headlines`, `figures`: (name, value); `rules`: heading, lines.
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


def draw_plan(path: Path, page: PlanPage, *, form: ChartFormat | None = None) -> None:
    """Write the page; with `form`, also charts. Raises OSError."""
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


_COLUMNS = frozenset(
    {"cores_target", "power_cap_w", "it_w", "cooling_w", "pue", "price_eur_per_kwh", "gco2_per_kwh", "temp_c"}
)
_MONEY = frozenset({"income", "energy", "cooling", "co2"})


class _Day(Record):
    axis: Axis
    edges: list[Time]
    columns: dict[str, Amounts]
    money: dict[str, list[Amount]]
    used: Steps
    powered: Steps
    nodes_on: Steps
    nodes_busy: Steps
    capacity: Some
    nodes: Some
    currency: str
    expected: tuple[list[Amount], list[Amount]] | None

    @model_validator(mode="after")
    def _check_lengths(self) -> _Day:
        each = [*self.columns.values(), *self.money.values(), *(self.expected or ())]
        if len(self.edges) < 2 or not ascending(self.edges) or {len(one) for one in each} != {len(self.edges) - 1}:
            raise ValueError("edges that don't ascend, or not a value for each segment between them")
        if not (self.columns.keys() >= _COLUMNS and self.money.keys() >= _MONEY):
            raise ValueError("a column is missing")
        if any(None in values for name, values in self.columns.items() if name != "pue"):
            raise ValueError("a column without a number in each segment")
        return self

    @property
    def day(self) -> PlannedDay:
        return PlannedDay(
            axis=self.axis.time_axis,
            edges=np.array(self.edges, np.int64),
            columns={name: numbers(values) for name, values in self.columns.items()},
            money={name: np.array(values) for name, values in self.money.items()},
            used=self.used.function,
            powered=self.powered.function,
            nodes_on=self.nodes_on.function,
            nodes_busy=self.nodes_busy.function,
            capacity=self.capacity,
            nodes=self.nodes,
            currency=self.currency,
            expected=None if self.expected is None else (np.array(self.expected[0]), np.array(self.expected[1])),
        )


class _Branch(Record):
    said: str
    yes: _Branch | None
    no: _Branch | None

    @property
    def branch(self) -> Branch:
        yes, no = (None if one is None else one.branch for one in (self.yes, self.no))
        return Branch(self.said, yes, no)


class _PlanPageRecord(Record):
    title: str
    lead: str
    first: list[str]
    notes: list[str]
    headlines: list[tuple[str, str]]
    day: _Day
    profits: list[tuple[str, Amount]]
    bound: Amount | None
    rules: list[tuple[str, list[str]]]
    trees: list[tuple[str, _Branch]]
    figures: list[tuple[str, str]]


def read_plan_picture(folder: Path) -> PlanPage:
    """Read a plan's page. Raises InputError."""
    page = read_json(picture_of(folder), _PlanPageRecord)
    trees = [(name, tree.branch) for name, tree in page.trees]
    return PlanPage(**(dict(page) | {"day": page.day.day, "trees": trees}))


def redraw_plan(folder: Path, *, form: ChartFormat | None = None) -> Path:
    """Redraw a plan's report; with `form`, also charts. Raises InputError and OSError."""
    path = folder / "report.html"
    draw_plan(path, read_plan_picture(folder), form=form)
    return path
