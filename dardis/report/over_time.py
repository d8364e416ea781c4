"""Charts over time."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dardis.model.arrays import Floats, Ints
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.model.schedule import Downtime, Schedule
from dardis.model.series import Series
from dardis.model.step_function import StepFunction
from dardis.report import chart, words
from dardis.report.chart import Chart, TimeAxis

BINS: Final = 1000
"""Most time bins, about the chart's pixels."""


def envelope(function: StepFunction, edges: Ints) -> tuple[Ints, Ints, Floats]:
    """Exact minimum, maximum and mean in each `[edges[i], edges[i+1])`."""
    times = np.union1d(edges, function.breaks_in(edges[0], edges[-1]))
    values = function.at(times[:-1])
    places = np.searchsorted(times, edges[:-1])
    area = np.add.reduceat(values * np.diff(times).astype(np.float64), places)
    return np.minimum.reduceat(values, places), np.maximum.reduceat(values, places), area / np.diff(edges)


def draw_steps(
    axes: Axes, axis: TimeAxis, function: StepFunction, scale: float, *, colour: str, label: str, filled: bool
) -> None:
    """Draw a step function, or range and mean if too fine."""
    inside = function.breaks_in(axis.start, axis.end)
    if len(inside) <= BINS:
        edges = np.concatenate([[axis.start], inside, [axis.end]]).astype(np.int64)
        x, values = axis.place(edges), function.at(edges) / scale
        if filled:
            axes.fill_between(x, values, step="post", color=colour, alpha=0.35, linewidth=0)
        axes.step(x, values, where="post", color=colour, linewidth=1.1, label=label)
        return
    edges = np.unique(np.linspace(axis.start, axis.end, BINS + 1).astype(np.int64))
    low, high, mean = (np.append(values, values[-1]) / scale for values in envelope(function, edges))
    x = axis.place(edges)
    axes.fill_between(x, low, high, step="post", color=colour, alpha=0.35, linewidth=0)
    axes.step(x, mean, where="post", color=colour, linewidth=1.1, label=f"{label} (mean; band: least to greatest)")


def utilisation(profile: dict[str, StepFunction], platform: Platform, axis: TimeAxis, *, wished: bool) -> Chart:
    """Use by kind, with capacity and (if `wished`) desired profile."""
    kinds = [kind for kind in platform.kinds if f"{kind}_used" in profile]
    unused = [kind for kind in kinds if kind != CORES and not profile[f"{kind}_used"].values.any()]
    kinds = [kind for kind in kinds if kind not in unused]
    drawing, panels = chart.figure(chart.FULL, 0.7 + 1.9 * len(kinds), len(kinds))
    labelled: dict[str, Artist] = {}
    for axes, kind in zip(panels, kinds, strict=True):
        capacity = int(platform.capacity[:, platform.kinds.index(kind)].sum())
        name, scale = words.axis_unit(kind, capacity)
        draw_steps(axes, axis, profile[f"{kind}_used"], scale, colour=chart.BLUE, label="in use", filled=True)
        desired = profile[f"{kind}_desired"]
        if wished and (desired.values != capacity).any():
            draw_steps(axes, axis, desired, scale, colour=chart.VERMILLION, label="desired", filled=False)
        axes.axhline(capacity / scale, color=chart.GREY, linestyle=(0, (4, 3)), linewidth=1, label="capacity")
        axes.set_ylim(0, max(1.04 * capacity / scale, 1e-9))
        axes.set_ylabel(name)
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.yaxis.set_major_formatter(chart.amounts())
        handles, labels = axes.get_legend_handles_labels()
        labelled |= dict(zip(labels, handles, strict=True))
    panels[0].legend(
        list(labelled.values()), list(labelled), loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0.2
    )
    axis.dress(panels[-1])
    caption = "Use of each resource kind by jobs" + (", against the desired profile." if wished else ".")
    if unused:
        caption += f" No job requests {' or '.join(unused)}."
    return chart.finish(drawing, "Use of the machine", caption)


