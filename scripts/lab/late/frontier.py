"""The frontier: what many dispatchers reach in mean waits and slowdowns, at what longest waits, and which jobs wait."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dardis.report import chart
from scripts.lab.kit.cache import Metrics
from scripts.lab.kit.drawing import draw_legend, save, sheet
from scripts.lab.kit.page import NOTHING, table, write_csv
from scripts.lab.late.cases import Case
from scripts.lab.late.table import HOURS, LIMITS, WIDTHS, Means, geometric, means, ratio_of_class

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Found = Mapping[tuple[Case, str], Means]
"""By case and label of the dispatcher."""
Classes = Mapping[Case, Mapping[str, float]]
"""Ratios of mean waits, of those classes that have enough jobs."""
LATE: Final = "late "
"""Labels of late binding begin so, and end in the longest wait."""
COLUMNS: Final = 5
"""Panels in a row of the picture."""
MARGIN: Final = 1.06
"""Factor between the outermost marks and the edge."""
MOST_TICKS: Final = 7
TICKS: Final = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.3, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 20)


def means_of(done: Mapping[tuple[Case, str], Metrics], best: str, patient: str) -> Found:
    """Figures of all runs whose case has those of the ones to beat."""
    return {
        (case, label): means(metrics, done[case, best], done[case, patient])
        for (case, label), metrics in done.items()
        if (case, best) in done and (case, patient) in done
    }


def ratios_of_classes(waits: Mapping[tuple[Case, str], Metrics], mine: str, base: str) -> Classes:
    """Mean waits of one dispatcher over those of another, by class."""
    every = [case for case, label in waits if label == mine and (case, base) in waits]
    ratios = {
        case: {name: ratio_of_class(waits[case, mine], waits[case, base], name) for name in (*WIDTHS, *HOURS)}
        for case in every
    }
    return {case: {name: ratio for name, ratio in of.items() if ratio is not None} for case, of in ratios.items()}


def text(found: Found, classes: Classes, patient: str) -> str:
    """A row a dispatcher: means, worst values, how often a mean is above its limit, and how often all are worse."""
    rows = []
    for label in dict.fromkeys(label for _, label in found):
        of = {case: one for (case, who), one in found.items() if who == label}
        above = sum((one.wait > LIMITS["wait"]) + (one.slowdown > LIMITS["slowdown"]) for one in of.values())
        worse = sum(
            all(mine > theirs for mine, theirs in zip(one, found[case, patient], strict=True))
            for case, one in of.items()
        )
        worst = (max(values) for values in zip(*of.values(), strict=True))
        figures = [f"{value:.2f}" for value in (*geometric([*of.values()]), *worst)]
        rows.append((label, f"{len(of)}", *figures, f"{above}", f"{worse}"))
    head = ("dispatcher", "cases", "wait", "slowdown", "longest", "worst wait", "worst slowdown", "worst longest",
            f"means above {LIMITS['wait']:g}", f"worse than {patient} in all three")  # fmt: skip
    names = (*WIDTHS, *HOURS)
    by_class = [
        (name, f"{len(values)}", f"{math.exp(sum(map(math.log, values)) / len(values)):.2f}", f"{max(values):.2f}",
         max(classes, key=lambda case: classes[case].get(name, 0)).name)
        for name in names
        if (values := [of[name] for of in classes.values() if of.get(name, 0) > 0])
    ]  # fmt: skip
    second = table(("jobs", "cases", f"wait / {patient}", "largest", "case"), by_class)
    return "\n".join([*table(head, rows), "", *second, ""])


def write(folder: Path, found: Found, classes: Classes) -> None:
    """Write the figures of each case, and waits by class."""
    rows = [(case.name, label, *(f"{value:.3f}" for value in one)) for (case, label), one in found.items()]
    write_csv(folder / "frontier.csv", ("case", "dispatcher", *Means._fields), rows)
    names = (*WIDTHS, *HOURS)
    cells = [
        (case.name, *(f"{of[name]:.2f}" if name in of else NOTHING for name in names), f"{max(of.values()):.2f}")
        for case, of in classes.items()
        if of
    ]
    write_csv(folder / "classes.csv", ("case", *names, "largest"), cells)


def draw(path: Path, found: Found, best: str) -> None:
    """Write mean wait and slowdown against the longest wait, means over loads, two panels a trace."""
    sources = list(dict.fromkeys(case.source for case, _ in found))
    labels = list(dict.fromkeys(label for _, label in found))
    points = {
        (source, label): geometric(of)
        for source in sources
        for label in labels
        if (of := [one for (case, who), one in found.items() if (case.source, who) == (source, label)])
    }
    across = _range([point.longest for point in points.values()])
    late = [label for label in labels if label.startswith(LATE)]
    others = [label for label in labels if label not in {*late, best}]
    bands = math.ceil(len(sources) / COLUMNS)
    with chart.style():
        drawing, rows = sheet(4.6 * bands + 0.5, 2 * bands, COLUMNS)
        for axes in chain(*rows):
            axes.set_axis_off()
        for place, source in enumerate(sources):
            panel = {label: point for (whose, label), point in points.items() if whose == source}
            for what in ("wait", "slowdown"):
                axes = rows[2 * (place // COLUMNS) + (what == "slowdown")][place % COLUMNS]
                axes.set_axis_on()
                spots = {label: (point.longest, float(getattr(point, what))) for label, point in panel.items()}
                if line := [spots[label] for label in late if label in spots]:
                    told = f"{LATE}{', '.join(label.removeprefix(LATE) for label in late)}"
                    look = chart.line_look(0, marked=True) | {"linewidth": 1.4, "markersize": 4.5, "zorder": 3}
                    axes.plot(*zip(*line, strict=True), label=told, **look)
                axes.plot(*spots[best], "|", color=chart.INK, markersize=11, markeredgewidth=2, label=best)
                for turn, label in enumerate(others, 1):
                    if label in spots:
                        axes.plot(*spots[label], label=label, **_mark(turn))
                _set_axes(axes, across, _range([spot for _, spot in spots.values()]))
                axes.axhline(1, color=chart.INK, linewidth=0.8, linestyle=":")
                if what == "wait":
                    axes.set_title(source)
                else:
                    axes.set_xlabel("longest wait / EASY")
                if place % COLUMNS == 0:
                    axes.set_ylabel(f"mean {what} / {best}")
        draw_legend(drawing, rows[0][0], COLUMNS)
        save(drawing, path)


def _mark(turn: int) -> dict[str, Any]:
    """The look of a mark without a line; hollow when looks begin again."""
    look = chart.line_look(turn % chart.MOST_LINES, marked=True) | {"linestyle": "none", "markersize": 6.5}
    return look | ({"markerfacecolor": "none", "markeredgewidth": 1.4} if turn >= chart.MOST_LINES else {})


def _set_axes(axes: Axes, across: tuple[float, float], up: tuple[float, float]) -> None:
    """Logarithmic axes with plain numbers."""
    axes.set(xscale="log", yscale="log", xlim=across, ylim=up)
    axes.minorticks_off()
    for (low, high), set_ticks in ((across, axes.set_xticks), (up, axes.set_yticks)):
        ticks = _ticks(low, high)
        set_ticks(ticks, [f"{tick:g}" for tick in ticks])


def _range(values: Sequence[float]) -> tuple[float, float]:
    """From the least to the most, with margins."""
    return min(values) / MARGIN, max(values) * MARGIN


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from 1 on in both directions, with room between."""
    ticks, room = [1.0], (high / low) ** (1 / MOST_TICKS)
    for tick in (tick for tick in TICKS if 1 < tick <= high):
        if tick >= ticks[-1] * room:
            ticks.append(tick)
    for tick in (tick for tick in reversed(TICKS) if low <= tick < 1):
        if tick <= ticks[0] / room:
            ticks.insert(0, tick)
    return ticks
