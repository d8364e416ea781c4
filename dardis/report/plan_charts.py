"""Charts of planned days and decision trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dardis.model.arrays import Floats, Ints
from dardis.model.branch import Branch
from dardis.model.step_function import StepFunction
from dardis.report import chart
from dardis.report.chart import Chart, TimeAxis
from dardis.report.over_time import draw_steps, envelope

GREEN: Final = chart.CYCLE[2]
ORANGE: Final = chart.CYCLE[4]
LEGEND: Final = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 4, "borderaxespad": 0.2}


@dataclass(frozen=True)
class PlannedDay:
    """Segments `[edges[i], edges[i+1])`, and step functions.

    Per segment: `columns` of profile.csv, and `money` (income; costs positive). `capacity`: cores.
    """

    axis: TimeAxis
    edges: Ints
    columns: Mapping[str, Floats]
    money: Mapping[str, Floats]
    used: StepFunction
    powered: StepFunction
    """Cores of nodes on."""
    nodes_on: StepFunction
    nodes_busy: StepFunction
    capacity: int
    nodes: int
    currency: str
    expected: tuple[Floats, Floats] | None = None
    """10th and 90th percentile of cores for known and forecast jobs, if started at once."""


def _steps(axes: Axes, day: PlannedDay, values: Floats, *, colour: str, label: str, dashed: bool = False) -> None:
    x = day.axis.place(day.edges)
    style = (0, (5, 2)) if dashed else "-"
    axes.step(x, np.append(values, values[-1]), where="post", color=colour, linewidth=1.4, linestyle=style, label=label)


def load(day: PlannedDay) -> Chart:
    """Planned, target and powered cores."""
    drawing, (axes,) = chart.figure(chart.FULL, 3.0)
    if day.expected is not None:
        x = day.axis.place(day.edges)
        low, high = (np.append(np.minimum(end, day.capacity), min(end[-1], day.capacity)) for end in day.expected)
        axes.fill_between(
            x, low, high, step="post", color=chart.GREY, alpha=0.3, linewidth=0, label="expected jobs, 10–90 %"
        )
    draw_steps(axes, day.axis, day.used, 1.0, colour=chart.BLUE, label="in use by the plan", filled=True)
    draw_steps(axes, day.axis, day.powered, 1.0, colour=GREEN, label="of nodes on", filled=False)
    _steps(axes, day, day.columns["cores_target"], colour=chart.VERMILLION, label="target", dashed=True)
    axes.axhline(day.capacity, color=chart.GREY, linestyle=(0, (4, 3)), linewidth=1, label="capacity")
    axes.set_ylim(0, 1.04 * day.capacity)
    axes.set_ylabel("cores")
    axes.yaxis.set_major_formatter(chart.amounts())
    axes.legend(**LEGEND)
    day.axis.dress(axes)
    return chart.finish(drawing, "Load against the target", "Cores of the planned jobs, and the target.")


def power(day: PlannedDay) -> Chart:
    """IT and cooling power, with cap."""
    drawing, (axes,) = chart.figure(chart.FULL, 3.0)
    it, cooling = day.columns["it_w"] / 1000, day.columns["cooling_w"] / 1000
    x = day.axis.place(day.edges)
    axes.fill_between(x, np.append(it, it[-1]), step="post", color=chart.BLUE, alpha=0.45, linewidth=0, label="IT")
    both = it + cooling
    axes.fill_between(
        x, np.append(it, it[-1]), np.append(both, both[-1]), step="post", color=ORANGE, alpha=0.6, linewidth=0,
        label="cooling",
    )  # fmt: skip
    cap = day.columns["power_cap_w"] / 1000
    _steps(axes, day, cap, colour=chart.VERMILLION, label="cap (IT)", dashed=True)
    axes.set_ylim(0, 1.06 * max(both.max(), cap.max(), 1e-9))
    axes.set_ylabel("kW")
    axes.legend(**LEGEND)
    day.axis.dress(axes)
    return chart.finish(drawing, "Power", "Mean power expected in each segment, and the cap on IT power.")


def conditions(day: PlannedDay) -> Chart:
    """Temperature, price, PUE and CO2."""
    rows = [
        ("temp_c", "outdoors, °C"), ("price_eur_per_kwh", f"price, {day.currency}/kWh"), ("pue", "PUE"),
        ("gco2_per_kwh", "CO2, g/kWh"),
    ]  # fmt: skip
    shown = [(name, label) for name, label in rows if name != "gco2_per_kwh" or day.columns[name].any()]
    drawing, panels = chart.figure(chart.FULL, 0.6 + 1.35 * len(shown), len(shown))
    for axes, (name, label) in zip(panels, shown, strict=True):
        _steps(axes, day, day.columns[name], colour=chart.BLUE, label=label)
        if name == "price_eur_per_kwh" and day.columns[name].min() < 0:
            axes.axhline(0, color=chart.GREY, linewidth=0.8)
        axes.set_ylabel(label)
        axes.yaxis.set_major_locator(MaxNLocator(4))
    day.axis.dress(panels[-1])
    return chart.finish(drawing, "Weather and price", "Assumptions of the plan.")


def nodes(day: PlannedDay) -> Chart:
    """Nodes on, and nodes with jobs."""
    drawing, (axes,) = chart.figure(chart.FULL, 2.6)
    draw_steps(axes, day.axis, day.nodes_busy, 1.0, colour=chart.BLUE, label="with jobs", filled=True)
    draw_steps(axes, day.axis, day.nodes_on, 1.0, colour=chart.VERMILLION, label="on", filled=False)
    axes.axhline(day.nodes, color=chart.GREY, linestyle=(0, (4, 3)), linewidth=1, label="all")
    least = min(int(envelope(nodes, day.edges)[0].min()) for nodes in (day.nodes_busy, day.nodes_on))
    low = max(0.0, least - 0.25 * (day.nodes - least) - 1) if least > day.nodes / 2 else 0.0
    axes.set_ylim(low, day.nodes + 0.04 * (day.nodes - low))
    axes.set_ylabel("nodes (axis cut)" if low else "nodes")
    axes.legend(**LEGEND)
    day.axis.dress(axes)
    return chart.finish(drawing, "Nodes on", "Nodes switched on over the day, as planned.")


def money(day: PlannedDay) -> Chart:
    """Income, costs, profit."""
    drawing, (axes,) = chart.figure(chart.FULL, 3.0)
    x = day.axis.place(day.edges)
    hours = np.diff(day.edges) / 3600
    income = day.money["income"] / hours
    axes.bar(x[:-1], income, width=np.diff(x), align="edge", color=chart.BLUE, alpha=0.5, label="income")
    below = np.zeros(len(hours))
    looks = {
        "energy": ("IT energy", chart.VERMILLION, ""),
        "cooling": ("cooling", ORANGE, "//"),
        "co2": ("CO2", chart.GREY, ""),
    }
    for name, (label, colour, hatch) in looks.items():
        cost = day.money[name] / hours
        if not cost.any():
            continue
        axes.bar(
            x[:-1], -cost, bottom=below, width=np.diff(x), align="edge", color=colour, alpha=0.7, hatch=hatch,
            edgecolor="white", linewidth=0.2, label=label,
        )  # fmt: skip
        below = below - cost
    _steps(axes, day, income + below, colour=chart.INK, label="profit")
    axes.axhline(0, color=chart.GREY, linewidth=0.8)
    axes.set_ylabel(f"{day.currency} an hour")
    axes.legend(**(LEGEND | {"ncols": 5}))
    day.axis.dress(axes)
    return chart.finish(drawing, "Money by hour", "Income of the cores in use, and costs of energy, cooling and CO2.")


def searches(profits: Sequence[tuple[str, float]], bound: float | None, currency: str) -> Chart:
    """Profit by search, with bound."""
    drawing, (axes,) = chart.figure(chart.FULL, 0.8 + 0.32 * len(profits))
    names = [name for name, _ in profits]
    values = np.array([value for _, value in profits])
    low = values.min()
    high = max(values.max(), bound if bound is not None else -np.inf)
    span = max(high - low, 1e-6 * abs(high), 1e-9)
    left = low - 0.3 * span
    axes.hlines(names, left, values, color=chart.BLUE, linewidth=1.2)
    axes.plot(values, names, "o", color=chart.BLUE)
    for place, value in enumerate(values):
        axes.annotate(
            f"{value:,.2f}", (value, place), xytext=(-3, 3), textcoords="offset points", va="bottom", ha="right"
        )
    if bound is not None:
        axes.axvline(bound, color=chart.VERMILLION, linestyle=(0, (4, 3)), linewidth=1.2, label="proven bound")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1))
    axes.set_xlim(left, high + 0.05 * span)
    axes.set_ylim(len(names) - 0.5, -0.7)
    cut = "" if left <= 0 <= high else " (axis cut)"
    axes.set_xlabel(f"profit of the day, {currency}{cut}")
    axes.grid(axis="y", visible=False)
    return chart.finish(drawing, "Searches", "All for the same jobs with all nodes on; the plan follows ours.")


def tree(branch: Branch, title: str) -> Chart:
    """Decision tree; yes is left."""
    drawing, (axes,) = chart.figure(chart.FULL, 0.7 + 0.75 * (branch.depth + 1))
    _draw(axes, branch, 0.0, 0)
    axes.set_xlim(0, branch.leaves)
    axes.set_ylim(-branch.depth - 0.35, 0.35)
    axes.axis("off")
    return chart.finish(drawing, title, "Yes is left. Learned from past days for this day.")


def _draw(axes: Axes, branch: Branch, left: float, level: int) -> float:
    if branch.yes is None or branch.no is None:
        place = left + 0.5
    else:
        below = _draw(axes, branch.yes, left, level + 1), _draw(axes, branch.no, left + branch.yes.leaves, level + 1)
        place = sum(below) / 2
        for end, answer in zip(below, ("yes", "no"), strict=True):
            axes.plot([place, end], [-level, -level - 1], color=chart.GREY, linewidth=1, zorder=1)
            axes.text((place + end) / 2, -level - 0.5, answer, ha="center", va="center", color=chart.INK, fontsize=7.5,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
    leaf = branch.yes is None
    axes.text(
        place, -level, branch.said, ha="center", va="center", fontsize=8, zorder=2, wrap=True,
        bbox={"boxstyle": "round,pad=0.35", "facecolor": chart.PALE if leaf else chart.PAGE,
              "edgecolor": chart.BLUE if leaf else chart.GREY, "linewidth": 0.8},
    )  # fmt: skip
    return place
