"""The charts of many task managers: jobs a second as measured and predicted here, and as predicted far beyond."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matplotlib.lines import Line2D
from matplotlib.ticker import StrMethodFormatter

from dardis.model.loggp import LogGP, wave_job_ns
from dardis.report import chart, scale_axes
from dardis.report.chart import Chart
from dardis.report.scale_rows import ALL, Line, ScaleRow, lines_over
from dardis.report.words import number

MOST_MANAGERS: Final = 1024
"""How far predictions reach."""


def manager_charts(rows: Sequence[ScaleRow], networks: Sequence[LogGP]) -> list[Chart]:
    """Those that there are rows for."""
    with chart.style():
        drawn = [managed(rows), beyond(rows, networks)]
    return [one for one in drawn if one is not None]


def managed(rows: Sequence[ScaleRow]) -> Chart | None:
    """Jobs a second over task managers."""
    # Those first of which it can be seen: they ask few nodes, on many ranks.
    ordered = sorted(rows, key=lambda row: (row.values["sample"] == ALL, -row.number("ranks")))
    lines = lines_over(ordered, "task_managers", "jobs_per_s")
    if not lines:
        return None
    shown = lines[: scale_axes.MOST_LINES]
    drawing, (axes,) = chart.figure(chart.HALF, 3.2)
    for place, line in enumerate(shown):
        managers, look = [row.number("task_managers") for row in line.rows], scale_axes.looks(place)
        axes.plot(managers, [row.number("jobs_per_s") for row in line.rows], label=line.label, **look)
        axes.plot(managers, _predicted(line), color=look["color"], linestyle=scale_axes.PREDICTED, linewidth=1.4)
    scale_axes.log_counts(axes, [row.number("task_managers") for line in lines for row in line.rows])
    scale_axes.amounts(axes)
    axes.set_xlabel("task managers")
    axes.set_ylabel("jobs a second")
    dashes = Line2D([], [], color=chart.GREY, linestyle=scale_axes.PREDICTED, label="predicted (LogGP)")
    known = any(row.has("predicted_s_per_round") for line in shown for row in line.rows)
    scale_axes.legend(axes, [dashes] if known else [])
    caption = (
        "Jobs placed a second of wall-clock time. Where all nodes are asked, each job keeps every rank busy: more "
        "task managers gain nothing but overlap."
    )
    return chart.finish(drawing, "Many task managers", caption + scale_axes.left_out(lines))


def _predicted(line: Line) -> list[float]:
    """Jobs a second as the model has them; NaN where there is no prediction."""
    return [row.number("jobs") / row.number("rounds") / row.number("predicted_s_per_round") for row in line.rows]


def beyond(rows: Sequence[ScaleRow], networks: Sequence[LogGP]) -> Chart | None:
    """Jobs a second over task managers far beyond those at hand, each on a rank with a core of its own."""
    flown = [row for row in rows if row.has("job_ns", "waves", "jobs_per_s")]
    if not networks or not flown:
        return None
    network = max(networks, key=lambda one: one.ranks)
    row = max(flown, key=lambda row: (row.values["sample"] != ALL, row.number("task_managers"), row.number("ranks")))
    mine = [other for other in flown if all(other.values[x] == row.values[x] for x in ("sample", "nodes", "overlap"))]
    managers, here = [2**power for power in range(MOST_MANAGERS.bit_length())], row.number("task_managers")
    overlap, settled = row.number("overlap"), row.number("jobs") / row.number("waves")
    drawing, (axes,) = chart.figure(chart.HALF, 3.2)
    for label, dashes, colour, each in (
        (f"{number(overlap / here)} jobs in flight a task manager", scale_axes.PREDICTED, chart.BLUE, settled / here),
        (f"{number(overlap)} jobs in flight in all", ":", chart.VERMILLION, 0.0),
    ):
        rates = [1e9 / wave_job_ns(network, row.number("job_ns"), m, m, m * each or settled) for m in managers]
        axes.plot(managers, rates, color=colour, linestyle=dashes, linewidth=1.8, label=f"predicted, {label}")
    x, y = [one.number("task_managers") for one in mine], [one.number("jobs_per_s") for one in mine]
    axes.plot(x, y, color=chart.INK, linestyle="", marker="o", markersize=5.5, label="measured, on the cores at hand")
    axes.set_xscale("log", base=2)
    scale_axes.plain(axes.xaxis, StrMethodFormatter("{x:,.0f}"))
    scale_axes.amounts(axes)
    axes.set_xlabel("task managers, each on a rank and core of its own")
    axes.set_ylabel("jobs a second")
    scale_axes.legend(axes)
    asked = "all nodes" if row.values["sample"] == ALL else f"{row.values['sample']} nodes a unit"
    caption = (
        f"Jobs ask {asked}. Predicted from a job's CPU time ({row.number('job_ns') / 1e3:.3g} µs, "
        f"{number(row.number('ranks'))} ranks), the {settled:.3g} jobs that a wave settled, and the network between "
        f"{network.ranks} ranks. That more jobs in flight refuse each other more often is not in it."
    )
    return chart.finish(drawing, "Task managers beyond this machine", caption)
