"""The charts of scale experiments: what was measured as markers, what the model says as dashed lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.lines import Line2D

from dardis.model.loggp import flat_chain, tree_chain
from dardis.report import chart, scale_axes
from dardis.report.chart import Chart
from dardis.report.scale_rows import ALL, FLAT, Line, ScaleRow, lines_over

MOST_HOSTS: Final = 1_000_000
"""How far predictions reach."""
_CHOSEN: Final = 8
"""Hosts that a job of the largest size is confirmed to, at most."""


def charts(rows: Sequence[ScaleRow]) -> list[Chart]:
    """Those that there are rows for."""
    with chart.style():
        drawn = [
            cpu_by_nodes(rows), cpu_of_samples(rows), over_ranks(rows, weak=False), over_ranks(rows, weak=True),
            messages(rows), sampled(rows),
        ]  # fmt: skip
    return [one for one in drawn if one is not None]


def cpu_by_nodes(rows: Sequence[ScaleRow]) -> Chart | None:
    """CPU time a node and job over the machine's size, where all nodes are asked."""
    lines = lines_over([row for row in rows if row.values["sample"] == ALL], "nodes", "cpu_ns_per_node_job")
    if not lines:
        return None
    drawing, (axes,) = chart.figure(chart.HALF, 3.2)
    for place, line in enumerate(lines[: scale_axes.MOST_LINES]):
        axes.plot(*_xy(line, "nodes", "cpu_ns_per_node_job"), label=line.label, **scale_axes.looks(place))
    scale_axes.log_counts(axes, [row.number("nodes") for line in lines for row in line.rows])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("nodes")
    axes.set_ylabel("CPU time a node and job (ns)")
    scale_axes.legend(axes)
    caption = "CPU time of all ranks in rounds, over nodes and jobs. Level or falling: a job costs each node the same."
    return chart.finish(drawing, "Work a node does not grow", caption + scale_axes.left_out(lines))


def cpu_of_samples(rows: Sequence[ScaleRow]) -> Chart | None:
    """CPU time a job over the machine's size, where some nodes are asked."""
    lines = lines_over([row for row in rows if row.values["sample"] != ALL], "nodes", "cpu_ns_per_node_job")
    if not lines:
        return None
    drawing, (axes,) = chart.figure(chart.HALF, 3.2)
    for place, line in enumerate(lines[: scale_axes.MOST_LINES]):
        cpu_us = [1e-3 * row.number("cpu_ns_per_node_job") * row.number("nodes") for row in line.rows]
        axes.plot([row.number("nodes") for row in line.rows], cpu_us, label=line.label, **scale_axes.looks(place))
    scale_axes.log_counts(axes, [row.number("nodes") for line in lines for row in line.rows])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("nodes")
    axes.set_ylabel("CPU time a job (µs)")
    scale_axes.legend(axes)
    caption = (
        "CPU time of all ranks in rounds, over jobs. Level: a job that asks a few nodes costs as much on any machine."
    )
    return chart.finish(drawing, "Work of a sampled job", caption + scale_axes.left_out(lines))


def _xy(line: Line, x: str, y: str) -> tuple[list[float], list[float]]:
    return [row.number(x) for row in line.rows], [row.number(y) for row in line.rows]


def over_ranks(rows: Sequence[ScaleRow], *, weak: bool) -> Chart | None:
    """Time a round over ranks, on one machine (strong) or one that grows with them (weak)."""
    lines = lines_over(rows, "ranks", "wall_s_per_round", weak=weak)
    if not lines:
        return None
    drawing, (axes,) = chart.figure(chart.HALF, 3.2)
    for place, line in enumerate(lines[: scale_axes.MOST_LINES]):
        look = scale_axes.looks(place)
        axes.plot(*_xy(line, "ranks", "wall_s_per_round"), label=line.label, **look)
        for name, dashes in (("predicted_s_per_round", scale_axes.PREDICTED), ("collective_s_per_round", ":")):
            axes.plot(*_xy(line, "ranks", name), color=look["color"], linestyle=dashes, linewidth=1.4)
    scale_axes.log_counts(axes, [row.number("ranks") for line in lines for row in line.rows])
    scale_axes.seconds(axes)
    axes.set_xlabel("ranks")
    axes.set_ylabel("time a round")
    scale_axes.legend(
        axes,
        [
            Line2D([], [], color=chart.GREY, linestyle="-", label="measured"),
            Line2D([], [], color=chart.GREY, linestyle=scale_axes.PREDICTED, label="predicted (LogGP)"),
            Line2D([], [], color=chart.GREY, linestyle=":", label="bare bcast + gather"),
        ],
    )
    caption = (
        "The machine grows with the ranks, so level is ideal." if weak else "One machine, cut into more and more parts."
    )
    title = "Weak scaling" if weak else "Strong scaling"
    return chart.finish(drawing, title, caption + scale_axes.left_out(lines))


