"""Draws figures 4.6 to 4.10: gains over PBSFifo by test, the thesis's and ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dardis.report import chart
from scripts.lab.kit.drawing import draw_bars, draw_legend, save, sheet
from scripts.lab.thesis_4 import paper
from scripts.lab.thesis_4.page import Outcome, gain

SHOWN = ("WQT", "AQ", "NL", "TR", "WT")


def draw(out: Path, tests: Sequence[Outcome]) -> None:
    """Write the figure, a panel a measure; nothing where somebody has not been run."""
    if not all({*paper.OPPONENTS} <= {*of.dispatchers} for of in tests):
        return
    who = (paper.WALLTIME, paper.MODEL)
    looks = [(chart.CYCLE[place], hatch) for place in (0, 1) for hatch in ("///", "")]
    with chart.style():
        drawing, rows = sheet(7.0, 3, 2)
        panels = [axes for row in rows for axes in row]
        for name, axes in zip(SHOWN, panels, strict=False):
            place = paper.MEASURES.index(name)
            pairs = {dispatcher: [gain(of, dispatcher, place) for of in tests] for dispatcher in who}
            groups = [
                (f"{dispatcher}, {whose}", [pair[side] or 0.0 for pair in pairs[dispatcher]])
                for dispatcher in who
                for side, whose in enumerate(("thesis", "ours"))
            ]
            draw_bars(axes, groups, looks)
            axes.set_title(name)
            axes.set_xticks(range(len(tests)), [f"{of.test.jobs} jobs" for of in tests])
            axes.set_ylabel("gain over pbs-fifo, %")
        for axes in panels[len(SHOWN) :]:
            axes.set_visible(False)
        draw_legend(drawing, panels[0], 2)
        save(drawing, out / "gains")
