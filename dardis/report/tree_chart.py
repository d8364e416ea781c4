"""Draws a small decision tree: questions, their answers, and what each leaf says."""

from __future__ import annotations

from matplotlib.axes import Axes

from dardis.model.branch import Branch
from dardis.report import chart
from dardis.report.chart import Chart


def tree(branch: Branch, title: str) -> Chart:
    """The tree from its first question, at the top, to its leaves; yes goes left."""
    drawing, (axes,) = chart.figure(chart.FULL, 0.7 + 0.75 * (branch.depth + 1))
    _draw(axes, branch, 0.0, 0)
    axes.set_xlim(0, branch.leaves)
    axes.set_ylim(-branch.depth - 0.35, 0.35)
    axes.axis("off")
    return chart.finish(drawing, title, "Yes goes left. What was learned from past days, and holds for this one.")


def _draw(axes: Axes, branch: Branch, left: float, level: int) -> float:
    """Draw a branch whose leaves begin at `left`; return where its own text is."""
    if branch.yes is None or branch.no is None:
        place = left + 0.5
    else:
        below = _draw(axes, branch.yes, left, level + 1), _draw(axes, branch.no, left + branch.yes.leaves, level + 1)
        place = sum(below) / 2
        for end, answer in zip(below, ("yes", "no"), strict=True):
            axes.plot([place, end], [-level, -level - 1], color=chart.GREY, linewidth=1, zorder=1)
            axes.text((place + end) / 2, -level - 0.5, answer, ha="center", va="center", color=chart.INK, fontsize=7.5,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
    leaf = branch.yes is None
    axes.text(
        place, -level, branch.said, ha="center", va="center", fontsize=8, zorder=2, wrap=True,
        bbox={"boxstyle": "round,pad=0.35", "facecolor": chart.PALE if leaf else chart.PAGE,
              "edgecolor": chart.BLUE if leaf else chart.GREY, "linewidth": 0.8},
    )  # fmt: skip
    return place
