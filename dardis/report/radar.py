"""The radar of a trace's dispatchers, as the thesis's figure 5.3, but by quantiles: half-way out is the median.

So one dispatcher that is far behind all others stands at the rim, and these are told apart nevertheless.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.projections.polar import PolarAxes

from dardis.metrics.catalogue import excess_kind, metric_of
from dardis.metrics.comparison import Line, comparable
from dardis.report import chart, words
from dardis.report.chart import Chart

_THESIS: Final = (
    "makespan_s", "total_wait_s", "tardiness_s", "late_jobs", "overutilisation_core_s",
    "dissimilarity_from_first_submission",
)  # fmt: skip
_MORE: Final = ("mean_bounded_slowdown", "max_wait_s")
"""Shown as well where fewer than three of the thesis's figures have a value: two make no radar."""


def placed(lines: Sequence[Line], keys: Sequence[str]) -> dict[str, tuple[float, float, list[float]]]:
    """Of each figure the median and the largest of the lines' means, and where every line is between centre and rim.

    The centre is 0, half-way out the median, the rim twice the median or the largest if that is more; linear between.
    Figures that are 0 or unknown for all, or not comparable, are left out; a line that lacks one others have is at NaN.
    """
    found = {}
    for key in keys:
        means = np.array([figure.mean if (figure := line.figure(key)) else np.nan for line in lines])
        largest = float(np.nanmax(means)) if not np.isnan(means).all() else 0.0
        if largest > 0 and comparable(lines, key):
            median = float(np.nanmedian(means))
            beyond = 0.5 + 0.5 * (means - median) / (max(2 * median, largest) - median)
            within = 0.5 * means / median if median > 0 else means
            found[key] = (median, largest, np.where(means > median, beyond, within).tolist())
    return found


def radar(lines: Sequence[Line], title: str) -> Chart | None:
    """The radar of up to MOST_LINES lines; None where there are not three figures to show."""
    shown = placed(lines, list(_THESIS))
    if len(shown) < 3:
        shown |= placed(lines, list(_MORE))
    if len(shown) < 3:
        return None
    drawing = Figure(figsize=(chart.FULL, 4.6))
    axes = drawing.add_subplot(projection="polar")
    assert isinstance(axes, PolarAxes)
    axes.set_theta_offset(np.pi / 2)
    axes.set_theta_direction(-1)
    angles = np.linspace(0, 2 * np.pi, len(shown), endpoint=False)
    around = np.append(angles, angles[0])
    for place, line in enumerate(lines[: chart.MOST_LINES]):
        values = [shares[place] for _, _, shares in shown.values()]
        axes.plot(around, [*values, values[0]], label=line.label, **chart.line_look(place))
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0.5, 1.0], ["median", "2 × median, or most"], fontsize=7.5, color=chart.GREY)
    axes.set_rlabel_position(180 / len(shown))
    names = [
        f"{_name(key)}\nmedian {_said(key, median)}\nmost {_said(key, largest)}"
        for key, (median, largest, _) in shown.items()
    ]
    axes.set_xticks(angles, names)
    axes.tick_params(axis="x", pad=7)
    for angle, name in zip(angles, axes.get_xticklabels(), strict=True):
        aside = np.sin(angle)
        upward = np.cos(angle)
        name.set_verticalalignment("center" if abs(upward) < 0.5 else "bottom" if upward > 0 else "top")
        name.set_horizontalalignment("center" if abs(aside) < 0.1 else "left" if aside > 0 else "right")
    axes.spines["polar"].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1.45, 0.5))
    caption = (
        "Nearer to the centre, which is 0, is better. Half-way out is the median of the dispatchers here, the rim "
        "twice that, or the most if that is more."
    )
    return chart.finish(drawing, title, caption)


def _name(key: str) -> str:
    """The heading of a metric on lines that fit beside the circle."""
    return metric_of(key).heading.replace(" from ", "\nfrom ").replace("bounded ", "bounded\n")


def _said(key: str, value: float) -> str:
    if kind := excess_kind(key):
        return words.amount_seconds(kind, value)
    metric = metric_of(key)
    return words.in_unit(metric.unit_text, round(value) if key == "late_jobs" else value)
