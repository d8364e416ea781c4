"""Draws quality lost against messages saved: a curve a trace, from few nodes a unit to all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dardis.report import chart
from scripts.sample_curve.runs import Point


def draw(out: Path, curves: dict[str, Sequence[Point]]) -> None:
    """Write the figure as PNG and SVG: mean waits and slowdowns relative to full rounds over messages a job."""
    from matplotlib import pyplot

    with chart.style():
        drawing, axes = pyplot.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
        for place, (name, (full, *sampled)) in enumerate(curves.items()):
            points = [*sampled, full]
            colour = chart.CYCLE[place]
            messages = [one.messages / full.messages for one in points]
            waits = [one.wait_s / full.wait_s for one in points]
            slowdowns = [one.slowdown / full.slowdown for one in points]
            for half, values, what in ((axes[0], waits, "mean wait"), (axes[1], slowdowns, "mean bounded slowdown")):
                half.plot(messages, values, marker="o", markersize=4, color=colour, label=name)
                half.set_ylabel(f"{what}, relative to full rounds")
                for one, across, up in zip(sampled, messages, values, strict=False):
                    half.annotate(str(one.sample), (across, up), textcoords="offset points", xytext=(4, 4), fontsize=7,
                                  color=colour)  # fmt: skip
        for half in axes:
            half.set_xscale("log")
            half.set_xlabel("messages a job, relative to full rounds")
            half.axhline(1, color=chart.GREY, linewidth=0.8)
        axes[0].legend()
        for form in ("png", "svg"):
            drawing.savefig(out / f"sample.{form}", dpi=150, metadata={"Date": None} if form == "svg" else None)
        pyplot.close(drawing)
