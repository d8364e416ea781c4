"""Draws what papers 002 and 003 show as bars: mean slowdowns and waits, with one standard deviation up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING

from dardis.report import chart
from scripts.lab.kit.drawing import save, sheet
from scripts.lab.kit.service import Scatter, Service

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_services(out: Path, panels: Mapping[str, Mapping[str, Service]], ours: Sequence[str] = ()) -> None:
    """Write a figure of slowdowns and waits, a row of panels each with a title, bars by label, those of `ours` lighter.

    Axes are logarithmic, since a deviation is up to ten times a mean; so it is drawn upwards only.
    """
    with chart.style():
        drawing, rows = sheet(0.6 + 2.9 * len(panels), len(panels), 2)
        for (title, services), (left, right) in zip(panels.items(), rows, strict=True):
            _bars(left, {label: one.slowdown for label, one in services.items()}, ours)
            _bars(right, {label: one.wait for label, one in services.items()}, ours)
            left.set_title(title)
            left.set_ylabel("slowdown, mean\n(whisker: one deviation up)")
            right.set_ylabel("wait, s, mean\n(whisker: one deviation up)")
        save(drawing, out)


def _bars(axes: Axes, values: Mapping[str, Scatter], ours: Sequence[str]) -> None:
    from matplotlib.ticker import NullFormatter

    for place, (label, one) in enumerate(values.items()):
        colour, ink = (chart.CYCLE[5], chart.INK) if label in ours else (chart.CYCLE[0], "white")
        axes.bar(place, one.mean, width=0.72, color=colour, edgecolor=ink, linewidth=0.4)
        axes.errorbar(place, one.mean, yerr=([0.0], [one.deviation]), color=chart.GREY, elinewidth=1.2, capsize=3)
        axes.annotate(chart.amounts()(float(f"{one.mean:.3g}")), (place, one.mean), xytext=(0, -3), color=ink,
                      textcoords="offset points", ha="center", va="top", fontsize=7, rotation=90)  # fmt: skip
    axes.set_yscale("log")
    axes.set_ylim(_decade(min(one.mean for one in values.values())))
    axes.yaxis.set_major_formatter(chart.amounts())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", visible=False)
    axes.set_xlim(-0.6, len(values) - 0.4)
    axes.set_xticks(range(len(values)), list(values), rotation=40, ha="right")


def _decade(least: float) -> float:
    """The power of ten below the least mean; 1 where nobody waits."""
    return 10.0 ** floor(log10(least / 1.5)) if least > 0 else 1.0
