"""Draws what a job costs by the nodes of the machine, on log-log paper, with the thesis's own figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from dardis.report import chart
from scripts.lab.kit.drawing import draw_spreads, save
from scripts.lab.kit.spread import Spread
from scripts.lab.kit.thesis import TABLE_5_2

Curve = Mapping[int, Spread]
PLACES: Final = (0, 5, 2, 1, 4, 3, 6, 7)
"""Which look of the charts each curve has, so that neighbours differ most."""


def draw(out: Path, curves: Mapping[str, Curve], headlines: Sequence[str]) -> None:
    """Write figure and words as PNG and SVG; each curve has its median, and bars from least to most."""
    with chart.style():
        drawing, (axes,) = chart.figure(chart.FULL, 6.2)
        for place, (label, curve) in zip(PLACES, curves.items(), strict=False):
            draw_spreads(axes, dict(sorted(curve.items())), label, place, 1.8, 3)
        ours, theirs, cycle = (mean for mean, _ in TABLE_5_2.values())
        for text, value in (("thesis: a cycle of the rules", cycle), ("thesis: DARDIS", ours + theirs)):
            axes.plot([300], [value], marker="*", markersize=13, color=chart.INK, linestyle="none")
            axes.annotate(text, (300, value), xytext=(-12, 0), textcoords="offset points", ha="right", va="center")
        axes.set_xscale("log")
        axes.set_yscale("log")
        sizes = sorted({size for curve in curves.values() for size in curve})
        axes.set_xlim(sizes[0] / 4, 1.3 * sizes[-1])
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.set_xlabel("nodes of the machine")
        axes.set_ylabel("CPU seconds a job (median; bars: least to most)\nthesis: seconds")
        axes.set_title("\n".join(headlines))
        drawing.legend(loc="outside lower center", ncols=3)
        save(drawing, out)
