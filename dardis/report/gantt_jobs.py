"""The Gantt chart by job: a rectangle for each block of neighbouring cores that a job is on, with its number inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from dardis.metrics.cores import core_spans, first_cores
from dardis.model.arrays import Floats, Ints
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.report import chart, words
from dardis.report.chart import Chart, TimeAxis

NAMED_NODES: Final = 40
"""Up to so many nodes are named on the axis."""
MOST_BLOCKS: Final = 300_000
"""Nodes of all jobs together of which a chart can be made in some seconds."""
_AS_PIXELS: Final = 3000
"""From so many rectangles on they are drawn as pixels."""
_LETTER: Final = 6.5
"""Height in points of a job's number; a digit is 0.62 times as wide."""
_ON_DARK, _ON_LIGHT = "#fefefe", "#15181b"
_NUMBERS: Final = (_ON_DARK, _ON_DARK, _ON_DARK, _ON_LIGHT, _ON_LIGHT, _ON_LIGHT)
"""Colours of numbers on those of `chart.CYCLE`; the same in light and dark pages, as the blocks are."""


@dataclass(frozen=True)
class Blocks:
    """Rectangles of jobs: rectangle k is job `job[k]` (its place in the schedule) on the cores `[low[k], high[k])`.

    Cores of the whole machine are counted node after node; all have shape (rectangles,).
    """

    job: Ints
    low: Ints
    high: Ints


def blocks(schedule: Schedule, platform: Platform, start: int, end: int) -> Blocks:
    """Which cores jobs are drawn on that run in `[start, end)`: those that `metrics.cores` gives them.

    On which of a node's cores a job ran nobody knows. Where more is in use than there is, jobs lie over others.
    """
    inside = schedule.ran & (schedule.start < end) & (schedule.finish > start)
    spans = core_spans(schedule, platform, overfull=True)
    found = [(job, low, high + 1) for job in np.flatnonzero(inside).tolist() for low, high in spans[job]]
    table = np.array(found, dtype=np.int64).reshape(-1, 3)
    return Blocks(table[:, 0], table[:, 1], table[:, 2])


def draw_jobs(axes: Axes, schedule: Schedule, platform: Platform, axis: TimeAxis) -> int:
    """Draw the jobs that run within the axis, and dress the axis of nodes; return how many jobs these are."""
    schedule = schedule.by_part
    drawn, first = blocks(schedule, platform, axis.start, axis.end), first_cores(platform)
    left, right = (
        axis.place(np.clip(times[drawn.job], axis.start, axis.end)) for times in (schedule.start, schedule.finish)
    )
    # In nodes: one of few cores is as high as one of many.
    low, high = (np.interp(cores, first, np.arange(len(first)) - 0.5) for cores in (drawn.low, drawn.high))
    corners = np.stack([left, low, right, low, right, high, left, high], axis=1).reshape(-1, 4, 2)
    colours = [chart.CYCLE[job % len(chart.CYCLE)] for job in drawn.job.tolist()]
    many = len(corners) > _AS_PIXELS
    axes.add_collection(
        PolyCollection(
            list(corners),
            facecolors=colours,
            edgecolors=chart.PAGE,
            linewidths=0.2 if many else 0.6,
            alpha=0.85,
            rasterized=many,
        ),
    )
    axes.set_ylim(platform.node_count - 0.5, -0.5)
    if platform.node_count <= NAMED_NODES:
        axes.set_yticks(range(platform.node_count), [platform.node_name(node) for node in range(platform.node_count)])
    axes.set_ylabel("node")
    axes.grid(visible=False, axis="y")
    _number(axes, schedule, drawn, corners)
    return len(np.unique(drawn.job))


def _number(axes: Axes, schedule: Schedule, drawn: Blocks, corners: Floats) -> None:
    """Write the number of each job into its largest rectangle, if there is room."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    width, height = 72 * 0.9 * figure.get_figwidth(), 72 * 0.85 * figure.get_figheight() / len(figure.axes)
    span = axes.get_xlim()[1] - axes.get_xlim()[0]
    wide = (corners[:, 1, 0] - corners[:, 0, 0]) * width / span
    tall = (corners[:, 2, 1] - corners[:, 0, 1]) * height / np.ptp(axes.get_ylim())
    by_size = np.argsort(-wide * tall, kind="stable")
    _, largest = np.unique(drawn.job[by_size], return_index=True)
    for place in by_size[largest].tolist():
        number = str(schedule.number[drawn.job[place]])
        if wide[place] > 0.62 * _LETTER * (len(number) + 1) and tall[place] > 1.25 * _LETTER:
            x, y = corners[place].mean(axis=0)
            axes.text(
                x,
                y,
                number,
                ha="center",
                va="center",
                fontsize=_LETTER,
                color=_NUMBERS[drawn.job[place] % len(_NUMBERS)],
                clip_on=True,
            )


def gantt_of_jobs(schedule: Schedule, platform: Platform, axis: TimeAxis) -> Chart:
    """Every job that runs within the axis, over the nodes."""
    drawing, (axes,) = chart.figure(chart.FULL, 1.0 + min(0.35 * platform.node_count, 7.0))
    axis.dress(axes)
    jobs = draw_jobs(axes, schedule, platform, axis)
    caption = f"{words.number(jobs)} jobs that ran in the span asked for; each block is a job on neighbouring cores, "
    caption += "as high as its share of the nodes, with its number where there is room."
    return chart.finish(drawing, "Jobs over nodes", caption)
