"""Draws the review of a planned day beside an unplanned run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dardis.model.arrays import Floats, Ints
from dardis.model.step_function import StepFunction
from dardis.report import chart
from dardis.report.chart import Chart, TimeAxis
from dardis.report.over_time import draw_steps
from dardis.report.plan_charts import LEGEND
from dardis.report.run_page import write_page
from dardis.report.words import NOTHING, label_and_value, share


@dataclass(frozen=True)
class DaySide:
    """Run of the day: `cost` per segment, and per 1,000 core-hours (or None).

    `waits` (s) of the day's jobs that ran.
    """

    name: str
    used: StepFunction
    nodes_on: StepFunction
    cost: Floats
    cost_per_1000_core_h: float | None
    waits: Ints
    figures: Mapping[str, float]


@dataclass(frozen=True)
class ReviewPicture:
    """Chart data; segments `[edges[i], edges[i+1])`; `cap`: core limit of `ours`."""

    axis: TimeAxis
    edges: Ints
    ours: DaySide
    plain: DaySide
    cap: StepFunction | None
    cores: int
    nodes: int
    price: Floats
    temp_c: Floats
    currency: str


def draw_review(path: Path, *, title: str, lead: str, first: Sequence[str], picture: ReviewPicture) -> None:
    """Write the page; `first`: leading lines. Raises OSError."""
    ours, plain, currency = picture.ours, picture.plain, picture.currency
    with chart.style():
        charts = [use(picture), nodes(picture), money(picture), waits(picture), surroundings(picture)]
    saved = float(plain.cost.sum() - ours.cost.sum())
    later = ours.figures["mean_wait_s"] - plain.figures["mean_wait_s"]
    headlines = [
        ("saved on energy and cooling", f"{saved:,.2f} {currency}"),
        ("of the costs", share(saved / before) if (before := float(plain.cost.sum())) > 0 else NOTHING),
        (f"for 1,000 core-hours; without {_money(plain, currency)}", _money(ours, currency)),
        ("nodes on, mean", f"{ours.figures['mean_nodes_on']:,.1f} of {picture.nodes}"),
        ("mean wait, relative to no plan", f"{later / 60:+,.1f} min"),
    ]
    rows = [
        (
            label_and_value(key, value, currency)[0],
            label_and_value(key, value, currency)[1],
            label_and_value(key, plain.figures[key], currency)[1],
        )
        for key, value in ours.figures.items()
    ]
    rows.append(("Energy and cooling for 1,000 core-hours", _money(ours, currency), _money(plain, currency)))
    write_page(
        path, "review.html.j2", title=title, lead=lead, first=list(first), headlines=headlines, charts=charts,
        columns=["", ours.name, plain.name], rows=rows,
    )  # fmt: skip


def _money(side: DaySide, currency: str) -> str:
    return NOTHING if side.cost_per_1000_core_h is None else f"{side.cost_per_1000_core_h:,.2f} {currency}"


def use(picture: ReviewPicture) -> Chart:
    """Cores in use, and cap."""
    drawing, (axes,) = chart.figure(chart.FULL, 2.8)
    ours, plain = picture.ours, picture.plain
    draw_steps(axes, picture.axis, ours.used, 1.0, colour=chart.BLUE, label=ours.name, filled=True)
    draw_steps(axes, picture.axis, plain.used, 1.0, colour=chart.GREY, label=plain.name, filled=False)
    if picture.cap is not None:
        draw_steps(axes, picture.axis, picture.cap, 1.0, colour=chart.VERMILLION, label="cap of the plan", filled=False)
    _dress_axes(axes, picture, picture.cores, "cores")
    return chart.finish(drawing, "Cores in use", "Cores in use, and the cap of the plan.")


def nodes(picture: ReviewPicture) -> Chart:
    """Nodes on."""
    drawing, (axes,) = chart.figure(chart.FULL, 2.2)
    ours, plain = picture.ours, picture.plain
    draw_steps(axes, picture.axis, ours.nodes_on, 1.0, colour=chart.BLUE, label=ours.name, filled=True)
    draw_steps(axes, picture.axis, plain.nodes_on, 1.0, colour=chart.GREY, label=plain.name, filled=False)
    _dress_axes(axes, picture, picture.nodes, "nodes")
    return chart.finish(drawing, "Nodes on", "Nodes that are neither shutting down, nor off, nor booting.")


def _dress_axes(axes: Axes, picture: ReviewPicture, most: int, name: str) -> None:
    axes.set_ylim(0, 1.04 * most)
    axes.set_ylabel(name)
    axes.legend(**LEGEND)
    picture.axis.dress(axes)


def money(picture: ReviewPicture) -> Chart:
    """Cost of energy and cooling."""
    drawing, (axes,) = chart.figure(chart.FULL, 2.2)
    hours, x = np.diff(picture.edges) / 3600, picture.axis.place(picture.edges)
    for side, colour in ((picture.plain, chart.GREY), (picture.ours, chart.BLUE)):
        cost = side.cost / hours
        axes.fill_between(x, np.append(cost, cost[-1]), step="post", color=colour, alpha=0.25, linewidth=0)
        axes.step(x, np.append(cost, cost[-1]), where="post", color=colour, linewidth=1.2, label=side.name)
    axes.set_ylabel(f"{picture.currency} an hour")
    axes.legend(**LEGEND)
    picture.axis.dress(axes)
    return chart.finish(drawing, "Energy and cooling", "Costs during the day.")


def waits(picture: ReviewPicture) -> Chart:
    """Distribution of waits."""
    drawing, (axes,) = chart.figure(chart.HALF, 2.6)
    for side, colour in ((picture.plain, chart.GREY), (picture.ours, chart.BLUE)):
        ordered = np.sort(side.waits) / 3600
        axes.step(ordered, 100 * np.arange(1, len(ordered) + 1) / max(len(ordered), 1), color=colour, label=side.name)
    axes.set_xlim(left=0)
    axes.set_ylim(0, 102)
    axes.set_xlabel("waited at most, h")
    axes.set_ylabel("% of those that ran")
    axes.legend(**LEGEND)
    return chart.finish(drawing, "Waits", "Waits of the jobs submitted in the day.")


def surroundings(picture: ReviewPicture) -> Chart:
    """Temperature and price."""
    drawing, panels = chart.figure(chart.HALF, 2.6, 2)
    x = picture.axis.place(picture.edges)
    rows = ((picture.price, f"{picture.currency}/kWh"), (picture.temp_c, "outdoors, °C"))
    for axes, (values, label) in zip(panels, rows, strict=True):
        axes.step(x, np.append(values, values[-1]), where="post", color=chart.BLUE, linewidth=1.1)
        axes.set_ylabel(label)
        axes.yaxis.set_major_locator(MaxNLocator(4))
    picture.axis.dress(panels[-1])
    return chart.finish(drawing, "Price and weather", "Assumptions of the plan.")
