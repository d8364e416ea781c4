"""Charts relative to the first dispatcher: ratios, radar (thesis figure 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.projections.polar import PolarAxes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from dardis.metrics.catalogue import excess_kind, metric_of
from dardis.metrics.comparison_rows import Interval, ResultRow, can_rank, first_of, is_comparable
from dardis.report import chart, words
from dardis.report.chart import Chart

_FIGURES: Final = ("mean_wait_s", "mean_bounded_slowdown", "p99_wait_s")
_FARTHEST: Final = 1e3
"""Largest ratio shown."""


def ratios(lines: Sequence[ResultRow], title: str) -> Chart | None:
    """Metrics relative to the first dispatcher; None without others, or with unequal rejections."""
    first = first_of(lines)
    if first is None:
        return None
    others = [line for line in lines if line is not first and line.done]
    found = {key: [_ratio(line, first, key) for line in others] for key in _FIGURES if can_rank(lines, key)}
    found = {key: each for key, each in found.items() if any(each)}
    if not found:
        return None
    drawing, panels = chart.figure_in_row(chart.FULL, 1.5 + 0.3 * len(others), len(found))
    places = np.arange(len(others))
    for axes, (key, each) in zip(panels, found.items(), strict=True):
        ends = [1.0]
        for place, one in zip(places, each, strict=True):
            if one is None:
                continue
            interval, hollow = one
            if not interval.is_bounded:
                interval = Interval(interval.value, interval.value, interval.value)
            ends_here = (interval.low, interval.value, interval.high)
            low, value, high = (min(max(end, 1 / _FARTHEST), _FARTHEST) for end in ends_here)
            axes.plot([low, high], [place, place], color=chart.BLUE, linewidth=1.6)
            axes.plot(value, place, "o", color=chart.BLUE, markerfacecolor=chart.PAGE if hollow else chart.BLUE)
            ends += [low, value, high]
        axes.axvline(1.0, color=chart.INK, linewidth=1.0, linestyle="--")
        axes.set_xscale("log")
        axes.set_xlim(min(ends) / 1.15, max(ends) * 1.15)
        axes.xaxis.set_major_locator(MaxNLocator(5) if max(ends) / min(ends) < 3 else LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(f"{metric_of(key).heading} / that of {first.label}")
        axes.grid(visible=False, axis="y")
    panels[0].set_yticks(places, [line.label for line in others])
    panels[0].set_ylim(len(others) - 0.5, -0.5)
    return chart.finish(drawing, title, _caption(others, first, list(found)))


def _ratio(line: ResultRow, first: ResultRow, key: str) -> tuple[Interval, bool] | None:
    if (found := line.compare_with(first, key)) is not None:
        return None if found.ratio is None else (found.ratio, found.may_be_chance)
    mine, theirs = line.figure(key), first.figure(key)
    if mine is None or theirs is None or not mine.mean or not theirs.mean:
        return None
    ratio = mine.mean / theirs.mean
    return Interval(ratio, ratio, ratio), mine.mean == theirs.mean


def _caption(others: Sequence[ResultRow], first: ResultRow, keys: Sequence[str]) -> str:
    pairs = [pair for line in others for key in keys if (pair := line.compare_with(first, key)) is not None]
    told = f"Left of 1 is less than under {first.label}."
    if not pairs:
        return f"{told} A single trace does not show which differences are chance (see --replicates)."
    least, most = min(pair.pairs for pair in pairs), max(pair.pairs for pair in pairs)
    over = words.draws(f"{most}" if least == most else f"{least} to {most}", {first.weeks})
    told += f" Lines: 95 % intervals over {over}; hollow: the difference may be chance."
    if any(pair.ratio is not None and not pair.ratio.is_bounded for pair in pairs):
        told += f" A dot without a line has no bounds: {first.label} itself may have 0 on average."
    return told


_THESIS: Final = (
    "makespan_s", "total_wait_s", "tardiness_s", "late_jobs", "overutilisation_core_s",
    "dissimilarity_from_first_submission",
)  # fmt: skip
_MORE: Final = ("mean_bounded_slowdown", "max_wait_s")
"""Added if fewer than three thesis metrics have values."""


def radial_positions(lines: Sequence[ResultRow], keys: Sequence[str]) -> dict[str, tuple[float, float, list[float]]]:
    """Median, maximum, and radial positions of rows, per metric.

    Centre: 0; half-way: median; rim: twice the median, or the maximum if larger. Metrics without comparable positive
    values are omitted; NaN: missing.
    """
    found = {}
    for key in keys:
        means = np.array([figure.mean if (figure := line.figure(key)) else np.nan for line in lines])
        largest = float(np.nanmax(means)) if not np.isnan(means).all() else 0.0
        if largest > 0 and is_comparable(lines, key):
            median = float(np.nanmedian(means))
            beyond = 0.5 + 0.5 * (means - median) / (max(2 * median, largest) - median)
            within = 0.5 * means / median if median > 0 else means
            found[key] = (median, largest, np.where(means > median, beyond, within).tolist())
    return found


def radar(lines: Sequence[ResultRow], title: str) -> Chart | None:
    """Radar of up to MOST_LINES rows; None for fewer than three metrics."""
    shown = radial_positions(lines, list(_THESIS))
    if len(shown) < 3:
        shown |= radial_positions(lines, list(_MORE))
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
        f"{_name(key)}\nmedian {_value_text(key, median)}\nmost {_value_text(key, largest)}"
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
        "Nearer to the centre (0) is better. The median of the dispatchers is half-way out; the rim is twice the "
        "median, or the maximum if larger."
    )
    return chart.finish(drawing, title, caption)


def _name(key: str) -> str:
    return metric_of(key).heading.replace(" from ", "\nfrom ").replace("bounded ", "bounded\n")


def _value_text(key: str, value: float) -> str:
    if kind := excess_kind(key):
        return words.amount_seconds(kind, value)
    metric = metric_of(key)
    return words.in_unit(metric.unit_text, round(value) if key == "late_jobs" else value)
