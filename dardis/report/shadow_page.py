"""Draws days of a cluster beside other schedulers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes

from dardis.model.arrays import Floats, Ints
from dardis.report import chart, words
from dardis.report.chart import Chart
from dardis.report.run_page import write_page
from dardis.report.words import NOTHING

Figures = Mapping[str, float | None]
"""Figures of a scheduler by `SHADOW_FIGURES`; None if unknown."""


@dataclass(frozen=True)
class ShadowFigure:
    """Caption and unit of a figure, as in `words.in_unit`."""

    caption: str
    unit: str


SHADOW_FIGURES: Final = {
    "jobs": ShadowFigure("jobs", ""),
    "mean_wait_s": ShadowFigure("mean wait", "s"),
    "median_wait_s": ShadowFigure("median wait", "s"),
    "max_wait_s": ShadowFigure("longest wait", "s"),
    "mean_bounded_slowdown": ShadowFigure("bounded slowdown", ""),
    "core_h": ShadowFigure("core-hours", ""),
    "idle_nodes": ShadowFigure("nodes that could have been off", ""),
    "energy_kwh": ShadowFigure("energy, all nodes on", "kWh"),
    "avoidable_kwh": ShadowFigure("avoidable by switching", "kWh"),
    "energy_eur": ShadowFigure("energy cost", "currency"),
    "co2_kg": ShadowFigure("CO2", "kg"),
}
_DRAWN: Final = (
    ("mean_wait_s", "mean wait, h", 3600.0), ("mean_bounded_slowdown", "bounded slowdown", 1.0),
    ("idle_nodes", "nodes that could have been off", 1.0), ("energy_kwh", "energy, kWh", 1.0),
)  # fmt: skip
_COST: Final = "energy_eur"


def draw_shadow(
    path: Path, *, title: str, lead: str, first: Sequence[str], notes: Sequence[str],
    schedulers: Mapping[str, Figures], days: Sequence[tuple[str, Mapping[str, Figures]]], currency: str,
) -> None:  # fmt: skip
    """Write the page. `schedulers`: figures of the span, the real ones first; `days`: of its days. Raises OSError."""
    with chart.style():
        charts = [_bars(schedulers)]
    tables = [("Schedulers", *_table("scheduler", schedulers, currency))]
    for name in schedulers if days else ():
        of_days = {day: figures[name] for day, figures in days if name in figures}
        tables.append((f"Days: {name}", *_table("day", of_days, currency)))
    write_page(
        path,
        "shadow.html.j2",
        title=title,
        lead=lead,
        first=list(first),
        notes=list(notes),
        charts=charts,
        tables=tables,
    )


def _table(head: str, rows: Mapping[str, Figures], currency: str) -> tuple[list[str], list[list[str]]]:
    known = [key for key in SHADOW_FIGURES if any(figures.get(key) is not None for figures in rows.values())]
    columns = [head, *(_caption(key, currency) for key in known)]
    return columns, [[name, *(_cell(key, figures.get(key)) for key in known)] for name, figures in rows.items()]


def _caption(key: str, currency: str) -> str:
    return f"{SHADOW_FIGURES[key].caption}, {currency}" if key == _COST else SHADOW_FIGURES[key].caption


def _cell(key: str, value: float | None) -> str:
    if value is None:
        return NOTHING
    return words.in_unit(SHADOW_FIGURES[key].unit, round(value, 2))


def _bars(schedulers: Mapping[str, Figures]) -> Chart:
    """Bars of the main figures; the avoidable part of energy is hatched."""
    drawn = [one for one in _DRAWN if any(figures.get(one[0]) is not None for figures in schedulers.values())]
    names = [*schedulers][::-1]
    drawing, panels = chart.figure_in_row(chart.FULL, 0.9 + 0.32 * len(names), len(drawn))
    places = np.arange(len(names))
    for axes, (key, label, unit) in zip(panels, drawn, strict=True):
        values = np.array([np.nan if (value := schedulers[name].get(key)) is None else value / unit for name in names])
        colours = [chart.VERMILLION if name == next(iter(schedulers)) else chart.BLUE for name in names]
        axes.barh(places, values, color=colours, alpha=0.75)
        if key == "energy_kwh":
            _mark_avoidable(axes, places, values, [schedulers[name].get("avoidable_kwh") or 0.0 for name in names])
        axes.set_xlabel(label)
        axes.xaxis.set_major_formatter(chart.amounts())
        axes.grid(visible=False, axis="y")
    panels[0].set_yticks(places, names)
    return chart.finish(
        drawing, "Schedulers side by side",
        "The real schedule and the same jobs under other schedulers. Hatched energy could have been saved by switching "
        "idle nodes off.",
    )  # fmt: skip


def _mark_avoidable(axes: Axes, places: Ints, values: Floats, avoidable: Sequence[float]) -> None:
    parts = np.minimum(np.array(avoidable), np.nan_to_num(values))
    axes.barh(
        places, parts, left=np.nan_to_num(values) - parts, color="none", edgecolor=chart.INK, hatch="////", linewidth=0
    )
