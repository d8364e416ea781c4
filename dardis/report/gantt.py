"""Gantt charts: nodes, or single jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from dardis.metrics.cores import core_spans, first_cores
from dardis.model.arrays import Floats, Ints
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.report import chart, words
from dardis.report.chart import Chart, TimeAxis
from dardis.report.distributions import by_size, short_count, width_bounds

FEW_BARS: Final = 400
"""Most placements for single jobs."""
_COLUMNS: Final = 1000
_ROWS: Final = 400
_CHUNK: Final = 1 << 20
"""Placements per step, to bound memory."""
_SHADES: Final = 8
"""Levels of use."""
_FAINTEST: Final = 0.2
"""Least opacity."""


def gantt(
    named: Sequence[tuple[str, Schedule]], platform: Platform, axis: TimeAxis, title: str = "Nodes over time"
) -> Chart:
    """Nodes over time, one panel per schedule."""
    few = platform.node_count <= NAMED_NODES and all(len(schedule.placed.nodes) <= FEW_BARS for _, schedule in named)
    height = 1.0 + min(0.35 * platform.node_count, 7.0) if few else 5.0 if len(named) == 1 else 3.0
    drawing, panels = chart.figure(chart.FULL, height * len(named), len(named))
    axis.dress(panels[-1])
    for axes, (name, schedule) in zip(panels, named, strict=True):
        axes.set_title(name)
        if few:
            draw_jobs(axes, schedule, platform, axis)
    if few:
        caption = "Each bar is a job; its height is the share of the node's cores. Neighbouring jobs differ in colour."
        return chart.finish(drawing, title, caption)
    kind, names, classes = _classes([schedule for _, schedule in named])
    for axes, (_, schedule), of_job in zip(panels, named, classes, strict=True):
        _draw_use(axes, schedule, platform, axis, (of_job, len(names)))
    handles = [Patch(color=colour, label=name) for name, colour in zip(names, chart.IN_PIXELS, strict=False)]
    above = 1.08 if any(name for name, _ in named) else 1.0
    panels[0].legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, above), ncols=len(names) + 1, borderaxespad=0.2,
        handlelength=1.2, title=kind, title_fontsize=8.5, alignment="left",
    )  # fmt: skip
    caption = "Class of the jobs with most of a node's cores; fainter if fewer cores are in use."
    if platform.node_count > _ROWS:
        caption += f" A row shows about {platform.node_count / _ROWS:.1f} nodes."
    return chart.finish(drawing, title, caption)


def _classes(schedules: Sequence[Schedule]) -> tuple[str, list[str], list[Ints]]:
    most = len(chart.CYCLE)
    queues = by_size(queue for schedule in schedules for queue in np.array(schedule.queue, object)[schedule.ran])
    if 1 < len(queues) <= most:
        place = {queue: index for index, queue in enumerate(queues)}
        found = [np.array([place.get(queue, 0) for queue in schedule.queue], np.int64) for schedule in schedules]
        return "queue", [queue or "no queue" for queue in queues], found
    cores = [schedule.requested_total(CORES) for schedule in schedules]
    bounds = width_bounds(max(int(asked.max(initial=1)) for asked in cores), most)
    names = [short_count(high) for high in bounds]
    names = [f"up to {name}" if place else name for place, name in enumerate(names)]
    return "cores of the job", names, [np.searchsorted(bounds, asked) for asked in cores]


def _draw_use(axes: Axes, schedule: Schedule, platform: Platform, axis: TimeAxis, classes: tuple[Ints, int]) -> None:
    edges, rows = np.linspace(axis.start, axis.end, _COLUMNS + 1), min(platform.node_count, _ROWS)
    use = node_use(schedule, platform, edges, rows, *classes)
    image = np.empty((*use.shape[1:], 4))
    image[..., :3] = np.array([to_rgb(colour) for colour in chart.IN_PIXELS[: len(use)]])[use.argmax(axis=0)]
    share = use.sum(axis=0)
    image[..., 3] = np.where(
        share > 0, _FAINTEST + (1 - _FAINTEST) * np.ceil(np.clip(share, 0, 1) * _SHADES) / _SHADES, 0
    )
    low, high = axis.place(np.array([axis.start, axis.end]))
    axes.grid(visible=False)
    axes.set_ylabel("node")
    extent = (low, high, platform.node_count - 0.5, -0.5)
    axes.imshow(image, aspect="auto", interpolation="nearest", extent=extent)


def node_use(schedule: Schedule, platform: Platform, edges: Floats, rows: int, of_job: Ints, classes: int) -> Floats:
    """Mean share of cores in use, (classes, rows, steps).

    `rows` group nodes; `edges` bound equal steps; `of_job` (jobs,): class.
    """
    if schedule.parts is not None:
        of_job = np.repeat(of_job, np.diff(schedule.parts.offsets))
    steps = len(edges) - 1
    width = (edges[-1] - edges[0]) / steps or 1.0
    schedule = schedule.by_part
    row_of_node = np.arange(platform.node_count) * rows // platform.node_count
    capacity = np.bincount(row_of_node, weights=platform.capacity[:, platform.kinds.index(CORES)], minlength=rows)
    job = schedule.placed.job_of
    cores = schedule.request[:, schedule.kinds.index(CORES)]
    # A change counts partly in its own step, fully in later steps.
    within, after = np.zeros(classes * rows * steps), np.zeros(classes * rows * (steps + 1))
    for first in range(0, len(job), _CHUNK):
        span = slice(first, first + _CHUNK)
        row = of_job[job[span]] * rows + row_of_node[schedule.placed.nodes[span]]
        amount = (schedule.placed.units[span] * cores[job[span]]).astype(np.float64)
        for times, change in ((schedule.start, amount), (schedule.finish, -amount)):
            place = np.clip((times[job[span]] - edges[0]) / width, 0, steps)
            step = np.minimum(place.astype(np.int64), steps - 1)
            within += np.bincount(row * steps + step, weights=change * (step + 1 - place), minlength=len(within))
            after += np.bincount(row * (steps + 1) + step + 1, weights=change, minlength=len(after))
    use = within.reshape(classes, rows, steps) + np.cumsum(after.reshape(classes, rows, -1), axis=2)[..., :-1]
    shares = use / np.maximum(capacity, 1)[:, None]
    return np.where(shares < 1e-9, 0.0, shares)  # remove rounding residue


NAMED_NODES: Final = 40
MOST_BLOCKS: Final = 300_000
"""Most job-node pairs, for acceptable time."""
_AS_PIXELS: Final = 3000
"""Rectangles before rasterising."""
_LETTER: Final = 6.5
"""Font size in points; a digit is 0.62 times as wide."""
_ON_DARK, _ON_LIGHT = "#fefefe", "#15181b"
_NUMBERS: Final = (_ON_DARK, _ON_DARK, _ON_DARK, _ON_LIGHT, _ON_LIGHT, _ON_LIGHT)
"""Text colours on `chart.CYCLE`."""


@dataclass(frozen=True)
class Blocks:
    """Rectangles: job index `job[k]` on machine cores `[low[k], high[k])`."""

    job: Ints
    low: Ints
    high: Ints


def blocks(schedule: Schedule, platform: Platform, start: int, end: int) -> Blocks:
    """Rectangles of jobs run in `[start, end)`, on assumed cores (`metrics.cores`). Jobs beyond capacity overlap."""
    inside = schedule.ran & (schedule.start < end) & (schedule.finish > start)
    spans = core_spans(schedule, platform, overfull=True)
    found = [(job, low, high + 1) for job in np.flatnonzero(inside).tolist() for low, high in spans[job]]
    table = np.array(found, dtype=np.int64).reshape(-1, 3)
    return Blocks(table[:, 0], table[:, 1], table[:, 2])


def draw_jobs(axes: Axes, schedule: Schedule, platform: Platform, axis: TimeAxis) -> int:
    """Draw jobs and node labels; return the number of jobs."""
    schedule = schedule.by_part
    drawn, first = blocks(schedule, platform, axis.start, axis.end), first_cores(platform)
    left, right = (
        axis.place(np.clip(times[drawn.job], axis.start, axis.end)) for times in (schedule.start, schedule.finish)
    )
    # Unit is a node: all nodes have equal height.
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
    """Single jobs over nodes."""
    drawing, (axes,) = chart.figure(chart.FULL, 1.0 + min(0.35 * platform.node_count, 7.0))
    axis.dress(axes)
    jobs = draw_jobs(axes, schedule, platform, axis)
    caption = f"{words.number(jobs)} jobs ran in the requested span; each block is a job on neighbouring cores, "
    caption += "as high as its share of the node, with its number if there is space."
    return chart.finish(drawing, "Jobs over nodes", caption)
