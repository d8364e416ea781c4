"""Comparison's charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from dardis.metrics.catalogue import metric_of
from dardis.metrics.comparison_rows import ClairvoyantResult, Interval, ResultRow, grid_rows, mean_of, mean_wait
from dardis.metrics.job_classes import WALLTIME, WIDTH, JobClass
from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.job import SLOWDOWN_TAU_S
from dardis.report import chart, words
from dardis.report.chart import Chart
from dardis.report.distributions import FEW, curve, dress_shares, short_count, time_ticks

_BY: Final = {WIDTH: "requested cores, and jobs", WALLTIME: "requested walltime, and jobs"}


@dataclass(frozen=True)
class DispatcherResults:
    """Job results of a dispatcher; waits in s, (jobs,)."""

    label: str
    waits: Ints
    slowdowns: Floats
    classes: list[JobClass]
    runs: int


def waits(all_borne: Sequence[DispatcherResults], title: str) -> Chart:
    """Cumulative distribution of waits."""
    drawing, (axes,) = chart.figure(chart.HALF, 4.0)
    _curves(axes, [(borne.label, np.maximum(borne.waits, 1).astype(np.float64)) for borne in all_borne])
    time_ticks(axes, "x", max(int(borne.waits.max(initial=1)) for borne in all_borne))
    axes.set_xlabel("wait (at least 1 s)")
    return chart.finish(
        drawing, title, "All jobs that ran, of all seeds, from the first difference. Further left and up is better."
    )


def slowdowns(all_borne: Sequence[DispatcherResults], title: str) -> Chart:
    """Cumulative distribution of slowdowns."""
    drawing, (axes,) = chart.figure(chart.HALF, 4.0)
    _curves(axes, [(borne.label, borne.slowdowns) for borne in all_borne])
    axes.xaxis.set_major_formatter(chart.amounts())
    axes.set_xlabel("bounded slowdown (no unit)")
    caption = f"(wait + run) / run, at least 1, where runs under {SLOWDOWN_TAU_S} s count as {SLOWDOWN_TAU_S} s."
    return chart.finish(drawing, title, caption)


def _curves(axes: Axes, named: Sequence[tuple[str, Floats]]) -> None:
    for place, (label, values) in enumerate(named[: chart.MOST_LINES]):
        look = chart.line_look(place)
        curve(axes, values, look["color"], label, look["linewidth"], look["linestyle"])
    dress_shares(axes, [values for _, values in named[: chart.MOST_LINES]])
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)


def clairvoyant(lines: Sequence[ResultRow], known: ClairvoyantResult, title: str) -> Chart | None:
    """Mean waits beside offline schedule and proven bound."""
    waits = [(line.label, wait) for line in lines if (wait := mean_wait(line, known)) is not None]
    if not waits or known.best_s is None or known.bound_s is None:
        return None
    bars = [*waits, ("best found", known.best_s)]
    drawing, (axes,) = chart.figure(chart.FULL, 1.2 + 0.32 * len(bars))
    places = range(len(bars))
    colours = [chart.line_look(0)["color"]] * len(waits) + [chart.line_look(1)["color"]]
    axes.barh(places, [wait for _, wait in bars], color=colours, height=0.7)
    axes.axvline(known.bound_s, color=chart.INK, linestyle="--", label=f"proven bound: {known.bound_s:,.0f} s")
    for place, (_, wait) in zip(places, bars, strict=True):
        above = f", {wait / known.best_s:.2f} × best found" if known.best_s and place < len(waits) else ""
        axes.annotate(f"  {wait:,.0f} s{above}", (wait, place), va="center", fontsize=8)
    axes.set_yticks(places, [label for label, _ in bars])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, 1.35 * max(wait for _, wait in bars) or 1.0)
    axes.xaxis.set_major_formatter(chart.amounts())
    axes.set_xlabel("mean wait (s)")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)
    caption = (
        "Best found: schedule with knowledge of all jobs and runtimes. No schedule is below the bound; a schedule "
        "between both may exist."
    )
    return chart.finish(drawing, title, caption)


def class_breakdown(all_borne: Sequence[DispatcherResults], by: str, title: str) -> Chart:
    """Mean wait and bounded slowdown per job class."""
    places = sorted({one.place for borne in all_borne for one in borne.classes if one.by == by})
    drawing, panels = chart.figure(chart.FULL, 5.2, 2)
    names: dict[int, str] = {}
    for place, borne in enumerate(all_borne[: chart.MOST_LINES]):
        classes = [one for one in borne.classes if one.by == by]
        x = [places.index(one.place) for one in classes]
        for one in classes:
            names.setdefault(one.place, f"{one.name}\n{short_count(round(one.jobs / borne.runs))}")
        look = chart.line_look(place, marked=True)
        few = np.array([one.jobs < FEW * borne.runs for one in classes], dtype=bool)
        waits = np.array([max(one.mean_wait_s, 1.0) for one in classes])
        _draw_classes(panels[0], np.array(x), waits, few, look | {"label": borne.label})
        _draw_classes(panels[1], np.array(x), np.array([one.mean_bounded_slowdown for one in classes]), few, look)
    mean_waits = [max(one.mean_wait_s, 1.0) for borne in all_borne for one in borne.classes if one.by == by]
    for axes in panels:
        axes.set_yscale("log")
        axes.grid(visible=False, axis="x")
    time_ticks(panels[0], "y", int(max(mean_waits)))
    panels[0].set_ylim(0.6 * min(mean_waits), 1.7 * max(mean_waits))
    panels[0].set_ylabel("mean wait")
    panels[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0.2)
    panels[1].set_ylim(bottom=0.95)
    panels[1].yaxis.set_major_formatter(EngFormatter(sep=""))
    panels[1].set_ylabel("mean bounded slowdown")
    panels[1].set_xticks(range(len(places)), [names[place] for place in places])
    panels[1].tick_params(axis="x", labelsize=7.5)
    panels[1].set_xlabel(_BY[by])
    caption = "Means over the jobs of a class that ran, of all seeds; mean waits under 1 s count as 1 s. "
    caption += "Grey without lines: classes of fewer than ten jobs, whose differences may be chance."
    return chart.finish(drawing, title, caption)


def _draw_classes(axes: Axes, x: Ints, values: Floats, few: Bools, look: dict[str, Any]) -> None:
    axes.plot(x, np.where(few, np.nan, values), **look)
    axes.plot(x[few], values[few], color=chart.GREY, linestyle="", marker=look["marker"], markersize=4.5,
              markeredgewidth=0, zorder=1.5)  # fmt: skip


_FIGURES: Final = [metric_of(key) for key in ("mean_wait_s", "mean_bounded_slowdown")]


def sweeps(lines: Sequence[ResultRow]) -> list[Chart]:
    """Charts of all grids."""
    drawn = []
    for (family, settings), members in grid_rows(lines).items():
        done = [line for line in members if line.done]
        if done:
            drawn.append(
                (_chart_of_one_setting if len(settings) == 1 else _chart_of_two_settings)(family, settings, done)
            )
    return drawn


def _chart_of_one_setting(family: str, settings: tuple[str, ...], lines: Sequence[ResultRow]) -> Chart:
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


def _mean(line: ResultRow, key: str) -> Interval | None:
    draws = list(line.by_draw(key).values())
    if len(draws) > 1:
        return mean_of(draws, line.weeks)
    figure = line.figure(key)
    return None if figure is None else Interval(figure.mean, figure.mean, figure.mean)


def _chart_of_two_settings(family: str, settings: tuple[str, ...], lines: Sequence[ResultRow]) -> Chart:
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
