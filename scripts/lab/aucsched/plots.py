"""Draws utilisation by workload and machine, and fragmentation against spread, the paper's and ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dardis.report import chart
from dardis.workload.generate import MACHINES
from scripts.lab.aucsched import paper
from scripts.lab.aucsched.cases import ADDITIONAL, CONTIGUOUS, EASY, MACHINE_OF, PRINTED, Case, cases_of
from scripts.lab.aucsched.figures import Figures
from scripts.lab.aucsched.page import Found
from scripts.lab.kit.drawing import draw_legend, save, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NUMBERS: Final = [number for number in MACHINE_OF if number != ADDITIONAL]
_LOOKS: Final = {
    f"{paper.AUCSCHED} (paper)": (chart.BLUE, "o", "none"),
    PRINTED: (chart.BLUE, "o", chart.BLUE),
    "aucsched": (chart.CYCLE[5], "^", chart.CYCLE[5]),
    f"{paper.BACKFILLING} (paper)": (chart.VERMILLION, "s", "none"),
    EASY: (chart.VERMILLION, "s", chart.VERMILLION),
    "easy, contiguous": (chart.CYCLE[4], "D", chart.CYCLE[4]),
}
"""Colour, marker and filling by who; the paper's are hollow."""


def _figures(found: Found, case: Case, who: str) -> Figures | None:
    """The row of one of _LOOKS, if it is there."""
    whose, _, _ = who.partition(" (paper)")
    if whose in (paper.AUCSCHED, paper.BACKFILLING):
        return paper.TABLES[case.table][case.name][whose]
    ours = found.get((case, who))
    return None if ours is None else ours.figures


def draw_utilisation(path: Path, found: Found) -> None:
    """Write a panel a machine, workload versions from left to right."""
    with chart.style():
        drawing, rows = sheet(8.4, len(_NUMBERS), 1)
        for number, (axes,) in zip(_NUMBERS, rows, strict=True):
            cases = cases_of(number)
            for turn, who in enumerate(_LOOKS):
                shift = 0.12 * (turn - (len(_LOOKS) - 1) / 2)
                known = [(place + shift, of.utilisation) for place, case in enumerate(cases)
                         if (of := _figures(found, case, who)) is not None]  # fmt: skip
                _marks(axes, known, who)
            for border in range(len(CONTIGUOUS), len(cases), len(CONTIGUOUS)):
                axes.axvline(border - 0.5, color=chart.GREY, linewidth=0.8)
            axes.set_xticks(range(len(cases)), [case.name for case in cases])
            axes.set_xlim(-0.6, len(cases) - 0.4)
            axes.grid(axis="x", visible=False)
            axes.set_ylabel("utilisation, %")
            axes.sharey(rows[0][0])
            _title(axes, number)
        rows[-1][0].set_xlabel("workload and version (1: no job is contiguous, 2: half of them, 3: all)")
        draw_legend(drawing, rows[0][0], 3)
        save(drawing, path)


def draw_footprints(path: Path, found: Found) -> None:
    """Write a panel a machine, a mark for each workload in versions 1 and 2; in version 3 both are 1."""
    with chart.style():
        drawing, (row,) = sheet(4.2, 1, len(_NUMBERS))
        for number, axes in zip(_NUMBERS, row, strict=True):
            cases = [case for case in cases_of(number) if CONTIGUOUS[case.version] < 100]
            for who in _LOOKS:
                known = [of for case in cases if (of := _figures(found, case, who)) is not None]
                _marks(axes, [(of.spread, of.fragmentation) for of in known], who)
            axes.set_xlabel("mean spread of a job\n(nodes from first to last / its nodes)")
            _title(axes, number)
        row[0].set_ylabel("mean fragmentation of a job\n(blocks of neighbouring nodes)")
        draw_legend(drawing, row[0], 3)
        save(drawing, path)


def _marks(axes: Axes, points: Sequence[tuple[float, float]], who: str) -> None:
    colour, marker, filling = _LOOKS[who]
    axes.plot([x for x, _ in points], [y for _, y in points], linestyle="", marker=marker, markersize=5.5,
              markeredgecolor=colour, markerfacecolor=filling, label=who)  # fmt: skip


def _title(axes: Axes, number: str) -> None:
    machine = MACHINE_OF[number]
    axes.set_title(f"machine {machine}, {MACHINES[machine]:,} nodes")
