"""Draws `report.html` of several planned days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from dardis.model.arrays import Floats, Ints
from dardis.model.step_function import StepFunction
from dardis.report import chart
from dardis.report.chart import Chart, ChartFormat, TimeAxis, write_charts
from dardis.report.over_time import draw_steps
from dardis.report.plan_charts import LEGEND
from dardis.report.run_page import write_page
from dardis.report.words import label_and_value

Value = str | int | float | None


@dataclass(frozen=True)
class LoopPicture:
    """Chart data; `profit` by schedule and day, `delays` in s, `gain` by cause."""

    axis: TimeAxis
    nodes_on: StepFunction
    nodes: int
    spares: StepFunction | None
    cores: int
    used: StepFunction
    aimed_at: StepFunction | None
    """Target cores."""
    dates: Sequence[str]
    profit: Mapping[str, Floats]
    delays: Ints
    gain: Mapping[str, float]
    currency: str
    edges: Ints
    temp_c: Floats
    price: Floats
    beside: Sequence[tuple[str, float, float]]
    """Name, mean boot wait (s), gain; ours and clairvoyant last."""
    promised: Sequence[tuple[float, float, float, float] | None] = ()
    """Per day: gain by switching, planned gain, planned range; or None."""


@dataclass(frozen=True)
class LoopPage:
    """Page data; `summary` as in summary.json; `days`, `beside`: columns and rows."""

    title: str
    lead: str
    first: Sequence[str]
    notes: Sequence[str]
    picture: LoopPicture
    summary: Mapping[str, Value]
    days: tuple[Sequence[str], Sequence[Mapping[str, Value]]]
    beside: tuple[Sequence[str], Sequence[Mapping[str, Value]]]
    rules: Sequence[tuple[str, Sequence[str]]]


def draw_loop(path: Path, page: LoopPage, *, form: ChartFormat | None = None) -> None:
    """Write the page; with `form`, also charts. Raises OSError."""
    picture, summary = page.picture, page.summary
    with chart.style():
        capped = [] if picture.aimed_at is None else [use(picture, picture.aimed_at)]
        frontiers = [frontier(picture)] if picture.beside else []
        promised = [promises(picture)] if picture.promised else []
        charts = [profits(picture), *promised, *frontiers, nodes(picture), *capped, gains(picture), delays(picture)]
        charts.append(surroundings(picture))
    share = summary["share_of_bound"]
    headlines = [
        ("profit", f"{_short(summary['profit_eur'])} {picture.currency}"),
        ("more than with all nodes on", f"{_short(summary['gain_eur'])} {picture.currency}"),
        ("of the clairvoyant gain", "–" if share is None else f"{100 * float(share):.1f} %"),
        ("mean wait for boots", f"{_short(summary['mean_boot_delay_s'])} s"),
        ("jobs delayed", "–" if summary["delayed_share"] is None else f"{100 * float(summary['delayed_share']):.1f} %"),
        ("cycles per node and day", _short(summary["cycles_per_node_day"])),
    ]
    tables = [
        (name, [column.replace("_", " ") for column in heads], [[_short(row[key]) for key in heads] for row in told])
        for name, (heads, told) in (("Comparison with other rules", page.beside), ("By day", page.days))
    ]
    write_page(
        path, "loop.html.j2", title=page.title, lead=page.lead, first=page.first,
        notes=list(dict.fromkeys(page.notes)), headlines=headlines, charts=charts, tables=tables, rules=page.rules,
        figures=[
            label_and_value(name, value, picture.currency)
            for name, value in summary.items() if name not in {"notes", "currency"}
        ],
    )  # fmt: skip
    if form is not None:
        write_charts(path.parent, {"": charts}, form)


def profits(picture: LoopPicture) -> Chart:
    """Daily profit above all nodes on."""
    drawing, (axes,) = chart.figure(chart.FULL, 2.8)
    base = picture.profit["all nodes on"]
    days = np.arange(len(picture.dates))
    for place, (name, colour, hatch) in enumerate((("clairvoyant", chart.GREY, ""), ("switched", chart.BLUE, "//"))):
        axes.bar(
            days + 0.4 * place - 0.2, picture.profit[name] - base, width=0.38, color=colour, hatch=hatch, alpha=0.75,
            edgecolor="white", linewidth=0.3, label=name,
        )  # fmt: skip
    axes.axhline(0, color=chart.GREY, linewidth=0.8)
    _dress_days(axes, picture)
    return chart.finish(
        drawing, "More profit than with all nodes on",
        "By day; clairvoyant: nodes are off in all idle gaps beyond break-even, without delays.",
    )  # fmt: skip


def promises(picture: LoopPicture) -> Chart:
    """Planned and achieved gain by switching."""
    drawing, (axes,) = chart.figure(chart.FULL, 2.8)
    told = [(day, *one) for day, one in enumerate(picture.promised) if one is not None]
    days, brought, mean, low, high = np.array(told).T
    axes.vlines(days, low, high, color=chart.GREY, linewidth=5, alpha=0.45, label="range for eight of ten days")
    axes.scatter(days, mean, color=chart.GREY, marker="_", s=90, label="expected gain")
    axes.scatter(days, brought, color=chart.VERMILLION, marker="o", s=22, zorder=3, label="achieved gain")
    axes.axhline(0, color=chart.GREY, linewidth=0.8)
    axes.set_xlim(-0.6, len(picture.dates) - 0.4)
    _dress_days(axes, picture)
    return chart.finish(
        drawing, "Expected and achieved gain",
        "Gain by switching as expected in each plan, and as achieved with the real jobs.",
    )  # fmt: skip


def _dress_days(axes: Axes, picture: LoopPicture) -> None:
    every = max(len(picture.dates) // 10, 1)
    axes.set_xticks(range(0, len(picture.dates), every), [date[5:] for date in picture.dates[::every]])
    axes.set_xlabel("UTC day (month-day)")
    axes.set_ylabel(f"{picture.currency} a day")
    axes.legend(**LEGEND)


def frontier(picture: LoopPicture) -> Chart:
    """Gain over boot wait, by rule."""
    drawing, (axes,) = chart.figure(chart.FULL, 3.0)
    *rivals, (ours, ours_s, ours_gain), (_, _, most) = picture.beside
    names, waits, gained = zip(*rivals, strict=True)
    axes.scatter(waits, gained, color=chart.GREY, marker="s", s=26, label="fixed idle time, idle reserve")
    axes.scatter([ours_s], [ours_gain], color=chart.BLUE, marker="o", s=44, label=f"ours ({ours})", zorder=3)
    axes.margins(y=0.15)
    axes.axhline(most, color=chart.VERMILLION, linestyle=(0, (4, 3)), linewidth=1, label="clairvoyant, no delays")
    for name, wait, gain in zip(names, waits, gained, strict=True):
        told = name.partition(":")[2]
        axes.annotate(told, (wait, gain), xytext=(4, -10), textcoords="offset points", fontsize=7, color=chart.GREY)
    axes.set_xlim(0, 1.1 * max([*waits, ours_s, 1.0]))
    axes.set_xlabel("mean wait for boots, s")
    axes.set_ylabel(f"gain, {picture.currency}")
    axes.legend(**LEGEND)
    return chart.finish(
        drawing, "Gain against waits for boots",
        "Up and left is better. Squares: nodes are off after a fixed idle time in s, except an idle reserve.",
    )  # fmt: skip


def gains(picture: LoopPicture) -> Chart:
    """Gain by cause."""
    drawing, (axes,) = chart.figure(chart.HALF, 2.4)
    names = [name.replace("_", " ") for name in picture.gain]
    values = list(picture.gain.values())
    axes.barh(names, values, color=chart.BLUE, alpha=0.75)
    axes.axvline(0, color=chart.GREY, linewidth=0.8)
    for place, value in enumerate(values):
        axes.annotate(f"{value:,.2f}", (max(value, 0), place), xytext=(3, 0), textcoords="offset points", va="center")
    axes.invert_yaxis()
    axes.margins(x=0.18)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(picture.currency)
    return chart.finish(drawing, "Where the gain comes from", "Parts add up to the difference to all nodes on.")


def nodes(picture: LoopPicture) -> Chart:
    """Nodes on over time."""
    drawing, (axes,) = chart.figure(chart.FULL, 2.4)
    draw_steps(axes, picture.axis, picture.nodes_on, 1.0, colour=chart.BLUE, label="on", filled=True)
    if picture.spares is not None:
        draw_steps(axes, picture.axis, picture.spares, 1.0, colour=chart.VERMILLION, label="idle reserve", filled=False)
    axes.axhline(picture.nodes, color=chart.GREY, linestyle=(0, (4, 3)), linewidth=1, label="all")
    axes.set_ylim(0, 1.04 * picture.nodes)
    axes.set_ylabel("nodes")
    axes.legend(**LEGEND)
    picture.axis.dress(axes)
    return chart.finish(drawing, "Nodes on", "Nodes that were not down, and the planned idle reserve.")


def use(picture: LoopPicture, aimed_at: StepFunction) -> Chart:
    """Cores in use, and target."""
    drawing, (axes,) = chart.figure(chart.FULL, 2.4)
    draw_steps(axes, picture.axis, picture.used, 1.0, colour=chart.BLUE, label="in use", filled=True)
    draw_steps(axes, picture.axis, aimed_at, 1.0, colour=chart.VERMILLION, label="target", filled=False)
    axes.axhline(picture.cores, color=chart.GREY, linestyle=(0, (4, 3)), linewidth=1, label="all")
    axes.set_ylim(0, 1.04 * picture.cores)
    axes.set_ylabel("cores")
    axes.legend(**LEGEND)
    picture.axis.dress(axes)
    return chart.finish(drawing, "Cores in use", "Cores in use, and the target of each day's plan.")


def delays(picture: LoopPicture) -> Chart:
    """Distribution of boot waits."""
    drawing, (axes,) = chart.figure(chart.HALF, 2.4)
    ordered = np.sort(picture.delays)
    share = 100 * (1 - np.arange(len(ordered)) / max(len(ordered), 1))
    axes.step(ordered, share, where="pre", color=chart.BLUE)
    axes.set_xscale("symlog", linthresh=60)
    longest = float(ordered[-1]) if len(ordered) else 0.0
    ticks = [tick for tick in (0, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400) if tick <= max(longest, 300)]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(0, max(longest, 300))
    waited = 100 * float((ordered > 0).mean()) if len(ordered) else 0.0
    axes.set_ylim(0, min(max(1.15 * waited, 5.0), 100.0))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.set_xlabel("waited for boots at least, s")
    axes.set_ylabel("% of jobs")
    return chart.finish(
        drawing, "Waits for boots", "Share of the jobs that waited at least this long for nodes to boot."
    )


def surroundings(picture: LoopPicture) -> Chart:
    """Temperature and price."""
    drawing, panels = chart.figure(chart.FULL, 3.0, 2)
    x = picture.axis.place(picture.edges)
    rows = ((picture.temp_c, "outdoors, °C"), (picture.price, f"price, {picture.currency}/kWh"))
    for axes, (values, label) in zip(panels, rows, strict=True):
        axes.step(x, np.append(values, values[-1]), where="post", color=chart.BLUE, linewidth=0.9)
        axes.set_ylabel(label)
        if values.min() < 0 < values.max():
            axes.axhline(0, color=chart.GREY, linewidth=0.8)
    picture.axis.dress(panels[-1])
    return chart.finish(drawing, "Weather and price", "Real values of these days.")


def _short(value: Value) -> str:
    if not isinstance(value, float):
        return _value_text(value)
    return f"{value:,.{0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2}f}"


def _value_text(value: Value) -> str:
    return "–" if value is None else f"{value:,.3f}" if isinstance(value, float) else str(value)