def messages(rows: Sequence[ScaleRow]) -> Chart | None:
    """The largest message of the root, and the longest chain of messages of a job, over hosts."""
    managers = min((row.number("task_managers") for row in rows), default=1)
    rows = [row for row in rows if row.values["sample"] == ALL and row.number("task_managers") == managers]
    lines = _over_hosts(rows)
    if not lines:
        return None
    drawing, panels = chart.figure(chart.FULL, 5.8, 2)
    for place, line in enumerate(lines[: scale_axes.MOST_LINES]):
        hosts, largest = _xy(line, "hosts", "root_message_bytes")
        # One host gets no message, and 0 has no place on a logarithmic axis.
        panels[0].plot(hosts, [size or np.nan for size in largest], label=line.label, **scale_axes.looks(place))
        panels[1].plot(*_xy(line, "hosts", "chain"), **scale_axes.looks(place))
    few = max(min(row.number("hosts") for line in lines for row in line.rows), 2)
    ever_more = np.unique(np.geomspace(few, MOST_HOSTS, 60).astype(int)).tolist()
    for place, arity in enumerate(sorted({line.rows[0].arity for line in lines})):
        chain = [tree_chain(h, arity, min(h, _CHOSEN)) if arity else flat_chain(h, min(h, _CHOSEN)) for h in ever_more]
        panels[1].plot(ever_more, chain, color=chart.INK, linestyle=scale_axes.PREDICTED, linewidth=1.2)
        name, beside = f"model, {FLAT}", (-70, 0)
        if arity:
            name, beside = f"model, arity {arity}", (-60, 12 if place % 2 else -12)
        panels[1].annotate(
            name, (ever_more[-1], chain[-1]), beside, textcoords="offset points", ha="right", va="center", fontsize=8
        )
    for axes in panels:
        axes.set_xscale("log")
        scale_axes.plain(axes.xaxis, chart.amounts())
        scale_axes.amounts(axes)
    panels[0].set_ylabel("largest message\nof the root (bytes)")
    panels[1].set_ylabel("longest chain of\na job (messages)")
    panels[1].set_xlabel("hosts (ranks; in one process virtual hosts)")
    scale_axes.legend(
        panels[0], [Line2D([], [], color=chart.INK, linestyle=scale_axes.PREDICTED, label="model, one round a job")], 3
    )
    caption = (
        f"Dashed: predicted for one round a job and at most {_CHOSEN} hosts to confirm to, up to a million hosts. "
        "A flat round is a chain of two messages a host; a tree's grows with the logarithm."
    )
    return chart.finish(drawing, "Messages", caption + scale_axes.left_out(lines))


def _over_hosts(rows: Sequence[ScaleRow]) -> list[Line]:
    """Lines over hosts, be they of one process with ever more nodes or of ever more ranks."""
    alone = [row for row in rows if row.values["ranks"] == 1]
    several = [row for row in rows if row.values["ranks"] != 1]
    lines = lines_over(alone, "nodes", "chain")
    ranked = lines_over(several, "ranks", "chain") or lines_over(several, "ranks", "chain", weak=True)
    return [Line(f"{line.label}, one process" if ranked else line.label, line.rows) for line in lines] + [
        Line(f"{line.label}, ranks", line.rows) for line in ranked
    ]


def sampled(rows: Sequence[ScaleRow]) -> Chart | None:
    """Bytes and time a job over the nodes asked first for each unit."""
    lines = lines_over(rows, "sample", "jobs_per_s")
    if not lines:
        return None
    sizes = sorted({row.values["sample"] for line in lines for row in line.rows}, key=_sample_order)
    drawing, panels = chart.figure(chart.HALF, 4.4, 2)
    for place, line in enumerate(lines[: scale_axes.MOST_LINES]):
        ordered = sorted(line.rows, key=lambda row: sizes.index(row.values["sample"]))
        x = [sizes.index(row.values["sample"]) for row in ordered]
        sent = [row.number("message_bytes_per_node_job") * row.number("nodes") for row in ordered]
        panels[0].plot(
            x, [1 / row.number("jobs_per_s") for row in ordered], label=line.label, **scale_axes.looks(place)
        )
        panels[1].plot(x, sent, **scale_axes.looks(place))
    scale_axes.seconds(panels[0])
    panels[0].set_ylabel("time a job")
    scale_axes.amounts(panels[1])
    panels[1].set_ylabel("message bytes a job")
    panels[1].set_xticks(range(len(sizes)), [ALL if size == ALL else f"{size}" for size in sizes])
    panels[1].set_xlabel("nodes asked first for each unit")
    scale_axes.legend(panels[0])
    return chart.finish(
        drawing, "Less than everybody", "Fewer nodes asked, fewer messages." + scale_axes.left_out(lines)
    )


def _sample_order(size: object) -> tuple[int, int]:
    return (0, size) if isinstance(size, int) else (1, 0)
