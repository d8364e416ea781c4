"""Charts of scale experiments: measured markers, predicted dashes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FixedLocator, Formatter, NullFormatter, NullLocator, StrMethodFormatter

from dardis.model.loggp import LogGP, flat_chain, tree_chain, wave_job_ns
from dardis.report import chart
from dardis.report.chart import Chart
from dardis.report.scale_rows import ALL, FLAT, ScaleLine, ScaleRow, lines_over
from dardis.report.words import number

MOST_HOSTS: Final = 1_000_000
"""Reach of predictions."""
_CHOSEN: Final = 8
"""Most hosts to confirm a job to."""


def charts(rows: Sequence[ScaleRow]) -> list[Chart]:
    """Available charts."""
    with chart.style():
        drawn = [
            cpu_by_nodes(rows), cpu_of_samples(rows), over_ranks(rows, weak=False), over_ranks(rows, weak=True),
            messages(rows), sample_chart(rows),
        ]  # fmt: skip
    return [one for one in drawn if one is not None]


def cpu_by_nodes(rows: Sequence[ScaleRow]) -> Chart | None:
    """CPU time per node and job, with all nodes asked."""
    lines = lines_over([row for row in rows if row.values["sample"] == ALL], "nodes", "cpu_ns_per_node_job")
    if not lines:
        return None
    drawing, (axes,) = chart.figure(chart.HALF, 3.2)
    for place, line in enumerate(lines[:MOST_LINES]):
        axes.plot(*_xy(line, "nodes", "cpu_ns_per_node_job"), label=line.label, **looks(place))
    log_counts(axes, [row.number("nodes") for line in lines for row in line.rows])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("nodes")
    axes.set_ylabel("CPU time a node and job (ns)")
    legend(axes)
    caption = "CPU time of all ranks in rounds, over nodes and jobs. Constant or falling: equal cost per node."
    return chart.finish(drawing, "Work per node", caption + omission_caption(lines))


def cpu_of_samples(rows: Sequence[ScaleRow]) -> Chart | None:
    """CPU time per job, with sampled nodes."""
    lines = lines_over([row for row in rows if row.values["sample"] != ALL], "nodes", "cpu_ns_per_node_job")
    if not lines:
        return None
    drawing, (axes,) = chart.figure(chart.HALF, 3.2)
    for place, line in enumerate(lines[:MOST_LINES]):
        cpu_us = [1e-3 * row.number("cpu_ns_per_node_job") * row.number("nodes") for row in line.rows]
        axes.plot([row.number("nodes") for row in line.rows], cpu_us, label=line.label, **looks(place))
    log_counts(axes, [row.number("nodes") for line in lines for row in line.rows])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("nodes")
    axes.set_ylabel("CPU time a job (µs)")
    legend(axes)
    caption = "CPU time of all ranks in rounds, over jobs. Constant: sampled jobs cost the same on any machine."
    return chart.finish(drawing, "Work of a sampled job", caption + omission_caption(lines))


def _xy(line: ScaleLine, x: str, y: str) -> tuple[list[float], list[float]]:
    return [row.number(x) for row in line.rows], [row.number(y) for row in line.rows]


def over_ranks(rows: Sequence[ScaleRow], *, weak: bool) -> Chart | None:
    """Time per round over ranks, strong or `weak` scaling."""
    lines = lines_over(rows, "ranks", "wall_s_per_round", weak=weak)
    if not lines:
        return None
    drawing, (axes,) = chart.figure(chart.HALF, 3.2)
    for place, line in enumerate(lines[:MOST_LINES]):
        look = looks(place)
        axes.plot(*_xy(line, "ranks", "wall_s_per_round"), label=line.label, **look)
        for name, dashes in (("predicted_s_per_round", PREDICTED), ("collective_s_per_round", ":")):
            axes.plot(*_xy(line, "ranks", name), color=look["color"], linestyle=dashes, linewidth=1.4)
    log_counts(axes, [row.number("ranks") for line in lines for row in line.rows])
    seconds(axes)
    axes.set_xlabel("ranks")
    axes.set_ylabel("time a round")
    legend(
        axes,
        [
            Line2D([], [], color=chart.GREY, linestyle="-", label="measured"),
            Line2D([], [], color=chart.GREY, linestyle=PREDICTED, label="predicted (LogGP)"),
            Line2D([], [], color=chart.GREY, linestyle=":", label="bare bcast + gather"),
        ],
    )
    caption = (
        "The machine grows with the ranks, so constant is ideal."
        if weak
        else "One machine, divided over more and more ranks."
    )
    title = "Weak scaling" if weak else "Strong scaling"
    return chart.finish(drawing, title, caption + omission_caption(lines))


def messages(rows: Sequence[ScaleRow]) -> Chart | None:
    """Largest root message and longest message chain over hosts."""
    managers = min((row.number("task_managers") for row in rows), default=1)
    rows = [row for row in rows if row.values["sample"] == ALL and row.number("task_managers") == managers]
    lines = _over_hosts(rows)
    if not lines:
        return None
    drawing, panels = chart.figure(chart.FULL, 5.8, 2)
    for place, line in enumerate(lines[:MOST_LINES]):
        hosts, largest = _xy(line, "hosts", "root_message_bytes")
        # One host gets no message; a log axis has no place for 0.
        panels[0].plot(hosts, [size or np.nan for size in largest], label=line.label, **looks(place))
        panels[1].plot(*_xy(line, "hosts", "chain"), **looks(place))
    few = max(min(row.number("hosts") for line in lines for row in line.rows), 2)
    ever_more = np.unique(np.geomspace(few, MOST_HOSTS, 60).astype(int)).tolist()
    for place, arity in enumerate(sorted({line.rows[0].arity for line in lines})):
        chain = [tree_chain(h, arity, min(h, _CHOSEN)) if arity else flat_chain(h, min(h, _CHOSEN)) for h in ever_more]
        panels[1].plot(ever_more, chain, color=chart.INK, linestyle=PREDICTED, linewidth=1.2)
        name, beside = f"model, {FLAT}", (-70, 0)
        if arity:
            name, beside = f"model, arity {arity}", (-60, 12 if place % 2 else -12)
        panels[1].annotate(
            name, (ever_more[-1], chain[-1]), beside, textcoords="offset points", ha="right", va="center", fontsize=8
        )
    for axes in panels:
        axes.set_xscale("log")
        plain(axes.xaxis, chart.amounts())
        amounts(axes)
    panels[0].set_ylabel("largest message\nof the root (bytes)")
    panels[1].set_ylabel("longest chain of\na job (messages)")
    panels[1].set_xlabel("hosts (ranks; in one process virtual hosts)")
    legend(panels[0], [Line2D([], [], color=chart.INK, linestyle=PREDICTED, label="model, one round a job")], 3)
    caption = (
        f"Dashed: predicted for one round per job and claims on at most {_CHOSEN} hosts, up to a million hosts. "
        "A flat round is a chain of two messages per host; in a tree, it grows with the logarithm."
    )
    return chart.finish(drawing, "Messages", caption + omission_caption(lines))


def _over_hosts(rows: Sequence[ScaleRow]) -> list[ScaleLine]:
    alone = [row for row in rows if row.values["ranks"] == 1]
    several = [row for row in rows if row.values["ranks"] != 1]
    lines = lines_over(alone, "nodes", "chain")
    ranked = lines_over(several, "ranks", "chain") or lines_over(several, "ranks", "chain", weak=True)
    return [ScaleLine(f"{line.label}, one process" if ranked else line.label, line.rows) for line in lines] + [
        ScaleLine(f"{line.label}, ranks", line.rows) for line in ranked
    ]


def sample_chart(rows: Sequence[ScaleRow]) -> Chart | None:
    """Bytes and time per job over sample size."""
    lines = lines_over(rows, "sample", "jobs_per_s")
    if not lines:
        return None
    sizes = sorted({row.values["sample"] for line in lines for row in line.rows}, key=_sample_order)
    drawing, panels = chart.figure(chart.HALF, 4.4, 2)
    for place, line in enumerate(lines[:MOST_LINES]):
        ordered = sorted(line.rows, key=lambda row: sizes.index(row.values["sample"]))
        x = [sizes.index(row.values["sample"]) for row in ordered]
        sent = [row.number("message_bytes_per_node_job") * row.number("nodes") for row in ordered]
        panels[0].plot(x, [1 / row.number("jobs_per_s") for row in ordered], label=line.label, **looks(place))
        panels[1].plot(x, sent, **looks(place))
    seconds(panels[0])
    panels[0].set_ylabel("time a job")
    amounts(panels[1])
    panels[1].set_ylabel("message bytes a job")
    panels[1].set_xticks(range(len(sizes)), [ALL if size == ALL else f"{size}" for size in sizes])
    panels[1].set_xlabel("nodes asked first for each unit")
    legend(panels[0])
    return chart.finish(drawing, "Sampled nodes", "Fewer nodes asked, fewer messages." + omission_caption(lines))


def _sample_order(size: object) -> tuple[int, int]:
    return (0, size) if isinstance(size, int) else (1, 0)


PREDICTED: Final = "--"
MOST_LINES: Final = 6
"""Per chart."""


def looks(place: int) -> dict[str, Any]:
    """Style of measured lines."""
    return chart.line_look(place, marked=True) | {"linestyle": "-", "linewidth": 1.6}


def log_counts(axes: Axes, values: Sequence[float]) -> None:
    """Log axis of counts, with measured ticks if few."""
    axes.set_xscale("log")
    places = sorted(set(values))
    if len(places) <= 8:
        axes.xaxis.set_major_locator(FixedLocator(places))
        axes.xaxis.set_minor_locator(NullLocator())
    plain(axes.xaxis, chart.amounts())


def plain(axis: Axis, formatter: Formatter) -> None:
    """Format major ticks, hide minor ones."""
    axis.set_major_formatter(formatter)
    axis.set_minor_formatter(NullFormatter())


def seconds(axes: Axes) -> None:
    """Log y axis of times."""
    _whole_decades(axes, EngFormatter(unit="s"))


def amounts(axes: Axes) -> None:
    """Log y axis of counts."""
    _whole_decades(axes, chart.amounts())


def _whole_decades(axes: Axes, formatter: Formatter) -> None:
    axes.set_yscale("log")
    plain(axes.yaxis, formatter)
    low, high = (math.log10(end) for end in axes.get_ylim())
    axes.set_ylim(10.0 ** math.floor(low), 10.0 ** math.ceil(high))


def legend(axes: Axes, extra: Sequence[Line2D] = (), columns: int = 1) -> None:
    """Put a legend above the chart."""
    handles = [*axes.get_legend_handles_labels()[0], *extra]
    drawing = axes.get_figure()
    assert isinstance(drawing, Figure)
    drawing.set_figheight(drawing.get_figheight() + 0.17 * -(-len(handles) // columns))
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, fontsize=8)


def omission_caption(lines: Sequence[ScaleLine]) -> str:
    """Caption for omitted lines."""
    more = len(lines) - MOST_LINES
    return f" {more} more lines are in the table only." if more > 0 else ""


MOST_MANAGERS: Final = 1024
"""Reach of predictions."""


def manager_charts(rows: Sequence[ScaleRow], networks: Sequence[LogGP]) -> list[Chart]:
    """Available charts."""
    with chart.style():
        drawn = [throughput_chart(rows), beyond(rows, networks)]
    return [one for one in drawn if one is not None]


def throughput_chart(rows: Sequence[ScaleRow]) -> Chart | None:
    """Jobs per second over task managers."""
    # Sampled jobs on many ranks first: they show the effect.
    ordered = sorted(rows, key=lambda row: (row.values["sample"] == ALL, -row.number("ranks")))
    lines = lines_over(ordered, "task_managers", "jobs_per_s")
    if not lines:
        return None
    shown = lines[:MOST_LINES]
    drawing, (axes,) = chart.figure(chart.HALF, 3.2)
    for place, line in enumerate(shown):
        managers, look = [row.number("task_managers") for row in line.rows], looks(place)
        axes.plot(managers, [row.number("jobs_per_s") for row in line.rows], label=line.label, **look)
        axes.plot(managers, _predicted(line), color=look["color"], linestyle=PREDICTED, linewidth=1.4)
    log_counts(axes, [row.number("task_managers") for line in lines for row in line.rows])
    amounts(axes)
    axes.set_xlabel("task managers")
    axes.set_ylabel("jobs a second")
    dashes = Line2D([], [], color=chart.GREY, linestyle=PREDICTED, label="predicted (LogGP)")
    known = any(row.has("predicted_s_per_round") for line in shown for row in line.rows)
    legend(axes, [dashes] if known else [])
    caption = (
        "Placed jobs per second of wall time. If jobs ask all nodes, each job keeps every rank busy: more "
        "task managers gain only overlap."
    )
    return chart.finish(drawing, "Many task managers", caption + omission_caption(lines))


def _predicted(line: ScaleLine) -> list[float]:
    return [row.number("jobs") / row.number("rounds") / row.number("predicted_s_per_round") for row in line.rows]


def beyond(rows: Sequence[ScaleRow], networks: Sequence[LogGP]) -> Chart | None:
    """Predicted jobs per second for more task managers."""
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
        (f"{number(overlap / here)} jobs in flight a task manager", PREDICTED, chart.BLUE, settled / here),
        (f"{number(overlap)} jobs in flight in all", ":", chart.VERMILLION, 0.0),
    ):
        rates = [1e9 / wave_job_ns(network, row.number("job_ns"), m, m, m * each or settled) for m in managers]
        axes.plot(managers, rates, color=colour, linestyle=dashes, linewidth=1.8, label=f"predicted, {label}")
    x, y = [one.number("task_managers") for one in mine], [one.number("jobs_per_s") for one in mine]
    axes.plot(x, y, color=chart.INK, linestyle="", marker="o", markersize=5.5, label="measured on the available cores")
    axes.set_xscale("log", base=2)
    plain(axes.xaxis, StrMethodFormatter("{x:,.0f}"))
    amounts(axes)
    axes.set_xlabel("task managers, each on its own rank and core")
    axes.set_ylabel("jobs a second")
    legend(axes)
    asked = "all nodes" if row.values["sample"] == ALL else f"{row.values['sample']} nodes a unit"
    caption = (
        f"Jobs ask {asked}. Predicted from a job's CPU time ({row.number('job_ns') / 1e3:.3g} µs, "
        f"{number(row.number('ranks'))} ranks), the {settled:.3g} jobs that a wave settled, and the network between "
        f"{network.ranks} ranks. The prediction ignores that more jobs in flight conflict more often."
    )
    return chart.finish(drawing, "Task managers beyond this machine", caption)