def nodes_on(downtime: Downtime, platform: Platform, axis: TimeAxis) -> Chart:
    """Nodes up over time."""
    down = StepFunction.from_spans(downtime.down, downtime.up)
    drawing, (axes,) = chart.figure(chart.FULL, 2.6, 1)
    up = StepFunction(down.times, platform.node_count - down.values)
    draw_steps(axes, axis, up, 1.0, colour=chart.BLUE, label="nodes up", filled=True)
    axes.axhline(platform.node_count, color=chart.GREY, linestyle=(0, (4, 3)), linewidth=1)
    axes.set_ylim(0, 1.04 * platform.node_count)
    axes.set_ylabel("nodes up")
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.dress(axes)
    return chart.finish(drawing, "Nodes on", "Nodes that are neither shutting down, nor off, nor booting.")


def queue(schedule: Schedule, axis: TimeAxis) -> Chart:
    """Waiting jobs and their cores."""
    ran = schedule.ran
    submit, start = schedule.submit[ran], schedule.start[ran]
    cores = schedule.requested_total(CORES)[ran]
    drawing, panels = chart.figure(chart.FULL, 4.0, 2)
    for axes, amounts, name in zip(panels, (np.ones_like(cores), cores), ("jobs", "cores"), strict=True):
        waiting = StepFunction.from_spans(submit, start, amounts)
        draw_steps(axes, axis, waiting, 1.0, colour=chart.BLUE, label=f"{name} waiting", filled=True)
        axes.set_ylim(bottom=0)
        axes.set_ylabel(f"{name} waiting")
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.yaxis.set_major_formatter(chart.amounts())
    axis.dress(panels[-1])
    return chart.finish(drawing, "The queue", "Submitted jobs that have not started, and their requested cores.")


_LEGEND = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 4, "borderaxespad": 0.2}


def power_and_money(power: dict[str, Floats], axis: TimeAxis, currency: str) -> Chart:
    """Chart of power.csv, averaged for long runs."""
    fine = np.append(power["time_s"], power["until_s"][-1]).astype(np.int64)
    pieces = fine
    if len(fine) > BINS + 1:
        pieces = np.unique(np.linspace(fine[0], fine[-1], BINS + 1).astype(np.int64))
    hours = np.diff(fine) / 3600

    def mean(values: Floats) -> Floats:
        drawn = Series(fine, values).means(pieces)
        return np.append(drawn, drawn[-1])

    x = axis.place(pieces)
    drawing, (upper, lower) = chart.figure(chart.FULL, 4.6, 2)
    _power(upper, x, mean(power["it_w"]) / 1000, mean(power["cooling_w"]) / 1000, mean(power["idle_w"]) / 1000)
    for key, name, colour in (
        ("income_eur", "income", chart.BLUE),
        ("energy_eur", "energy of IT", chart.VERMILLION),
        ("cooling_eur", "energy of cooling", chart.CYCLE[4]),
    ):
        if power[key].any():
            lower.step(x, mean(power[key] / hours), where="post", color=colour, linewidth=1.2, label=name)
    lower.set_ylabel(f"{currency} an hour")
    lower.yaxis.set_major_formatter(chart.amounts())
    if lower.get_legend_handles_labels()[0]:
        lower.legend(**_LEGEND)
    axis.dress(lower)
    caption = "Mean power of the machine and its cooling, income of jobs and cost of energy; per hour or longer."
    return chart.finish(drawing, "Power and money", caption)


def _power(axes: Axes, x: Floats, it: Floats, cooling: Floats, idle: Floats) -> None:
    axes.fill_between(x, it, step="post", color=chart.BLUE, alpha=0.45, linewidth=0, label="IT")
    if cooling.any():
        axes.fill_between(
            x, it, it + cooling, step="post", color=chart.CYCLE[4], alpha=0.6, linewidth=0, label="cooling"
        )
    if idle.any():
        dashes = (0, (4, 3))
        axes.step(
            x, idle, where="post", color=chart.GREY, linewidth=1, linestyle=dashes, label="idle power of nodes on"
        )
    axes.set_ylim(bottom=0)
    axes.set_ylabel("kW")
    axes.legend(**_LEGEND)
