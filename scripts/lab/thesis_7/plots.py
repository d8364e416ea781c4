"""Draws our counterparts of figures 7.2 to 7.4, and how much of the clairvoyant gain was reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dardis.report import chart
from scripts.lab.kit.drawing import bar_figure, draw_legend, save
from scripts.lab.thesis_7.figures import Key, Service, WorkloadFigures
from scripts.lab.thesis_7.page import KEYS
from scripts.lab.thesis_7.runs import ALL_ON, EASY, LATE, OPPONENTS, SAME_NODES, SCENARIOS, SPARES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BARS: tuple[tuple[str, Key], ...] = (
    *((label, KEYS[label]) for label in ("DARDIS100", "DARDIS70", "DARDIS50", "throughput, learned spares")),
    ("late, all on", (LATE, ALL_ON)), ("late, learned spares", (LATE, SPARES)),
)  # fmt: skip
LOOKS = ((chart.CYCLE[0], ""), (chart.CYCLE[5], ""), (chart.CYCLE[2], ""), (chart.CYCLE[1], "//"),
         (chart.GREY, ""), (chart.CYCLE[3], "\\\\"))  # fmt: skip
"""Colour and hatching of each: hatched is ours, with the learned spares."""


def draw(out: Path, all_found: Sequence[WorkloadFigures]) -> None:
    """Write every figure as PNG and SVG."""
    with chart.style():
        for end, what in ((True, "last_end"), (False, "last_submission")):
            save(_profits(all_found, end=end), out / f"figure_7_2_{what}")
        save(_shares(all_found), out / "share_of_bound")
        save(_services(all_found), out / "figure_7_3")
        save(_decisions(all_found), out / "figure_7_4")


_NAMES = [scenario.name.replace(", ", "\n").replace(" ", "\n", 1) for scenario in SCENARIOS]


def _profits(all_found: Sequence[WorkloadFigures], *, end: bool) -> Figure:
    panels = []
    for found in all_found:
        bars = [(label, [found.over_best(key, one, end=end)[1] for one in SCENARIOS]) for label, key in BARS]
        panels.append((f"{found.workload.name} load", "% over the best\nrule-based set-up", bars))
    return bar_figure(1.0 + 2.4 * len(all_found), panels, LOOKS, _NAMES, 3)[0]


def _shares(all_found: Sequence[WorkloadFigures]) -> Figure:
    shown = (*BARS[1:3], ("throughput, ten spares", KEYS["throughput, ten spares"]), BARS[3],
             ("same nodes, learned spares", (SAME_NODES, SPARES)), BARS[5])  # fmt: skip
    looks = (LOOKS[1], LOOKS[2], (chart.CYCLE[4], ""), LOOKS[3], (chart.CYCLE[0], "//"), LOOKS[5])
    panels = []
    for found in all_found:
        bars = [(label, [100 * found.cells[key][one].share_of_bound for one in SCENARIOS]) for label, key in shown]
        title = f"{found.workload.name} load (dashed: the aim, {100 * found.workload.share_of_bound:.0f} %)"
        panels.append((title, "% of the clairvoyant gain", bars))
    drawing, every = bar_figure(1.0 + 2.2 * len(all_found), panels, looks, _NAMES, 3)
    for axes, found in zip(every, all_found, strict=True):
        axes.axhline(100 * found.workload.share_of_bound, color=chart.INK, linewidth=1, linestyle="--")
    return drawing


def _with_opponents(found: WorkloadFigures) -> list[tuple[str, Key]]:
    best = found.best_to_end[SCENARIOS[0]].name
    return [("best rule-based", (OPPONENTS, best)), ("EASY", (OPPONENTS, EASY)), *BARS]


_OPPONENT_LOOKS = ((chart.INK, ""), (chart.CYCLE[4], ""), *LOOKS)


def _services(all_found: Sequence[WorkloadFigures]) -> Figure:
    figures: tuple[tuple[str, Callable[[Service], float]], ...] = (
        ("mean wait, min", lambda of: of.mean_wait / 60),
        ("makespan, days", lambda of: of.makespan / 86_400),
        ("mean boot delay, s", lambda of: of.mean_delay),
        ("jobs delayed\nby a boot, %", lambda of: 100 * of.delayed),
    )
    shown = [_with_opponents(found) for found in all_found]
    panels = []
    for text, figure in figures:
        bars = []
        for place in range(len(_OPPONENT_LOOKS)):
            values = [figure(found.services[of[place][1]]) for found, of in zip(all_found, shown, strict=True)]
            bars.append((shown[0][place][0], values))
        panels.append(("", text, bars))
    ticks = [f"{found.workload.name} load" for found in all_found]
    drawing, every = bar_figure(9.0, panels, _OPPONENT_LOOKS, ticks, 4)
    every[0].set_yscale("symlog", linthresh=1)
    every[0].yaxis.set_major_formatter(chart.amounts())
    return drawing


def _decisions(all_found: Sequence[WorkloadFigures]) -> Figure:
    drawing, (axes,) = chart.figure(chart.FULL, 3.6)
    shown = [_with_opponents(found) for found in all_found]
    width = 0.84 / len(_OPPONENT_LOOKS)
    for place, (colour, hatch) in enumerate(_OPPONENT_LOOKS):
        of = [found.services[bars[place][1]] for found, bars in zip(all_found, shown, strict=True)]
        where = np.arange(len(of)) + (place - (len(_OPPONENT_LOOKS) - 1) / 2) * width
        axes.bar(where, [one.decision_ms for one in of], width=width * 0.94, color=colour, hatch=hatch,
                 edgecolor="white", linewidth=0.4, label=shown[0][place][0],
                 yerr=([0.0] * len(of), [one.decision_deviation_ms for one in of]),
                 error_kw={"ecolor": chart.GREY, "elinewidth": 1, "capsize": 2})  # fmt: skip
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(chart.amounts())
    axes.set_ylabel("ms a decision\n(whisker: one deviation up)")
    axes.grid(axis="x", visible=False)
    axes.set_xticks(range(len(all_found)), [f"{found.workload.name} load" for found in all_found])
    draw_legend(drawing, axes, 4)
    return drawing
