"""The chart of nodes over time: single jobs when they are few, else how much of each node's cores is in use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.image import AxesImage

from dardis.model.arrays import Floats
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.report import chart
from dardis.report.chart import Chart, TimeAxis

FEW_BARS: Final = 400
FEW_NODES: Final = 40
"""Up to so many placements on so many nodes, jobs are drawn one by one."""
_COLUMNS: Final = 1000
_ROWS: Final = 400
_CHUNK: Final = 1 << 20
"""Placements counted at a time, so that memory does not grow with the schedule."""


def gantt(
    named: Sequence[tuple[str, Schedule]], platform: Platform, axis: TimeAxis, title: str = "Nodes over time"
) -> Chart:
    """Nodes over time: of each schedule, one above the other over the same time, under its name."""
    few = platform.node_count <= FEW_NODES and all(len(schedule.placed.nodes) <= FEW_BARS for _, schedule in named)
    height = 1.0 + min(0.35 * platform.node_count, 7.0) if few else 5.0 if len(named) == 1 else 3.0
    drawing, panels = chart.figure(chart.FULL, height * len(named), len(named))
    for axes, (name, schedule) in zip(panels, named, strict=True):
        if few:
            _bars(axes, schedule, platform, axis)
        else:
            shown = _use(axes, schedule, platform, axis)
        axes.set_ylabel("node")
        axes.set_title(name)
    axis.dress(panels[-1])
    if few:
        caption = "Each bar is a job, as high as its share of the node's cores; neighbouring jobs differ in colour."
        return chart.finish(drawing, title, caption)
    bar = drawing.colorbar(shown, ax=panels, pad=0.01, fraction=0.03)
    bar.set_label("share of cores in use")
    bar.outline.set_visible(False)
    caption = "How much of every node's cores is in use; white is idle."
    if platform.node_count > _ROWS:
        caption += f" A row stands for about {platform.node_count / _ROWS:.1f} nodes."
    return chart.finish(drawing, title, caption)


def _use(axes: Axes, schedule: Schedule, platform: Platform, axis: TimeAxis) -> AxesImage:
    """How much of each node's cores is in use."""
    image = node_use(
        schedule, platform, np.linspace(axis.start, axis.end, _COLUMNS + 1), min(platform.node_count, _ROWS)
    )
    low, high = axis.place(np.array([axis.start, axis.end]))
    axes.grid(visible=False)
    return axes.imshow(
        np.ma.masked_equal(image, 0.0), aspect="auto", interpolation="nearest", cmap=_colours(), vmin=0, vmax=1,
        extent=(low, high, platform.node_count - 0.5, -0.5),
    )  # fmt: skip


def _colours() -> LinearSegmentedColormap:
    """Cividis from light to dark, so that little use is pale on paper; in few steps, for a small picture."""
    return LinearSegmentedColormap.from_list("use", mpl.colormaps["cividis_r"](np.linspace(0.05, 1, 16)), N=16)


def node_use(schedule: Schedule, platform: Platform, edges: Floats, rows: int) -> Floats:
    """Mean share of cores in use, of nodes gathered into `rows` and in the equal steps between `edges`."""
    steps = len(edges) - 1
    width = (edges[-1] - edges[0]) / steps or 1.0
    schedule = schedule.by_part
    row_of_node = np.arange(platform.node_count) * rows // platform.node_count
    capacity = np.bincount(row_of_node, weights=platform.capacity[:, platform.kinds.index(CORES)], minlength=rows)
    job = schedule.placed.job_of
    cores = schedule.request[:, schedule.kinds.index(CORES)]
    # A change of use counts for the rest of its own step, and whole for every later one.
    within, after = np.zeros(rows * steps), np.zeros(rows * (steps + 1))
    for first in range(0, len(job), _CHUNK):
        span = slice(first, first + _CHUNK)
        row = row_of_node[schedule.placed.nodes[span]]
        amount = (schedule.placed.units[span] * cores[job[span]]).astype(np.float64)
        for times, change in ((schedule.start, amount), (schedule.finish, -amount)):
            place = np.clip((times[job[span]] - edges[0]) / width, 0, steps)
            step = np.minimum(place.astype(np.int64), steps - 1)
            within += np.bincount(row * steps + step, weights=change * (step + 1 - place), minlength=len(within))
            after += np.bincount(row * (steps + 1) + step + 1, weights=change, minlength=len(after))
    use = within.reshape(rows, steps) + np.cumsum(after.reshape(rows, steps + 1), axis=1)[:, :-1]
    shares = use / np.maximum(capacity, 1)[:, None]
    return np.where(shares < 1e-9, 0.0, shares)  # sums of floats end a hair beside nothing


def _bars(axes: Axes, schedule: Schedule, platform: Platform, axis: TimeAxis) -> None:
    """One bar a job (or part of it) and node, stacked where jobs share a node."""
    schedule = schedule.by_part
    cores = schedule.request[:, schedule.kinds.index(CORES)]
    capacity = platform.capacity[:, platform.kinds.index(CORES)]
    lanes: dict[int, list[tuple[int, int, float, float]]] = {}
    for job in np.argsort(schedule.start, kind="stable").tolist():
        start, end = int(schedule.start[job]), int(schedule.finish[job])
        left, right = axis.place(np.array([start, end]))
        for node, units in schedule.placed.pairs(job):
            high = float(units * cores[job]) / max(int(capacity[node]), 1)
            low = _free_lane([lane for lane in lanes.get(node, []) if lane[1] > start], high)
            lanes.setdefault(node, []).append((start, end, low, low + high))
            axes.barh(
                node + 0.45 - 0.9 * (low + high / 2), right - left, left=left, height=0.9 * high, linewidth=0.6,
                color=chart.CYCLE[job % len(chart.CYCLE)], edgecolor="white", alpha=0.85,
            )  # fmt: skip
            if end - start > 0.02 * (axis.end - axis.start) and high > 0.3:
                axes.text(
                    (left + right) / 2, node + 0.45 - 0.9 * (low + high / 2), str(schedule.number[job]), ha="center",
                    va="center", fontsize=6.5, color="white", clip_on=True,
                )  # fmt: skip
    axes.set_ylim(platform.node_count - 0.5, -0.5)
    axes.set_yticks(range(platform.node_count), [platform.node_name(node) for node in range(platform.node_count)])
    axes.grid(visible=False, axis="y")


def _free_lane(taken: list[tuple[int, int, float, float]], high: float) -> float:
    """The lowest place in a node's row that is free for a bar this high; 0 when the gaps are all too small."""
    for low in sorted([0.0, *(lane[3] for lane in taken)]):
        if low + high <= 1 + 1e-9 and all(low + high <= a + 1e-9 or low >= b - 1e-9 for _, _, a, b in taken):
            return low
    return 0.0
