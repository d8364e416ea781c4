"""The chart of what a run drew and earned: IT and cooling power over time, and money an hour."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from dardis.model.arrays import Floats
from dardis.model.series import Series
from dardis.report import chart
from dardis.report.chart import Chart, TimeAxis
from dardis.report.over_time import BINS

_LEGEND = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 4, "borderaxespad": 0.2}


def power_and_money(power: dict[str, Floats], axis: TimeAxis, currency: str) -> Chart:
    """Columns of power.csv as a chart; of long runs the means over pieces of time."""
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
    caption = "Mean power of the machine and its cooling, and what jobs earn and energy costs; by the hour or longer."
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
