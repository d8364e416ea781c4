"""A figure over the settings of a grid: over one setting as lines with intervals, over two as a map with numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from dardis.metrics.catalogue import metric_of
from dardis.metrics.comparison import Line, swept
from dardis.metrics.paired import Interval, mean_of
from dardis.report import chart, words
from dardis.report.chart import Chart

_FIGURES: Final = [metric_of(key) for key in ("mean_wait_s", "mean_bounded_slowdown")]


def sweeps(lines: Sequence[Line]) -> list[Chart]:
    """The charts of all grids among the lines of one trace."""
    drawn = []
    for (family, settings), members in swept(lines).items():
        done = [line for line in members if line.done]
        if done:
            drawn.append((_over_one if len(settings) == 1 else _over_two)(family, settings, done))
    return drawn


def _over_one(family: str, settings: tuple[str, ...], lines: Sequence[Line]) -> Chart:
    drawing, panels = chart.figure(chart.FULL, 4.4, len(_FIGURES))
    names = [line.grid[0][1] for line in lines]
    for axes, metric in zip(panels, _FIGURES, strict=True):
        found = [(place, one) for place, line in enumerate(lines) if (one := _mean(line, metric.name)) is not None]
        places = [place for place, _ in found]
        means = np.array([one.value for _, one in found])
        below, above = (np.abs(means - [end(one) for _, one in found]) for end in (_low, _high))
        axes.errorbar(places, means, yerr=[below, above], capsize=3, marker="o", color=chart.BLUE)
        axes.set_ylabel(metric.axis)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(chart.amounts())
    panels[-1].set_xticks(range(len(names)), names)
    panels[-1].set_xlabel(settings[0])
    counts = sorted({count for line in lines if (count := len(line.by_draw("mean_wait_s"))) > 1})
    over = words.draws(" to ".join(map(str, counts[:: max(len(counts) - 1, 1)])), {lines[0].weeks})
    caption = f"Means, with 95 % intervals over {over}." if counts else "Means of all runs."
    return chart.finish(drawing, f"{family} over {settings[0]}", caption)


def _low(one: Interval) -> float:
    return one.low


def _high(one: Interval) -> float:
    return one.high


def _mean(line: Line, key: str) -> Interval | None:
    """The mean of a figure, with an interval where there are draws."""
    draws = list(line.by_draw(key).values())
    if len(draws) > 1:
        return mean_of(draws, line.weeks)
    figure = line.figure(key)
    return None if figure is None else Interval(figure.mean, figure.mean, figure.mean)


def _over_two(family: str, settings: tuple[str, ...], lines: Sequence[Line]) -> Chart:
    rows, columns = (list(dict.fromkeys(line.grid[place][1] for line in lines)) for place in range(2))
    drawing = Figure(figsize=(chart.FULL, 1.6 + 0.4 * len(rows)))
    panels = drawing.subplots(1, len(_FIGURES), squeeze=False)[0]
    for axes, metric in zip(panels, _FIGURES, strict=True):
        found = np.full((len(rows), len(columns)), np.nan)
        for line in lines:
            if (figure := line.figure(metric.name)) is not None:
                found[rows.index(line.grid[0][1]), columns.index(line.grid[1][1])] = figure.mean
        axes.imshow(found, cmap="Blues", aspect="auto", vmin=0, vmax=1.6 * np.nanmax(found, initial=1e-9))
        for row, column in np.argwhere(~np.isnan(found)).tolist():
            text = words.number(found[row, column])
            axes.text(column, row, text, ha="center", va="center", fontsize=8, color="#000000")
        axes.set_yticks(range(len(rows)), rows)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_ylabel(settings[0])
        axes.set_xlabel(settings[1])
        axes.set_title(metric.axis)
        axes.grid(visible=False)
    return chart.finish(drawing, f"{family} over {settings[0]} and {settings[1]}", "Means of all runs; paler is less.")
