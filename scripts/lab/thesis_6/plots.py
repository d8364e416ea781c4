"""Draws our counterparts of figures 6.2 to 6.4, 6.6, 6.8 and 6.9."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from dardis.report import chart
from offline.site.calendar import DAY_S
from scripts.lab.kit.drawing import Look, bar_figure, draw_legend, save
from scripts.lab.thesis_6.cases import INCOMES, SCENARIOS
from scripts.lab.thesis_6.class_tree import CLASSES, ClassTree, DayRecords
from scripts.lab.thesis_6.figures import Found
from scripts.lab.thesis_6.page import predicted
from scripts.lab.thesis_6.searches import DELAY, SEARCHES

FIGURES = {"low": "figure_6_3", "high": "figure_6_2", "slice": "figure_6_2_slice"}
BEST = "best rule-based"


def draw(out: Path, all_found: Sequence[Found], tree: ClassTree, records: DayRecords) -> None:
    """Write every figure as PNG and SVG."""
    with chart.style():
        for found in all_found:
            save(_gains(found), out / FIGURES[found.case.workload.name])
            if found.case.workload.name == "high":
                save(_daily(found), out / "figure_6_6")
        save(_makespans(all_found), out / "figure_6_4")
        save(_predictions(tree, records, right=True), out / "figure_6_8")
        save(_predictions(tree, records, right=False), out / "figure_6_9")


def _looks(bars: Sequence[tuple[str, Sequence[float]]]) -> list[Look]:
    """Each its colour, the best rule the ink's."""
    cycle = len(chart.CYCLE)
    return [(chart.INK if label == BEST else chart.CYCLE[place % cycle], "") for place, (label, _) in enumerate(bars)]


def _gains(found: Found) -> Figure:
    """Gain over the best rule, and over the best of those that stand still."""
    cells = [(scenario, price) for scenario in SCENARIOS for price in INCOMES]
    panels = []
    for strict in (False, True):
        bars = [(search, [found.gain(search, *cell, strict=strict) for cell in cells]) for search in SEARCHES]
        title = "" if strict else f"profit until the last submission, {found.case.workload.name} load"
        panels.append((title, f"% over the best\n{'strict rule' if strict else 'of the six rules'}", bars))
    names = [f"{scenario.plant}\n{scenario.season.name}\n{price}" for scenario, price in cells]
    return bar_figure(5.4, panels, _looks(panels[0][2]), names, 5)[0]


def _makespans(all_found: Sequence[Found]) -> Figure:
    panels = []
    for found in all_found:
        rule = [found.makespan_d(found.best_rule(scenario, "cheap"), scenario) for scenario in SCENARIOS]
        bars = [(search, [found.makespan_d(search, scenario) for scenario in SCENARIOS]) for search in SEARCHES]
        bars.append((BEST, rule))
        title = f"{found.case.workload.name} load (the axis does not begin at 0)"
        panels.append((title, "makespan, days", bars))
    names = [scenario.name for scenario in SCENARIOS]
    drawing, every = bar_figure(1.0 + 2.2 * len(all_found), panels, _looks(panels[0][2]), names, 6)
    for axes, (_, _, bars) in zip(every, panels, strict=True):
        values = [value for _, of in bars for value in of]
        axes.set_ylim(0.95 * min(values), 1.01 * max(values))
    return drawing


def _daily(found: Found) -> Figure:
    drawing, panels = chart.figure(chart.FULL, 1.0 + 1.8 * len(SCENARIOS), len(SCENARIOS))
    days_with = (found.case.last - found.case.first) // DAY_S + 1
    for axes, scenario in zip(panels, SCENARIOS, strict=True):
        for place, name in enumerate((DELAY, found.best_rule(scenario, "cheap"))):
            pue = found.days(name, scenario).pue
            days = np.flatnonzero(np.isfinite(pue))
            colour = chart.CYCLE[place]
            label = DELAY if place == 0 else BEST
            axes.plot(days + 1, pue[days], color=colour, marker="os"[place], markersize=4, linewidth=1.2, label=label)
            trend = np.polynomial.Polynomial.fit(days + 1, pue[days], 1)
            axes.plot(
                days + 1, trend(days + 1), color=colour, linestyle="--", linewidth=1, label=f"{label}, trend"
            )  # fmt: skip
        axes.axvline(days_with + 0.5, color=chart.GREY, linewidth=0.8)
        axes.set_title(f"{scenario.name} (grey: after the last submission)")
        axes.set_ylabel("PUE of the day")
    panels[-1].set_xlabel("day")
    panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    draw_legend(drawing, panels[0], 4)
    return drawing


def _predictions(tree: ClassTree, records: DayRecords, *, right: bool) -> Figure:
    """Distance from the slope change against the last day's use: all predictions, or the wrong ones alone."""
    drawing, (axes,) = chart.figure(chart.FULL, 4.2)
    told = predicted(tree, records)
    for place, colour in enumerate((chart.BLUE, chart.VERMILLION)):
        for good in (True, False) if right else (False,):
            mine = (told == place) & ((told == records.classes) == good)
            axes.scatter(
                100 * records.last_use[mine], records.above_slope[mine], marker="o" if good else "x", s=26,
                linewidths=1.0, facecolors="none" if good else colour, edgecolors=colour if good else None,
                label=f"“{CLASSES[place]}”, {'right' if good else 'wrong'} ({int(mine.sum())})",
            )  # fmt: skip
    axes.axhline(0, color=chart.INK, linewidth=0.8)
    axes.set_yscale("symlog", linthresh=1e-4)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.margins(y=0.08)
    axes.set_xlabel("use of the machine on the day before, %")
    axes.set_ylabel("PUE above the slope change")
    draw_legend(drawing, axes, 2)
    return drawing
