"""Draws cost over size on log-log paper: a panel for what grows, with its lines, and what growing in proportion is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dardis.report import chart
from scripts.lab.growth.points import Point, curves_of
from scripts.lab.kit.drawing import draw_spreads, save, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS: Final = {
    "nodes": ("dardis-throughput, rounds in one call", "nodes, 4 reservations each"),
    "reservations a node": ("dardis-throughput, rounds in one call", "reservations a node, 10,000 nodes"),
    "waiting jobs": ("decisions in whole runs", "jobs that wait, 100 nodes"),
}
"""What stands above and below each panel."""


def draw(path: Path, points: Sequence[Point]) -> None:
    """Write the figure as PNG and SVG; `path` is without the ending. Medians, and bars from least to most."""
    panels = curves_of(points)
    with chart.style():
        drawing, (row,) = sheet(4.6, 1, len(panels))
        for axes, (over, curves) in zip(row, panels.items(), strict=True):
            for place, (what, curve) in enumerate(curves.items()):
                draw_spreads(axes, {one.size: one.cost_us for one in curve}, what, place, 1.6, 2)
            _dress(axes, [one for curve in curves.values() for one in curve])
            title, label = LABELS[over]
            axes.set_title(title)
            axes.set_xlabel(label)
            axes.legend(loc="upper left")
        row[0].set_ylabel("CPU time a job, µs")
        save(drawing, path)


def _dress(axes: Axes, points: Sequence[Point]) -> None:
    """Both axes logarithmic, 0 left of all; and a line of what grows in proportion, through the dearest point."""
    sizes = sorted({one.size for one in points})
    if sizes[0] == 0:
        axes.set_xscale("symlog", linthresh=1, linscale=0.4)
        axes.set_xlim(-0.3, 2 * sizes[-1])
    else:
        axes.set_xscale("log")
    axes.set_yscale("log")
    dearest = max((one for one in points if one.size > 0), key=lambda one: one.cost_us.median)
    low, high = axes.get_ylim()
    some = [size for size in sizes if size > 0]
    axes.plot([some[0], some[-1]], [dearest.cost_us.median * size / dearest.size for size in (some[0], some[-1])],
              color=chart.GREY, linewidth=0.9, linestyle=":", label="in proportion")  # fmt: skip
    axes.set_ylim(low, 4 * high)
