"""The first picture of a comparison: means over those of the first dispatcher, with intervals over draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from dardis.metrics.catalogue import metric_of
from dardis.metrics.comparison import Line, first_of, of_same_jobs
from dardis.metrics.paired import Interval
from dardis.report import chart, words
from dardis.report.chart import Chart

_FIGURES: Final = ("mean_wait_s", "mean_bounded_slowdown", "p99_wait_s")
_FARTHEST: Final = 1e3
"""What is beyond is at the edge."""


def ratios(lines: Sequence[Line], title: str) -> Chart | None:
    """Dots of up to three figures over those of the first dispatcher.

    None where there is nobody beside it, or where others rejected more or fewer jobs.
    """
    first = first_of(lines)
    if first is None:
        return None
    others = [line for line in lines if line is not first and line.done]
    found = {key: [_ratio(line, first, key) for line in others] for key in _FIGURES if of_same_jobs(lines, key)}
    found = {key: each for key, each in found.items() if any(each)}
    if not found:
        return None
    drawing = Figure(figsize=(chart.FULL, 1.5 + 0.3 * len(others)))
    panels = drawing.subplots(1, len(found), sharey=True, squeeze=False)[0]
    places = np.arange(len(others))
    for axes, (key, each) in zip(panels, found.items(), strict=True):
        ends = [1.0]
        for place, one in zip(places, each, strict=True):
            if one is None:
                continue
            interval, hollow = one
            if not interval.bounded:
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


def _ratio(line: Line, first: Line, key: str) -> tuple[Interval, bool] | None:
    """A figure over that of the first dispatcher, and whether its difference may be chance; without draws a point."""
    if (found := line.beside(first, key)) is not None:
        return None if found.ratio is None else (found.ratio, found.may_be_chance)
    mine, theirs = line.figure(key), first.figure(key)
    if mine is None or theirs is None or not mine.mean or not theirs.mean:
        return None
    ratio = mine.mean / theirs.mean
    return Interval(ratio, ratio, ratio), mine.mean == theirs.mean


def _caption(others: Sequence[Line], first: Line, keys: Sequence[str]) -> str:
    pairs = [pair for line in others for key in keys if (pair := line.beside(first, key)) is not None]
    told = f"Left of 1 is less than under {first.label}."
    if not pairs:
        return f"{told} Of one trace: what is chance in it nobody knows (--replicates tells)."
    least, most = min(pair.pairs for pair in pairs), max(pair.pairs for pair in pairs)
    over = words.draws(f"{most}" if least == most else f"{least} to {most}", {first.weeks})
    told += f" Lines: 95 % intervals over {over}; hollow: the difference may be chance."
    if any(pair.ratio is not None and not pair.ratio.bounded for pair in pairs):
        told += f" A dot without a line has no bounds: {first.label} itself may have 0 on average."
    return told
