"""Draws our counterparts of figures 3.1 to 3.6: a column a batch, the thesis's best model beside PBS and rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from dardis.model.arrays import Floats
from dardis.report import chart
from scripts.lab.cp_2014 import paper
from scripts.lab.cp_2014.batches import FRAME_S
from scripts.lab.cp_2014.figures import BY_QUEUE, MACHINE_CORES, TIMES_EXPECTED, Curves, curves, times_expected
from scripts.lab.cp_2014.page import Outcome
from scripts.lab.kit.drawing import draw_bars, draw_legend, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = {paper.BEST: "PCP'14, MKS WT/NL", paper.PBS: "PBS, as recorded", BY_QUEUE: "rules, by queue"}


def draw(out: Path, outcomes: Sequence[Outcome]) -> None:
    """Write both figures as PNG and SVG."""
    with chart.style():
        save(_use(outcomes), out / "figures_3_1_3_3_3_5")
        save(_waits(outcomes), out / "figures_3_2_3_4_3_6")


WIDTHS = (3.2, 2.2, 1.3)
"""The lines lie on each other: each is thinner than those below it."""


def _panels(outcomes: Sequence[Outcome], first: int, *, share: bool) -> tuple[Figure, list[list[Axes]]]:
    """Two rows of panels, named as those of the thesis; `first`: number of BATCH1's figure."""
    drawing = Figure(figsize=(chart.FULL, 5.6))
    axes = drawing.subplots(2, len(outcomes), squeeze=False, sharey="row" if share else False)
    for row, letter in zip(axes, "ab", strict=True):
        for column, of in zip(row, outcomes, strict=True):
            number = first + 2 * [*paper.TABLE_3_6].index(of.batch.name)
            column.set_title(f"{of.batch.name} (figure 3.{number}{letter})")
    return drawing, [list(row) for row in axes]


def _shown(of: Outcome) -> list[tuple[str, str]]:
    return [(label, name) for label, name in SHOWN.items() if label in of.done]


def _lines(axes: Axes, of: Outcome, which: str) -> None:
    for place, (label, name) in enumerate(_shown(of)):
        found: Curves = curves(of.batch, of.done[label])
        axes.plot(
            found.minutes, getattr(found, which), label=name, **chart.line_look(place) | {"linewidth": WIDTHS[place]}
        )
    axes.set_xlim(0, FRAME_S / 60)
    axes.set_xlabel("time in the batch (min)")


def _use(outcomes: Sequence[Outcome]) -> Figure:
    drawing, (jobs, cores) = _panels(outcomes, 1, share=True)
    for upper, lower, of in zip(jobs, cores, outcomes, strict=True):
        _lines(upper, of, "jobs")
        _lines(lower, of, "cores")
        lower.axhline(MACHINE_CORES, color=chart.INK, linewidth=1, linestyle="--")
        lower.set_ylim(0, 1.05 * MACHINE_CORES)
    jobs[0].set_ylim(0, None)
    jobs[0].set_ylabel("running jobs")
    cores[0].set_ylabel(f"cores in use (dashed: all {MACHINE_CORES:,})")
    percent = cores[-1].secondary_yaxis("right", functions=(_to_percent, _to_cores))
    percent.set_ylabel("cores in use (%)")
    draw_legend(drawing, jobs[0], len(SHOWN))
    return drawing


def _to_percent(cores: ArrayLike) -> Floats:
    return 100 * np.asarray(cores, dtype=np.float64) / MACHINE_CORES


def _to_cores(percent: ArrayLike) -> Floats:
    return np.asarray(percent, dtype=np.float64) * MACHINE_CORES / 100


def _waits(outcomes: Sequence[Outcome]) -> Figure:
    drawing, (waiting, relative) = _panels(outcomes, 2, share=False)
    looks = [(str(chart.line_look(place)["color"]), hatch) for place, hatch in enumerate(("", "//", "\\\\"))]
    edges = TIMES_EXPECTED
    names = [f"{edge:g}" for edge in edges[1:-1]] + ["more"]
    for upper, lower, of in zip(waiting, relative, outcomes, strict=True):
        _lines(upper, of, "waiting")
        upper.set_ylim(0, None)
        bars = [(name, times_expected(of.batch, of.done[label]).tolist()) for label, name in _shown(of)]
        draw_bars(lower, bars, looks[: len(bars)])
        lower.set_xticks(np.arange(len(names)), names)
        lower.set_xlabel("wait in multiples of ewt, up to")
    waiting[0].set_ylabel("waiting jobs")
    relative[0].set_ylabel("jobs by wait (those above 0 s)")
    draw_legend(drawing, waiting[0], len(SHOWN))
    return drawing
