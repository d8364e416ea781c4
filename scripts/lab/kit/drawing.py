"""Draws as all kits do: groups of bars, one legend for all panels, each figure as PNG and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dardis.report import chart
from scripts.lab.kit.spread import Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Look = tuple[str, str]
"""Colour and hatching."""


def save(drawing: Figure, path: Path) -> None:
    """Write a figure in both forms, the same bytes every time; `path` is without the ending."""
    for form in ("png", "svg"):
        metadata = {"Date": None} if form == "svg" else None
        drawing.savefig(path.with_suffix(f".{form}"), dpi=150, metadata=metadata)


def sheet(height: float, rows: int, columns: int) -> tuple[Figure, list[list[Axes]]]:
    """A figure as wide as the page with panels in rows, each with axes of its own; height in inches."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(chart.FULL, height))
    return drawing, drawing.subplots(rows, columns, squeeze=False).tolist()


def draw_bars(axes: Axes, groups: Sequence[tuple[str, Sequence[float]]], looks: Sequence[Look]) -> None:
    """Bars side by side, by label, one group a value."""
    width = 0.84 / len(groups)
    for place, ((label, values), (colour, hatch)) in enumerate(zip(groups, looks, strict=True)):
        where = np.arange(len(values)) + (place - (len(groups) - 1) / 2) * width
        axes.bar(where, values, width=width * 0.94, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4,
                 label=label)  # fmt: skip
    axes.axhline(0, color=chart.INK, linewidth=0.8)
    axes.grid(axis="x", visible=False)


def bar_figure(
    height: float, panels: Sequence[tuple[str, str, Sequence[tuple[str, Sequence[float]]]]], looks: Sequence[Look],
    ticks: Sequence[str], columns: int,
) -> tuple[Figure, Sequence[Axes]]:  # fmt: skip
    """Groups of bars in panels below each other: title, label of the values, and bars of each; one legend for all."""
    drawing, every = chart.figure(chart.FULL, height, len(panels))
    for axes, (title, label, groups) in zip(every, panels, strict=True):
        draw_bars(axes, groups, looks)
        axes.set_title(title)
        axes.set_ylabel(label)
    every[-1].set_xticks(range(len(ticks)), ticks)
    draw_legend(drawing, every[0], columns)
    return drawing, every


def draw_spreads(axes: Axes, curve: Mapping[float, Spread], label: str, place: int, width: float, cap: float) -> None:
    """A line of medians, with bars from least to most, in the look of its place."""
    medians = [one.median for one in curve.values()]
    below = [one.median - one.least for one in curve.values()]
    above = [one.most - one.median for one in curve.values()]
    look = chart.line_look(place, marked=True) | {"linewidth": width}
    axes.errorbar([*curve], medians, yerr=(below, above), label=label, capsize=cap, elinewidth=1, **look)


def draw_legend(drawing: Figure, axes: Axes, columns: int) -> None:
    """One legend above all panels, of what one of them has."""
    handles, labels = axes.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside upper center", ncols=columns)
