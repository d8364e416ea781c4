"""Draws quality lost against messages saved: a curve a trace and one for all, from few nodes a unit to all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dardis.report import chart
from scripts.lab.kit.drawing import save
from scripts.lab.sample.runs import ALL_TRACES, Point

TICKS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def draw(out: Path, curves: Mapping[str, Sequence[Point]]) -> None:
    """Write the figure as PNG and SVG: waits and slowdowns over messages a job, all relative to full rounds."""
    from matplotlib import pyplot as plt

    with chart.style():
        drawing, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
        for place, (name, points) in enumerate(curves.items()):
            whole = name == ALL_TRACES
            looks = {"color": chart.INK if whole else chart.CYCLE[place], "linewidth": 2 if whole else 0.8}
            across = [one.messages for one in points]
            for half, values in zip(axes, ([p.wait for p in points], [p.slowdown for p in points]), strict=True):
                half.plot(across, values, marker="o", markersize=5 if whole else 3, label=name, **looks)
                for one, x, y in zip(points, across, values, strict=True):
                    if whole and one.sample:
                        half.annotate(str(one.sample), (x, y), textcoords="offset points", xytext=(5, 5), fontsize=9)
        for half, what in zip(axes, ("mean wait", "mean bounded slowdown"), strict=True):
            half.set_xscale("log")
            half.set_xticks(TICKS, [str(tick) for tick in TICKS])
            half.set_xticks([], minor=True)
            half.set_xlabel("messages a job, relative to full rounds")
            half.set_ylabel(f"{what}, relative to full rounds")
            half.axhline(1, color=chart.GREY, linewidth=0.8)
        axes[0].legend()
        save(drawing, out / "sample")
        plt.close(drawing)
