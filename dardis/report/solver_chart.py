"""The chart of decisions that were put as constraint models: how far from the best each may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.ticker import PercentFormatter

from dardis.report import chart, words
from dardis.report.chart import Chart, TimeAxis
from dardis.runs.solved import Gap, Outcome

_LOOKS: Final = {
    Outcome.NOT_ASKED: (chart.GREY, "."),
    Outcome.PROVEN: (chart.IN_PIXELS[0], "o"),
    Outcome.STOPPED: (chart.VERMILLION, "^"),
    Outcome.TOO_LARGE: (chart.CYCLE[2], "s"),
}
"""Told apart by shape, too."""


def gaps(decisions: Sequence[Gap], axis: TimeAxis) -> Chart:
    """The gap of each decision over time, by what is known of its answer."""
    drawing, (axes,) = chart.figure(chart.FULL, 2.8, 1)
    counts = Counter(one.outcome for one in decisions)
    for outcome, (colour, marker) in _LOOKS.items():
        mine = [(one.time, one.gap) for one in decisions if one.outcome is outcome and one.gap is not None]
        if mine:
            time, gap = np.array(mine, dtype=np.float64).T
            # Drawn as pixels: a long run has many decisions.
            axes.plot(
                axis.place(time), gap, marker, color=colour, markersize=4.5, markeredgewidth=0, label=str(outcome),
                rasterized=True, clip_on=False,
            )  # fmt: skip
    axes.set_ylim(bottom=0, top=max([0.01, *(1.05 * one.gap for one in decisions if one.gap is not None)]))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylabel("gap of the decision")
    if axes.lines:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(axes.lines), borderaxespad=0.2)
    axis.dress(axes)
    said = ", ".join(f"{words.number(counts[outcome])} {outcome}" for outcome in Outcome if counts[outcome])
    caption = f"(objective − bound) / objective of each decision, 0 where no answer can be better: {said}."
    return chart.finish(drawing, "Decisions as constraint models", caption)
