"""Draws who pays at which load, and what a later age costs whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from dardis.report import chart
from scripts.lab.kit.drawing import draw_legend, save, sheet
from scripts.lab.late.cases import SOURCES
from scripts.lab.late.table import LIMITS, Found, excess, geometric, medians, part_of

_PANELS: Final = {"wide": "jobs wider than a quarter of the machine", "others": "all others"}


def _family(source: str) -> str:
    """A made trace's name without its seed."""
    return source.rstrip("0123456789 ") if not SOURCES[source].file else source


def draw_who_pays(path: Path, found: Found) -> None:
    """Write mean waits of wide jobs and of the others, relative to the one to beat, by load, a line a trace."""
    lines: dict[str, dict[str, list[tuple[float, float]]]] = {name: defaultdict(list) for name in _PANELS}
    for case, runs in found.items():
        middle = medians(runs)
        for name, of in lines.items():
            if (ratio := getattr(middle, name)) is not None:
                of[case.source].append((middle.load, ratio))
    families = list(dict.fromkeys(_family(source) for source in SOURCES))
    with chart.style():
        drawing, (row,) = sheet(4.4, 1, len(_PANELS))
        for (name, title), axes in zip(_PANELS.items(), row, strict=True):
            axes.axhline(LIMITS["wait"], color=chart.INK, linewidth=0.8, linestyle=":")
            drawn = set()
            for source, points in lines[name].items():
                family = _family(source)
                x, y = zip(*sorted(points), strict=True)
                label = None if family in drawn else family
                axes.plot(x, y, label=label, **chart.line_look(families.index(family), marked=True))
                drawn.add(family)
            axes.set_title(title)
            axes.set_xlabel("load")
        row[0].set_ylabel("mean wait / that of EASY,\nshortest first")
        row[1].sharey(row[0])
        draw_legend(drawing, row[1], 4)
        save(drawing, path)


ALL_WORK: Final = 1 << 40
"""More than any work takes."""


class Ages(NamedTuple):
    """When late jobs are old: so long after the work that was there could be done, of which at most so much counts."""

    after_s: int
    work_s: int

    def __str__(self) -> str:
        """For a mark."""
        after = f"{self.after_s / 3600:g} h"
        if self.work_s == 0:
            return after
        return after + (" + work" if self.work_s >= ALL_WORK else f" + {self.work_s / 3600:g} h")


def draw_frontier(path: Path, found: Mapping[Ages, Found]) -> None:
    """Write what jobs wait on average against the largest excess over a limit, a mark for each rule."""
    with chart.style():
        drawing, (row,) = sheet(4.4, 1, 2)
        for axes, (title, chosen_on) in zip(row, (("chosen on", True), ("judged on", False)), strict=True):
            for turn, what in enumerate(("wait", "slowdown")):
                parts = {ages: part_of(of, chosen_on=chosen_on) for ages, of in found.items()}
                points = {ages: (geometric(part)[turn], excess(part)) for ages, part in parts.items() if part}
                x, y = [x for x, _ in points.values()], [y for _, y in points.values()]
                axes.plot(x, y, label=f"mean {what}", **chart.line_look(turn, marked=True) | {"linewidth": 0.0})
                offset, side = ((5, 4), "left") if turn == 0 else ((-5, -10), "right")
                for ages, point in points.items():
                    axes.annotate(str(ages), point, offset, textcoords="offset points", ha=side,
                                  fontsize=7.5, color=chart.CYCLE[turn])  # fmt: skip
            axes.margins(0.1)
            axes.axhline(1, color=chart.INK, linewidth=0.8, linestyle=":")
            axes.set_title(f"cases {title}")
            axes.set_xlabel("geometric mean / that of EASY, shortest first")
        row[0].set_ylabel("largest excess over a limit\n(wait 1.1, slowdown 1.1, longest wait 1.5)")
        draw_legend(drawing, row[0], 2)
        save(drawing, path)
